"""The window loop: every device plays its own events up to a horizon that nothing can reach from outside.

Rules (conservative parallel simulation, Chandy and Misra 1979, with barriers)
1. horizon = earliest pending event of all devices + lookahead, and never beyond the caller's bound. What a device sends
   in a window takes effect at or after the horizon, so devices need nothing from each other within it.
2. Between windows each thread takes over the frames sent to its devices. Taking over early is harmless, so a call may
   stop anywhere between events and the next call begins by taking over.
3. The order of events is (time, source) within a device; it does not depend on windows, budgets or threads.
"""

from __future__ import annotations

import numpy as np

from fabric.engine.dispatch import handle
from fabric.engine.sync import SYNC_STRIDE, barrier
from fabric.port import wire
from fabric.state import calendar, pool, trace
from fabric.state.codes import INFINITY_PS, Stop
from fabric.state.jit import entry, hot, i64, kernel
from fabric.state.types import State

_NONE, _BOUND, _BUDGET = int(Stop.NONE), int(Stop.BOUND), int(Stop.BUDGET)
_PACKETS, _TRACE, _IDLE = int(Stop.PACKETS), int(Stop.TRACE), int(Stop.IDLE)
u = np.uint32


@hot
def shortage(state: State, device: int) -> int:
    """Whether the device may be entered: Stop.PACKETS or Stop.TRACE if a table must grow or drain first."""
    row = state.devices[device]
    n_ports = i64(row["n_ports"])
    if row["free_count"] < pool.reserve(n_ports):
        return _PACKETS
    if state.threads[row["thread"]]["trace_count"] > state.config[0]["trace_rows"] - trace.margin(n_ports):
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
def take_over(state: State, thread: int) -> None:
    """Publish the frames that were sent to this thread's devices."""
    n_threads = state.threads.shape[0]
    stride = 2 * state.ports.shape[0]
    for producer in range(n_threads):
        box = producer * n_threads + thread
        for index in range(i64(state.outbox_count[box * wire.COUNT_STRIDE])):
            device = wire.publish(state, i64(state.outbox[box * stride + index]))
            state.next_ps[device] = calendar.key_time_ps(calendar.first_key(state, device))
        state.outbox_count[box * wire.COUNT_STRIDE] = 0


@kernel
def _earliest(state: State, thread: int) -> int:
    row = state.threads[thread]
    first = i64(row["first"])
    earliest_ps = INFINITY_PS
    for index in range(first, first + i64(row["count"])):
        earliest_ps = min(earliest_ps, i64(state.next_ps[state.roster[index]]))
    return earliest_ps


@kernel
def _run_window(state: State, thread: int, horizon_ps: int) -> int:
    row = state.threads[thread]
    first = i64(row["first"])
    for index in range(first, first + i64(row["count"])):
        device = i64(state.roster[index])
        if state.next_ps[device] < horizon_ps:
            stop = run_device(state, device, horizon_ps)
            if stop != _NONE:
                row["stop_device"] = device
                return stop
    return _NONE


@entry
def play(state: State, thread: int, until_ps: int, max_windows: int) -> int:
    """Play windows up to until_ps, at most max_windows of them; every thread returns the same Stop code.

    Called once per thread, at the same time. Stop.BOUND: every event before until_ps has been played. Stop.IDLE:
    nothing is pending. Stop.PACKETS and Stop.TRACE: THREAD.stop says which thread and device; mend and call again.
    """
    n_threads = state.threads.shape[0]
    lookahead_ps = i64(state.config[0]["lookahead_ps"])
    windows = 0
    while True:
        take_over(state, thread)
        state.threads[thread]["stop"] = _NONE
        state.sync[thread * SYNC_STRIDE + 8] = _earliest(state, thread)
        if n_threads > 1:
            barrier(state, thread)
        earliest_ps = INFINITY_PS
        for other in range(n_threads):
            earliest_ps = min(earliest_ps, i64(state.sync[other * SYNC_STRIDE + 8]))
        if earliest_ps >= until_ps:
            return _IDLE if earliest_ps >= INFINITY_PS else _BOUND
        if windows >= max_windows:
            return _BUDGET
        state.threads[thread]["stop"] = _run_window(state, thread, min(earliest_ps + lookahead_ps, until_ps))
        windows += 1
        state.threads[thread]["windows"] += 1
        if n_threads > 1:
            barrier(state, thread)
        worst = _NONE
        for other in range(n_threads):
            worst = max(worst, i64(state.threads[other]["stop"]))
        if worst != _NONE:
            if n_threads > 1:
                barrier(state, thread)
            return worst
