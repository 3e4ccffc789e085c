"""Simulated time against a wall clock that the test turns."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.units import PS_PER_MS, PS_PER_S
from telemetry.live.pacing import PATIENCE_S, Pacer, is_dilation


@given(st.floats(0.01, 1e6), st.floats(0, 1e5))
def test_one_simulated_second_takes_the_dilation(dilation: float, wall_s: float) -> None:
    pacer = Pacer(dilation)
    pacer.begin(100.0, 0)
    assert pacer.due_ps(100.0 + wall_s) == pytest.approx(wall_s / dilation * PS_PER_S, rel=1e-9, abs=1)


@given(st.floats(0.01, 1e6), st.integers(0, 10**14))
def test_a_moment_is_due_when_its_wait_is_over(dilation: float, sim_ps: int) -> None:
    pacer = Pacer(dilation)
    pacer.begin(5.0, 0)
    wait_s = pacer.wait_s(5.0, sim_ps)
    assert pacer.due_ps(5.0 + wait_s) == pytest.approx(sim_ps, rel=1e-6, abs=1000 / dilation + 1)
    assert pacer.wait_s(5.0 + wait_s + 1e-6 * (1 + wait_s), sim_ps) == pytest.approx(0, abs=1e-6 * (1 + wait_s))


def test_nothing_is_due_while_time_is_held() -> None:
    pacer = Pacer(1000)
    pacer.begin(0.0, 0)
    pacer.pause(3 * PS_PER_MS)
    assert pacer.due_ps(1e6) == 3 * PS_PER_MS
    assert pacer.wait_s(1e6, 4 * PS_PER_MS) == math.inf
    assert pacer.keep_up(1e6, 3 * PS_PER_MS) == 0


def test_held_time_is_not_caught_up() -> None:
    pacer = Pacer(1000)
    pacer.begin(0.0, 0)
    pacer.pause(3 * PS_PER_MS)
    pacer.resume(1e6, 3 * PS_PER_MS)
    assert pacer.due_ps(1e6 + 1) == 4 * PS_PER_MS


def test_another_pace_holds_from_where_the_run_stands() -> None:
    pacer = Pacer(1000)
    pacer.begin(0.0, 0)
    pacer.change(10, 2.0, 2 * PS_PER_MS)
    assert pacer.due_ps(3.0) == 102 * PS_PER_MS


def test_a_small_lag_is_caught_up_and_a_large_one_given_up_and_counted() -> None:
    pacer = Pacer(1000)
    pacer.begin(0.0, 0)
    assert pacer.keep_up(PATIENCE_S, 0) == 0
    assert pacer.due_ps(PATIENCE_S) > 0
    assert pacer.keep_up(10.0, PS_PER_MS) == pytest.approx(9.0)
    assert pacer.slipped_s == pytest.approx(9.0)
    assert pacer.due_ps(10.0) == PS_PER_MS


@given(st.lists(st.tuples(st.floats(0, 10), st.integers(0, 10**10)), max_size=30))
def test_what_is_simulated_and_what_slips_add_up_to_the_wall_clock(steps: list[tuple[float, int]]) -> None:
    pacer, now_s, sim_ps = Pacer(1000), 0.0, 0
    pacer.begin(now_s, sim_ps)
    for wall_s, simulated_ps in steps:
        now_s += wall_s
        sim_ps = max(sim_ps, min(sim_ps + simulated_ps, pacer.due_ps(now_s)))
        pacer.keep_up(now_s, sim_ps)
    lag_s = now_s - pacer.slipped_s - sim_ps / PS_PER_S * 1000
    assert -1e-6 <= lag_s <= PATIENCE_S + 1e-6


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, 1e-4, 1e10])
def test_a_dilation_that_paces_nothing_is_none(value: float) -> None:
    assert not is_dilation(value)
