"""Power of all GPUs from when each computes: exact between changes, with the lag of the regulators."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from fabric.jobs.power import Levels, PowerTrace, power_trace

LEVELS = Levels(700.0, 300.0, 100.0)


def trace(gpus: int, *spans: tuple[float, float], end: float = 1.0, lag: float = 0.005) -> PowerTrace:
    """GPUs that all compute in the same intervals, and whose job lasts from 0 to `end`."""
    begins, ends = np.array(spans, float).reshape(-1, 2).T
    return power_trace([(begins, ends)] * gpus, [(0.0, end)] * gpus, LEVELS, lag)


def test_a_change_of_all_gpus_is_followed_with_the_lag() -> None:
    found = trace(1000, (0.2, 0.4))
    at = found.sampled(np.array([0.199, 0.205, 0.4, 0.405]))
    assert at[0] == pytest.approx(300_000, rel=1e-3)
    assert at[1] == pytest.approx(700_000 - 400_000 / np.e, rel=1e-3)
    assert at[2] == pytest.approx(700_000, rel=1e-3)
    assert at[3] == pytest.approx(300_000 + 400_000 / np.e, rel=1e-3)
    assert found.sampled(np.array([1.2]))[0] == pytest.approx(100_000, rel=1e-3)


def test_the_steepest_ramp_is_the_largest_change_over_the_lag() -> None:
    found = trace(1000, (0.2, 0.4))
    assert found.steepest_w_per_s == pytest.approx(400_000 / 0.005, rel=1e-3)
    assert found.steepest_at_s in {0.2, 0.4}
    # Where a phase is shorter than the lag, the power has not arrived when it turns.
    short = trace(1000, (0.5, 0.501))
    reached = 400_000 * (1 - exp(-0.2))
    assert short.sampled(np.array([0.501]))[0] == pytest.approx(300_000 + reached, rel=1e-4)


def test_the_energy_is_that_of_the_states_once_the_lag_has_passed() -> None:
    found = trace(10, (0.2, 0.4), (0.5, 0.6))
    states = 10 * (700 * 0.3 + 300 * 0.7)
    assert found.energy_j(2.0) == pytest.approx(states + 10 * 100 * 1.0, rel=1e-6)
    times = np.linspace(0, 2, 400_001)
    power = found.sampled(times)
    assert found.energy_j(2.0) == pytest.approx(((power[1:] + power[:-1]) / 2 * np.diff(times)).sum(), rel=1e-4)


def test_intervals_that_overlap_count_once() -> None:
    apart, over = trace(1, (0.1, 0.3)), trace(1, (0.1, 0.2), (0.15, 0.3), (0.12, 0.13))
    times = np.linspace(0, 1, 101)
    assert np.allclose(apart.sampled(times), over.sampled(times))


def test_gpus_with_opposite_phases_draw_constant_power() -> None:
    one, other = (np.array([0.0, 0.2]), np.array([0.1, 0.3])), (np.array([0.1, 0.3]), np.array([0.2, 0.4]))
    found = power_trace([one, other], [(0.0, 0.4)] * 2, LEVELS, 0.001)
    assert np.allclose(found.sampled(np.linspace(0.05, 0.39, 50)), 1000.0)
