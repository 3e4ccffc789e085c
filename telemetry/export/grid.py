"""Recorded series at a chosen interval, for exports that keep simulated time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Sent:
    """Result of an export."""

    series: int
    points: int
    messages: int
    """Requests of OTLP, messages of IPFIX."""
    interval_ns: int
    """Median time between two samples."""


def sampled(times_ns: NDArray[np.int64], interval_ns: int | None) -> NDArray[np.int64]:
    """Positions to export: all, or the first sample at or after each multiple of the interval."""
    if interval_ns is None or not len(times_ns):
        return np.arange(len(times_ns))
    wanted = np.arange(times_ns[0], times_ns[-1] + 1, interval_ns)
    return np.unique(np.searchsorted(times_ns, wanted))


def usual_step_ns(times_ns: NDArray[np.int64]) -> int:
    """Median time between two samples; 0 where there is one alone."""
    steps = np.sort(np.diff(times_ns))
    return int(steps[len(steps) // 2]) if len(steps) else 0


def on_grid(
    found_ns: NDArray[np.int64], values: NDArray[np.float64], times_ns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(n,) the series' values at `times_ns`; not a number where it has no sample."""
    if not len(found_ns):
        return np.full(len(times_ns), np.nan)
    place = np.minimum(np.searchsorted(found_ns, times_ns), len(found_ns) - 1)
    return np.where(found_ns[place] == times_ns, values[place], np.nan)
