"""Load balancing: reassign tasks to threads when their lists take unequal times.

A thread that finishes early takes tasks from other lists (epoch), so no thread waits long. But a task that is taken
moves from cache to cache each time. So the times of all tasks are compared every few windows, and the owner of most
work gives a switch with its hosts to the owner of least. Hosts stay with their switch, because most of their traffic is
between them. Sides alternate, so each side is balanced separately: first the switches of one, then those of the other,
with the hosts where their switches are by then. The longest task comes first in a list, so the tasks left for taking
are short.
"""

from __future__ import annotations

from fabric.dataplane.state.compiled.jit import entry, hot, i64, kernel
from fabric.dataplane.state.types import State

_MOST_MOVES = 8
_TOLERANCE = 32
"""Lists that differ by less than this part of all work stay as they are."""


@hot
def sides(state: State) -> int:
    """Two, if every cable joins a device of one side and one of the other; else one. Windows alternate between them."""
    return state.lists.shape[0] // state.threads.shape[0] - 1


@hot
def homed_list(state: State, owner: int) -> int:
    """Row of State.lists: hosts whose cables all lead to a switch of the same thread."""
    return sides(state) * state.threads.shape[0] + owner


@hot
def home_side(state: State) -> int:
    """The side of the hosts in homed lists; -1: there are none."""
    first = i64(state.lists[homed_list(state, 0)]["first"])
    return i64(state.tasks[i64(state.assigned[first])]["side"]) if first < state.assigned.shape[0] else -1


@kernel
def _weigh(state: State) -> None:
    """The time of every task, and of every family: the sum over its tasks on its switch's side.

    A thread that lost its processor shows a time without work, so no task counts as more than twice as slow as usual.
    Usual is the harmonic mean of the time per event, which a few slow tasks hardly change.
    """
    events, at_own_pace = 0.0, 0.0
    for task in range(state.tasks.shape[0]):
        work = state.tasks[task]
        events += i64(work["events"])
        at_own_pace += 1.0 * i64(work["events"]) * i64(work["events"]) / max(i64(work["ticks"]), 1)
        work["load"] = 0
    most = 2 * events / max(at_own_pace, 1e-9)
    for task in range(state.tasks.shape[0]):
        work = state.tasks[task]
        family = state.tasks[i64(work["family"])]
        work["ticks"] = min(i64(work["ticks"]), i64(most * i64(work["events"])))
        if family["side"] == work["side"]:
            family["load"] += work["ticks"]


@kernel
def _weigh_lists(state: State, side: int) -> None:
    """The time of the lists of one side, with hosts on the list of their switch."""
    first = side * state.threads.shape[0]
    for owner in range(state.threads.shape[0]):
        state.lists[first + owner]["load"] = 0
    for task in range(state.tasks.shape[0]):
        work = state.tasks[task]
        if i64(work["side"]) == side:
            state.lists[first + i64(state.tasks[i64(work["family"])]["owner"])]["load"] += work["ticks"]


@kernel
def _hand_over(state: State, family: int, to: int) -> None:
    """Give a family to another owner; its tasks follow when lists are written."""
    work = state.tasks[family]
    first = i64(work["side"]) * state.threads.shape[0]
    state.lists[first + i64(work["owner"])]["load"] -= work["load"]
    state.lists[first + to]["load"] += work["load"]
    work["owner"] = to


@kernel
def _best_family(state: State, side: int, owner: int, wanted: int) -> int:
    """The family whose load is nearest to `wanted` and below twice that; or -1."""
    best, best_off = -1, wanted
    for task in range(state.tasks.shape[0]):
        work = state.tasks[task]
        if i64(work["owner"]) == owner and i64(work["family"]) == task and i64(work["side"]) == side:
            off = abs(i64(work["load"]) - wanted)
            if off < best_off:
                best, best_off = task, off
    return best


@kernel
def _even_out(state: State, side: int) -> int:
    """Move families whose switch is on this side from the owner of most work to that of least; returns how many."""
    n_threads = state.threads.shape[0]
    for moves in range(_MOST_MOVES):
        most, least, most_load, least_load, total = 0, 0, -1, 1 << 62, 0
        for owner in range(n_threads):
            load = i64(state.lists[side * n_threads + owner]["load"])
            total += load
            if load > most_load:
                most, most_load = owner, load
            if load < least_load:
                least, least_load = owner, load
        family = -1
        if (most_load - least_load) * _TOLERANCE > total:
            family = _best_family(state, side, most, (most_load - least_load) // 2)
        if family < 0:
            return moves
        _hand_over(state, family, least)
    return _MOST_MOVES


@kernel
def list_tasks(state: State) -> None:
    """Write State.assigned without the homed lists: for each side, each owner's tasks."""
    place, n_threads = 0, state.threads.shape[0]
    for row in range(homed_list(state, 0)):
        first = place
        for task in range(state.tasks.shape[0]):
            work = state.tasks[task]
            owner = i64(state.tasks[i64(work["family"])]["owner"])
            if work["homed"] == 0 and i64(work["side"]) * n_threads + owner == row:
                work["owner"] = owner
                state.assigned[place] = task
                place += 1
        state.lists[row]["first"] = first
        state.lists[row]["count"] = place - first


@kernel
def _longest_first(state: State) -> None:
    """Order every list by the time of its tasks, roughly: a task passes another one only if it took an eighth longer,
    so that noise moves nothing and an ordered list costs little.
    """
    for row in range(homed_list(state, 0)):
        first = i64(state.lists[row]["first"])
        for end in range(first + 1, first + i64(state.lists[row]["count"])):
            task, place = i64(state.assigned[end]), end
            longer = i64(state.tasks[task]["ticks"]) * 7 // 8
            while place > first and i64(state.tasks[i64(state.assigned[place - 1])]["ticks"]) < longer:
                state.assigned[place] = state.assigned[place - 1]
                place -= 1
            state.assigned[place] = task


@kernel
def _list_homed(state: State, side: int) -> None:
    """Write the homed lists of hosts of one side, in the order of their switches."""
    n_threads, place = state.threads.shape[0], i64(state.lists[homed_list(state, 0)]["first"])
    for owner in range(n_threads):
        switches, mine = state.lists[(1 - side) * n_threads + owner], state.lists[homed_list(state, owner)]
        mine["first"] = place
        for at in range(i64(switches["first"]), i64(switches["first"]) + i64(switches["count"])):
            family = i64(state.assigned[at])
            task = family + 1
            while task < state.tasks.shape[0] and i64(state.tasks[task]["family"]) == family:
                if state.tasks[task]["homed"]:
                    state.tasks[task]["owner"] = owner
                    state.assigned[place] = task
                    place += 1
                task += 1
        mine["count"] = place - i64(mine["first"])


@kernel
def rebalance(state: State) -> None:
    """Assign owners to tasks and order the lists by the times since the last call."""
    side_of_hosts, moves = home_side(state), 0
    _weigh(state)
    for side in range(sides(state)):
        _weigh_lists(state, side)
        moves += _even_out(state, side)
    if moves > 0:
        list_tasks(state)
    _longest_first(state)
    if side_of_hosts >= 0:
        _list_homed(state, side_of_hosts)
    for task in range(state.tasks.shape[0]):
        state.tasks[task]["ticks"] = state.tasks[task]["events"] = 0


@entry
def balance_tasks(state: State) -> None:
    """rebalance() for callers in Python."""
    rebalance(state)
