"""A stretch of windows played by several threads that hardly ever wait for each other.

Within a stretch horizons are one lookahead apart: whatever happens, that is safe, so nobody has to ask how far to play.
1. A list is a thread's own tasks of one side. Whoever is done with its own takes tasks from the end of others' lists,
   if these have been opened by then, and says which window's list it has played. Nobody begins the list of a window
   before all have played that of the window before.
2. Hosts whose cables all lead to one switch need nothing but that switch. They are on no list: their owner plays half
   of them before it looks whether the others have come as far, and the other half after its own list. By so much may
   others be late and nobody waits. A host whose switch somebody else has taken waits for the second half.
3. Who stops, because a table is full, says so, and all end with the list they are at. Across every cable clocks then
   differ by a lookahead at most, so what has been played cannot be undone by what has not, however far apart devices
   without a cable between them are. wire.settle() takes over what was sent.
4. Who has not come by the beginning takes no part: the coordinator plays its lists.
"""

from __future__ import annotations

from fabric.engine.dealing import home_side, homed_list, sides
from fabric.engine.judging import is_dear
from fabric.engine.task import play_task
from fabric.engine.waiting import ticks, yield_processor
from fabric.port import wire
from fabric.state.atomic import load_acquire, replace_if, store_release
from fabric.state.codes import LINE, N_MAIL, N_SHARED, Mail, Stop
from fabric.state.jit import hot, i64, kernel
from fabric.state.types import State

_NONE = int(Stop.NONE)
_ORDER, _UNCLAIMED, _DONE = int(Mail.ORDER), int(Mail.UNCLAIMED), int(Mail.DONE)
_FIRST, _WINDOWS, _HORIZON, _BOUND, _GO = 1, 2, 3, 4, 5
"""Words of an order, behind the ticket: the stretch's first window, how many, where the first ends, where all end; the
ticket when it is known who takes part."""
_PLAYED, _EVENTS, _SENT, _STOP = 1, 2, 3, 4
"""Words behind the window that is done: the ticket that was played, and what came of it."""
_PLACE_BITS, _PLACES = 20, (1 << 20) - 1
_WINDOW_BITS, _WINDOW = 2 * _PLACE_BITS, (1 << 23) - 1
"""A range of State.dealt in one word: window, first place, end."""
_PEEKS = 64
"""Looks at a word before the processor is given away once."""
_LONG_WAIT = 1024
"""As _PEEKS, for helpers that are probably about to come."""


@hot
def mail(thread: int, line: int) -> int:
    """First word of a place of a thread's own in State.shared."""
    return (N_SHARED + N_MAIL * thread + line) * LINE


@hot
def list_of(state: State, window: int, owner: int) -> int:
    """Row of State.lists: a thread's own tasks among those that are played in a window."""
    return window % sides(state) * state.threads.shape[0] + owner


@hot
def _stand_in(state: State, owner: int) -> int:
    """Who plays the lists of a thread."""
    return owner if state.threads[owner]["present"] else 0


@kernel
def open_list(state: State, window: int, owner: int) -> None:
    """From now on tasks of a thread's list may be claimed."""
    tasks = state.lists[list_of(state, window, owner)]
    first = i64(tasks["first"])
    places = first << _PLACE_BITS | first + i64(tasks["count"])
    store_release(state.shared, mail(owner, _UNCLAIMED), (window & _WINDOW) << _WINDOW_BITS | places)


@kernel
def claim(state: State, window: int, owner: int, from_end: bool) -> int:
    """Place in State.dealt of a task of a thread's list that nobody else begins from now on; -1: there is none."""
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
def _play_timed(state: State, player: int, task: int, horizon_ps: int, began: int) -> int:
    """Play a task that was begun at a moment, and count what it took; returns the moment of its end."""
    events = play_task(state, player, task, horizon_ps)
    now = ticks()
    state.tasks[task]["ticks"] += now - began
    state.tasks[task]["events"] += events
    state.threads[player]["events"] += events
    return now


@kernel
def _play_lists(state: State, player: int, window: int, horizon_ps: int) -> None:
    """Play tasks of a window's lists, the player's own first, until none is left."""
    n_threads, began = state.threads.shape[0], ticks()
    for owner in range(n_threads):
        if _stand_in(state, owner) == player:
            open_list(state, window, owner)
    for step in range(n_threads):
        owner = (player + step) % n_threads
        tasks = state.lists[list_of(state, window, owner)]
        own, end = _stand_in(state, owner) == player, i64(tasks["first"]) + i64(tasks["count"])
        place = claim(state, window, owner, not own)
        if place >= 0 and own:
            wire.ask_ahead(state, i64(state.dealt[place]), window - 1)
        while place >= 0:
            task = i64(state.dealt[place])
            if not own:
                wire.ask_ahead(state, task, window - 1)
            elif place + 1 < end:
                wire.ask_ahead(state, i64(state.dealt[place + 1]), window - 1)
            began = _play_timed(state, player, task, horizon_ps, began)
            place = claim(state, window, owner, not own)


@kernel
def _play_homed(state: State, player: int, owner: int, window: int, begin: int, early: bool, horizon_ps: int) -> int:
    """Play hosts of a homed list from a place on: the rest, or early on those of the first half whose switches this
    player has played in the window before; returns how many.
    """
    tasks, began = state.lists[homed_list(state, owner)], ticks()
    first, count = i64(tasks["first"]), i64(tasks["count"])
    end = count // 2 if early else count
    for at in range(begin, end):
        task = i64(state.dealt[first + at])
        if early and i64(state.tasks[i64(state.tasks[task]["family"])]["seen"]) != wire.seen(state, window - 1, player):
            return at
        if at + 1 < end:
            wire.ask_ahead(state, i64(state.dealt[first + at + 1]), window - 1)
        began = _play_timed(state, player, task, horizon_ps, began)
    return end


@kernel
def _await(state: State, place: int, word: int) -> None:
    """Until a word of State.shared has this value."""
    peeks = 0
    while load_acquire(state.shared, place) != word:
        peeks += 1
        if peeks % _PEEKS == 0:
            yield_processor()


@kernel
def _all_have_played(state: State, player: int, window: int) -> bool:
    """Wait until everybody has played a window's list; False if somebody has stopped."""
    going, row = True, state.threads[player]
    for thread in range(state.threads.shape[0]):
        if thread != player and state.threads[thread]["present"]:
            done = mail(thread, _DONE)
            word = load_acquire(state.shared, done)
            if word < window << 1:
                began, peeks = ticks(), 0
                while word < window << 1 and not word & 1:
                    peeks += 1
                    if peeks % _PEEKS == 0:
                        yield_processor()
                    word = load_acquire(state.shared, done)
                row["waited_ticks"] += ticks() - began
            if word & 1:
                going = False
    return going


@kernel
def _tell(state: State, player: int, window: int) -> None:
    """Say that a window's list has been played, and whether this thread has stopped."""
    stopped = 1 if state.threads[player]["stop"] != _NONE else 0
    store_release(state.shared, mail(player, _DONE), window << 1 | stopped)


@kernel
def _play_stretch(state: State, player: int, first: int, n_windows: int, horizon_ps: int, bound_ps: int) -> int:
    """One thread's part of a stretch; returns the events. THREAD says what stopped a device."""
    row, lookahead_ps, side = state.threads[player], i64(state.config[0]["lookahead_ps"]), home_side(state)
    before = i64(row["events"])
    for step in range(n_windows):
        window, until_ps = first + step, min(horizon_ps + step * lookahead_ps, bound_ps)
        wire.join(state, player, window)
        early, homed = 0, side == window % sides(state)
        if step > 0:
            if homed:
                early = _play_homed(state, player, player, window, 0, True, until_ps)
            if not _all_have_played(state, player, window - 1):
                store_release(state.shared, mail(player, _DONE), (window - 1) << 1 | 1)     # nor wait for this one
                break
        _play_lists(state, player, window, until_ps)
        _tell(state, player, window)
        if homed:
            for owner in range(state.threads.shape[0]):
                if _stand_in(state, owner) == player:
                    _play_homed(state, player, owner, window, early if owner == player else 0, False, until_ps)
        if row["stop"] != _NONE:
            _tell(state, player, window)
            break
    return i64(row["events"]) - before


@kernel
def _muster(state: State, ticket: int, patience: int) -> int:
    """Wait so many looks in all for helpers that have an order; returns how many come. THREAD.present says which."""
    came, peeks = 0, 0
    for thread in range(1, state.threads.shape[0]):
        order = mail(thread, _ORDER)
        while peeks < patience and load_acquire(state.shared, order) == ticket:
            peeks += 1
            if peeks % _LONG_WAIT == 0:
                yield_processor()
        present = 0 if replace_if(state.shared, order, ticket, ticket + 1) else 1
        if i64(state.threads[thread]["present"]) != present:
            state.threads[thread]["present"] = present
        came += present
    return came


@kernel
def share_stretch(state: State, ticket: int, n_windows: int, horizon_ps: int, bound_ps: int, patience: int) -> int:
    """Play a stretch with the helpers that come; returns the events, or -1 if nobody came and nothing was played.

    THREAD of the coordinator then speaks for all.
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
    if _muster(state, ticket, patience) == 0:
        return -1
    for thread in range(1, n_threads):
        if state.threads[thread]["present"]:
            store_release(state.shared, mail(thread, _ORDER) + _GO, ticket)
    began, waited_before = ticks(), i64(row["waited_ticks"])
    own_events = _play_stretch(state, 0, first, n_windows, horizon_ps, bound_ps)
    events, before = own_events, ticks()
    for thread in range(1, n_threads):
        if state.threads[thread]["present"]:
            done = mail(thread, _DONE)
            _await(state, done + _PLAYED, ticket)
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
    if 2 * waited > now - began and is_dear(state):
        row["dear"] = 1
    return events


@kernel
def take_part(state: State, thread: int, ticket: int) -> None:
    """A helper's part of a stretch that it has come for."""
    order, done = mail(thread, _ORDER), mail(thread, _DONE)
    _await(state, order + _GO, ticket)
    events = _play_stretch(state, thread, i64(state.shared[order + _FIRST]), i64(state.shared[order + _WINDOWS]),
                           i64(state.shared[order + _HORIZON]), i64(state.shared[order + _BOUND]))
    state.shared[done + _EVENTS] = events
    state.shared[done + _SENT] = state.threads[thread]["sent_ps"]
    state.shared[done + _STOP] = state.threads[thread]["stop"]
    store_release(state.shared, done + _PLAYED, ticket)
