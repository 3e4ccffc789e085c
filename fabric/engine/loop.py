"""The window loop: devices play their own events up to a horizon that nothing can reach from outside.

Rules (conservative parallel simulation, Chandy and Misra 1979)
1. Where every cable leads from one side to the other (hosts, leaves, spines by turns), windows are played by one side,
   then the other. horizon = the earliest event of the other side + lookahead, or own + twice the lookahead (there and
   back), and never beyond the caller's bound. So a window of one side is two lookaheads long, and what it sends takes
   effect after all that the other has played. Where there is one side only: the earliest event + lookahead.
   Devices need nothing from each other within a window.
2. The order of events is (time, source) within a device; it does not depend on windows, budgets or threads.
3. A task (a switch with its hosts, or one of the two) is played by one thread, which first takes over what was sent to
   it in the window before. Any thread may: each has a list of its own tasks, so that what lies in its caches stays
   there, and when they are done it takes tasks from the end of another's list.
4. One thread coordinates and never waits for a helper to come: it opens a window, plays, and closes it to those who
   have not come. It waits only for a task that a helper has begun. A window with little to do is not opened at all. So
   a helper whose processor is taken away costs at most that one wait (engine/crew.py).
"""

from __future__ import annotations

from fabric.engine.dealing import deal_anew, sides
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
_ORDER, _DONE, _PRESENT = int(Mail.ORDER), int(Mail.DONE), int(Mail.PRESENT)
_HORIZON, _WINDOW, _UNCLAIMED = 1, 2, 3
"""Words of an order, behind the ticket."""
_GENERATION = int(Shared.GENERATION) * LINE
_GENERATION_BITS, _WINDOWS = 32, (1 << 31) - 1
"""A ticket: generation, number of the window, and in the lowest bit whether somebody has come, or nobody may now."""
_PLACE_BITS, _PLACES = 32, (1 << 32) - 1
"""A range of State.dealt in one word: first place, end."""
_WORTH_SHARING = 64
"""Events that the window before must have had: below, meeting costs more than it gains."""
_REDEAL = 32
"""Windows after which tasks may get other owners."""
_PEEKS = 64
"""Looks at a word before the processor is given away once."""
_ENOUGH_TO_JUDGE = 1 << 13
"""Events; a moment's hiccup in fewer says nothing."""
_LONG_AGO = 1 << 20
"""Events, some tens of milliseconds."""
_STALL = 4
"""A helper that is waited for this many times the window's own work has lost its processor: look whether it pays."""


@hot
def shortage(state: State, device: int) -> int:
    """Whether the device may be entered: Stop.PACKETS or Stop.TRACE if a table must grow or drain first."""
    row = state.devices[device]
    n_ports = i64(row["n_ports"])
    if row["free_count"] < i64(row["reserve"]) and not pool.refill(state, device):
        return _PACKETS
    logged = i64(state.threads[row["player"]]["trace_count"])
    if i64(state.config[0]["trace_rows"]) - logged < trace.margin(n_ports, i64(row["reserve"])):
        return _TRACE
    return _NONE


@hot
def run_device(state: State, device: int, horizon_ps: int) -> int:
    """Play the events of one device before horizon_ps."""
    events, stop = 0, _NONE
    wire.enter(state, device)
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
def _play_task(state: State, player: int, task: int, horizon_ps: int) -> int:
    """One window of a task; returns the events. THREAD says what stopped a device, and when the next event is."""
    work, row = state.tasks[task], state.threads[player]
    before = i64(row["window"]) - 1
    if work["next_ps"] >= horizon_ps and not wire.anything_for(state, task, before):
        row["earliest_ps"] = min(i64(work["next_ps"]), i64(row["earliest_ps"]))
        return 0
    first, events, earliest_ps = i64(work["first"]), 0, INFINITY_PS
    end = first + i64(work["count"])
    if i64(work["player"]) != player:
        work["player"] = player
        for slot in range(first, end):
            state.devices[i64(state.roster[slot])]["player"] = player
    wire.take_over(state, task, before)
    for slot in range(first, end):
        if state.next_ps[slot] < horizon_ps:
            device = i64(state.roster[slot])
            counted = i64(state.devices[device]["events"])
            stop = run_device(state, device, horizon_ps)
            events += i64(state.devices[device]["events"]) - counted
            if stop > row["stop"]:      # a broken invariant is never hidden by a table that is full
                row["stop"] = stop
                row["stop_device"] = device
        earliest_ps = min(earliest_ps, i64(state.next_ps[slot]))
    work["next_ps"] = earliest_ps
    row["earliest_ps"] = min(earliest_ps, i64(row["earliest_ps"]))
    return events


@hot
def _list(state: State, window: int, owner: int) -> int:
    """Row of State.lists: a thread's own tasks among those that are played in a window."""
    return window % sides(state) * state.threads.shape[0] + owner


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
def _play_all(state: State, horizon_ps: int) -> int:
    """One window of all tasks of a side by the coordinator; returns the events."""
    events, n_threads, window = 0, state.threads.shape[0], i64(state.threads[0]["window"])
    row = _list(state, window, 0)
    first, last = state.lists[row], state.lists[row + n_threads - 1]
    begin, end = i64(first["first"]), i64(last["first"]) + i64(last["count"])
    wire.ask_ahead(state, i64(state.dealt[begin]), window - 1)
    for place in range(begin, end):
        if place + 1 < end:
            wire.ask_ahead(state, i64(state.dealt[place + 1]), window - 1)
        events += _play_task(state, 0, i64(state.dealt[place]), horizon_ps)
    state.threads[0]["events"] += events
    return events


@hot
def _mail(thread: int, line: int) -> int:
    """First word of a place of a thread's own in State.shared."""
    return (N_SHARED + N_MAIL * thread + line) * LINE


@kernel
def _claim(state: State, owner: int, from_end: bool) -> int:
    """Place in State.dealt of a task of a thread's list that nobody else begins from now on; -1: there is none."""
    unclaimed = _mail(owner, _ORDER) + _UNCLAIMED
    while True:
        word = load_acquire(state.shared, unclaimed)
        place, end = word >> _PLACE_BITS, word & _PLACES
        if place == end:
            return -1
        if from_end:
            if replace_if(state.shared, unclaimed, word, word - 1):
                return end - 1
        elif replace_if(state.shared, unclaimed, word, word + (1 << _PLACE_BITS)):
            return place


@kernel
def _play_open(state: State, player: int, horizon_ps: int) -> int:
    """Play tasks of an open window, the player's own first, until none is left; returns the events."""
    n_threads, row, events, began = state.threads.shape[0], state.threads[player], 0, ticks()
    window = i64(row["window"])
    own = state.lists[_list(state, window, player)]
    end = i64(own["first"]) + i64(own["count"])
    if i64(own["first"]) < end:
        wire.ask_ahead(state, i64(state.dealt[i64(own["first"])]), window - 1)
    for step in range(n_threads):
        owner = (player + step) % n_threads
        place = _claim(state, owner, step > 0)
        while place >= 0:
            task = i64(state.dealt[place])
            if step > 0:
                wire.ask_ahead(state, task, window - 1)
            elif place + 1 < end:
                wire.ask_ahead(state, i64(state.dealt[place + 1]), window - 1)
            played = _play_task(state, player, task, horizon_ps)
            now = ticks()
            state.tasks[task]["ticks"] += now - began
            state.tasks[task]["events"] += played
            began = now
            events += played
            place = _claim(state, owner, step > 0)
    row["events"] += events
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
def _begin_to_judge(state: State) -> None:
    """Nobody is dear yet; what was long ago counts half."""
    row = state.threads[0]
    row["dear"] = 0
    if row["shared_events"] > _LONG_AGO:
        row["shared_windows"] = i64(row["shared_windows"]) // 2
        row["shared_events"] = i64(row["shared_events"]) // 2
        row["own_events"] = i64(row["own_events"]) // 2
        row["own_ticks"] = i64(row["own_ticks"]) // 2
        row["waited_ticks"] = i64(row["waited_ticks"]) // 2


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
def _share_window(state: State, ticket: int, horizon_ps: int) -> int:
    """Open a window to the helpers, play with them, and wait for what they have begun; returns the events.

    THREAD of the coordinator then speaks for all.
    """
    n_threads, row = state.threads.shape[0], state.threads[0]
    for thread in range(n_threads):
        order, tasks = _mail(thread, _ORDER), state.lists[_list(state, i64(row["window"]), thread)]
        first = i64(tasks["first"])
        state.shared[order + _HORIZON], state.shared[order + _WINDOW] = horizon_ps, row["window"]
        state.shared[order + _UNCLAIMED] = (first << _PLACE_BITS) + first + i64(tasks["count"])
    for thread in range(1, n_threads):      # not before all lists are there: whoever comes looks at each once
        store_release(state.shared, _mail(thread, _ORDER), ticket)
    began = ticks()
    own_events = _play_open(state, 0, horizon_ps)
    own, events = ticks() - began, own_events
    for thread in range(1, n_threads):
        order, done = _mail(thread, _ORDER), _mail(thread, _DONE)
        if load_acquire(state.shared, order) != ticket or not replace_if(state.shared, order, ticket, ticket + 1):
            _await(state, done, ticket)
            row["earliest_ps"] = min(i64(row["earliest_ps"]), i64(state.shared[done + 1]))
            row["sent_ps"] = min(i64(row["sent_ps"]), i64(state.shared[done + 4]))
            events += i64(state.shared[done + 2])
            if i64(state.shared[done + 3]) > row["stop"]:
                row["stop"], row["stop_device"] = state.shared[done + 3], state.threads[thread]["stop_device"]
    waited = ticks() - began - own
    row["shared_windows"] += 1
    row["shared_events"] += events
    row["own_events"] += own_events
    row["own_ticks"] += own
    row["waited_ticks"] += waited
    if waited > _STALL * own and _is_dear(state):
        row["dear"] = 1
    return events


@entry
def assist(state: State, thread: int, generation: int, patience: int) -> int:
    """Help the calls of play() with this State and number, until there was nothing to do `patience` times in a row.

    Between two calls a helper only looks at State.shared; it leaves when the number has changed.
    """
    idle, played, order, done = 0, 0, _mail(thread, _ORDER), _mail(thread, _DONE)
    store_release(state.shared, _mail(thread, _PRESENT), 1)
    while idle < patience and load_acquire(state.shared, _GENERATION) == generation:
        ticket = load_acquire(state.shared, order)
        if ticket >> _GENERATION_BITS == generation and not ticket & 1 and (
                replace_if(state.shared, order, ticket, ticket + 1)):
            wire.join(state, thread, i64(state.shared[order + _WINDOW]))
            events = _play_open(state, thread, i64(state.shared[order + _HORIZON]))
            state.shared[done + 1] = state.threads[thread]["earliest_ps"]
            state.shared[done + 2] = events
            state.shared[done + 3] = state.threads[thread]["stop"]
            state.shared[done + 4] = state.threads[thread]["sent_ps"]
            store_release(state.shared, done, ticket)
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
    THREAD.stop says which players and devices; mend and call again. `generation` is 0 (alone) or the number with which
    helpers call assist(): one that no other State had.
    """
    coordinator = state.threads[0]
    store_release(state.shared, _GENERATION, generation)
    for thread in range(state.threads.shape[0]):
        state.threads[thread]["stop"] = _NONE
    if generation != 0:
        _begin_to_judge(state)
    n_sides, windows, worst, reached_ps = sides(state), 0, _NONE, -INFINITY_PS
    side = (i64(coordinator["window"]) + 1) % n_sides
    near_ps, far_ps = look_at(state, side), look_at(state, 1 - side)      # whose turn it is, and the other side
    while worst == _NONE:
        due_ps, bound_ps = min(near_ps, far_ps), until_ps
        if windows >= max_windows:      # no side is left behind: a budget ends at a moment, too
            bound_ps = min(reached_ps, until_ps)
        if due_ps >= bound_ps:
            worst = _IDLE if due_ps >= INFINITY_PS else _BOUND if due_ps >= until_ps else _BUDGET
            break
        horizon_ps = min(horizon(state, near_ps, far_ps), bound_ps)
        wire.join(state, 0, i64(coordinator["window"]) + 1)
        if generation != 0 and coordinator["recent_events"] >= _WORTH_SHARING and coordinator["dear"] == 0:
            ticket = generation << _GENERATION_BITS | (i64(coordinator["windows"]) & _WINDOWS) << 1
            events = _share_window(state, ticket, horizon_ps)
        else:
            events = _play_all(state, horizon_ps)
        worst, reached_ps = i64(coordinator["stop"]), max(reached_ps, horizon_ps)
        near_ps, far_ps = i64(coordinator["earliest_ps"]), min(far_ps, i64(coordinator["sent_ps"]))
        if n_sides == 1:
            near_ps, far_ps = min(near_ps, far_ps), INFINITY_PS
        else:
            near_ps, far_ps = far_ps, near_ps
        coordinator["recent_events"] = (i64(coordinator["recent_events"]) + events) // 2
        windows += 1
        coordinator["windows"] += 1
        if generation != 0 and windows % _REDEAL == 0:
            deal_anew(state)
    wire.settle(state)
    if generation != 0 and _is_dear(state):
        coordinator["dear"] = 1
    return worst
