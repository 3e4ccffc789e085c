"""A cable, one direction: the sender appends frames, the receiver takes them over before the next window.

Rules
1. A frame takes effect at the peer `arrival_delay_ps` after the end of its serialisation (flow-control frames:
   `pause_delay_ps`). Both are at least the lookahead, so a frame sent in a window has no effect at the peer within it.
2. The frames that a wire gets in a window form a list, and one row in the inbox of the receiver's task names its first
   frame. The thread that simulates that task in the next window appends the list to the frames in flight. This costs
   one row for each wire and window, not for each frame, and the thread that reads the packet rows next loads them.
3. Every thread writes only its own part of each inbox. There are two sets of parts; windows use them alternately.
   Counts carry the number of their window, so no reset is needed. A set is written again only after it was read: its
   senders wait for the reading task, for all lists (engine/parallel/epoch), or, where the task is hosts that only their
   switch sends to, until the owner of the hosts is done with them.
4. Frames never overtake each other, so only the head of a wire is an event. The frame that the sender sent last is the
   last one in flight, if any is in flight.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state import calendar, telemetry
from fabric.dataplane.state.codes import INFINITY_PS, LINE
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.compiled.prefetch import prefetch
from fabric.dataplane.state.types import State

_COUNT_BITS, _COUNT = 24, (1 << 24) - 1
"""A count: number of the window and, in the low bits, rows."""


@hot
def _part(state: State, window: int, thread: int) -> int:
    """Part of every inbox that a thread fills in a window."""
    return (window & 1) * state.threads.shape[0] + thread


@hot
def _counts(state: State, part: int) -> int:
    """First word of State.inbox_count for a part. The counts of each part have their own cache lines."""
    return part * ((state.tasks.shape[0] + LINE - 1) // LINE * LINE)


@kernel
def _announce(state: State, device: int, port: int, is_control: int, packet: np.uint32, before: np.uint32) -> None:
    """Announce the first frame of a wire in this window to the receiver's task."""
    own, wire = state.threads[state.devices[device]["thread"]], state.wires[port]
    at, window = i64(own["count_base"]) + i64(wire["task"]), i64(own["window"])
    count = i64(state.inbox_count[at])
    if count >> _COUNT_BITS != window:
        count = window << _COUNT_BITS
    entry = state.inbox[i64(own["inbox_base"]) + i64(wire["inbox"]) + (count & _COUNT)]
    entry["wire"], entry["first"], entry["before"] = 2 * i64(wire["port"]) + is_control, packet, before
    state.inbox_count[at] = count + 1
    own["sent_ps"] = min(i64(own["sent_ps"]), i64(state.packets[packet]["time_ps"]))


@hot
def append(state: State, device: int, port: int, packet: np.uint32, time_ps: int) -> None:
    """Put a frame on the wire of `port`; it takes effect at the peer at time_ps."""
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
def append_control(state: State, device: int, port: int, packet: np.uint32, time_ps: int) -> None:
    """As append, for a flow-control frame."""
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
        if telemetry.is_carried(state):
            telemetry.expect(state, i64(row["node"]), first)
        _expect(state, i64(row["node"]), i64(row["index"]), first)
    else:
        state.packets[before]["next"] = first


@kernel
def _take_in_control(state: State, port: int, first: np.uint32, before: np.uint32) -> None:
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
    """Whether a frame was sent to a task in a window."""
    for thread in range(state.threads.shape[0]):
        if _count(state, task, _part(state, window, thread), window) > 0:
            return True
    return False


@kernel
def prefetch_inbox(state: State, task: int, window: int) -> None:
    """Prefetch the first frame of each list for a task: they come from memory or from another processor. Without it
    one thread takes 4 % longer.
    """
    for thread in range(state.threads.shape[0]):
        part = _part(state, window, thread)
        begin = _begin(state, task, part)
        for place in range(begin, begin + _count(state, task, part, window)):
            prefetch(state.packets, state.inbox[place]["first"])


@kernel
def take_over(state: State, task: int, window: int) -> None:
    """Append the frames that all threads sent to a task in a window to the frames in flight at its ports."""
    for thread in range(state.threads.shape[0]):
        part = _part(state, window, thread)
        begin = _begin(state, task, part)
        for place in range(begin, begin + _count(state, task, part, window)):
            entry = state.inbox[place]
            prefetch(state.packets, state.packets[entry["first"]]["next"])
            if i64(entry["wire"]) & 1:
                _take_in_control(state, i64(entry["wire"]) >> 1, entry["first"], entry["before"])
            else:
                _take_in(state, i64(entry["wire"]) >> 1, entry["first"], entry["before"])


@kernel
def join(state: State, thread: int, window: int) -> None:
    """A thread begins a window."""
    own, part = state.threads[thread], _part(state, window, thread)
    own["window"], own["earliest_ps"], own["sent_ps"] = window, INFINITY_PS, INFINITY_PS
    own["count_base"], own["inbox_base"] = _counts(state, part), part * i64(state.config[0]["inbox_rows"])


@hot
def seen(state: State, window: int, thread: int) -> int:
    """TASK.seen: the window in which a thread took over the frames of the window before, and that thread. One word, so
    that a concurrent reader sees both or neither.
    """
    return window * state.threads.shape[0] + thread


@hot
def enter(state: State, device: int) -> None:
    """Prepare a device for sending: its earlier frames were taken over, unless it sent them in this window."""
    state.devices[device]["window"] = state.threads[state.devices[device]["thread"]]["window"]


@kernel
def settle(state: State) -> None:
    """Take over all frames sent, as holds whenever no kernel runs, and begin a new window.

    Where a thread has stopped, others may be two windows ahead of it.
    """
    n_threads, last = state.threads.shape[0], 0
    for thread in range(n_threads):
        last = max(last, i64(state.threads[thread]["window"]))
    for task in range(state.tasks.shape[0]):
        for window in range(max(last - 2, i64(state.tasks[task]["seen"]) // n_threads), last + 1):
            take_over(state, task, window)
        state.tasks[task]["seen"] = seen(state, last + 1, 0)
    for thread in range(n_threads):
        join(state, thread, last + 1)


@hot
def pop(state: State, device: int, port: int, source: int) -> np.uint32:
    """Take the frame that has arrived at `port` and schedule the next one."""
    row = state.ports[port]
    packet = row["in_head"]
    head = state.packets[packet]["next"]
    row["in_head"] = head
    if telemetry.is_carried(state):
        # This frame's again: prefetched many events ago, they are often no longer in the first-level cache.
        telemetry.expect(state, device, packet)
        telemetry.expect(state, device, head)
    if head == 0:
        calendar.schedule(state, device, source, INFINITY_PS, 0)
    else:
        prefetch(state.packets, state.packets[head]["next"])
        calendar.schedule(state, device, source, i64(state.packets[head]["time_ps"]), i64(state.packets[head]["order"]))
    return packet


@kernel
def pop_control(state: State, device: int, port: int, source: int) -> np.uint32:
    """As pop, for flow-control frames."""
    row = state.ports[port]
    packet = row["pin_head"]
    head = state.packets[packet]["next"]
    row["pin_head"] = head
    if head == 0:
        calendar.schedule(state, device, source, INFINITY_PS, 0)
    else:
        calendar.schedule(state, device, source, i64(state.packets[head]["time_ps"]), i64(state.packets[head]["order"]))
    return packet
