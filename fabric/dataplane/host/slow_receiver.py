"""A receiver that consumes slowly: data frames wait in the NIC's receive buffer and are consumed at drain_bps.

At rx_xoff_bytes the buffer counts as full and link flow control stops the peers' classes (PFC: XOFF), at rx_xon_bytes
it lets them go on. A frame that does not fit is lost (Guo et al., SIGCOMM 2016, section 4.4: slow-receiver symptom).
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.host import datagrams, receiver
from fabric.dataplane.port.drop import discard
from fabric.dataplane.port.flowcontrol import gate
from fabric.dataplane.port.flowcontrol import hooks as flow
from fabric.dataplane.state import calendar
from fabric.dataplane.state.codes import INFINITY_PS, Aux, DropReason, PacketKind
from fabric.dataplane.state.compiled.jit import i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import hooks

_DRAIN = int(Aux.DRAIN)
_DATAGRAM = int(PacketKind.DATAGRAM)
_RX_BUFFER = int(DropReason.RX_BUFFER)
_PS_PER_S = 1_000_000_000_000


@kernel
def _schedule_drain(state: State, device: int, now_ps: int) -> None:
    host = state.hosts[device]
    time_ps = INFINITY_PS
    if host["rx_head"] != 0 and host["drain_bps"] > 0:
        size_bytes = i64(state.packets[host["rx_head"]]["size"])
        time_ps = now_ps + size_bytes * 8 * _PS_PER_S // i64(host["drain_bps"])
    elif host["rx_head"] != 0:
        time_ps = now_ps
    calendar.schedule(state, device, calendar.aux_source(state, device, _DRAIN), time_ps, calendar.NEW_ORDER)


@kernel
def _pause_all(state: State, device: int, now_ps: int) -> None:
    """Stop every peer that is not stopped yet: all ports of the NIC share the buffer."""
    first = i64(state.devices[device]["first_port"])
    for port in range(first, first + i64(state.devices[device]["n_ports"])):
        for c in range(8):
            if (
                state.ports[port]["up"] != 0
                and state.ports[port]["scale_up"] == 0
                and gate.sends_pause(state, port, c)
                and not gate.is_pausing(state, port, c)
            ):
                flow.full(state, device, port, c, now_ps)


@kernel
def _resume_all(state: State, device: int, now_ps: int) -> None:
    first = i64(state.devices[device]["first_port"])
    for port in range(first, first + i64(state.devices[device]["n_ports"])):
        for c in range(8):
            if gate.is_pausing(state, port, c):
                flow.drained(state, device, port, c, now_ps)


@kernel
def buffer_data(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> None:
    """A data frame has arrived at a host that drains slowly."""
    host, frame = state.hosts[device], state.packets[packet]
    used = i64(host["rx_used_bytes"]) + i64(frame["size"])
    if used > host["rx_buffer_bytes"]:
        host["rx_discards"] += 1
        discard(state, device, port, packet, _RX_BUFFER, now_ps, used, i64(host["rx_buffer_bytes"]), 0)
        return
    host["rx_used_bytes"] = used
    host["rx_peak_bytes"] = max(i64(host["rx_peak_bytes"]), used)
    frame["next"] = 0
    if host["rx_tail"] == 0:
        host["rx_head"] = packet
        host["rx_tail"] = packet
        _schedule_drain(state, device, now_ps)
    else:
        state.packets[host["rx_tail"]]["next"] = packet
        host["rx_tail"] = packet
    if used >= host["rx_xoff_bytes"]:
        # On every frame: a port may have come up, or got flow control, since the first.
        host["rx_xoff_sent"] = 1
        _pause_all(state, device, now_ps)


@kernel
def on_drain(state: State, device: int, now_ps: int) -> None:
    """The oldest buffered frame has been consumed."""
    host = state.hosts[device]
    packet = host["rx_head"]
    if packet == host["rx_tail"]:
        host["rx_head"] = host["rx_tail"] = 0
    else:
        host["rx_head"] = state.packets[packet]["next"]
    size_bytes, frame = i64(state.packets[packet]["size"]), state.packets[packet]
    host["rx_used_bytes"] -= size_bytes
    flow.freed(state, device, i64(frame["in_port"]), i64(frame["tc"]), size_bytes, now_ps)
    state.packets[packet]["next"] = 0
    if host["rx_xoff_sent"] != 0 and host["rx_used_bytes"] <= host["rx_xon_bytes"]:
        host["rx_xoff_sent"] = 0
        _resume_all(state, device, now_ps)
    _schedule_drain(state, device, now_ps)
    if frame["kind"] == _DATAGRAM:
        datagrams.receive(state, device, packet, now_ps)
        return
    hooks.consumed(state, packet, now_ps - i64(frame["time_ps"]))
    receiver.receive_data(state, device, packet, now_ps)


@kernel
def change_drain(state: State, device: int, now_ps: int, drain_bps: int) -> None:
    """The host consumes at another rate from now on; the consumed part of the oldest frame stays consumed.

    0 is line rate: the buffer empties at once.
    """
    host, source = state.hosts[device], calendar.aux_source(state, device, _DRAIN)
    before_bps, end_ps = i64(host["drain_bps"]), calendar.pending_ps(state, device, source)
    host["drain_bps"] = drain_bps
    if host["rx_head"] == 0:
        return
    wait_ps = 0
    if drain_bps > 0 and before_bps > 0:
        wait_ps = ((end_ps - now_ps) * before_bps + drain_bps - 1) // drain_bps
    calendar.schedule(state, device, source, now_ps + wait_ps, calendar.NEW_ORDER)
