"""A cable, one direction: a sender appends, and before the next window the receiver takes over what was appended.

Rules
1. A frame put on a wire at the end of its serialisation takes effect at the peer `arrival_delay_ps` later (PFC:
   `pause_delay_ps`), both at least the lookahead: nothing appended in a window matters to the peer within it.
2. So what a wire gets in a window becomes a list of its own, and one row in the inbox of the receiver's task names its
   first frame. Whoever plays that task in the next window appends the list to what flies already: once a wire and
   window, not once a frame, and by the thread that needs the rows next.
3. Nobody else writes what a thread writes: an inbox has a part for each player. Each has two sets of parts and fills
   them by turns. Counts carry the number of their window, so nobody resets them. A task's rows of one set are read
   before anybody may write there again, because who sends to it waits for it: for all lists (engine/stretch), or, if
   these are homed hosts, to which only their switch sends, until their owner is done with them.
4. Frames never overtake each other, so only the head of a wire is an event, and what the sender sent last before is
   what flies last, if anything does.
"""

from __future__ import annotations

import numpy as np

from fabric.state import calendar
from fabric.state.codes import INFINITY_PS, LINE
from fabric.state.jit import hot, i64, kernel
from fabric.state.prefetch import prefetch
from fabric.state.types import State

_COUNT_BITS, _COUNT = 24, (1 << 24) - 1
"""A count: number of the window and, in the low bits, rows."""


@hot
def _part(state: State, window: int, player: int) -> int:
    """Which part of every inbox a player fills in a window."""
    return (window & 1) * state.threads.shape[0] + player


@hot
def _counts(state: State, part: int) -> int:
    """First word of State.inbox_count; what one player counts in one turn has cache lines of its own."""
    return part * ((state.tasks.shape[0] + LINE - 1) // LINE * LINE)


@kernel
def _announce(state: State, device: int, port: int, is_pause: int, packet: np.uint32, before: np.uint32) -> None:
    """The first frame of a wire in this window: tell the receiver's task."""
    mine, wire = state.threads[state.devices[device]["player"]], state.wires[port]
    at, window = i64(mine["count_base"]) + i64(wire["task"]), i64(mine["window"])
    count = i64(state.inbox_count[at])
    if count >> _COUNT_BITS != window:
        count = window << _COUNT_BITS
    sent = state.inbox[i64(mine["inbox_base"]) + i64(wire["inbox"]) + (count & _COUNT)]
    sent["wire"], sent["first"], sent["before"] = 2 * i64(wire["port"]) + is_pause, packet, before
    state.inbox_count[at] = count + 1
    mine["sent_ps"] = min(i64(mine["sent_ps"]), i64(state.packets[packet]["time_ps"]))


@hot
def append(state: State, device: int, port: int, packet: np.uint32, time_ps: int) -> None:
    """Put a frame on the wire out of `port`; it takes effect at the peer at time_ps."""
    row, frame, window = state.ports[port], state.packets[packet], state.devices[device]["window"]
    frame["time_ps"] = time_ps
    frame["order"] = calendar.next_order(state, time_ps)
    frame["next"] = 0
    if row["out_window"] == window:
        state.packets[row["out_tail"]]["next"] = packet
    else:
        row["out_window"] = window
        _announce(state, device, port, 0, packet, row["out_tail"])
    row["out_tail"] = packet


@kernel
def append_pause(state: State, device: int, port: int, packet: np.uint32, time_ps: int) -> None:
    """As append, for a PFC frame."""
    row, frame, window = state.ports[port], state.packets[packet], state.devices[device]["window"]
    frame["time_ps"] = time_ps
    frame["order"] = calendar.next_order(state, time_ps)
    frame["next"] = 0
    if row["pout_window"] == window:
        state.packets[row["pout_tail"]]["next"] = packet
    else:
        row["pout_window"] = window
        _announce(state, device, port, 1, packet, row["pout_tail"])
    row["pout_tail"] = packet


@hot
def _take_in(state: State, port: int, first: np.uint32, before: np.uint32) -> None:
    row = state.ports[port]
    if row["in_head"] == 0:
        row["in_head"] = first
        _expect(state, i64(row["node"]), i64(row["index"]), first)
    else:
        state.packets[before]["next"] = first


@kernel
def _take_in_pause(state: State, port: int, first: np.uint32, before: np.uint32) -> None:
    row = state.ports[port]
    if row["pin_head"] == 0:
        row["pin_head"] = first
        device = i64(row["node"])
        _expect(state, device, i64(state.devices[device]["n_ports"]) + i64(row["index"]), first)
    else:
        state.packets[before]["next"] = first


@hot
def _expect(state: State, device: int, source: int, packet: np.uint32) -> None:
    frame, slot = state.packets[packet], state.devices[device]["slot"]
    calendar.schedule(state, device, source, i64(frame["time_ps"]), i64(frame["order"]))
    state.next_ps[slot] = min(i64(state.next_ps[slot]), i64(frame["time_ps"]))


@hot
def _count(state: State, task: int, part: int, window: int) -> int:
    """Rows that a part of a task's inbox got in a window."""
    count = i64(state.inbox_count[_counts(state, part) + task])
    return count & _COUNT if count >> _COUNT_BITS == window else 0


@hot
def _begin(state: State, task: int, part: int) -> int:
    """First row of a part of a task's inbox."""
    return part * i64(state.config[0]["inbox_rows"]) + i64(state.tasks[task]["inbox"])


@hot
def anything_for(state: State, task: int, window: int) -> bool:
    """Whether anything was sent to a task in a window."""
    for player in range(state.threads.shape[0]):
        if _count(state, task, _part(state, window, player), window) > 0:
            return True
    return False


@kernel
def ask_ahead(state: State, task: int, window: int) -> None:
    """Ask the processor for the first frames that wires to a task got in a window, to be there when it is played: they
    come from memory, or from another processor. Without it one thread takes 4 % longer.
    """
    for player in range(state.threads.shape[0]):
        part = _part(state, window, player)
        begin = _begin(state, task, part)
        for place in range(begin, begin + _count(state, task, part, window)):
            prefetch(state.packets, state.inbox[place]["first"])


@kernel
def take_over(state: State, task: int, window: int) -> None:
    """Let a task's ports have what was sent to them in a window, whoever played the senders."""
    for player in range(state.threads.shape[0]):
        part = _part(state, window, player)
        begin = _begin(state, task, part)
        for place in range(begin, begin + _count(state, task, part, window)):
            sent = state.inbox[place]
            prefetch(state.packets, state.packets[sent["first"]]["next"])
            if i64(sent["wire"]) & 1:
                _take_in_pause(state, i64(sent["wire"]) >> 1, sent["first"], sent["before"])
            else:
                _take_in(state, i64(sent["wire"]) >> 1, sent["first"], sent["before"])


@kernel
def join(state: State, player: int, window: int) -> None:
    """A player begins a window."""
    mine, part = state.threads[player], _part(state, window, player)
    mine["window"], mine["earliest_ps"], mine["sent_ps"] = window, INFINITY_PS, INFINITY_PS
    mine["count_base"], mine["inbox_base"] = _counts(state, part), part * i64(state.config[0]["inbox_rows"])


@hot
def seen(state: State, window: int, player: int) -> int:
    """TASK.seen: in that window this player took over what was sent in the one before. One word, so that who reads it
    meanwhile reads no half of it.
    """
    return window * state.threads.shape[0] + player


@hot
def enter(state: State, device: int) -> None:
    """A device is about to send: what it has sent before was taken over, unless it was in this window."""
    state.devices[device]["window"] = state.threads[state.devices[device]["player"]]["window"]


@kernel
def settle(state: State) -> None:
    """Everything that was sent is taken over, as it is whenever no kernel runs; what is sent from now on is new.

    Where a thread has stopped, others may be two windows ahead of it.
    """
    n_threads, last = state.threads.shape[0], 0
    for player in range(n_threads):
        last = max(last, i64(state.threads[player]["window"]))
    for task in range(state.tasks.shape[0]):
        for window in range(max(last - 2, i64(state.tasks[task]["seen"]) // n_threads), last + 1):
            take_over(state, task, window)
        state.tasks[task]["seen"] = seen(state, last + 1, 0)
    for player in range(n_threads):
        join(state, player, last + 1)


@hot
def pop(state: State, device: int, port: int, source: int) -> np.uint32:
    """Take the frame that has arrived at `port` and schedule the next one."""
    row = state.ports[port]
    packet = row["in_head"]
    head = state.packets[packet]["next"]
    row["in_head"] = head
    if head == 0:
        calendar.schedule(state, device, source, INFINITY_PS, 0)
    else:
        prefetch(state.packets, state.packets[head]["next"])
        calendar.schedule(state, device, source, i64(state.packets[head]["time_ps"]), i64(state.packets[head]["order"]))
    return packet


@kernel
def pop_pause(state: State, device: int, port: int, source: int) -> np.uint32:
    """As pop, for PFC frames."""
    row = state.ports[port]
    packet = row["pin_head"]
    head = state.packets[packet]["next"]
    row["pin_head"] = head
    if head == 0:
        calendar.schedule(state, device, source, INFINITY_PS, 0)
    else:
        calendar.schedule(state, device, source, i64(state.packets[head]["time_ps"]), i64(state.packets[head]["order"]))
    return packet
