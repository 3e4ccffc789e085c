"""Who plays what: tasks change hands when shares have grown unequal.

Work moves through a fabric as messages begin and end, and a window is over when the last share is. So every few windows
the times of each task are compared, and whoever had most gives a task to whoever had least. Few tasks move: where a
task goes its rows must follow from cache to cache.
"""

from __future__ import annotations

from fabric.port import wire
from fabric.state.jit import entry, i64, kernel
from fabric.state.types import State

_MOST_MOVES = 8
_TOLERANCE = 32
"""Shares that differ by less than this part of all work stay as they are."""


@kernel
def _load(state: State, share: int) -> int:
    row, events = state.threads[share], 0
    for index in range(i64(row["first"]), i64(row["first"]) + i64(row["count"])):
        events += i64(state.tasks[i64(state.dealt[index])]["load"])
    return events


@kernel
def _is_behind(state: State, task: int, horizon_ps: int) -> bool:
    """Whether a device of a task was stopped before the horizon, perhaps between two events of one moment."""
    work = state.tasks[task]
    for slot in range(i64(work["first"]), i64(work["first"]) + i64(work["count"])):
        if state.next_ps[slot] < horizon_ps:
            return True
    return False


@kernel
def _best_task(state: State, share: int, wanted: int, horizon_ps: int) -> int:
    """Place in State.dealt of a share's task whose events come nearest to `wanted`, and below twice that; or -1.

    What is behind stays: the log keeps the order of one moment within a share only.
    """
    row, best, best_off = state.threads[share], -1, wanted
    for index in range(i64(row["first"]), i64(row["first"]) + i64(row["count"])):
        task = i64(state.dealt[index])
        off = abs(i64(state.tasks[task]["load"]) - wanted)
        if off < best_off and not _is_behind(state, task, horizon_ps):
            best, best_off = index, off
    return best


@kernel
def move_task(state: State, place: int, giver: int, taker: int) -> None:
    """A task of one share becomes another's. Outboxes must be empty."""
    task = i64(state.dealt[place])
    step = 1 if giver < taker else -1
    for share in range(giver, taker, step):
        # The task goes to the edge of its share, and the border moves past it.
        row, other = state.threads[share], state.threads[share + step]
        edge = i64(row["first"]) + i64(row["count"]) - 1 if step > 0 else i64(row["first"])
        state.dealt[place] = state.dealt[edge]
        state.dealt[edge] = task
        row["count"] = i64(row["count"]) - 1
        other["count"] = i64(other["count"]) + 1
        if step > 0:
            other["first"] = i64(other["first"]) - 1
        else:
            row["first"] = i64(row["first"]) + 1
        place = edge
    moved = state.tasks[task]
    for slot in range(i64(moved["first"]), i64(moved["first"]) + i64(moved["count"])):
        _give_device(state, i64(state.roster[slot]), taker)


@kernel
def _give_device(state: State, device: int, taker: int) -> None:
    row = state.devices[device]
    for port in range(i64(row["first_port"]), i64(row["first_port"]) + i64(row["n_ports"])):
        other = i64(state.ports[port]["peer_share"])
        peer = i64(state.ports[port]["peer"])
        if (other == taker) != (other == row["share"]):
            wire.move_tail(state, port, other == taker)
            wire.move_tail(state, peer, other == taker)
        state.ports[peer]["peer_share"] = taker
    row["share"] = taker


@kernel
def _weigh(state: State) -> None:
    """Turn the events of every task into time: events differ, and so do processors.

    A thread that lost its processor for a while took long for nothing; so nobody counts as more than a quarter faster
    or slower than all together.
    """
    n_threads, ticks, events = state.threads.shape[0], 0, 0
    for share in range(n_threads):
        ticks += i64(state.threads[share]["played_ticks"])
        events += _load(state, share)
    mean = ticks // max(events, 1)
    for share in range(n_threads):
        row = state.threads[share]
        own = i64(row["played_ticks"]) // max(_load(state, share), 1)
        per_event = max(min(own, mean + mean // 4), mean - mean // 4)
        for index in range(i64(row["first"]), i64(row["first"]) + i64(row["count"])):
            state.tasks[i64(state.dealt[index])]["load"] *= per_event
        row["played_ticks"] = 0


@kernel
def deal_anew(state: State, horizon_ps: int) -> None:
    """Even out the shares by the time that their tasks took since the last call.

    horizon_ps: where the last window ended; what has events before it was stopped there for want of room.
    """
    wire.settle(state)      # what waits for a device must not wait where it no longer belongs
    _weigh(state)
    n_threads = state.threads.shape[0]
    for _ in range(_MOST_MOVES):
        most, least, most_load, least_load, total = 0, 0, -1, 1 << 62, 0
        for share in range(n_threads):
            load = _load(state, share)
            total += load
            if load > most_load:
                most, most_load = share, load
            if load < least_load:
                least, least_load = share, load
        if (most_load - least_load) * _TOLERANCE <= total:
            break
        place = _best_task(state, most, (most_load - least_load) // 2, horizon_ps)
        if place < 0:
            break
        move_task(state, place, most, least)
    for task in range(state.tasks.shape[0]):
        state.tasks[task]["load"] = 0


@kernel
def _owner(state: State, place: int) -> int:
    """The share that a place of State.dealt belongs to."""
    share = 0
    while place >= i64(state.threads[share]["first"]) + i64(state.threads[share]["count"]):
        share += 1
    return share


@entry
def gather(state: State, share: int) -> None:
    """Give all tasks to one share; to -1: to where they were at first. Between calls of play()."""
    wire.settle(state)
    for task in range(state.tasks.shape[0]):
        place = 0
        while i64(state.dealt[place]) != task:
            place += 1
        giver, taker = _owner(state, place), share
        if share < 0:
            taker = i64(state.tasks[task]["home"])
        if giver != taker:
            move_task(state, place, giver, taker)


@entry
def deal_tasks(state: State, horizon_ps: int) -> None:
    """deal_anew() from outside a run; horizon 0 where nothing is behind."""
    deal_anew(state, horizon_ps)
