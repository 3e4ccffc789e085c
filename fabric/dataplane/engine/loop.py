"""The window loop: each device simulates its events up to a horizon that no other device can affect.

Rules (conservative parallel simulation, Chandy and Misra 1979)
1. Where every cable joins two sides (hosts and spines, leaves), windows alternate between the sides. horizon = the
   earliest event of the other side + lookahead, or the own earliest event + two lookaheads (there and back), and never
   beyond the caller's bound. So a window of one side is two lookaheads long, and its frames take effect after every
   event that the other side has simulated. With one side only: the earliest event + lookahead.
   Devices are independent of each other within a window.
2. The order of events is (time, source) within a device; it does not depend on windows, budgets or threads.
3. One thread simulates a task (a switch or its hosts) in one window, and first takes over the frames sent to it in the
   window before. Any thread may do so (dataplane/engine/parallel/epoch.py).
4. One thread coordinates. It simulates windows with few events alone, and other windows if no worker joins within
   microseconds. A worker that has joined is waited for to the end of the epoch; if that costs too much, the workers are
   dismissed (dataplane/engine/parallel/workers.py).
"""

from __future__ import annotations

from fabric.dataplane.engine.parallel.balancing import home_side, homed_list, rebalance, sides
from fabric.dataplane.engine.parallel.epoch import list_of, mail, share_epoch, take_part
from fabric.dataplane.engine.parallel.payoff import begin_payoff, is_unprofitable
from fabric.dataplane.engine.parallel.spinning import yield_processor
from fabric.dataplane.engine.parallel.task import run_task
from fabric.dataplane.port import wire
from fabric.dataplane.state.codes import INFINITY_PS, LINE, Mail, Shared, Stop
from fabric.dataplane.state.compiled.atomic import load_acquire, replace_if, store_release
from fabric.dataplane.state.compiled.jit import entry, hot, i64, kernel
from fabric.dataplane.state.types import State

_NONE, _BOUND, _BUDGET, _IDLE = int(Stop.NONE), int(Stop.BOUND), int(Stop.BUDGET), int(Stop.IDLE)
_ORDER, _PRESENT = int(Mail.ORDER), int(Mail.PRESENT)
_GENERATION = int(Shared.GENERATION) * LINE
_GENERATION_BITS, _WINDOWS = 32, (1 << 31) - 1
"""A ticket: generation, number of the window; lowest bit: a worker has joined, or none may join any more."""
_WORTH_SHARING = 64
"""Least events per window, over the last few, for sharing: below, synchronising costs more than it gains."""
_EPOCH = 64
"""Most windows between two synchronisations of all threads."""
_REBALANCE = 64
"""Windows between two load balancings."""
_ALONE = 1 << 12
"""Events, a third of a millisecond, after which workers are invited again when none had joined."""
_LEAST_SPINS = 1 << 12
"""Least spins to wait for workers (some microseconds); a larger number of spins is halved with every epoch."""
_BUSY_FACTOR = 64
"""A worker spins this many times longer within a call of simulate() than between two: windows may be long, or small for
a while."""
_SPINS_PER_YIELD = 64
"""Spins on a word before the processor is yielded once."""


@kernel
def note_next_events(state: State, side: int) -> int:
    """Note the time of each task's next event, so that a window skips tasks without one; returns a side's earliest."""
    earliest_ps = INFINITY_PS
    for task in range(state.tasks.shape[0]):
        work, next_ps = state.tasks[task], INFINITY_PS
        for slot in range(i64(work["first"]), i64(work["first"]) + i64(work["count"])):
            next_ps = min(next_ps, i64(state.next_ps[slot]))
        work["next_ps"] = next_ps
        if i64(work["side"]) == side:
            earliest_ps = min(earliest_ps, next_ps)
    return earliest_ps


@hot
def horizon(state: State, own_ps: int, other_ps: int) -> int:
    """The horizon of a side whose next event is at own_ps; that of the other side is at other_ps."""
    lookahead_ps = i64(state.config[0]["lookahead_ps"])
    return min(own_ps + sides(state) * lookahead_ps, other_ps + lookahead_ps)


@kernel
def _run_rows(state: State, row: int, window: int, horizon_ps: int) -> int:
    """Simulate the lists of all threads from a row of State.lists on; returns the number of events."""
    events, first, last = 0, state.lists[row], state.lists[row + state.threads.shape[0] - 1]
    begin, end = i64(first["first"]), i64(last["first"]) + i64(last["count"])
    for place in range(begin, end):
        if place == begin:
            wire.prefetch_inbox(state, i64(state.assigned[place]), window - 1)
        if place + 1 < end:
            wire.prefetch_inbox(state, i64(state.assigned[place + 1]), window - 1)
        events += run_task(state, 0, i64(state.assigned[place]), horizon_ps)
    return events


@kernel
def _run_all(state: State, horizon_ps: int) -> int:
    """The coordinator simulates one window of all tasks of a side; returns the number of events."""
    window = i64(state.threads[0]["window"])
    events = _run_rows(state, list_of(state, window, 0), window, horizon_ps)
    if home_side(state) == window % sides(state):
        events += _run_rows(state, homed_list(state, 0), window, horizon_ps)
    state.threads[0]["events"] += events
    return events


@kernel
def _worth_sharing(state: State, horizon_ps: int, bound_ps: int, most: int) -> int:
    """How many windows to share, the first up to a horizon; 0: the coordinator simulates this window alone."""
    coordinator, lookahead_ps = state.threads[0], i64(state.config[0]["lookahead_ps"])
    if coordinator["recent_events"] < _WORTH_SHARING or coordinator["unprofitable"]:
        return 0
    # Two end at the bound, one of each side.
    return max(min(_EPOCH, most, (bound_ps - horizon_ps + lookahead_ps - 1) // lookahead_ps + 2), 0)


@entry
def assist(state: State, thread: int, generation: int, spins: int) -> int:
    """Take part in the calls of simulate() with this State and generation; return after `spins` spins without work,
    or _BUSY_FACTOR times as many within a call.

    Between two calls a worker reads State.shared only; it returns when the generation has changed.
    """
    idle, simulated, order = 0, 0, mail(thread, _ORDER)
    store_release(state.shared, mail(thread, _PRESENT), 1)
    while load_acquire(state.shared, _GENERATION) == generation:
        if idle >= spins and (idle >= _BUSY_FACTOR * spins or state.shared[_GENERATION + 1] == 0):
            break
        ticket = load_acquire(state.shared, order)
        if (
            ticket >> _GENERATION_BITS == generation
            and not ticket & 1
            and (replace_if(state.shared, order, ticket, ticket + 1))
        ):
            take_part(state, thread, ticket)
            simulated += 1
            idle = 0
        else:
            idle += 1
            if idle % _SPINS_PER_YIELD == 0:
                yield_processor()
    store_release(state.shared, mail(thread, _PRESENT), 0)
    return simulated


@entry
def simulate(state: State, generation: int, until_ps: int, max_windows: int, spins: int) -> int:
    """Simulate windows up to until_ps, at most max_windows of them; returns a Stop code.

    Stop.BOUND: every event before until_ps is done. Stop.IDLE: no event is pending. Stop.PACKETS and Stop.TRACE:
    THREAD.stop names the threads and devices; remedy and call again. `generation` is 0 (alone) or the number with which
    workers call assist(), one that no other State had. The coordinator waits for them for `spins` spins.
    """
    coordinator, lookahead_ps, n_sides = state.threads[0], i64(state.config[0]["lookahead_ps"]), sides(state)
    state.shared[_GENERATION + 1] = 1
    store_release(state.shared, _GENERATION, generation)
    for thread in range(state.threads.shape[0]):
        state.threads[thread]["stop"] = _NONE
    if generation != 0:
        begin_payoff(state)
    windows, worst, alone = 0, _NONE, 0
    side = (i64(coordinator["window"]) + 1) % n_sides
    own_ps, other_ps = note_next_events(state, side), note_next_events(state, 1 - side)
    while worst == _NONE:
        due_ps, bound_ps = min(own_ps, other_ps), until_ps
        if windows >= max_windows:  # a budget ends at one time for all devices, also after a stop
            bound_ps = min(i64(coordinator["reached_ps"]), until_ps)
        if due_ps >= bound_ps:
            worst = _IDLE if due_ps >= INFINITY_PS else _BOUND if due_ps >= until_ps else _BUDGET
            break
        horizon_ps, count, events = min(horizon(state, own_ps, other_ps), bound_ps), 0, -1
        if generation != 0 and alone <= 0:
            count = _worth_sharing(state, horizon_ps, bound_ps, max_windows - windows)
        if count > 0:
            ticket = generation << _GENERATION_BITS | (i64(coordinator["windows"]) & _WINDOWS) << 1
            events = share_epoch(state, ticket, count, horizon_ps, bound_ps, spins)
            alone, spins = _ALONE, max(spins // 2, min(spins, _LEAST_SPINS))
        if events >= 0:
            side, alone = (i64(coordinator["window"]) + 1) % n_sides, 0
            own_ps, other_ps = note_next_events(state, side), note_next_events(state, 1 - side)
            own_ps = min(own_ps, i64(coordinator["sent_ps"]))
            if coordinator["stop"] == _NONE:
                coordinator["recent_events"] = events // count
        else:
            count = 1
            wire.join(state, 0, i64(coordinator["window"]) + 1)
            events = _run_all(state, horizon_ps)
            own_ps, other_ps = i64(coordinator["earliest_ps"]), min(other_ps, i64(coordinator["sent_ps"]))
            if n_sides == 1:
                own_ps, other_ps = min(own_ps, other_ps), INFINITY_PS
            else:
                own_ps, other_ps = other_ps, own_ps
            coordinator["recent_events"] = (i64(coordinator["recent_events"]) + events) // 2
            alone -= events
        worst, windows = i64(coordinator["stop"]), windows + count
        coordinator["reached_ps"] = max(
            i64(coordinator["reached_ps"]), min(horizon_ps + (count - 1) * lookahead_ps, bound_ps)
        )
        coordinator["windows"] += count
        if generation != 0 and i64(coordinator["windows"]) - i64(coordinator["rebalanced"]) >= _REBALANCE:
            coordinator["rebalanced"] = coordinator["windows"]
            rebalance(state)
    wire.settle(state)
    if generation != 0 and is_unprofitable(state):
        coordinator["unprofitable"] = 1
    store_release(state.shared, _GENERATION + 1, 0)
    return worst
