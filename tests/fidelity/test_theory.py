"""Theory against independent computations: published tables, limits, other derivations of the same number."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.theory import marking, pause, recovery, routing
from fabric.theory.dcqcn import Fluid, Line, cube_root_probability, fixed_point_probability

PAPER = Fluid(5e6, 1000, 50e-6, 55e-6, 55e-6, 1e4, 5, 1 / 256, 5000.0)
"""40 Gb/s in packets of 1 KB."""
SWITCH = pause.SharedBuffer(12_000_000, 32, 8, 22_400)


def test_static_threshold_of_the_dcqcn_switch_is_24475_bytes() -> None:
    assert pause.static_pause_threshold_bytes(SWITCH) == 24_475


def test_naive_marking_bound_is_below_one_frame() -> None:
    assert pause.naive_marking_bound_bytes(SWITCH) == Fraction(24_475, 32)


def test_dynamic_marking_bound_with_beta_8_is_21_75_kilobytes() -> None:
    assert float(pause.dynamic_marking_bound_bytes(SWITCH, 8)) == pytest.approx(21_755.56, abs=0.01)


@given(st.integers(1, 10**8), st.integers(-6, 3), st.integers(64, 10_000))
def test_charges_until_pause_are_the_first_that_reach_the_limit(pool: int, shift: int, charge: int) -> None:
    alpha = Fraction(2) ** shift
    k = pause.charges_until_pause(pool, alpha, charge)

    def reached(n: int) -> bool:
        return n * charge >= int(alpha * (pool - n * charge))

    assert reached(k)
    assert k <= 1 or not reached(k - 1)


@pytest.mark.parametrize(("gbps", "frames"), [(10, 298), (25, 745), (40, 1192), (100, 2980), (200, 5961), (400, 11921)])
def test_a_link_is_held_by_this_many_pause_frames_a_second(gbps: int, frames: int) -> None:
    assert round(pause.frames_per_second_to_hold(gbps * 10**9)) == frames


@given(st.integers(0, 10**9), st.integers(1, 10**8), st.integers(1, 10))
def test_watchdog_declares_within_detection_and_detection_plus_poll(storm: int, poll: int, polls: int) -> None:
    after = pause.watchdog_declares_ps(storm, poll, polls * poll) - storm
    assert polls * poll <= after < (polls + 1) * poll


def test_fixed_point_is_where_the_papers_closed_form_is_for_small_marking() -> None:
    for flows in (2, 4, 8, 10):
        exact, approximate = fixed_point_probability(PAPER, flows), cube_root_probability(PAPER, flows)
        assert exact < approximate < 1.4 * exact


@pytest.mark.parametrize(("flows", "p", "queue_kb"), [(2, 7.77e-4, 20.2), (4, 1.89e-3, 41.8), (10, 6.03e-3, 122.6)])
def test_fixed_point_equals_an_independent_solution(flows: int, p: float, queue_kb: float) -> None:
    ours = fixed_point_probability(PAPER, flows)
    assert ours == pytest.approx(p, rel=2e-3)
    queue = Line(5_000, 200_000, 0.01).queue_bytes(ours)
    assert queue is not None
    assert queue / 1000 == pytest.approx(queue_kb, abs=0.06)


def test_no_queue_on_the_slope_marks_more_than_pmax() -> None:
    assert Line(5_000, 200_000, 0.01).queue_bytes(0.011) is None


@given(st.floats(0, 3e7))
def test_a_straight_line_marks_as_the_extended_one(queue: float) -> None:
    line = Line(5_000, 200_000, 0.01, extended=True)
    assert line.straight().probability(queue) == pytest.approx(line.probability(queue), abs=1e-12)


@given(st.floats(1e-6, 0.5), st.integers(1, 512))
def test_go_back_n_efficiency_equals_a_simulated_renewal(p: float, window: int) -> None:
    # One delivered packet costs a geometric number of losses, each worth W sent packets.
    assert recovery.go_back_n_efficiency(p, window) == pytest.approx(1 / (1 + window * p / (1 - p)))


@given(st.floats(1e-6, 0.1), st.integers(64, 9000))
def test_bit_errors_and_packet_losses_are_inverse(loss: float, size: int) -> None:
    assert recovery.packet_loss_ratio(recovery.bit_error_ratio(loss, size), size) == pytest.approx(loss, rel=1e-6)


def test_marking_is_certain_from_kmax_and_never_up_to_kmin() -> None:
    curve = marking.Curve(500, 2000, 0.05)
    found = marking.marking_probability(curve, np.array([0, 500, 1250, 1999, 2000, 9000]))
    assert found == pytest.approx([0.0, 0.0, 0.025, 0.05 * 1499 / 1500, 1.0, 1.0])


def test_single_queue_pair_tends_to_one_less_one_over_e() -> None:
    balance = routing.ecmp_monte_carlo(64, 1)
    assert balance.delivered == pytest.approx(routing.expected_delivered_single(64), abs=0.01)
    assert routing.expected_delivered_single(10**6) == pytest.approx(1 - 1 / math.e, abs=1e-5)


def test_loop_threshold_is_n_b_over_t() -> None:
    assert routing.loop_deadlock_threshold_bps(40 * 10**9, 2, 16) == 5 * 10**9
    assert routing.loop_deadlock_threshold_bps(100 * 10**9, 4, 64) == 6_250_000_000


def test_up_down_paths_have_no_buffer_cycle_and_one_bounce_makes_one() -> None:
    up_down = [[f"l{a}", f"s{s}", f"l{b}"] for a in range(3) for b in range(3) if a != b for s in range(2)]
    assert routing.buffer_dependency_cycles(up_down) == 0
    bounce = ["l0", "s0", "l1", "s1", "l2"]
    back = ["l2", "s1", "l0", "s0", "l1"]
    assert routing.buffer_dependency_cycles([*up_down, bounce, back]) == 1
    tags = {tuple(bounce): [0, 0, 1, 1], tuple(back): [0, 0, 1, 1]}
    assert routing.buffer_dependency_cycles([*up_down, bounce, back], tags) == 0


@given(st.integers(1, 6), st.integers(1, 6))
def test_stopped_cables_lead_to_the_victim(leaves: int, hosts: int) -> None:
    paths = [[f"h{leaf}.{host}", f"l{leaf}", "s", "l0", "v"] for leaf in range(1, leaves + 1) for host in range(hosts)]
    stopped = routing.stopped_by([*paths, ["x", "l1", "y"]], ("l0", "v"))
    assert ("x", "l1") not in stopped
    assert len(stopped) == leaves * hosts + leaves + 2
