"""Where the nanoseconds go: every event of a run, counted and timed by kind.

The loops of fabric/engine (loop, task) are played by a copy that reads the cycle counter around each handler; the
handlers are the engine's own, the digest must be the engine's too, and the engine itself carries none of this. What the
two readings cost is measured and taken off; the time outside handlers (next event, windows, taking frames over) is the
remainder.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench import cases
from bench.play import emulator
from bench.ticks import calibrate
from fabric.engine.dealing import sides
from fabric.engine.dispatch import handle
from fabric.engine.loop import horizon, look_at
from fabric.engine.task import shortage
from fabric.engine.waiting import ticks
from fabric.errors import FabricError
from fabric.port import wire
from fabric.state import calendar
from fabric.state.codes import INFINITY_PS, Aux, Stop
from fabric.state.jit import entry, i64, is_compiled, kernel
from fabric.state.types import State

KINDS: Final = ("arrival at a switch", "arrival at a host", "pause frame", "port free", "NIC wake", "other timers")
_NONE, _IDLE, _BOUND = int(Stop.NONE), int(Stop.IDLE), int(Stop.BOUND)
_WAKE: Final = int(Aux.WAKE)


@kernel
def _kind(state: State, device: int, source: int) -> int:
    row = state.devices[device]
    n_ports = i64(row["n_ports"])
    if source < n_ports:
        return 1 if row["is_host"] else 0
    if source < 2 * n_ports:
        return 2
    if source < 3 * n_ports:
        return 3
    return 4 if source - 3 * n_ports == _WAKE else 5


@kernel
def _run_device(state: State, device: int, horizon_ps: int) -> int:
    """As task.run_device. Counts and ticks go to two tables that this order of events leaves unused."""
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
        kind = _kind(state, device, calendar.key_source(key))
        before = ticks()
        stop = handle(state, device, calendar.key_source(key), now_ps)
        state.global_time[kind] += ticks() - before
        state.global_order[kind] += 1
        events += 1
        if stop != _NONE:
            break
    state.next_ps[state.devices[device]["slot"]] = now_ps
    state.devices[device]["events"] += events
    return stop


@entry
def _play(state: State, until_ps: int) -> int:
    """As loop.play with one thread."""
    side, stop = 0, _NONE
    while stop == _NONE:
        wire.settle(state)
        near_ps, far_ps = look_at(state, side), look_at(state, 1 - side)
        if min(near_ps, far_ps) >= until_ps:
            return _IDLE if min(near_ps, far_ps) >= INFINITY_PS else _BOUND
        horizon_ps = min(horizon(state, near_ps, far_ps), until_ps)
        for task in range(state.tasks.shape[0]):
            first = i64(state.tasks[task]["first"])
            if i64(state.tasks[task]["side"]) == side:
                for slot in range(first, first + i64(state.tasks[task]["count"])):
                    if state.next_ps[slot] < horizon_ps and stop == _NONE:
                        state.threads[0]["stop_device"] = state.roster[slot]
                        stop = _run_device(state, i64(state.roster[slot]), horizon_ps)
        side = (side + 1) % sides(state)
    state.threads[0]["stop"] = stop
    return stop


def profile(raw: dict[str, Any]) -> dict[str, Any]:
    """Count and time the events of one scenario.

    Returns: per kind the events, nanoseconds of one, and share of the time; likewise the remainder outside handlers.
    Raises: FabricError without compiled kernels; AssertionError if the copy of the loop parts from the engine's.
    """
    if not is_compiled():
        raise FabricError("the profile times compiled kernels", "unset NUMBA_DISABLE_JIT")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        compiled = cases.compiled(raw, Path(folder))
    reference = emulator(compiled)
    reference.advance(compiled.duration_ps)
    engine = emulator(compiled)
    engine.state = engine.state._replace(global_time=np.zeros(len(KINDS), np.int64),
                                         global_order=np.zeros(len(KINDS), np.int64))
    _play(engine.state, 0)
    tick_ns, pair_ticks = calibrate(engine.state)
    wall_ns = 0
    while True:
        began = time.perf_counter_ns()
        stop = Stop(_play(engine.state, compiled.duration_ps))
        wall_ns += time.perf_counter_ns() - began
        if stop is Stop.PACKETS:
            engine._supply_packets()  # noqa: SLF001  what the driver does at this stop
        elif stop is Stop.TRACE:
            engine.drain_events()
        else:
            break
    assert stop is Stop.IDLE, f"the profiled run ended with {stop.name}"
    assert engine.digest() == reference.digest(), "the profiled loop is no longer the engine's"
    counts, spent = engine.state.global_order, engine.state.global_time
    total = int(counts.sum())
    assert total == engine.events, "events were missed"
    # Both readings of a pair fall into the wall time, one of them between the readings.
    wall_ns -= round(2 * total * pair_ticks * tick_ns)
    inside_ns = np.maximum(spent - counts * pair_ticks, 0) * tick_ns
    rows = [{"kind": kind, "events": int(count), "ns": float(ns / count) if count else 0.0,
             "share_ratio": float(ns / wall_ns)} for kind, count, ns in zip(KINDS, counts, inside_ns, strict=True)]
    rest_ns = wall_ns - float(inside_ns.sum())
    rows.append({"kind": "calendar, windows, taking over", "events": total, "ns": rest_ns / total,
                 "share_ratio": rest_ns / wall_ns})
    hops = engine.packet_hops
    return {"rows": rows, "packet_hops": hops, "events": total, "ns_per_hop": wall_ns / hops,
            "events_per_hop": total / hops, "reading_ns": pair_ticks * tick_ns}
