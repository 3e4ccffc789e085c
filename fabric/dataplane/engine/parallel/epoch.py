"""An epoch: a batch of windows that several threads simulate with few waits for each other.

Within an epoch horizons are one lookahead apart. That is safe after any window, so threads need not agree on a horizon.
1. A list is a thread's own tasks of one side. A thread that has finished its list takes tasks from the end of other
   lists that are open, and reports the window whose list it has finished. No thread begins the list of a window before
   all have finished the list of the window before.
2. Hosts whose cables all lead to one switch depend on that switch only. They are on no list: their owner simulates half
   of them before it checks the progress of the others, and half after its own list. So the others may be late by
   that much before a thread waits. A host whose switch another thread has taken is left to the second half.
3. A thread that stops, because a table is full, reports it, and all end with their present list. Neighbours' clocks
   then differ by one lookahead at most, so no simulated event depends on a missing one. wire.settle() takes over the
   frames that were sent.
4. A worker that misses the start of an epoch is skipped; the coordinator runs its tasks.
"""

from __future__ import annotations

from fabric.dataplane.engine.parallel.balancing import home_side, homed_list, sides
from fabric.dataplane.engine.parallel.payoff import is_unprofitable
from fabric.dataplane.engine.parallel.spinning import ticks, yield_processor
from fabric.dataplane.engine.parallel.task import run_task
from fabric.dataplane.port import wire
from fabric.dataplane.state.codes import LINE, N_MAIL, N_SHARED, Mail, Stop
from fabric.dataplane.state.compiled.atomic import load_acquire, replace_if, store_release
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State

_NONE = int(Stop.NONE)
_ORDER, _UNCLAIMED, _DONE = int(Mail.ORDER), int(Mail.UNCLAIMED), int(Mail.DONE)
_FIRST, _WINDOWS, _HORIZON, _BOUND, _GO = 1, 2, 3, 4, 5
"""Words of an order, behind the ticket: the epoch's first window, number of windows, end of the first, end of all; the
ticket once the participants are known."""
_RAN, _EVENTS, _SENT, _STOP = 1, 2, 3, 4
"""Words behind the finished window: the finished ticket, and its results."""
_PLACE_BITS, _PLACES = 20, (1 << 20) - 1
_WINDOW_BITS, _WINDOW = 2 * _PLACE_BITS, (1 << 23) - 1
"""A range of State.assigned in one word: window, first place, end."""
_SPINS_PER_YIELD = 64
"""Spins on a word before the processor is yielded once."""
_JOIN_SPINS_PER_YIELD = 1024
"""As _SPINS_PER_YIELD, while workers are expected to join."""


@hot
def mail(thread: int, line: int) -> int:
    """First word of one of a thread's places in State.shared."""
    return (N_SHARED + N_MAIL * thread + line) * LINE


@hot
def list_of(state: State, window: int, owner: int) -> int:
    """Row of State.lists: a thread's own tasks of the side that a window simulates."""
    return window % sides(state) * state.threads.shape[0] + owner


@hot
def _runner_of(state: State, owner: int) -> int:
    """The thread that runs the lists of an owner: the coordinator for an absent worker."""
    return owner if state.threads[owner]["present"] else 0


@kernel
def open_list(state: State, window: int, owner: int) -> None:
    """Open a thread's list: its tasks may be claimed."""
    tasks = state.lists[list_of(state, window, owner)]
    first = i64(tasks["first"])
    places = first << _PLACE_BITS | first + i64(tasks["count"])
    store_release(state.shared, mail(owner, _UNCLAIMED), (window & _WINDOW) << _WINDOW_BITS | places)


@kernel
def claim(state: State, window: int, owner: int, from_end: bool) -> int:
    """Claim a task of a thread's list; returns its place in State.assigned, or -1: none is left."""
    unclaimed = mail(owner, _UNCLAIMED)
    while True:
        word = load_acquire(state.shared, unclaimed)
        place, end = word >> _PLACE_BITS & _PLACES, word & _PLACES
        if place == end or word >> _WINDOW_BITS != window & _WINDOW:
            return -1
        if from_end:
            if replace_if(state.shared, unclaimed, word, word - 1):
                return end - 1
        elif replace_if(state.shared, unclaimed, word, word + (1 << _PLACE_BITS)):
            return place


@kernel
def _run_timed(state: State, thread: int, task: int, horizon_ps: int, began: int) -> int:
    """Simulate a task and add its time, from the tick `began` on; returns the tick of its end."""
    events = run_task(state, thread, task, horizon_ps)
    now = ticks()
    state.tasks[task]["ticks"] += now - began
    state.tasks[task]["events"] += events
    state.threads[thread]["events"] += events
    return now


@kernel
def _run_lists(state: State, thread: int, window: int, horizon_ps: int) -> None:
    """Simulate tasks of a window's lists, the thread's own first, until none is left."""
    n_threads, began = state.threads.shape[0], ticks()
    for owner in range(n_threads):
        if _runner_of(state, owner) == thread:
            open_list(state, window, owner)
    for step in range(n_threads):
        owner = (thread + step) % n_threads
        tasks = state.lists[list_of(state, window, owner)]
        own, end = _runner_of(state, owner) == thread, i64(tasks["first"]) + i64(tasks["count"])
        place = claim(state, window, owner, not own)
        if place >= 0 and own:
            wire.prefetch_inbox(state, i64(state.assigned[place]), window - 1)
        while place >= 0:
            task = i64(state.assigned[place])
            if not own:
                wire.prefetch_inbox(state, task, window - 1)
            elif place + 1 < end:
                wire.prefetch_inbox(state, i64(state.assigned[place + 1]), window - 1)
            began = _run_timed(state, thread, task, horizon_ps, began)
            place = claim(state, window, owner, not own)


@kernel
def _run_homed(state: State, thread: int, owner: int, window: int, begin: int, early: bool, horizon_ps: int) -> int:
    """Simulate hosts of a homed list from a place on: the rest, or if `early` those of the first half whose switches
    this thread simulated in the window before; returns the place after the last.
    """
    tasks, began = state.lists[homed_list(state, owner)], ticks()
    first, count = i64(tasks["first"]), i64(tasks["count"])
    end = count // 2 if early else count
    for at in range(begin, end):
        task = i64(state.assigned[first + at])
        if early and i64(state.tasks[i64(state.tasks[task]["family"])]["seen"]) != wire.seen(state, window - 1, thread):
            return at
        if at + 1 < end:
            wire.prefetch_inbox(state, i64(state.assigned[first + at + 1]), window - 1)
        began = _run_timed(state, thread, task, horizon_ps, began)
    return end


@kernel
def _spin_until(state: State, place: int, word: int) -> None:
    """Spin until a word of State.shared has this value."""
    spun = 0
    while load_acquire(state.shared, place) != word:
        spun += 1
        if spun % _SPINS_PER_YIELD == 0:
            yield_processor()


@kernel
def _all_have_run(state: State, thread: int, window: int) -> bool:
    """Spin until all threads have finished a window's list; False if one has stopped."""
    going, row = True, state.threads[thread]
    for other in range(state.threads.shape[0]):
        if other != thread and state.threads[other]["present"]:
            done = mail(other, _DONE)
            word = load_acquire(state.shared, done)
            if word < window << 1:
                began, spun = ticks(), 0
                while word < window << 1 and not word & 1:
                    spun += 1
                    if spun % _SPINS_PER_YIELD == 0:
                        yield_processor()
                    word = load_acquire(state.shared, done)
                row["waited_ticks"] += ticks() - began
            if word & 1:
                going = False
    return going


@kernel
def _report(state: State, thread: int, window: int) -> None:
    """Report that this thread has finished a window's list, and whether it has stopped."""
    stopped = 1 if state.threads[thread]["stop"] != _NONE else 0
    store_release(state.shared, mail(thread, _DONE), window << 1 | stopped)


@kernel
def _run_epoch(state: State, thread: int, first: int, n_windows: int, horizon_ps: int, bound_ps: int) -> int:
    """One thread's part of an epoch; returns the number of events. THREAD gets what stopped a device."""
    row, lookahead_ps, side = state.threads[thread], i64(state.config[0]["lookahead_ps"]), home_side(state)
    before = i64(row["events"])
    for step in range(n_windows):
        window, until_ps = first + step, min(horizon_ps + step * lookahead_ps, bound_ps)
        wire.join(state, thread, window)
        early, homed = 0, side == window % sides(state)
        if step > 0:
            if homed:
                early = _run_homed(state, thread, thread, window, 0, True, until_ps)
            if not _all_have_run(state, thread, window - 1):
                # The others need not wait for this window either.
                store_release(state.shared, mail(thread, _DONE), (window - 1) << 1 | 1)
                break
        _run_lists(state, thread, window, until_ps)
        _report(state, thread, window)
        if homed:
            for owner in range(state.threads.shape[0]):
                if _runner_of(state, owner) == thread:
                    _run_homed(state, thread, owner, window, early if owner == thread else 0, False, until_ps)
        if row["stop"] != _NONE:
            _report(state, thread, window)
            break
    return i64(row["events"]) - before


@kernel
def _wait_for_workers(state: State, ticket: int, spins: int) -> int:
    """Spin, at most `spins` times in all, for workers with an order; returns how many join (THREAD.present)."""
    came, spun = 0, 0
    for thread in range(1, state.threads.shape[0]):
        order = mail(thread, _ORDER)
        while spun < spins and load_acquire(state.shared, order) == ticket:
            spun += 1
            if spun % _JOIN_SPINS_PER_YIELD == 0:
                yield_processor()
        present = 0 if replace_if(state.shared, order, ticket, ticket + 1) else 1
        if i64(state.threads[thread]["present"]) != present:
            state.threads[thread]["present"] = present
        came += present
    return came


@kernel
def share_epoch(state: State, ticket: int, n_windows: int, horizon_ps: int, bound_ps: int, spins: int) -> int:
    """Simulate an epoch with the workers that join; returns the number of events, or -1 if no worker joined and no
    window was simulated.

    The coordinator's THREAD then holds the results of all threads.
    """
    n_threads, row = state.threads.shape[0], state.threads[0]
    first = i64(row["window"]) + 1
    for thread in range(n_threads):
        order, done = mail(thread, _ORDER), mail(thread, _DONE)
        if load_acquire(state.shared, done) & 1:
            store_release(state.shared, done, 0)
        state.shared[order + _FIRST], state.shared[order + _WINDOWS] = first, n_windows
        state.shared[order + _HORIZON], state.shared[order + _BOUND] = horizon_ps, bound_ps
        if thread > 0:
            store_release(state.shared, order, ticket)
    row["present"] = 1
    if _wait_for_workers(state, ticket, spins) == 0:
        return -1
    for thread in range(1, n_threads):
        if state.threads[thread]["present"]:
            store_release(state.shared, mail(thread, _ORDER) + _GO, ticket)
    began, waited_before = ticks(), i64(row["waited_ticks"])
    own_events = _run_epoch(state, 0, first, n_windows, horizon_ps, bound_ps)
    events, before = own_events, ticks()
    for thread in range(1, n_threads):
        if state.threads[thread]["present"]:
            done = mail(thread, _DONE)
            _spin_until(state, done + _RAN, ticket)
            row["sent_ps"] = min(i64(row["sent_ps"]), i64(state.shared[done + _SENT]))
            events += i64(state.shared[done + _EVENTS])
            if i64(state.shared[done + _STOP]) > row["stop"]:
                row["stop"], row["stop_device"] = state.shared[done + _STOP], state.threads[thread]["stop_device"]
    now = ticks()
    row["waited_ticks"] += now - before
    waited = i64(row["waited_ticks"]) - waited_before
    row["shared_windows"] += n_windows
    row["shared_events"] += events
    row["own_events"] += own_events
    row["own_ticks"] += now - began - waited
    if 2 * waited > now - began and is_unprofitable(state):
        row["unprofitable"] = 1
    return events


@kernel
def take_part(state: State, thread: int, ticket: int) -> None:
    """A worker's part of an epoch that it has joined."""
    order, done = mail(thread, _ORDER), mail(thread, _DONE)
    _spin_until(state, order + _GO, ticket)
    events = _run_epoch(
        state,
        thread,
        i64(state.shared[order + _FIRST]),
        i64(state.shared[order + _WINDOWS]),
        i64(state.shared[order + _HORIZON]),
        i64(state.shared[order + _BOUND]),
    )
    state.shared[done + _EVENTS] = events
    state.shared[done + _SENT] = state.threads[thread]["sent_ps"]
    state.shared[done + _STOP] = state.threads[thread]["stop"]
    store_release(state.shared, done + _RAN, ticket)
