"""Reliability of many parts that are all needed: a series system of independent parts with constant failure rates.

Source: Barlow and Proschan, Mathematical Theory of Reliability, 1965, chapter 2: probabilities multiply, and failure
rates of exponential lifetimes add.
"""

from __future__ import annotations

import math
from collections.abc import Iterable


def all_work(probability: float, parts: int) -> float:
    """Probability that all of `parts` work, if each works with `probability`: 0.999 and 1,000 parts give 0.368."""
    return math.pow(probability, parts)


def needed_each(target: float, parts: int) -> float:
    """Probability that each of `parts` needs, so that all work with probability `target`."""
    return math.pow(target, 1 / parts)


def system_mtbf(parts: Iterable[tuple[int, float]]) -> float:
    """Mean time to the first failure among parts: (count, MTBF of one) pairs; infinite without parts."""
    rate = sum(count / mtbf for count, mtbf in parts)
    return 1 / rate if rate else math.inf


def survives(duration: float, mtbf: float) -> float:
    """Probability of no failure within a duration."""
    return math.exp(-duration / mtbf)
