"""The sequential scheduler: one event at a time in one global order, with the event handlers of the window loop.

With order `source` it must give the digest of the window loop, as a proof of the windows. With order `insertion` it can
be compared, event by event, with simulators that keep one global event list.
"""

from __future__ import annotations

from fabric.dataplane.engine.dispatch import handle
from fabric.dataplane.engine.parallel.task import shortage
from fabric.dataplane.port import wire
from fabric.dataplane.state import calendar
from fabric.dataplane.state.codes import INFINITY_PS, Order, Stop
from fabric.dataplane.state.compiled.jit import entry, i64, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.transport import hooks

_NONE, _BOUND, _BUDGET, _IDLE = int(Stop.NONE), int(Stop.BOUND), int(Stop.BUDGET), int(Stop.IDLE)
_ANCESTRY = int(Stop.ANCESTRY)
_INSERTION = int(Order.INSERTION)


@kernel
def _first_device(state: State) -> int:
    best, best_ps = 0, INFINITY_PS
    for slot in range(state.next_ps.shape[0]):
        next_ps = i64(state.next_ps[slot])
        if next_ps < best_ps or (next_ps == best_ps and i64(state.roster[slot]) < best):
            best, best_ps = i64(state.roster[slot]), next_ps
    return best


@kernel
def _pause(state: State, next_ps: int, until_ps: int) -> int:
    """No event but rate timers is left before until_ps; a Stop code.

    Running timers keep a run from being idle, as in a simulator with timers in its event list.
    """
    if next_ps >= INFINITY_PS and (until_ps >= INFINITY_PS or state.config[0]["running_timers"] == 0):
        return _IDLE
    stop = hooks.settle(state, until_ps)
    return _BOUND if stop == _NONE else stop


@entry
def run_sequential(state: State, until_ps: int, max_events: int) -> int:
    """Simulate events in global order up to until_ps, at most max_events of them; a Stop code."""
    insertion = state.config[0]["order"] == _INSERTION
    leaf, events = 0, 0
    while True:
        if insertion:
            leaf = i64(state.global_tree[1])
            now_ps = i64(state.global_time[1])
            device = i64(state.leaf_device[leaf])
            source = leaf - (i64(state.devices[device]["tree"]) >> 1)
        else:
            device = _first_device(state)
            key = calendar.first_key(state, device)
            now_ps, source = calendar.key_time_ps(key), calendar.key_source(key)
        if now_ps >= until_ps:
            return _pause(state, now_ps, until_ps)
        if events >= max_events:
            stop = hooks.settle(state, now_ps)
            return _BUDGET if stop == _NONE else stop
        wire.enter(state, device)
        stop = shortage(state, device)
        if stop == _NONE:
            if insertion:
                calendar.begin_event(state, now_ps, i64(state.global_order[1]))
            stop = handle(state, device, source, now_ps)
        if stop == _NONE and state.config[0]["ancestry_lost"] != 0:
            stop = _ANCESTRY
        if stop != _NONE:
            state.threads[0]["stop_device"] = device
            return stop
        state.devices[device]["events"] += 1
        if state.threads[0]["sent_ps"] < INFINITY_PS:  # otherwise there is nothing to take over
            wire.settle(state)
        if not insertion:
            calendar.note_first(state, device)
        events += 1
