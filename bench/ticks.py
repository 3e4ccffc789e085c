"""What a reading of the cycle counter is worth, and what it costs."""

from __future__ import annotations

import time

from fabric.engine.waiting import ticks
from fabric.state.jit import entry, i64
from fabric.state.types import State


@entry
def _pairs(state: State, count: int) -> int:  # noqa: ARG001  entries take State first
    """Ticks that `count` pairs of readings with nothing between them measure."""
    total = 0
    for _ in range(count):
        before = ticks()
        total += i64(ticks() - before)
    return total


@entry
def _now(state: State, unused: int) -> int:  # noqa: ARG001  entries take State first
    return i64(ticks())


def calibrate(state: State) -> tuple[float, float]:
    """(nanoseconds per tick, ticks a pair of readings costs by itself)."""
    _now(state, 0)
    clock, first = time.perf_counter_ns(), _now(state, 0)
    time.sleep(0.2)
    per_tick_ns = (time.perf_counter_ns() - clock) / (_now(state, 0) - first)
    count = 1_000_000
    return per_tick_ns, _pairs(state, count) / count
