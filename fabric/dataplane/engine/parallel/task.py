"""One window of a task, the devices that one thread simulates together: take over the frames sent to it, then its
events.

The order of events is (time, source) within a device; it does not depend on windows, budgets or threads.
"""

from __future__ import annotations

from fabric.dataplane.engine.dispatch import handle
from fabric.dataplane.port import wire
from fabric.dataplane.state import calendar, pool, trace
from fabric.dataplane.state.codes import INFINITY_PS, Stop
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State

_NONE, _PACKETS, _TRACE = int(Stop.NONE), int(Stop.PACKETS), int(Stop.TRACE)


@hot
def shortage(state: State, device: int) -> int:
    """Whether the device may be entered: Stop.PACKETS or Stop.TRACE if a table must grow or drain first."""
    row = state.devices[device]
    n_ports = i64(row["n_ports"])
    if row["free_count"] < i64(row["reserve"]) and not pool.refill(state, device):
        return _PACKETS
    logged = i64(state.threads[row["thread"]]["trace_count"])
    if i64(state.config[0]["trace_rows"]) - logged < trace.margin(n_ports, i64(row["reserve"])):
        return _TRACE
    return _NONE


@hot
def run_device(state: State, device: int, horizon_ps: int) -> int:
    """Simulate the events of one device before horizon_ps."""
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
        if stop != _NONE:
            break
        events += 1
    state.next_ps[state.devices[device]["slot"]] = now_ps
    state.devices[device]["events"] += events
    return stop


@kernel
def run_task(state: State, thread: int, task: int, horizon_ps: int) -> int:
    """Simulate one window of a task; returns the number of events. THREAD gets what stopped a device, and the next
    event.
    """
    work, row = state.tasks[task], state.threads[thread]
    before = i64(row["window"]) - 1
    work["seen"] = wire.seen(state, before + 1, thread)
    if work["next_ps"] >= horizon_ps and not wire.anything_for(state, task, before):
        row["earliest_ps"] = min(i64(work["next_ps"]), i64(row["earliest_ps"]))
        return 0
    first, events, earliest_ps = i64(work["first"]), 0, INFINITY_PS
    end = first + i64(work["count"])
    if i64(work["thread"]) != thread:
        work["thread"] = thread
        for slot in range(first, end):
            state.devices[i64(state.roster[slot])]["thread"] = thread
    wire.take_over(state, task, before)
    for slot in range(first, end):
        if state.next_ps[slot] < horizon_ps:
            device = i64(state.roster[slot])
            counted = i64(state.devices[device]["events"])
            stop = run_device(state, device, horizon_ps)
            events += i64(state.devices[device]["events"]) - counted
            if stop > row["stop"]:  # a full table never hides a broken invariant
                row["stop"] = stop
                row["stop_device"] = device
        earliest_ps = min(earliest_ps, i64(state.next_ps[slot]))
    work["next_ps"] = earliest_ps
    row["earliest_ps"] = min(earliest_ps, i64(row["earliest_ps"]))
    return events
