"""A cable, one direction: a sender appends, the receiver finds the frames at their time.

Rules
1. A frame put on a wire at the end of its serialisation takes effect at the peer `arrival_delay_ps` later (PFC:
   `pause_delay_ps`), both at least the lookahead: nothing appended in a window matters to the peer within it.
2. So a frame for a device of the same share goes to the receiving port at once, and one for another share into an
   outbox, which the other share takes over when it begins its next window (deliver). Each share has two sets of
   outboxes and fills them by turns: while one is read the other is written.
3. Frames never overtake each other, so only the head of a wire is an event. A wire is a list of frames from the
   receiving port's in_head on; where it ends, whoever appends knows: within a share the sending port (out_tail), which
   so need not look at the other device's row, and between shares the receiving one (in_tail).
"""

from __future__ import annotations

import numpy as np

from fabric.state import calendar
from fabric.state.codes import INFINITY_PS, LINE
from fabric.state.jit import hot, i64, kernel
from fabric.state.prefetch import prefetch
from fabric.state.types import State

_AHEAD = 12
"""Frames of an outbox whose rows are asked for before they are needed: another processor wrote them last."""
u = np.uint32


@hot
def _hand_over(state: State, port: int, packet: np.uint32) -> None:
    """Append a frame to what flies to the peer of `port`, a device of the same share."""
    row = state.ports[port]
    if row["out_tail"] == 0:
        _lead(state, i64(row["peer_node"]), i64(row["peer"]), packet)
    else:
        state.packets[row["out_tail"]]["next"] = packet
    row["out_tail"] = packet


@hot
def _take_in(state: State, device: int, port: int, packet: np.uint32) -> None:
    """Append a frame that another share sent to what flies towards `port` of `device`."""
    row = state.ports[port]
    if row["in_tail"] == 0:
        _lead(state, device, port, packet)
    else:
        state.packets[row["in_tail"]]["next"] = packet
    row["in_tail"] = packet


@hot
def _lead(state: State, device: int, port: int, packet: np.uint32) -> None:
    """A frame flies towards `port` alone."""
    state.ports[port]["in_head"] = packet
    _expect(state, device, i64(state.ports[port]["index"]), packet)


@kernel
def _hand_over_pause(state: State, device: int, port: int, packet: np.uint32) -> None:
    row = state.ports[port]
    if row["pin_tail"] == 0:
        row["pin_head"] = packet
        _expect(state, device, i64(state.devices[device]["n_ports"]) + i64(row["index"]), packet)
    else:
        state.packets[row["pin_tail"]]["next"] = packet
    row["pin_tail"] = packet


@hot
def _expect(state: State, device: int, source: int, packet: np.uint32) -> None:
    frame, slot = state.packets[packet], state.devices[device]["slot"]
    calendar.schedule(state, device, source, i64(frame["time_ps"]), i64(frame["order"]))
    state.next_ps[slot] = min(i64(state.next_ps[slot]), i64(frame["time_ps"]))


@hot
def _count_at(state: State, sender: int, turn: int, receiver: int) -> int:
    """Index of State.outbox_count; what one share counts in one turn has cache lines of its own."""
    n_threads = state.threads.shape[0]
    return (sender * 2 + turn) * ((n_threads + LINE - 1) // LINE * LINE) + receiver


@hot
def _first_row(state: State, sender: int, turn: int, receiver: int) -> int:
    """Row of State.outbox."""
    return ((sender * 2 + turn) * state.threads.shape[0] + receiver) * i64(state.config[0]["outbox_rows"])


@kernel
def _send_away(state: State, share: int, receiver: int, wire: int, packet: np.uint32) -> None:
    """Leave a frame (wire: 2 * receiving port + is_pause) for another share."""
    mine, time_ps = state.threads[share], i64(state.packets[packet]["time_ps"])
    turn = i64(mine["turn"])
    at = _count_at(state, share, turn, receiver)
    count = i64(state.outbox_count[at])
    row = state.outbox[_first_row(state, share, turn, receiver) + count]
    row["wire"], row["packet"] = wire, packet
    state.outbox_count[at] = count + 1
    mine["sent"] += 1
    mine["earliest_ps"] = min(i64(mine["earliest_ps"]), time_ps)


@hot
def append(state: State, device: int, port: int, packet: np.uint32, time_ps: int) -> None:
    """Put a frame on the wire out of `port`; it takes effect at the peer at time_ps."""
    row, frame, share = state.ports[port], state.packets[packet], state.devices[device]["share"]
    frame["time_ps"] = time_ps
    frame["order"] = calendar.next_order(state)
    frame["next"] = 0
    if row["peer_share"] == share:
        _hand_over(state, port, packet)
    else:
        _send_away(state, i64(share), i64(row["peer_share"]), 2 * i64(row["peer"]), packet)


@kernel
def append_pause(state: State, device: int, port: int, packet: np.uint32, time_ps: int) -> None:
    """As append, for a PFC frame."""
    row, frame, share = state.ports[port], state.packets[packet], state.devices[device]["share"]
    frame["time_ps"] = time_ps
    frame["order"] = calendar.next_order(state)
    frame["next"] = 0
    if row["peer_share"] == share:
        _hand_over_pause(state, i64(row["peer_node"]), i64(row["peer"]), packet)
    else:
        _send_away(state, i64(share), i64(row["peer_share"]), 2 * i64(row["peer"]) + 1, packet)


@kernel
def deliver(state: State, receiver: int, turn: int) -> None:
    """Take over what other shares sent to this one in a window of that turn."""
    for sender in range(state.threads.shape[0]):
        count = i64(state.outbox_count[_count_at(state, sender, turn, receiver)])
        first = _first_row(state, sender, turn, receiver)
        for index in range(first, first + min(count, _AHEAD)):
            prefetch(state.packets, state.outbox[index]["packet"])
        for index in range(first, first + count):
            if index + _AHEAD < first + count:
                prefetch(state.packets, state.outbox[index + _AHEAD]["packet"])
            sent = state.outbox[index]
            port = i64(sent["wire"]) >> 1
            device = i64(state.ports[port]["node"])
            if i64(sent["wire"]) & 1:
                _hand_over_pause(state, device, port, sent["packet"])
            else:
                _take_in(state, device, port, sent["packet"])


@kernel
def open_outboxes(state: State, share: int, turn: int) -> None:
    """Begin a window: what the share filled in its last window of this turn has been taken over."""
    mine = state.threads[share]
    mine["turn"], mine["sent"], mine["earliest_ps"] = turn, 0, INFINITY_PS
    for receiver in range(state.threads.shape[0]):
        state.outbox_count[_count_at(state, share, turn, receiver)] = 0


@kernel
def settle(state: State) -> None:
    """Everything that was sent is taken over: outboxes are empty, as they are whenever no kernel runs."""
    for share in range(state.threads.shape[0]):
        deliver(state, share, i64(state.threads[0]["turn"]))    # the other turn's were taken over a window ago
    for share in range(state.threads.shape[0]):
        for turn in range(2):
            open_outboxes(state, share, turn)


@hot
def pop(state: State, device: int, port: int, source: int) -> np.uint32:
    """Take the frame that has arrived at `port` and schedule the next one."""
    row = state.ports[port]
    packet = row["in_head"]
    head = state.packets[packet]["next"]
    row["in_head"] = head
    if head == 0:
        forget_tail(state, port)
        calendar.schedule(state, device, source, INFINITY_PS, 0)
    else:
        prefetch(state.packets, state.packets[head]["next"])
        calendar.schedule(state, device, source, i64(state.packets[head]["time_ps"]), i64(state.packets[head]["order"]))
    return packet


@hot
def forget_tail(state: State, port: int) -> None:
    """Nothing flies towards `port` any more."""
    row = state.ports[port]
    if row["peer_share"] == state.devices[row["node"]]["share"]:
        state.ports[row["peer"]]["out_tail"] = 0
    else:
        row["in_tail"] = 0


@kernel
def move_tail(state: State, sender: int, together: bool) -> None:
    """Whoever appends to the wire out of `sender` keeps its last frame: the two ends are of one share now, or not."""
    row = state.ports[sender]
    far = state.ports[row["peer"]]
    if together:
        row["out_tail"], far["in_tail"] = far["in_tail"], 0
    else:
        far["in_tail"], row["out_tail"] = row["out_tail"], 0


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
