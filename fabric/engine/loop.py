"""The window loop: devices play their own events up to a horizon that nothing can reach from outside.

Rules (conservative parallel simulation, Chandy and Misra 1979)
1. Where every cable leads from one side to the other (hosts, leaves, spines by turns), windows are played by one side,
   then the other. horizon = the earliest event of the other side + lookahead, or own + twice the lookahead (there and
   back), and never beyond the caller's bound. So a window of one side is two lookaheads long, and what it sends takes
   effect after all that the other has played. Where there is one side only: the earliest event + lookahead.
   Devices need nothing from each other within a window.
2. The order of events is (time, source) within a device; it does not depend on windows, budgets or threads.
3. A task (a switch or its hosts) is played by one thread, which first takes over what was sent to it in the window
   before. Any thread may (engine/stretch.py).
4. One thread coordinates. Windows with little to do it plays alone, and others, too, if nobody comes to help within
   microseconds. A helper that has come is waited for to the end of the stretch; if its processor is taken away too
   often, helpers are sent away (engine/crew.py).
"""

from __future__ import annotations

from fabric.engine.dealing import deal_anew, home_side, homed_list, sides
from fabric.engine.judging import begin_to_judge, is_dear
from fabric.engine.stretch import list_of, mail, share_stretch, take_part
from fabric.engine.task import play_task
from fabric.engine.waiting import yield_processor
from fabric.port import wire
from fabric.state.atomic import load_acquire, replace_if, store_release
from fabric.state.codes import INFINITY_PS, LINE, Mail, Shared, Stop
from fabric.state.jit import entry, hot, i64, kernel
from fabric.state.types import State

_NONE, _BOUND, _BUDGET, _IDLE = int(Stop.NONE), int(Stop.BOUND), int(Stop.BUDGET), int(Stop.IDLE)
_ORDER, _PRESENT = int(Mail.ORDER), int(Mail.PRESENT)
_GENERATION = int(Shared.GENERATION) * LINE
_GENERATION_BITS, _WINDOWS = 32, (1 << 31) - 1
"""A ticket: generation, number of the window, and in the lowest bit whether somebody has come, or nobody may now."""
_WORTH_SHARING = 64
"""Events a window that the last few must have had: below, meeting costs more than it gains."""
_STRETCH = 64
"""Windows that threads play between two meetings, at most."""
_REDEAL = 64
"""Windows after which tasks may get other owners."""
_ALONE = 1 << 12
"""Events, a third of a millisecond, after which helpers are asked again when none had come."""
_LEAST_PATIENCE = 1 << 12
"""Looks, some microseconds. Whoever waits longer waits half as long each time."""
_LONGER = 64
"""Times as patient as between two calls of play() is a helper within one: windows may be long, or small for a while."""
_PEEKS = 64
"""Looks at a word before the processor is given away once."""


@kernel
def look_at(state: State, side: int) -> int:
    """Note when each task's next event is: in a window few may have anything to do. Returns a side's earliest."""
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
def horizon(state: State, near_ps: int, far_ps: int) -> int:
    """How far a side may play whose next event is at near_ps; that of the other side is at far_ps."""
    lookahead_ps = i64(state.config[0]["lookahead_ps"])
    return min(near_ps + sides(state) * lookahead_ps, far_ps + lookahead_ps)


@kernel
def _play_rows(state: State, row: int, window: int, horizon_ps: int) -> int:
    """Play the lists of all threads from a row of State.lists on; returns the events."""
    events, first, last = 0, state.lists[row], state.lists[row + state.threads.shape[0] - 1]
    begin, end = i64(first["first"]), i64(last["first"]) + i64(last["count"])
    for place in range(begin, end):
        if place == begin:
            wire.ask_ahead(state, i64(state.dealt[place]), window - 1)
        if place + 1 < end:
            wire.ask_ahead(state, i64(state.dealt[place + 1]), window - 1)
        events += play_task(state, 0, i64(state.dealt[place]), horizon_ps)
    return events


@kernel
def _play_all(state: State, horizon_ps: int) -> int:
    """One window of all tasks of a side by the coordinator; returns the events."""
    window = i64(state.threads[0]["window"])
    events = _play_rows(state, list_of(state, window, 0), window, horizon_ps)
    if home_side(state) == window % sides(state):
        events += _play_rows(state, homed_list(state, 0), window, horizon_ps)
    state.threads[0]["events"] += events
    return events


@kernel
def _worth_sharing(state: State, horizon_ps: int, bound_ps: int, most: int) -> int:
    """How many windows, the first up to a horizon, shall be played together; 0: this one is better played alone."""
    coordinator, lookahead_ps = state.threads[0], i64(state.config[0]["lookahead_ps"])
    if coordinator["recent_events"] < _WORTH_SHARING or coordinator["dear"]:
        return 0
    # Two end at the bound, one of each side.
    return max(min(_STRETCH, most, (bound_ps - horizon_ps + lookahead_ps - 1) // lookahead_ps + 2), 0)


@entry
def assist(state: State, thread: int, generation: int, patience: int) -> int:
    """Help the calls of play() with this State and number, until there was nothing to do `patience` times in a row, or
    _LONGER times as often within a call.

    Between two calls a helper only looks at State.shared; it leaves when the number has changed.
    """
    idle, played, order = 0, 0, mail(thread, _ORDER)
    store_release(state.shared, mail(thread, _PRESENT), 1)
    while load_acquire(state.shared, _GENERATION) == generation:
        if idle >= patience and (idle >= _LONGER * patience or state.shared[_GENERATION + 1] == 0):
            break
        ticket = load_acquire(state.shared, order)
        if ticket >> _GENERATION_BITS == generation and not ticket & 1 and (
                replace_if(state.shared, order, ticket, ticket + 1)):
            take_part(state, thread, ticket)
            played += 1
            idle = 0
        else:
            idle += 1
            if idle % _PEEKS == 0:
                yield_processor()
    store_release(state.shared, mail(thread, _PRESENT), 0)
    return played


@entry
def play(state: State, generation: int, until_ps: int, max_windows: int, patience: int) -> int:
    """Play windows up to until_ps, at most max_windows of them; returns a Stop code.

    Stop.BOUND: every event before until_ps has been played. Stop.IDLE: nothing is pending. Stop.PACKETS and Stop.TRACE:
    THREAD.stop says which players and devices; mend and call again. `generation` is 0 (alone) or the number with which
    helpers call assist(): one that no other State had. They are waited for `patience` looks.
    """
    coordinator, lookahead_ps, n_sides = state.threads[0], i64(state.config[0]["lookahead_ps"]), sides(state)
    state.shared[_GENERATION + 1] = 1
    store_release(state.shared, _GENERATION, generation)
    for thread in range(state.threads.shape[0]):
        state.threads[thread]["stop"] = _NONE
    if generation != 0:
        begin_to_judge(state)
    windows, worst, alone = 0, _NONE, 0
    side = (i64(coordinator["window"]) + 1) % n_sides
    near_ps, far_ps = look_at(state, side), look_at(state, 1 - side)        # whose turn it is, and the other side
    while worst == _NONE:
        due_ps, bound_ps = min(near_ps, far_ps), until_ps
        if windows >= max_windows:      # nobody is left behind: a budget ends at a moment, also after a stop
            bound_ps = min(i64(coordinator["reached_ps"]), until_ps)
        if due_ps >= bound_ps:
            worst = _IDLE if due_ps >= INFINITY_PS else _BOUND if due_ps >= until_ps else _BUDGET
            break
        horizon_ps, count, events = min(horizon(state, near_ps, far_ps), bound_ps), 0, -1
        if generation != 0 and alone <= 0:
            count = _worth_sharing(state, horizon_ps, bound_ps, max_windows - windows)
        if count > 0:
            ticket = generation << _GENERATION_BITS | (i64(coordinator["windows"]) & _WINDOWS) << 1
            events = share_stretch(state, ticket, count, horizon_ps, bound_ps, patience)
            alone, patience = _ALONE, max(patience // 2, min(patience, _LEAST_PATIENCE))
        if events >= 0:
            side, alone = (i64(coordinator["window"]) + 1) % n_sides, 0
            near_ps, far_ps = min(look_at(state, side), i64(coordinator["sent_ps"])), look_at(state, 1 - side)
            if coordinator["stop"] == _NONE:
                coordinator["recent_events"] = events // count
        else:
            count = 1
            wire.join(state, 0, i64(coordinator["window"]) + 1)
            events = _play_all(state, horizon_ps)
            near_ps, far_ps = i64(coordinator["earliest_ps"]), min(far_ps, i64(coordinator["sent_ps"]))
            if n_sides == 1:
                near_ps, far_ps = min(near_ps, far_ps), INFINITY_PS
            else:
                near_ps, far_ps = far_ps, near_ps
            coordinator["recent_events"] = (i64(coordinator["recent_events"]) + events) // 2
            alone -= events
        worst, windows = i64(coordinator["stop"]), windows + count
        coordinator["reached_ps"] = max(i64(coordinator["reached_ps"]),
                                        min(horizon_ps + (count - 1) * lookahead_ps, bound_ps))
        coordinator["windows"] += count
        if generation != 0 and i64(coordinator["windows"]) - i64(coordinator["dealt"]) >= _REDEAL:
            coordinator["dealt"] = coordinator["windows"]
            deal_anew(state)
    wire.settle(state)
    if generation != 0 and is_dear(state):
        coordinator["dear"] = 1
    store_release(state.shared, _GENERATION + 1, 0)
    return worst
