"""Congestion notices: a switch announces to its neighbours how long the queues of its ports to other switches are.

Rules
1. A port to a switch has a level: level 1 begins with the threshold of its switch, each further one, up to 7, with
   twice the bytes of the one before; below is level 0. All classes count. It is renewed as frames join and leave.
2. A rise is announced at once; a fall when less than half of the bytes wait that the announced level begins with, so
   that a queue near a bound is not announced again and again.
3. A notice is a frame of 64 bytes to each neighbouring switch but the one behind the port. It names the port and the
   time that its link needs for the bytes with which the level begins, 0 for level 0. It waits for the frame being sent,
   not for queues, crosses the cable, and takes effect after the time that a switch needs to obey a pause frame.
4. A receiver adds that time to the drain time of the port by which it reaches this neighbour, for packets that the
   neighbour can only send through ports with notices; of several ports the shortest time counts. Otherwise it chooses
   as without notices (switch/forward).
5. A level above 0 counts at a receiver for 100 us. While it lasts, the first frame that joins or leaves after half of
   that time announces it again, so a lost notice or a neighbour that has failed misleads for a short time only.

Source: rule 1, eight bands, and rule 4 are Broadcom's dynamic and global load balancing as Juniper documents them for
its QFX5240 (quality bands 0 to 7; each node floods the link qualities of its links with neighbours to them, and next
hops are chosen by the combined quality of next hop and next-next hop); announcing rise and end of congestion at once is
draft-wh-rtgwg-adaptive-routing-arn. No vendor publishes thresholds, frame, or delay: rules 2, 3, 5 and the doubling are
assumed (decisions/0162).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from fabric.dataplane.port import transmit
from fabric.dataplane.port.damage import INTACT, damaged
from fabric.dataplane.state import pool
from fabric.dataplane.state.codes import PacketKind
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.transport.hpcc import waiting_bytes

LEVELS: Final = 7
"""Above level 0 (rule 1)."""
HOLD_PS: Final = 100_000_000
"""Time for which a level counts at a receiver (rule 5)."""
_NOTICE: Final = int(PacketKind.NOTICE)
_PS_PER_NS: Final = 1000
_LONGEST_NS: Final = (1 << 32) - 1
"""Of the field of a notice that has the time."""
u = np.uint32


@hot
def are_used(state: State) -> bool:
    """Whether a switch of this run sends notices."""
    return bool(state.config[0]["notices"] != 0)


@kernel
def level_of(waiting: int, threshold_bytes: int) -> int:
    """Level of a queue (rule 1)."""
    level = 0
    while level < LEVELS and waiting >= threshold_bytes << level:
        level += 1
    return level


@kernel
def renew(state: State, device: int, port: int, now_ps: int) -> None:
    """Compute the level of a port whose queues have changed; send notices where it differs from the announced one, or
    where that one is due again (rules 1, 2 and 5).
    """
    row = state.notices[u(port)]
    threshold, announced = i64(row["threshold_bytes"]), i64(row["level"])
    if threshold == 0:
        return
    waiting = waiting_bytes(state, port)
    level = max(level_of(waiting, threshold), min(level_of(2 * waiting, threshold), announced))
    repeated = announced > 0 and now_ps - i64(row["announced_ps"]) >= HOLD_PS // 2
    if level == announced and not repeated:
        return
    if state.devices[device]["free_count"] < state.devices[device]["n_ports"]:
        return  # an edit may run before the device has its supply of free rows; the next frame announces the level
    row["level"], row["announced_ps"] = level, now_ps
    _announce(state, device, port, now_ps)


@kernel
def _announce(state: State, device: int, port: int, now_ps: int) -> None:
    """Send the level of a port to the other neighbours (rule 3)."""
    row, time_ns = state.notices[u(port)], 0
    if row["level"] != 0:
        waiting = i64(row["threshold_bytes"]) << i64(row["level"]) - 1
        mbps = max(i64(state.ports[port]["rate_bps"]) // 1_000_000, 1)
        time_ns = min(waiting * 8_000 // mbps, _LONGEST_NS)
    first = i64(state.devices[device]["first_port"])
    for other in range(first, first + i64(state.devices[device]["n_ports"])):
        if other == port or state.ports[other]["peer_node"] < state.config[0]["n_hosts"]:
            continue
        packet = pool.take(state, device)
        frame = state.packets[packet]
        frame["kind"], frame["size"], frame["classes"], frame["xoff"] = _NOTICE, state.config[0]["pfc_bytes"], 0, 0
        frame["in_port"], frame["seq"], frame["tc"] = port, time_ns, 0
        transmit.queue_control(state, device, other, packet, now_ps)


@kernel
def receive(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> None:
    """Record what a notice says (rule 4), and free the row of its frame. Called by engine/dispatch."""
    row, frame = state.ports[port], state.packets[packet]
    row["rx_bytes"] += i64(frame["size"])
    row["rx_pkts"] += 1
    if row["bit_error_ratio"] <= 0.0 or damaged(state, device, port, packet) == INTACT:
        row["rx_notice_pkts"] += 1
        noticed = state.noticed[_place(state, port, i64(frame["in_port"]))]
        noticed["drain_ps"], noticed["until_ps"] = i64(frame["seq"]) * _PS_PER_NS, now_ps + HOLD_PS
    pool.give(state, device, packet)


@hot
def _place(state: State, port: int, remote: int) -> int:
    """Row of State.noticed for a port of the neighbour at `port`."""
    return i64(state.notices[u(port)]["first"]) + i64(state.ports[remote]["index"])


@kernel
def behind_ps(state: State, port: int, target: int, now_ps: int) -> int:
    """What notices add to the drain time of a port for packets to a host (rule 4)."""
    peer, n_hosts = i64(state.ports[port]["peer_node"]), i64(state.config[0]["n_hosts"])
    if peer < n_hosts:
        return 0
    group = i64(state.fib[u((peer - n_hosts) * n_hosts + target)]) - 1
    if group < 0:
        return 0
    first, count = i64(state.groups[group]["first"]), i64(state.groups[group]["count"])
    least_ps = _LONGEST_NS * _PS_PER_NS
    for index in range(count):
        noticed = state.noticed[_place(state, port, i64(state.members[first + index]["port"]))]
        if noticed["until_ps"] < now_ps:
            return 0
        least_ps = min(least_ps, i64(noticed["drain_ps"]))
    return least_ps
