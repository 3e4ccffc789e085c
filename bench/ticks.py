"""Unit and cost of a reading of the cycle counter."""

from __future__ import annotations

import time

from fabric.dataplane.engine.parallel.spinning import ticks
from fabric.dataplane.state.compiled.jit import entry, i64
from fabric.dataplane.state.types import State


@entry
def _pairs(state: State, count: int) -> int:  # noqa: ARG001  entries take State first
    """Ticks that `count` pairs of readings without work between them measure."""
    total = 0
    for _ in range(count):
        before = ticks()
        total += i64(ticks() - before)
    return total


@entry
def _now(state: State, unused: int) -> int:  # noqa: ARG001  entries take State first
    return i64(ticks())


def calibrate(state: State) -> tuple[float, float]:
    """(nanoseconds per tick, ticks that a pair of readings costs)."""
    _now(state, 0)
    clock, first = time.perf_counter_ns(), _now(state, 0)
    time.sleep(0.2)
    per_tick_ns = (time.perf_counter_ns() - clock) / (_now(state, 0) - first)
    count = 1_000_000
    return per_tick_ns, _pairs(state, count) / count
