"""Statistics over repetitions and points: intervals, paired differences, when to stop, Pareto fronts, main effects.

Intervals of means are Student's, over runs with independent seeds (Law, Simulation Modeling and Analysis, 5th edition,
9.4.1: replication). Differences between two points with common random numbers are intervals of the differences seed by
seed (ibid., 10.2.1: paired-t); they are narrower than the two intervals suggest, because both points saw the same
traffic.
A test after each repetition stops a little too early on average: read an interval that ended a series as a plan that
was reached, not as one measured independently.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fabric.extras import require


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its confidence interval."""

    mean: float
    half_width: float | None
    """None: of one value there is no interval."""
    count: int

    @property
    def low(self) -> float | None:
        """Lower end."""
        return None if self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """Upper end."""
        return None if self.half_width is None else self.mean + self.half_width

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        return {"mean": self.mean, "low": self.low, "high": self.high, "count": self.count}


def interval(values: Sequence[float], confidence: float) -> Interval | None:
    """The interval of the mean; None without values."""
    if not values:
        return None
    sample = np.asarray(values, np.float64)
    mean = float(sample.mean())
    if sample.size < 2:
        return Interval(mean, None, 1)
    deviation = float(sample.std(ddof=1))
    quantile = float(require("scipy.stats").t.ppf(0.5 + confidence / 2, sample.size - 1))
    return Interval(mean, quantile * deviation / math.sqrt(sample.size), int(sample.size))


def difference(
    values: Mapping[int, float], baseline: Mapping[int, float], confidence: float, *, paired: bool
) -> Interval | None:
    """The interval of the difference of two means: seed by seed where they are paired, else Welch's.

    Parameters
    ----------
    values, baseline : seed -> value
    """
    if paired:
        common = sorted(values.keys() & baseline.keys())
        return interval([values[seed] - baseline[seed] for seed in common], confidence)
    first, second = list(values.values()), list(baseline.values())
    if not first or not second:
        return None
    mean = float(np.mean(first) - np.mean(second))
    if min(len(first), len(second)) < 2:
        return Interval(mean, None, min(len(first), len(second)))
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return Interval(mean, 0.0, min(len(first), len(second)))
    found = require("scipy.stats").ttest_ind(first, second, equal_var=False).confidence_interval(confidence)
    return Interval(mean, float(found.high - found.low) / 2, min(len(first), len(second)))


def is_known(values: Sequence[float], half_width_ratio: float, confidence: float) -> bool:
    """Whether half of the interval is at most this share of the mean."""
    found = interval(values, confidence)
    if found is None or found.half_width is None:
        return False
    return found.half_width <= half_width_ratio * abs(found.mean)


def pareto(rows: Sequence[Sequence[float]]) -> list[bool]:
    """Whether each row of costs, of which less is better, is on the Pareto front: no other row is as good in all and
    better in one.
    """
    costs = np.asarray(rows, np.float64)
    if not costs.size:
        return []
    return [not bool(((costs <= mine).all(axis=1) & (costs < mine).any(axis=1)).any()) for mine in costs]


def main_effects(numbers: Sequence[float | str], values: Sequence[float]) -> tuple[float, float] | None:
    """Means of a measure at the two ends of a parameter: with few levels at its lowest and highest mean, else over the
    lowest and the highest third of its numbers.

    Parameters
    ----------
    numbers : n numbers or names      of the parameter at each point
    values : n floats                 of the measure

    Returns: (least, most) of the means over the levels; None where the parameter has one value.
    """
    sample = np.asarray(values, np.float64)
    distinct = sorted(set(numbers), key=str)
    if len(distinct) < 2:
        return None
    if len(distinct) > 12 and all(isinstance(it, int | float) for it in numbers):
        ordered = np.asarray(numbers, np.float64)
        low, high = np.quantile(ordered, [1 / 3, 2 / 3])
        groups = [sample[ordered <= low], sample[(ordered > low) & (ordered < high)], sample[ordered >= high]]
    else:
        groups = [sample[np.asarray([it == one for it in numbers])] for one in distinct]
    means = [float(group.mean()) for group in groups if group.size]
    return min(means), max(means)
