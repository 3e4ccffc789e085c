"""The sequential scheduler: one event at a time, in one global order; over the same handlers as the window loop.

With order `source` it must give the windows' digest (that proves the windows); with order `insertion` it is comparable,
event by event, with simulators that keep one global event list.
"""

from __future__ import annotations

from fabric.engine.dispatch import handle
from fabric.engine.task import shortage
from fabric.port import wire
from fabric.state import calendar
from fabric.state.codes import INFINITY_PS, Order, Stop
from fabric.state.jit import entry, i64, kernel
from fabric.state.types import State
from fabric.transport import hpcc_dcqcn

_NONE, _BOUND, _BUDGET, _IDLE = int(Stop.NONE), int(Stop.BOUND), int(Stop.BUDGET), int(Stop.IDLE)
_INSERTION = int(Order.INSERTION)


@kernel
def _first_device(state: State) -> int:
    best, best_ps = 0, INFINITY_PS
    for slot in range(state.next_ps.shape[0]):
        next_ps = i64(state.next_ps[slot])
        if next_ps < best_ps or (next_ps == best_ps and i64(state.roster[slot]) < best):
            best, best_ps = i64(state.roster[slot]), next_ps
    return best


@entry
def play_sequential(state: State, until_ps: int, max_events: int) -> int:
    """Play events in global order up to until_ps, at most max_events of them; a Stop code."""
    insertion = state.config[0]["order"] == _INSERTION
    first_timer = i64(state.config[0]["first_timer_leaf"])
    leaf, events = 0, 0
    while True:
        if insertion:
            leaf = i64(state.global_tree[1])
            now_ps = i64(state.global_time[leaf])
            device = i64(state.leaf_device[leaf])
            source = leaf - (i64(state.devices[device]["tree"]) >> 1)
        else:
            device = _first_device(state)
            key = calendar.first_key(state, device)
            now_ps, source = calendar.key_time_ps(key), calendar.key_source(key)
        if now_ps >= until_ps:
            return _IDLE if now_ps >= INFINITY_PS else _BOUND
        if events >= max_events:
            return _BUDGET
        wire.enter(state, device)
        stop = shortage(state, device)
        if stop == _NONE and insertion and leaf >= first_timer:
            timer = leaf - first_timer
            hpcc_dcqcn.fire(state, device, timer // 3, timer % 3, now_ps)
        elif stop == _NONE:
            stop = handle(state, device, source, now_ps)
        if stop != _NONE:
            state.threads[0]["stop_device"] = device
            return stop
        state.devices[device]["events"] += 1
        wire.settle(state)
        if not insertion:
            calendar.note_first(state, device)
        events += 1
