"""Test of whether two sets of runs have one distribution: the Anderson-Darling two-sample test, its p-value by
permutation.

The statistic weighs the whole distribution, tails more than a Kolmogorov-Smirnov statistic does, and takes ties. Under
the null hypothesis the labels of the pooled values are exchangeable, for any distribution, so the share of random
relabellings with a statistic at least as large is an exact p-value: at a level of alpha a false alarm has at most that
probability. numpy alone; scipy.stats.anderson_ksamp computes the same statistic (its tables end at p = 0.001).

Source: Scholz and Stephens, Journal of the American Statistical Association 1987, equation 7 (statistic with ties,
midrank version); Phipson and Smyth, Statistical Applications in Genetics and Molecular Biology 2010: (b + 1) / (m + 1).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RELABELLINGS: Final = 9_999
_BLOCK: Final = 2_000


def anderson_darling(ours: Floats, theirs: Floats) -> float:
    """The statistic A2akN for two samples; larger means further apart; 0 where all values are equal."""
    pooled = np.concatenate([ours, theirs])
    first = np.zeros((1, len(pooled)), np.bool_)
    first[0, : len(ours)] = True
    return float(_statistics(pooled, first)[0])


def p_value(ours: Floats, theirs: Floats, *, relabellings: int = RELABELLINGS, seed: int = 1) -> float:
    """Probability of a statistic at least as large if both samples come from one distribution.

    Between 1 / (relabellings + 1) and 1. The relabellings are drawn from `seed`, so the same samples give the same p.
    """
    pooled = np.concatenate([ours, theirs])
    observed = anderson_darling(ours, theirs)
    draw = np.random.default_rng(seed)
    least, left = 0, relabellings
    while left:
        block = min(left, _BLOCK)
        labels = np.argsort(draw.random((block, len(pooled))), axis=1) < len(ours)
        # A relabelling that gives the same sums in another order must not count as smaller by a rounding error.
        least += int((_statistics(pooled, labels) >= observed * (1.0 - 1e-12)).sum())
        left -= block
    return (least + 1) / (relabellings + 1)


def _statistics(pooled: Floats, first: NDArray[np.bool_]) -> Floats:
    """For each row of labels (rows, values): Scholz and Stephens, equation 7, for the two samples it makes."""
    order = np.argsort(pooled, kind="stable")
    values, labels = pooled[order], first[:, order]
    total = len(values)
    ends = np.flatnonzero(np.append(np.diff(values) > 0, True))
    count = np.diff(np.concatenate([[-1], ends])).astype(np.float64)  # l_j: how often each value occurs
    below = ends + 1 - count / 2  # B_aj: midrank
    weight = below * (total - below) - total * count / 4
    if len(ends) == 1:
        return np.zeros(len(labels))
    result = np.zeros(len(labels))
    for sample in (labels, ~labels):
        size = sample.sum(axis=1)
        upto = sample.cumsum(axis=1)[:, ends].astype(np.float64)
        own = np.diff(upto, axis=1, prepend=0.0)
        middle = upto - own / 2  # M_aij
        result += (count / total * (total * middle - below * size[:, None]) ** 2 / weight).sum(axis=1) / size
    return result * (total - 1) / total


def prediction_slack(many: Floats, sigmas: float) -> float:
    """How far a further value may lie from the mean of `many`: `sigmas` standard deviations of the difference."""
    return sigmas * float(many.std(ddof=1)) * math.sqrt(1 + 1 / len(many))
