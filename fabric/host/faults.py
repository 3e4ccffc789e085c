"""Hosts that hurt the fabric: a receiver that drains slowly, and a NIC that pauses without end.

Slow receiver: data frames wait in the NIC's receive buffer and are consumed at drain_bps; at rx_xoff_bytes the host
sends
XOFF for its PFC classes, at rx_xon_bytes XON; what does not fit is lost (Guo et al., SIGCOMM 2016, section 4.4:
slow-receiver symptom). Broken NIC: XOFF frames at a fixed gap until a given moment, whatever its buffers hold (same
paper, 4.3). It may storm for several reasons at once, each with classes, gap and end: a class is paused while any of
them asks for it.
"""

from __future__ import annotations

import numpy as np

from fabric.host import receiver
from fabric.port import pause
from fabric.port.drop import discard
from fabric.port.pause import aux_source
from fabric.state import calendar
from fabric.state.codes import INFINITY_PS, Aux, DropReason
from fabric.state.jit import i64, kernel
from fabric.state.types import State

_DRAIN, _STORM = int(Aux.DRAIN), int(Aux.STORM)
_RX_BUFFER = int(DropReason.RX_BUFFER)
_PS_PER_S = 1_000_000_000_000
u = np.uint32


@kernel
def _schedule_drain(state: State, device: int, now_ps: int) -> None:
    host = state.hosts[device]
    time_ps = INFINITY_PS
    if host["rx_head"] != 0 and host["drain_bps"] > 0:
        size_bytes = i64(state.packets[host["rx_head"]]["size"])
        time_ps = now_ps + size_bytes * 8 * _PS_PER_S // i64(host["drain_bps"])
    elif host["rx_head"] != 0:
        time_ps = now_ps
    calendar.schedule(state, device, aux_source(state, device, _DRAIN), time_ps, calendar.NEW_ORDER)


@kernel
def _pause_all(state: State, device: int, now_ps: int) -> None:
    """Ask every peer that has not been asked yet: the buffer is one, whatever port a frame comes in by."""
    first = i64(state.devices[device]["first_port"])
    for port in range(first, first + i64(state.devices[device]["n_ports"])):
        for c in range(8):
            if state.ports[port]["up"] != 0 and i64(state.ports[port]["pfc_classes"]) >> c & 1 and (
                    state.prios[port * 8 + c]["xoff_sent"] == 0):
                pause.begin(state, device, port, c, now_ps)


@kernel
def _resume_all(state: State, device: int, now_ps: int) -> None:
    first = i64(state.devices[device]["first_port"])
    for port in range(first, first + i64(state.devices[device]["n_ports"])):
        for c in range(8):
            if state.prios[port * 8 + c]["xoff_sent"] != 0:
                pause.end(state, device, port, c, now_ps)


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
        # Every time: a port may have come back, or got PFC, since the first.
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
    host["rx_used_bytes"] -= i64(state.packets[packet]["size"])
    state.packets[packet]["next"] = 0
    if host["rx_xoff_sent"] != 0 and host["rx_used_bytes"] <= host["rx_xon_bytes"]:
        host["rx_xoff_sent"] = 0
        _resume_all(state, device, now_ps)
    _schedule_drain(state, device, now_ps)
    receiver.receive_data(state, device, packet, now_ps)


@kernel
def change_drain(state: State, device: int, now_ps: int, drain_bps: int) -> None:
    """The host consumes at another rate from now on; what has been consumed of the oldest frame is not consumed again.

    0 is line rate: the buffer empties at once.
    """
    host, source = state.hosts[device], aux_source(state, device, _DRAIN)
    before_bps, end_ps = i64(host["drain_bps"]), calendar.pending_ps(state, device, source)
    host["drain_bps"] = drain_bps
    if host["rx_head"] == 0:
        return
    wait_ps = 0
    if drain_bps > 0 and before_bps > 0:
        wait_ps = ((end_ps - now_ps) * before_bps + drain_bps - 1) // drain_bps
    calendar.schedule(state, device, source, now_ps + wait_ps, calendar.NEW_ORDER)


@kernel
def change_speed(state: State, device: int, port: int, now_ps: int, quantum_ps: int) -> None:
    """A broken NIC's port will run at another speed: a gap that is half of what a storm asks for stays half of it."""
    host, before_ps = state.hosts[device], i64(state.ports[port]["quantum_ps"])
    at, next_ps = i64(host["first_storm"]), INFINITY_PS
    if at == 0 or host["storm_port"] != port:
        return
    while at != 0:
        storm = state.storms[at]
        if storm["asked_until_ps"] > now_ps:        # the peer counts what is left in quanta of the new length
            storm["asked_until_ps"] = now_ps + pause.in_new_quanta(i64(storm["asked_until_ps"]) - now_ps, quantum_ps,
                                                                   before_ps)
        if storm["gap_ps"] == max(i64(storm["quanta"]) * before_ps // 2, 1):
            storm["gap_ps"] = max(i64(storm["quanta"]) * quantum_ps // 2, 1)
            storm["next_ps"] = now_ps + pause.in_new_quanta(i64(storm["next_ps"]) - now_ps, quantum_ps, before_ps)
        next_ps = min(next_ps, i64(storm["next_ps"]))
        at = i64(storm["next"])
    calendar.schedule(state, device, aux_source(state, device, _STORM), next_ps, calendar.NEW_ORDER)


@kernel
def _quanta(state: State, device: int, storm: int, c: int, now_ps: int) -> int:
    """Timer value of a storm's frame for a class: what other storms have asked for is not cut short.

    A received timer replaces the running one (802.3 annex 31B.3.3), whichever is longer.
    """
    quantum_ps = i64(state.ports[state.hosts[device]["storm_port"]]["quantum_ps"])
    quanta = i64(state.storms[storm]["quanta"])
    at = i64(state.hosts[device]["first_storm"])
    while at != 0:
        other = state.storms[at]
        if at != storm and i64(other["classes"]) >> c & 1 and now_ps < other["until_ps"]:
            left_ps = i64(other["asked_until_ps"]) - now_ps
            quanta = max(quanta, -(-left_ps // quantum_ps))
        at = i64(other["next"])
    return quanta


@kernel
def _pause_peer(state: State, device: int, storm: int, now_ps: int) -> None:
    """Send one storm's XOFF: one frame for all classes with the same timer value."""
    left = i64(state.storms[storm]["classes"])
    while left != 0:
        quanta, together = -1, 0
        for c in range(8):
            if left >> c & 1:
                wanted = _quanta(state, device, storm, c, now_ps)
                if quanta < 0:
                    quanta = wanted
                if wanted == quanta:
                    together |= 1 << c
        pause.send(state, device, i64(state.hosts[device]["storm_port"]), together, together, quanta, now_ps)
        left &= ~together
    quantum_ps = i64(state.ports[state.hosts[device]["storm_port"]]["quantum_ps"])
    state.storms[storm]["asked_until_ps"] = now_ps + i64(state.storms[storm]["quanta"]) * quantum_ps


@kernel
def on_storm(state: State, device: int, now_ps: int) -> None:
    """Send the XOFF of every storm that is due; after a storm's end its classes are simply left to time out."""
    host = state.hosts[device]
    next_ps, before, at = INFINITY_PS, 0, i64(host["first_storm"])
    while at != 0:
        storm = state.storms[at]
        following = i64(storm["next"])
        if now_ps >= storm["until_ps"]:
            if before == 0:
                host["first_storm"] = following
            else:
                state.storms[before]["next"] = following
        else:
            if storm["next_ps"] <= now_ps:
                _pause_peer(state, device, at, now_ps)
                storm["next_ps"] = now_ps + i64(storm["gap_ps"])
            next_ps = min(next_ps, i64(storm["next_ps"]))
            before = at
        at = following
    calendar.schedule(state, device, aux_source(state, device, _STORM), next_ps, calendar.NEW_ORDER)
