"""A cable, one direction: a sender appends, and between windows the receiver takes over what was appended.

Rules
1. A frame put on a wire at the end of its serialisation takes effect at the peer `arrival_delay_ps` later (PFC:
   `pause_delay_ps`), both at least the lookahead: nothing appended in a window matters to the peer within it.
2. The sender's port row holds the frames appended in this window (out_first..out_last); the receiver's port row the
   published ones (in_head..in_tail). publish() moves them, between windows.
3. Frames never overtake each other, so only the head of a wire is an event.
"""

from __future__ import annotations

import numpy as np

from fabric.state import calendar
from fabric.state.codes import INFINITY_PS
from fabric.state.jit import hot, i64, kernel
from fabric.state.prefetch import prefetch
from fabric.state.types import State

u = np.uint32
COUNT_STRIDE = 8
"""Outbox counters are a cache line apart."""


@hot
def _announce(state: State, device: int, port: int, is_pause: int) -> None:
    player = i64(state.devices[device]["player"])
    count = i64(state.outbox_count[player * COUNT_STRIDE])
    state.outbox[player * 2 * i64(state.config[0]["n_ports"]) + count] = 2 * port + is_pause
    state.outbox_count[player * COUNT_STRIDE] = count + 1


@hot
def append(state: State, device: int, port: int, packet: np.uint32, time_ps: int) -> None:
    """Put a frame on the wire out of `port`; it takes effect at the peer at time_ps."""
    row, frame = state.ports[port], state.packets[packet]
    frame["time_ps"] = time_ps
    frame["order"] = calendar.next_order(state)
    frame["next"] = 0
    if row["out_last"] == 0:
        row["out_first"] = packet
        _announce(state, device, port, 0)
    else:
        state.packets[row["out_last"]]["next"] = packet
    row["out_last"] = packet


@kernel
def append_pause(state: State, device: int, port: int, packet: np.uint32, time_ps: int) -> None:
    """As append, for a PFC frame."""
    row, frame = state.ports[port], state.packets[packet]
    frame["time_ps"] = time_ps
    frame["order"] = calendar.next_order(state)
    frame["next"] = 0
    if row["pout_last"] == 0:
        row["pout_first"] = packet
        _announce(state, device, port, 1)
    else:
        state.packets[row["pout_last"]]["next"] = packet
    row["pout_last"] = packet


@hot
def publish(state: State, wire: int) -> int:
    """Hand the frames appended to a wire (2 * sending port + is_pause) to the receiving port; returns its device."""
    sender = wire >> 1
    row = state.ports[sender]
    port = i64(row["peer"])
    peer = state.ports[port]
    device = i64(peer["node"])
    if wire & 1:
        first, last = row["pout_first"], row["pout_last"]
        row["pout_first"] = row["pout_last"] = 0
        if peer["pin_tail"] == 0:
            peer["pin_head"] = first
            source = i64(state.devices[device]["n_ports"]) + i64(peer["index"])
            calendar.schedule(state, device, source, i64(state.packets[first]["time_ps"]),
                              i64(state.packets[first]["order"]))
        else:
            state.packets[peer["pin_tail"]]["next"] = first
        peer["pin_tail"] = last
    else:
        first, last = row["out_first"], row["out_last"]
        row["out_first"] = row["out_last"] = 0
        prefetch(state.packets, state.packets[first]["next"])
        if peer["in_tail"] == 0:
            peer["in_head"] = first
            calendar.schedule(state, device, i64(peer["index"]), i64(state.packets[first]["time_ps"]),
                              i64(state.packets[first]["order"]))
        else:
            state.packets[peer["in_tail"]]["next"] = first
        peer["in_tail"] = last
    return device


@hot
def pop(state: State, device: int, port: int, source: int) -> np.uint32:
    """Take the frame that has arrived at `port` and schedule the next one."""
    row = state.ports[port]
    packet = row["in_head"]
    if packet == row["in_tail"]:
        row["in_head"] = row["in_tail"] = 0
        calendar.schedule(state, device, source, INFINITY_PS, 0)
    else:
        head = state.packets[packet]["next"]
        row["in_head"] = head
        prefetch(state.packets, state.packets[head]["next"])
        calendar.schedule(state, device, source, i64(state.packets[head]["time_ps"]), i64(state.packets[head]["order"]))
    return packet


@kernel
def pop_pause(state: State, device: int, port: int, source: int) -> np.uint32:
    """As pop, for PFC frames."""
    row = state.ports[port]
    packet = row["pin_head"]
    if packet == row["pin_tail"]:
        row["pin_head"] = row["pin_tail"] = 0
        calendar.schedule(state, device, source, INFINITY_PS, 0)
    else:
        head = state.packets[packet]["next"]
        row["pin_head"] = head
        calendar.schedule(state, device, source, i64(state.packets[head]["time_ps"]), i64(state.packets[head]["order"]))
    return packet
