"""The window loop: every device plays its own events up to a horizon that nothing can reach from outside.

Rules (conservative parallel simulation, Chandy and Misra 1979)
1. horizon = earliest pending event of all devices + lookahead, and never beyond the caller's bound. What a device sends
   in a window takes effect at or after the horizon, so devices need nothing from each other within it.
2. The order of events is (time, source) within a device; it does not depend on windows, budgets or threads.
3. Each thread has a share of the devices. A window of a share: take over what other shares sent to it in the window
   before, play, and say when its earliest event is, what it sent included. So there is one meeting a window, and what
   lies in a thread's caches stays there.
4. One thread coordinates and never waits for a helper to come: it opens a window, plays its own share, and then every
   share that its thread has not begun. It waits only for shares that a helper has begun. A window with little to do is
   not opened at all. So a helper whose processor is taken away costs at most that one wait (engine/crew.py).
"""

from __future__ import annotations

import numpy as np

from fabric.engine.dealing import deal_anew
from fabric.engine.dispatch import handle
from fabric.engine.waiting import ticks, yield_processor
from fabric.port import wire
from fabric.state import calendar, pool, trace
from fabric.state.atomic import load_acquire, replace_if, store_release
from fabric.state.codes import INFINITY_PS, LINE, N_MAIL, N_SHARED, Mail, Shared, Stop
from fabric.state.jit import entry, hot, i64, kernel
from fabric.state.types import State

_NONE, _BOUND, _BUDGET = int(Stop.NONE), int(Stop.BOUND), int(Stop.BUDGET)
_PACKETS, _TRACE, _IDLE = int(Stop.PACKETS), int(Stop.TRACE), int(Stop.IDLE)
_CROWDED = int(Stop.CROWDED)
_ORDER, _DONE, _PRESENT = int(Mail.ORDER), int(Mail.DONE), int(Mail.PRESENT)
_GENERATION = int(Shared.GENERATION) * LINE
_GENERATION_BITS, _WINDOWS = 32, (1 << 31) - 1
"""A ticket: generation, number of the window, and in the lowest bit whether somebody has begun."""
_WORTH_SHARING = 64
"""Events that the window before must have had: below, meeting costs more than it gains."""
_REDEAL = 32
"""Windows after which shares are compared and tasks change hands."""
_PEEKS = 64
"""Looks at a word before the processor is given away once."""
_ENOUGH_TO_JUDGE = 1 << 13
"""Events; a moment's hiccup in fewer says nothing."""
_STALL = 4
"""A helper that is waited for this many times the window's own work has lost its processor: look whether it pays."""
u = np.uint32


@hot
def shortage(state: State, device: int) -> int:
    """Whether the device may be entered: Stop.PACKETS or Stop.TRACE if a table must grow or drain first."""
    row = state.devices[device]
    n_ports = i64(row["n_ports"])
    if row["free_count"] < i64(row["reserve"]) and not pool.refill(state, device):
        return _PACKETS
    share, config = state.threads[row["share"]], state.config[0]
    if i64(config["trace_rows"]) - i64(share["trace_count"]) < trace.margin(n_ports, i64(row["reserve"])):
        return _TRACE
    if i64(share["sent"]) + i64(row["reserve"]) > config["outbox_rows"]:
        return _CROWDED
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
    state.next_ps[state.devices[device]["slot"]] = now_ps
    state.devices[device]["events"] += events
    return stop


@kernel
def _run_task(state: State, share: int, task: int, horizon_ps: int) -> int:
    """Play a task's devices; returns the events. What stopped a device is left in THREAD."""
    work, row = state.tasks[task], state.threads[share]
    first, events = i64(work["first"]), 0
    for slot in range(first, first + i64(work["count"])):
        if state.next_ps[slot] < horizon_ps:
            device = i64(state.roster[slot])
            before = i64(state.devices[device]["events"])
            stop = run_device(state, device, horizon_ps)
            events += i64(state.devices[device]["events"]) - before
            if stop != _CROWDED and stop > row["stop"]:     # a broken invariant is never hidden by a table that is full
                row["stop"] = stop
                row["stop_device"] = device
    work["load"] += events
    return events


@kernel
def _earliest(state: State, share: int) -> int:
    """The earliest event of a share's devices."""
    row, earliest_ps = state.threads[share], INFINITY_PS
    for index in range(i64(row["first"]), i64(row["first"]) + i64(row["count"])):
        task = state.tasks[i64(state.dealt[index])]
        for slot in range(i64(task["first"]), i64(task["first"]) + i64(task["count"])):
            earliest_ps = min(earliest_ps, i64(state.next_ps[slot]))
    return earliest_ps


@kernel
def _play_share(state: State, share: int, turn: int, horizon_ps: int) -> int:
    """One window of a share; returns the events. THREAD.earliest_ps and stop say the rest."""
    row, events, began = state.threads[share], 0, ticks()
    wire.deliver(state, share, 1 - turn)
    wire.open_outboxes(state, share, turn)
    row["stop"] = _NONE
    for index in range(i64(row["first"]), i64(row["first"]) + i64(row["count"])):
        events += _run_task(state, share, i64(state.dealt[index]), horizon_ps)
    row["events"] += events
    row["earliest_ps"] = min(i64(row["earliest_ps"]), _earliest(state, share))
    row["played_ticks"] += ticks() - began
    return events


@hot
def _mail(thread: int, line: int) -> int:
    """First word of a thread's own cache line in State.shared."""
    return (N_SHARED + N_MAIL * thread + line) * LINE


@kernel
def _obey(state: State, share: int, ticket: int) -> int:
    """Play the window that a share's ticket orders, and report; returns the events."""
    order, done = _mail(share, _ORDER), _mail(share, _DONE)
    events = _play_share(state, share, ticket >> 1 & 1, i64(state.shared[order + 1]))
    state.shared[done + 1] = state.threads[share]["earliest_ps"]
    state.shared[done + 2] = events
    state.shared[done + 3] = state.threads[share]["stop"]
    store_release(state.shared, done, ticket)
    return events


@kernel
def _await(state: State, place: int, word: int) -> None:
    """Until a word of State.shared has this value."""
    peeks = 0
    while load_acquire(state.shared, place) != word:
        peeks += 1
        if peeks % _PEEKS == 0:
            yield_processor()


@kernel
def _is_dear(state: State) -> bool:
    """Whether waiting for helpers eats more than half of what they save: the time for what they played."""
    row = state.threads[0]
    if row["shared_events"] < _ENOUGH_TO_JUDGE:
        return False
    own_ticks, waited_ticks = 1.0 * i64(row["own_ticks"]), 1.0 * i64(row["waited_ticks"])   # products pass 2**63
    saved = own_ticks * (i64(row["shared_events"]) - i64(row["own_events"]))
    return 2 * waited_ticks * i64(row["own_events"]) > saved


@kernel
def _share_window(state: State, ticket: int) -> None:
    """Open a window to the helpers, play with them, and wait for what they have begun."""
    n_threads, row = state.threads.shape[0], state.threads[0]
    for share in range(1, n_threads):
        store_release(state.shared, _mail(share, _ORDER), ticket)
    began = ticks()
    own_events = _obey(state, 0, ticket)
    for share in range(1, n_threads):
        if replace_if(state.shared, _mail(share, _ORDER), ticket, ticket + 1):
            own_events += _obey(state, share, ticket)
    own = ticks() - began
    for share in range(1, n_threads):
        _await(state, _mail(share, _DONE), ticket)
    waited = ticks() - began - own
    row["shared_windows"] += 1
    row["own_events"] += own_events
    row["own_ticks"] += own
    row["waited_ticks"] += waited
    if waited > _STALL * own and _is_dear(state):
        row["dear"] = 1


@entry
def assist(state: State, thread: int, generation: int, patience: int) -> int:
    """Help the calls of play() with this State and number, until there was nothing to do `patience` times in a row.

    Between two calls a helper only looks at State.shared; it leaves when the number has changed.
    """
    idle, played, order = 0, 0, _mail(thread, _ORDER)
    store_release(state.shared, _mail(thread, _PRESENT), 1)
    while idle < patience and load_acquire(state.shared, _GENERATION) == generation:
        ticket = load_acquire(state.shared, order)
        if ticket >> _GENERATION_BITS == generation and not ticket & 1 and (
                replace_if(state.shared, order, ticket, ticket + 1)):
            _obey(state, thread, ticket)
            played += 1
            idle = 0
        else:
            idle += 1
            if idle % _PEEKS == 0:
                yield_processor()
    store_release(state.shared, _mail(thread, _PRESENT), 0)
    return played


@entry
def play(state: State, generation: int, until_ps: int, max_windows: int) -> int:
    """Play windows up to until_ps, at most max_windows of them; returns a Stop code.

    Stop.BOUND: every event before until_ps has been played. Stop.IDLE: nothing is pending. Stop.PACKETS and Stop.TRACE:
    THREAD.stop says which shares and devices; mend and call again. `generation` is 0 (alone) or the number with which
    helpers call assist(): one that no other State had.
    """
    n_threads, coordinator = state.threads.shape[0], state.threads[0]
    lookahead_ps = i64(state.config[0]["lookahead_ps"])
    store_release(state.shared, _GENERATION, generation)
    windows, worst, earliest_ps, horizon_ps = 0, _NONE, INFINITY_PS, 0
    for share in range(n_threads):
        earliest_ps = min(earliest_ps, _earliest(state, share))
    while worst == _NONE:
        if earliest_ps >= until_ps:
            worst = _IDLE if earliest_ps >= INFINITY_PS else _BOUND
            break
        if windows < max_windows:
            horizon_ps = min(earliest_ps + lookahead_ps, until_ps)
        elif earliest_ps >= horizon_ps:
            worst = _BUDGET
            break
        # Otherwise a share was crowded: it catches up, so that a budget ends where it would for any number of threads.
        ticket = generation << _GENERATION_BITS | (i64(coordinator["windows"]) & _WINDOWS) << 1
        for share in range(n_threads):
            state.shared[_mail(share, _ORDER) + 1] = horizon_ps
        is_shared = generation != 0 and coordinator["last_events"] >= _WORTH_SHARING and coordinator["dear"] == 0
        if is_shared:
            _share_window(state, ticket)
        else:
            for share in range(n_threads):
                _obey(state, share, ticket)
        events, earliest_ps = 0, INFINITY_PS
        for share in range(n_threads):
            done = _mail(share, _DONE)
            earliest_ps = min(earliest_ps, i64(state.shared[done + 1]))
            events += i64(state.shared[done + 2])
            worst = max(worst, i64(state.shared[done + 3]))
        coordinator["last_events"] = events
        if is_shared:
            coordinator["shared_events"] += events
        windows += 1
        coordinator["windows"] += 1
        if generation != 0 and windows % _REDEAL == 0 and worst == _NONE:
            deal_anew(state, horizon_ps)
    wire.settle(state)
    if generation != 0 and _is_dear(state):
        coordinator["dear"] = 1
    return worst
