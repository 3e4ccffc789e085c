"""A port's transmitter: whether it is busy, when it is free, and how one frame gets on the wire.

Rules
1. Source order: a port-free event exists only while a packet waits that may be sent (no event without a reason).
   Insertion order: a port-free event follows every frame, as in a simulator with one global event list.
2. Store and forward: a frame takes effect at the peer after its last bit, propagation, and the peer's latency.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.port import wire
from fabric.dataplane.port.flowcontrol import gate
from fabric.dataplane.state import calendar, departures, pool
from fabric.dataplane.state.codes import INFINITY_PS, Order, PacketKind
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import TX_SIZES, State

_INSERTION, _NOTICE = int(Order.INSERTION), int(PacketKind.NOTICE)
u = np.uint32


@hot
def is_busy(state: State, port: int, now_ps: int) -> bool:
    """Whether a frame is being sent. At the end of a frame the two orders differ (rule 1).

    A port-free event that is pending for this instant owns the port. Otherwise an earlier event would send a frame, and
    the port-free event a second one.
    """
    row = state.ports[port]
    if state.config[0]["order"] == _INSERTION:
        return row["free_pending"] != 0
    return bool(row["busy_until_ps"] > now_ps) or row["free_pending"] != 0


@hot
def free_source(state: State, port: int) -> int:
    """Calendar source of the port-free event."""
    row = state.ports[port]
    return 2 * i64(state.devices[row["node"]]["n_ports"]) + i64(row["index"])


@hot
def wake_when_free(state: State, device: int, port: int) -> None:
    """Make sure that the port-free event exists: a packet waits behind the frame being sent."""
    row = state.ports[port]
    if row["free_pending"] == 0:
        row["free_pending"] = 1
        calendar.schedule(state, device, free_source(state, port), i64(row["busy_until_ps"]), calendar.NEW_ORDER)


@hot
def settle(state: State, device: int, port: int) -> None:
    """After a port-free event was handled with free_pending cleared: cancel its source, if nothing waits again.

    One update of the calendar tree instead of two: a busy port schedules its next port-free event over the old one.
    """
    if state.ports[port]["free_pending"] == 0:
        calendar.schedule(state, device, free_source(state, port), INFINITY_PS, 0)


@hot
def serialisation_ps(state: State, port: int, size_bytes: int) -> int:
    """Time on the wire of a frame of size_bytes, overhead included (State.tx_ps)."""
    return i64(state.tx_ps[u(i64(state.ports[port]["rate_row"]) * TX_SIZES + size_bytes)])


@hot
def occupy(state: State, port: int, size_bytes: int, now_ps: int) -> int:
    """The port starts sending size_bytes now; returns the end. The frame itself follows with launch()."""
    row = state.ports[port]
    duration_ps = serialisation_ps(state, port, size_bytes)
    row["busy_until_ps"] = now_ps + duration_ps
    row["busy_ps"] += duration_ps
    row["tx_bytes"] += size_bytes
    row["tx_pkts"] += 1
    if state.config[0]["order"] == _INSERTION:
        row["free_pending"] = 1
    return now_ps + duration_ps


@hot
def launch(state: State, device: int, port: int, packet: np.uint32, end_ps: int) -> None:
    """Put the frame whose serialisation ends at end_ps on the wire."""
    row = state.ports[port]
    if state.config[0]["order"] == _INSERTION:
        calendar.schedule(state, device, free_source(state, port), end_ps, calendar.NEW_ORDER)
    wire.append(state, device, port, packet, end_ps + i64(row["arrival_delay_ps"]))


@kernel
def send_control(state: State, device: int, port: int, now_ps: int) -> None:
    """Send the oldest frame of the control queue; flow-control and strict control frames never wait behind data."""
    row = state.ports[port]
    packet = row["ctrl_head"]
    if packet == row["ctrl_tail"]:
        row["ctrl_head"] = row["ctrl_tail"] = 0
    else:
        row["ctrl_head"] = state.packets[packet]["next"]
    end_ps = occupy(state, port, i64(state.packets[packet]["size"]), now_ps)
    if state.config[0]["notes_departures"] != 0:
        departures.note(state, port, i64(state.packets[packet]["size"]), now_ps)
    if not gate.is_own_frame(i64(state.packets[packet]["kind"])):
        launch(state, device, port, packet, end_ps)
        return
    if i64(state.packets[packet]["kind"]) == _NOTICE:
        row["tx_notice_pkts"] += 1
    else:
        row["tx_pause_pkts"] += 1
        gate.count_sent(state, port, i64(state.packets[packet]["classes"]), i64(state.packets[packet]["xoff"]))
    if state.config[0]["order"] == _INSERTION:
        calendar.schedule(state, device, free_source(state, port), end_ps, calendar.NEW_ORDER)
    wire.append_control(state, device, port, packet, end_ps + i64(row["pause_delay_ps"]))


@kernel
def queue_control(state: State, device: int, port: int, packet: np.uint32, now_ps: int) -> None:
    """Send a control frame as soon as the frame being sent has ended; on a dead link it is lost."""
    row = state.ports[port]
    if row["up"] == 0:
        pool.give(state, device, packet)
        return
    state.packets[packet]["next"] = 0
    if row["ctrl_tail"] == 0:
        row["ctrl_head"] = packet
    else:
        state.packets[row["ctrl_tail"]]["next"] = packet
    row["ctrl_tail"] = packet
    if is_busy(state, port, now_ps):
        wake_when_free(state, device, port)
    else:
        send_control(state, device, port, now_ps)
        if gate.eligible(state, port) != 0 or row["ctrl_head"] != 0:
            wake_when_free(state, device, port)
