"""Intervals, paired differences, Pareto fronts and main effects against values worked out by hand or known theory."""

from __future__ import annotations

import numpy as np
import pytest

from fabric.studies.statistics import difference, interval, is_known, main_effects, pareto


def test_an_interval_is_students_of_the_mean() -> None:
    found = interval([10.0, 12.0, 14.0], 0.95)
    assert found is not None
    assert found.mean == 12.0
    # t(0.975, 2) = 4.302653, standard error = 2 / sqrt(3)
    assert found.half_width == pytest.approx(4.302653 * 2 / 3**0.5, rel=1e-6)


def test_one_value_has_no_interval_and_none_has_no_mean() -> None:
    found = interval([3.0], 0.95)
    assert found is not None
    assert found.low is None
    assert interval([], 0.95) is None


def test_intervals_hold_the_mean_as_often_as_they_say() -> None:
    random = np.random.default_rng(5)
    hits = 0
    for sample in random.normal(7.0, 2.0, (1000, 6)).tolist():
        found = interval(sample, 0.9)
        assert found is not None
        hits += (found.low or 0) <= 7.0 <= (found.high or 0)
    assert 870 <= hits <= 930  # 900, three standard deviations of 9.5


def test_a_paired_difference_does_not_see_what_both_have_in_common() -> None:
    first = {1: 100.0, 2: 200.0, 3: 300.0}
    second = {1: 101.0, 2: 201.5, 3: 301.2, 4: 9.0}
    paired = difference(second, first, 0.95, paired=True)
    assert paired is not None
    assert paired.count == 3
    assert paired.low is not None
    assert paired.low > 0
    apart = difference(second, first, 0.95, paired=False)
    assert apart is not None
    assert apart.low is not None
    assert apart.low < 0 < (apart.high or 0)


def test_a_mean_is_known_once_half_its_interval_is_a_share_of_it() -> None:
    assert is_known([100.0, 101.0, 99.0], 0.05, 0.95)
    assert not is_known([100.0, 101.0, 99.0], 0.01, 0.95)
    assert not is_known([100.0], 0.5, 0.95)
    assert is_known([0.0, 0.0, 0.0], 0.05, 0.95)


def test_the_front_holds_what_nothing_else_beats() -> None:
    assert pareto([[1, 5], [2, 2], [3, 3], [5, 1], [2, 2]]) == [True, True, False, True, True]
    assert pareto([]) == []


def test_a_main_effect_is_the_span_of_means_over_levels() -> None:
    assert main_effects([1, 1, 2, 2], [10, 20, 30, 50]) == (15, 40)
    assert main_effects(["a", "a"], [1, 2]) is None
    many = np.linspace(0, 1, 30)
    low, high = main_effects(many.tolist(), (10 * many).tolist()) or (0, 0)
    assert (low, high) == (pytest.approx(5 / 3, abs=0.2), pytest.approx(25 / 3, abs=0.2))
