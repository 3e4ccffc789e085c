"""Several ports of a NIC for the packets of one queue pair, and for its answers: which takes which (source routes).

Rules
1. A sender is a queue pair's data or its answers. Its ports are those of the NIC from which a route leads to the
   destination; those whose routes are all withdrawn, or whose own cable the NIC has noticed to be down, are left out
   (state/fill_routes).
2. Each packet takes the port after that of the packet before it. A port without carrier, or paused in the packet's
   class, is passed over, and so is one that is sending, if another one is not.
3. So a queue pair that may send waits for all its ports at once, in one list a class for the whole NIC (host/nic): a
   free port takes the first queue pair whose turn it is, else the first one that may use it.
4. A queue pair paces once. Its line rate is the sum of its ports' rates, and the gap after a packet is that of the
   packet at the queue pair's rate, whatever port it leaves by. The time for which a packet that was due has waited for
   a port counts as a part of the gap after it, up to a packet's time at line rate: else ports of unlike rates, or with
   answers between, would not be full.
5. An answer is queued at its port, as other frames are, however busy that port is.

That a queue pair uses all ports in turn is published (Multipath Reliable Connection 1.0, OCP 2026: paths in equal
numbers over all planes, another one for each packet); that it passes over a port that cannot send now is assumed
(docs/decisions/0176).
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.port.flowcontrol import gate
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import pacing

u = np.uint32


@hot
def several(state: State) -> bool:
    """Whether packets of one queue pair leave by several ports of a NIC."""
    return bool(state.config[0]["nic_ports"] > 1)


@hot
def may_use(state: State, device: int, sender: int, port: int) -> bool:
    """Whether packets of a sender may leave by a port now."""
    return i64(state.nic_ports[u(sender)]["live"]) >> port - i64(state.devices[device]["first_port"]) & 1 != 0


@hot
def uses(state: State, device: int, qp: int, port: int) -> bool:
    """Whether the rate of a port counts for the line rate of a queue pair."""
    if not several(state):
        return bool(state.qps[u(qp)]["port"] == port)
    return i64(state.nic_ports[u(qp)]["line"]) >> port - i64(state.devices[device]["first_port"]) & 1 != 0


@kernel
def in_turn(state: State, device: int, sender: int, tc: int) -> int:
    """The port of a sender's next packet, of class tc, if all ports are idle: from its turn on, the first that may
    send; that whose turn it is, if none may.
    """
    row, first = state.nic_ports[u(sender)], i64(state.devices[device]["first_port"])
    port, n_ports = i64(row["port"]), i64(state.devices[device]["n_ports"])
    for _ in range(n_ports):
        if may_use(state, device, sender, port) and state.ports[port]["up"] != 0 and gate.may_send(state, port, tc):
            return port
        port = port + 1 if port + 1 < first + n_ports else first
    return i64(row["port"])


@kernel
def left_by(state: State, device: int, sender: int, port: int) -> None:
    """A sender's packet leaves by a port: the next turn is that of the port after it."""
    first, n_ports = i64(state.devices[device]["first_port"]), i64(state.devices[device]["n_ports"])
    for _ in range(n_ports):
        port = port + 1 if port + 1 < first + n_ports else first
        if may_use(state, device, sender, port):
            break
    state.nic_ports[u(sender)]["port"] = port


@kernel
def line_bps(state: State, device: int, qp: int) -> int:
    """The line rate of a queue pair (rule 4)."""
    if not several(state):
        return i64(state.ports[i64(state.qps[u(qp)]["port"])]["rate_bps"])
    first, total_bps = i64(state.devices[device]["first_port"]), 0
    for port in range(first, first + i64(state.devices[device]["n_ports"])):
        if uses(state, device, qp, port):
            total_bps += i64(state.ports[port]["rate_bps"])
    return total_bps


@hot
def at_line_ps(state: State, qp: int, size_bytes: int, serialisation_ps: int) -> int:
    """Gap after a packet at line rate; serialisation_ps: its time at the port that it left by."""
    if not several(state):
        return serialisation_ps
    line = i64(state.qps[u(qp)]["line_bps"])
    return (pacing.cost(state, size_bytes) + line - 1) // line


@hot
def waited_ps(state: State, qp: int, now_ps: int, most_ps: int) -> int:
    """How long the packet that leaves now has been due, at most most_ps; 0 with one port."""
    if not several(state):
        return 0
    return min(max(now_ps - i64(state.qps[u(qp)]["available_ps"]), 0), most_ps)
