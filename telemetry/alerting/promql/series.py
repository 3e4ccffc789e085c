"""Samples over time, and Prometheus' two selectors: the last sample at an instant, and the samples in a window.

Semantics are those of Prometheus 2.x (promql/engine.go, functions.go): windows and the lookback include both ends. From
3.0 on the older end is open, which changes a result only where a sample lies on that end to the millisecond.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from telemetry.alerting.promql.model import LOOKBACK_S, MS_PER_S, Function

Labels: TypeAlias = tuple[tuple[str, str], ...]
"""Sorted by name; without the metric's name and without empty values."""
Times: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

STALE: Final = np.uint64(0x7FF0000000000002)
"""Bits of the NaN that marks the end of a series (prometheus/model/value.StaleNaN)."""


def labels(pairs: Mapping[str, str]) -> Labels:
    """Labels in their canonical form."""
    return tuple(sorted((name, value) for name, value in pairs.items() if value))


@dataclass(frozen=True)
class Series:
    """One time series."""

    labels: Labels
    times_ms: Times
    """(n,) ascending."""
    values: Floats
    """(n,)."""


class Database(Protocol):
    """A source of series."""

    def series(self, metric: str) -> Sequence[Series]:
        """All series of a metric; empty where it was not exported."""


def is_stale(values: Floats) -> Bools:
    """(n,) whether a sample is a staleness marker."""
    return np.asarray(np.ascontiguousarray(values).view(np.uint64) == STALE)


def stale(count: int) -> Floats:
    """(count,) stale markers."""
    return np.full(count, STALE, np.uint64).view(np.float64)


def at(series: Series, grid_ms: Times) -> tuple[Floats, Bools]:
    """The instant vector's value of one series at every time of a grid, and whether there is one.

    Returns: values (n_grid,), present (n_grid,).
    """
    if not len(series.times_ms):
        return np.zeros(len(grid_ms)), np.zeros(len(grid_ms), np.bool_)
    place = np.searchsorted(series.times_ms, grid_ms, side="right") - 1
    last = np.maximum(place, 0)
    values = series.values[last]
    fresh = grid_ms - series.times_ms[last] <= LOOKBACK_S * MS_PER_S
    return values, (place >= 0) & fresh & ~is_stale(values)


def over(function: Function, series: Series, grid_ms: Times, window_ms: int) -> tuple[Floats, Bools]:
    """A range function of one series at every moment of a grid; as `at`."""
    alive = ~is_stale(series.values)
    times, values = series.times_ms[alive], series.values[alive]
    first = np.searchsorted(times, grid_ms - window_ms, side="left")
    end = np.searchsorted(times, grid_ms, side="right")
    return _FUNCTIONS[function](times, values, first, end, grid_ms, window_ms)


_Window = tuple[Floats, Bools]


def _extrapolated(
    times: Times, values: Floats, first: Times, end: Times, grid_ms: Times, window_ms: int, *, per_second: bool
) -> _Window:
    """functions.go extrapolatedRate for counters: growth with resets, extrapolated towards the window's ends."""
    present = end - first >= 2
    if not present.any():
        return np.zeros(len(grid_ms)), present
    low, high = first[present], end[present] - 1
    # A decrease is a counter reset: the count before it is added (one running sum serves every window).
    fallen = np.concatenate([[0.0], np.cumsum(np.where(np.diff(values) < 0, values[:-1], 0.0))])
    grown = values[high] - values[low] + fallen[high] - fallen[low]
    sampled_s = (times[high] - times[low]) / MS_PER_S
    between_s = sampled_s / (high - low)
    to_start = (times[low] - (grid_ms[present] - window_ms)) / MS_PER_S
    to_end = (grid_ms[present] - times[high]) / MS_PER_S
    # A counter cannot have been below 0: it is not extrapolated beyond the time at which it would have been 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        to_zero = np.where((grown > 0) & (values[low] >= 0), sampled_s * (values[low] / grown), np.inf)
    to_start = np.minimum(to_start, to_zero)
    stretched_s = sampled_s.copy()
    for gap in (to_start, to_end):
        stretched_s += np.where(gap < between_s * 1.1, gap, between_s / 2)
    result = np.zeros(len(grid_ms))
    result[present] = grown * (stretched_s / sampled_s / (window_ms / MS_PER_S if per_second else 1.0))
    return result, present


def _reduced(of: np.ufunc, *, mean: bool = False) -> Callable[[Times, Floats, Times, Times, Times, int], _Window]:
    def reduce(_times: Times, values: Floats, first: Times, end: Times, grid_ms: Times, _window_ms: int) -> _Window:
        present = end > first
        result = np.zeros(len(grid_ms))
        if present.any():
            bounds = np.stack([first[present], end[present]], axis=1).reshape(-1)
            # reduceat over [first, end) pairs; the odd results lie between windows and are dropped.
            found = of.reduceat(np.append(values, 0.0), bounds)[::2]
            result[present] = found / (end - first)[present] if mean else found
        return result, present

    return reduce


def _counted(_times: Times, _values: Floats, first: Times, end: Times, _grid_ms: Times, _window_ms: int) -> _Window:
    return (end - first).astype(np.float64), end > first


def _changes(_times: Times, values: Floats, first: Times, end: Times, _grid_ms: Times, _window_ms: int) -> _Window:
    """functions.go funcChanges: samples of the window that differ from the one before them in the window."""
    present = end > first
    changed = np.concatenate([[0], np.cumsum(np.diff(values) != 0)])
    result = np.zeros(len(first))
    result[present] = changed[end[present] - 1] - changed[first[present]]
    return result, present


_FUNCTIONS: Final[Mapping[Function, Callable[[Times, Floats, Times, Times, Times, int], _Window]]] = {
    Function.RATE: lambda *window: _extrapolated(*window, per_second=True),
    Function.INCREASE: lambda *window: _extrapolated(*window, per_second=False),
    Function.MAX: _reduced(np.maximum),
    Function.MIN: _reduced(np.minimum),
    Function.AVG: _reduced(np.add, mean=True),
    Function.SUM: _reduced(np.add),
    Function.COUNT: _counted,
    Function.CHANGES: _changes,
}
