"""The three ways of computing DCQCN without packets agree where they must, and differ where documented."""

from __future__ import annotations

import pytest

from fabric.theory import population
from fabric.theory.dcqcn import Fluid, Line, fixed_point_probability, integrate
from fabric.theory.reaction_point import mean_rate_pps

PAPER = Fluid(5e6, 1000, 50e-6, 55e-6, 55e-6, 1e4, 5, 1 / 256, 5000.0)
SLOPE = Line(5_000, 200_000, 0.01, extended=True)


def test_the_equations_stay_at_the_fixed_point_without_delay() -> None:
    course = integrate(PAPER, SLOPE, 10, 4e-6, duration_s=0.08, tail_s=0.02)
    expected = SLOPE.queue_bytes(fixed_point_probability(PAPER, 10))
    assert course.mean_bytes == pytest.approx(expected, rel=0.02)
    assert course.sd_bytes < 0.02 * course.mean_bytes


def test_the_equations_swing_with_ten_flows_under_85_microseconds() -> None:
    course = integrate(PAPER, SLOPE, 10, 85e-6, duration_s=0.12, tail_s=0.03)
    assert course.sd_bytes > 0.5 * course.mean_bytes


def test_more_marks_mean_less_rate() -> None:
    rates = [mean_rate_pps(PAPER, p, 1.0) for p in (3e-4, 1e-3, 3e-3, 1e-2)]
    assert rates == sorted(rates, reverse=True)


def test_the_algorithm_runs_faster_than_the_equations_at_the_same_marking() -> None:
    for flows in (2, 10):
        fair = PAPER.capacity_pps / flows
        assert mean_rate_pps(PAPER, fixed_point_probability(PAPER, flows), 1.0) > 1.1 * fair


def test_a_population_keeps_the_link_busy_and_repeats_itself() -> None:
    one, two = (population.course(PAPER, SLOPE, 10, 4e-6, waits=True, duration_s=0.03, tail_s=0.01) for _ in range(2))
    assert one == two
    assert one.utilisation_ratio > 0.97


def test_marks_at_enqueue_are_reported_a_queueing_time_later_and_the_share_marked_follows_the_curve() -> None:
    with pytest.raises(ValueError, match="they need waits"):
        population.course(PAPER, SLOPE, 4, 4e-6, waits=False, mark="enqueue")
    course = population.course(PAPER, SLOPE, 4, 4e-6, waits=True, mark="enqueue", duration_s=0.05, tail_s=0.03)
    assert course.marked_ratio == pytest.approx(SLOPE.probability(course.mean_bytes), rel=0.1)
