"""The window loop: every device plays its own events up to a horizon that nothing can reach from outside.

Rules (conservative parallel simulation, Chandy and Misra 1979)
1. horizon = earliest pending event of all devices + lookahead, and never beyond the caller's bound. What a device sends
   in a window takes effect at or after the horizon, so devices need nothing from each other within it.
2. Between windows the coordinator takes over the frames that were sent. Taking over early is harmless, so a call may
   stop anywhere between events and the next call begins by taking over.
3. The order of events is (time, source) within a device; it does not depend on windows, budgets or threads.
4. One thread coordinates and never waits for a helper to come: it opens a window, and whoever is there claims its
   tasks, first its own, then the others'. It waits only for tasks that a helper has begun. A window with little to do
   is not opened at all. So a helper whose processor is taken away costs at most that one wait (engine/crew.py).
"""

from __future__ import annotations

import numpy as np

from fabric.engine.dispatch import handle
from fabric.engine.waiting import ticks, yield_processor
from fabric.port import wire
from fabric.state import calendar, pool, trace
from fabric.state.atomic import fetch_add, load_acquire, replace_if, store_release
from fabric.state.codes import INFINITY_PS, LINE, N_SHARED, Shared, Stop
from fabric.state.jit import entry, hot, i64, kernel
from fabric.state.types import State

_NONE, _BOUND, _BUDGET = int(Stop.NONE), int(Stop.BOUND), int(Stop.BUDGET)
_PACKETS, _TRACE, _IDLE = int(Stop.PACKETS), int(Stop.TRACE), int(Stop.IDLE)
_DONE, _HORIZON, _GENERATION = int(Shared.DONE) * LINE, int(Shared.HORIZON) * LINE, int(Shared.GENERATION) * LINE
_CURSORS = N_SHARED * LINE
_INDEX_BITS = 32
_WORTH_SHARING = 256
"""Events that the window before must have had: below, waking the others' caches costs more than it gains."""
_STALL = 4
"""A helper that is waited for this many times the window's own work has lost its processor."""
u = np.uint32


@hot
def shortage(state: State, device: int) -> int:
    """Whether the device may be entered: Stop.PACKETS or Stop.TRACE if a table must grow or drain first."""
    row = state.devices[device]
    n_ports = i64(row["n_ports"])
    if row["free_count"] < i64(row["reserve"]) and not pool.refill(state, device):
        return _PACKETS
    room = i64(state.config[0]["trace_rows"]) - i64(state.threads[row["player"]]["trace_count"])
    if room < trace.margin(n_ports, i64(row["reserve"])):
        return _TRACE
    return _NONE


@hot
def run_device(state: State, device: int, horizon_ps: int) -> int:
    """Play the events of one device before horizon_ps."""
    events, stop = 0, _NONE
    while True:
        key = calendar.first_key(state, device)
        now_ps = calendar.key_time_ps(key)
        if now_ps >= horizon_ps:
            break
        stop = shortage(state, device)
        if stop != _NONE:
            break
        stop = handle(state, device, calendar.key_source(key), now_ps)
        events += 1
        if stop != _NONE:
            break
    state.next_ps[device] = now_ps
    state.devices[device]["events"] += events
    return stop


@kernel
def take_over(state: State) -> None:
    """Publish the frames that were sent."""
    stride = 2 * state.ports.shape[0]
    for producer in range(state.threads.shape[0]):
        for index in range(i64(state.outbox_count[producer * wire.COUNT_STRIDE])):
            device = wire.publish(state, i64(state.outbox[producer * stride + index]))
            state.next_ps[device] = calendar.key_time_ps(calendar.first_key(state, device))
        state.outbox_count[producer * wire.COUNT_STRIDE] = 0


@kernel
def _earliest(state: State) -> int:
    earliest_ps = INFINITY_PS
    for device in range(state.next_ps.shape[0]):
        earliest_ps = min(earliest_ps, i64(state.next_ps[device]))
    return earliest_ps


@kernel
def _run_task(state: State, thread: int, task: int, horizon_ps: int) -> int:
    """Play a task's devices; returns the events. What stopped a device is left in THREAD."""
    work, row = state.tasks[task], state.threads[thread]
    first, events = i64(work["first"]), 0
    for index in range(first, first + i64(work["count"])):
        device = i64(state.roster[index])
        if state.next_ps[device] < horizon_ps:
            state.devices[device]["player"] = thread
            before = i64(state.devices[device]["events"])
            stop = run_device(state, device, horizon_ps)
            events += i64(state.devices[device]["events"]) - before
            if stop > row["stop"]:      # a broken invariant is never hidden by a table that is full
                row["stop"] = stop
                row["stop_device"] = device
    row["events"] += events
    return events


@kernel
def _claim(state: State, segment: int, generation: int) -> int:
    """A task of a thread's segment that nobody has begun in this window, or -1."""
    row = state.threads[segment]
    place = _CURSORS + segment * LINE
    while True:
        word = load_acquire(state.shared, place)
        index = word & (1 << _INDEX_BITS) - 1
        if word >> _INDEX_BITS != generation or index >= row["count"]:
            return -1
        if replace_if(state.shared, place, word, word + 1):
            return i64(row["first"]) + index


@kernel
def _play_tasks(state: State, thread: int, generation: int) -> int:
    """Claim and play until nothing is left to claim; returns how many tasks."""
    n_threads, played = state.threads.shape[0], 0
    for turn in range(n_threads):
        segment = (thread + turn) % n_threads
        while True:
            task = _claim(state, segment, generation)
            if task < 0:
                break
            # Read after the claim: while a claimed task is not done, the window stays open.
            _run_task(state, thread, task, i64(state.shared[_HORIZON]))
            fetch_add(state.shared, _DONE, 1)
            played += 1
    return played


@kernel
def _share_window(state: State, generation: int, horizon_ps: int) -> None:
    """Open a window to the helpers, play with them, and wait for what they have begun."""
    n_threads, row = state.threads.shape[0], state.threads[0]
    n_tasks = 0
    state.shared[_HORIZON] = horizon_ps
    store_release(state.shared, _DONE, 0)
    for thread in range(n_threads):
        n_tasks += i64(state.threads[thread]["count"])
        store_release(state.shared, _CURSORS + thread * LINE, generation << _INDEX_BITS)
    began = ticks()
    _play_tasks(state, 0, generation)
    own = ticks() - began
    while load_acquire(state.shared, _DONE) < n_tasks:
        yield_processor()
    waited = ticks() - began - own
    row["shared_windows"] += 1
    row["own_ticks"] += own
    row["waited_ticks"] += waited
    if waited > _STALL * own:
        row["stalled"] += 1


@hot
def _presence(state: State, thread: int) -> int:
    """Word of State.shared that says whether a helper is inside assist()."""
    return (N_SHARED + state.threads.shape[0] + thread) * LINE


@entry
def assist(state: State, thread: int, generation: int, patience: int) -> int:
    """Help the calls of play() with this State and number, until there was nothing to do `patience` times in a row.

    Between two calls a helper only looks at State.shared; it leaves when the number has changed.
    """
    idle, played = 0, 0
    store_release(state.shared, _presence(state, thread), 1)
    while idle < patience and load_acquire(state.shared, _GENERATION) == generation:
        tasks = _play_tasks(state, thread, generation)
        played += tasks
        idle += 1
        if tasks > 0:
            idle = 0
        yield_processor()
    store_release(state.shared, _presence(state, thread), 0)
    return played


@entry
def play(state: State, generation: int, until_ps: int, max_windows: int) -> int:
    """Play windows up to until_ps, at most max_windows of them; returns a Stop code.

    Stop.BOUND: every event before until_ps has been played. Stop.IDLE: nothing is pending. Stop.PACKETS and Stop.TRACE:
    THREAD.stop says which thread and device; mend and call again. `generation` is 0 (alone) or the number with which
    helpers call assist(): one that no other State had.
    """
    n_threads, n_tasks = state.threads.shape[0], 0
    for thread in range(n_threads):
        n_tasks += i64(state.threads[thread]["count"])
        state.threads[thread]["stop"] = _NONE
    lookahead_ps = i64(state.config[0]["lookahead_ps"])
    coordinator = state.threads[0]
    store_release(state.shared, _GENERATION, generation)
    windows, events, worst = 0, 0, _NONE
    while True:
        take_over(state)
        earliest_ps = _earliest(state)
        if earliest_ps >= until_ps:
            worst = _IDLE if earliest_ps >= INFINITY_PS else _BOUND
            break
        if windows >= max_windows:
            worst = _BUDGET
            break
        horizon_ps = min(earliest_ps + lookahead_ps, until_ps)
        if generation != 0 and events >= _WORTH_SHARING and coordinator["stalled"] == 0:
            before = 0
            for thread in range(n_threads):
                before += i64(state.threads[thread]["events"])
            _share_window(state, generation, horizon_ps)
            events = -before
            for thread in range(n_threads):
                events += i64(state.threads[thread]["events"])
        else:
            events = 0
            for task in range(n_tasks):
                events += _run_task(state, 0, task, horizon_ps)
        windows += 1
        coordinator["windows"] += 1
        for thread in range(n_threads):
            worst = max(worst, i64(state.threads[thread]["stop"]))
        if worst != _NONE:
            break
    return worst
