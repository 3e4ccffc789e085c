"""Whose tasks are whose: owners change when lists have grown unequal.

Within a window whoever is done early takes tasks from others (engine/loop), so nobody waits long for anybody. But what
is taken must follow from cache to cache, each time. So every few windows the times of all tasks are compared, and the
owner of most gives a switch with its hosts to the owner of least: hosts stay with their switch, because most of what
they send and hear is between them.
"""

from __future__ import annotations

from fabric.state.jit import entry, i64, kernel
from fabric.state.types import State

_MOST_MOVES = 8
_TOLERANCE = 32
"""Lists that differ by less than this part of all work stay as they are."""


@kernel
def _weigh(state: State) -> None:
    """How long every family took.

    A thread that lost its processor took long for nothing; so no task counts as more than twice as slow as is usual,
    which is the harmonic mean of the time an event took: a few slow ones hardly move it.
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
        family["load"] += min(i64(work["ticks"]), i64(most * i64(work["events"])))
        work["ticks"] = work["events"] = 0


@kernel
def _load(state: State, owner: int) -> int:
    load = 0
    for task in range(state.tasks.shape[0]):
        if i64(state.tasks[task]["owner"]) == owner:
            load += i64(state.tasks[task]["load"])
    return load


@kernel
def _best_family(state: State, owner: int, wanted: int) -> int:
    """The family whose load comes nearest to `wanted`, and below twice that; or -1."""
    best, best_off = -1, wanted
    for task in range(state.tasks.shape[0]):
        work = state.tasks[task]
        if i64(work["owner"]) == owner and i64(work["family"]) == task:
            off = abs(i64(work["load"]) - wanted)
            if off < best_off:
                best, best_off = task, off
    return best


@kernel
def list_tasks(state: State) -> None:
    """Write State.dealt: each owner's switches first, then its hosts, which are less work apiece."""
    place = 0
    for owner in range(state.threads.shape[0]):
        first = place
        for of_hosts in range(2):
            for task in range(state.tasks.shape[0]):
                family = i64(state.tasks[task]["family"])
                if i64(state.tasks[family]["owner"]) == owner and of_hosts == (family != task):
                    state.tasks[task]["owner"] = owner
                    state.dealt[place] = task
                    place += 1
        state.threads[owner]["first"] = first
        state.threads[owner]["count"] = place - first


@kernel
def deal_anew(state: State) -> None:
    """Even out the lists by the time that tasks took since the last call."""
    _weigh(state)
    n_threads, moves = state.threads.shape[0], 0
    for _ in range(_MOST_MOVES):
        most, least, most_load, least_load, total = 0, 0, -1, 1 << 62, 0
        for owner in range(n_threads):
            load = _load(state, owner)
            total += load
            if load > most_load:
                most, most_load = owner, load
            if load < least_load:
                least, least_load = owner, load
        if (most_load - least_load) * _TOLERANCE <= total:
            break
        family = _best_family(state, most, (most_load - least_load) // 2)
        if family < 0:
            break
        state.tasks[family]["owner"] = least
        moves += 1
    if moves > 0:
        list_tasks(state)


@entry
def deal_tasks(state: State) -> None:
    """deal_anew() from outside a run."""
    deal_anew(state)
