"""Two series of times by size: the ratio for each size, and alpha and beta of both.

Times are compared, not bus bandwidths: these are the time divided into a number that depends on the operation.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from fabric.errors import InputErrors, Problem
from fabric.traces.nccl_tests.log import Log


class Fit(NamedTuple):
    """time = alpha + size / beta."""

    alpha_us: float
    beta_gbs: float
    """GB/s of 10^9 B; infinite where the time does not grow."""


@dataclass(frozen=True)
class Series:
    """Times of one operation by size."""

    name: str
    operation: str
    n_ranks: int
    time_us: dict[int, float]


class Ratio(NamedTuple):
    """One size in both."""

    size_bytes: int
    first_us: float
    second_us: float
    ratio: float
    """Second over first."""


@dataclass(frozen=True)
class Comparison:
    """Two series."""

    first: Series
    second: Series
    ratios: tuple[Ratio, ...]
    only_first: tuple[int, ...]
    only_second: tuple[int, ...]
    first_fit: Fit | None
    second_fit: Fit | None
    """Over the common sizes; None where there is only one."""
    geometric_mean_ratio: float
    notes: tuple[str, ...]


def series(log: Log) -> Series:
    """Out-of-place times of a log; the mean where a size is given more than once."""
    times: dict[int, list[float]] = defaultdict(list)
    for row in log.rows:
        times[row.size_bytes].append(row.out_of_place_us)
    return Series(log.file, log.operation, log.n_ranks, {size: sum(it) / len(it) for size, it in times.items()})


def fit(points: Iterable[tuple[int, float]]) -> Fit | None:
    """Alpha and beta that minimise the squares of the relative errors, so that small sizes count like large ones.

    Returns: None with fewer than two sizes, or where the two are not determined.
    """
    s = sx = sy = sxx = sxy = 0.0
    sizes = set()
    for size, time_us in points:
        weight = 1 / time_us**2
        s, sx, sy = s + weight, sx + weight * size, sy + weight * time_us
        sxx, sxy = sxx + weight * size * size, sxy + weight * size * time_us
        sizes.add(size)
    determinant = s * sxx - sx * sx
    if len(sizes) < 2 or determinant <= 0:
        return None
    slope = (s * sxy - sx * sy) / determinant
    alpha = (sy - slope * sx) / s
    return Fit(alpha, 1e-3 / slope if slope > 0 else math.inf)


def compare(first: Series, second: Series) -> Comparison:
    """Ratios and fits over the common sizes.

    Raises: InputErrors where operation or ranks differ, or no size is common.
    """
    problems = []
    for what, one, two in (("operation", first.operation, second.operation), ("ranks", first.n_ranks, second.n_ranks)):
        if one and two and one != two:
            problems.append(
                Problem(second.name, f"its {what}: {two}; of {first.name}: {one}", "compare like with like")
            )
    common = sorted(set(first.time_us) & set(second.time_us))
    if not common:
        problems.append(Problem(second.name, f"has no size of {first.name}", "run both with the same sizes: -b -e -f"))
    if problems:
        raise InputErrors("comparison", problems)
    ratios = tuple(
        Ratio(size, first.time_us[size], second.time_us[size], second.time_us[size] / first.time_us[size])
        for size in common
    )
    notes = [f"{it.name} does not name its {what}" for it in (first, second)
             for what, value in (("operation", it.operation), ("ranks", it.n_ranks)) if not value]  # fmt: skip
    return Comparison(
        first,
        second,
        ratios,
        tuple(sorted(set(first.time_us) - set(common))),
        tuple(sorted(set(second.time_us) - set(common))),
        fit((it.size_bytes, it.first_us) for it in ratios),
        fit((it.size_bytes, it.second_us) for it in ratios),
        math.exp(sum(math.log(it.ratio) for it in ratios) / len(ratios)),
        tuple(notes),
    )
