"""The two-sample test: the statistic as published, its false alarms as stated, and the power that the page claims."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from fabric.theory.two_sample import anderson_darling, p_value, prediction_slack

Floats = NDArray[np.float64]


def _by_the_formula(samples: list[Floats]) -> float:
    """Scholz and Stephens 1987, equation 7, term by term."""
    pooled = np.concatenate(samples)
    total, result = len(pooled), 0.0
    for sample in samples:
        inner = 0.0
        for value in np.unique(pooled):
            own = float((sample == value).sum())
            middle = float((sample < value).sum()) + own / 2
            same = float((pooled == value).sum())
            below = float((pooled < value).sum()) + same / 2
            inner += (
                same
                / total
                * (total * middle - len(sample) * below) ** 2
                / (below * (total - below) - total * same / 4)
            )
        result += inner / len(sample)
    return result * (total - 1) / total


@pytest.mark.parametrize("decimals", [0, 1, 8])
def test_the_statistic_is_the_published_one_with_and_without_ties(decimals: int) -> None:
    draw = np.random.default_rng(3)
    ours, theirs = np.round(draw.normal(size=12), decimals), np.round(draw.normal(0.5, 2.0, 17), decimals)
    assert anderson_darling(ours, theirs) == pytest.approx(_by_the_formula([ours, theirs]))


def test_equal_values_have_p_1_and_separate_ones_the_least_p_there_is() -> None:
    assert p_value(np.zeros(30), np.zeros(30)) == 1.0
    assert p_value(np.arange(30.0), np.arange(30.0) + 100.0) == pytest.approx(1e-4)


def test_the_same_samples_always_give_the_same_p() -> None:
    draw = np.random.default_rng(5)
    ours, theirs = draw.normal(size=30), draw.normal(size=30)
    assert p_value(ours, theirs) == p_value(ours, theirs)


def test_one_alarm_in_twenty_at_a_level_of_one_in_twenty_for_any_distribution() -> None:
    draw = np.random.default_rng(7)
    alarms = sum(p_value(draw.pareto(1.5, 15), draw.pareto(1.5, 15), relabellings=199) <= 0.05 for _ in range(400))
    assert alarms <= 20 + 3 * math.sqrt(20 * 0.95)
    assert alarms >= 20 - 3 * math.sqrt(20 * 0.95)


@pytest.mark.parametrize(("shift", "least", "most"), [(1.0, 0.45, 0.8), (1.5, 0.9, 1.0)])
def test_thirty_runs_on_each_side_find_a_shift_as_often_as_the_page_says(
    shift: float, least: float, most: float
) -> None:
    draw = np.random.default_rng(11)
    found = [p_value(draw.normal(size=30), draw.normal(shift, 1.0, 30), relabellings=1999) <= 0.001 for _ in range(60)]
    assert least <= np.mean(found) <= most


def test_one_more_value_may_lie_further_off_than_the_spread_of_the_others() -> None:
    values = np.array([1.0, 2.0, 3.0])
    assert prediction_slack(values, 3.0) == pytest.approx(3.0 * math.sqrt(4 / 3))
