"""Orders of pipelines, and the longest path against the formulas."""

from __future__ import annotations

from itertools import pairwise

import pytest

from fabric.jobs.memory import in_flight
from fabric.jobs.pipeline import Pass, bubble_ps, gpipe, interleaved, longest_path, one_forward_one_backward, orders

MS = 10**9


def written(passes: list[Pass]) -> str:
    return " ".join(str(each) for each in passes)


def test_one_forward_one_backward_is_the_published_order() -> None:
    assert [written(passes) for passes in one_forward_one_backward(2, 3)] == ["F0 F1 B0 F2 B1 B2", "F0 B0 F1 B1 F2 B2"]


@pytest.mark.parametrize(("schedule", "v", "total"), [("gpipe", 1, 33), ("1f1b", 1, 33), ("interleaved", 2, 28.5)])
def test_four_stages_and_eight_micro_batches_take_the_computed_time(schedule: str, v: int, total: float) -> None:
    line = longest_path(orders(schedule, 4, 8, v), lambda _, each: (MS if each.forward else 2 * MS) // v)
    assert line.total_ps == total * MS
    assert line.idle_ps == (bubble_ps(schedule, 4, MS, 2 * MS, v),) * 4


@pytest.mark.parametrize("p", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("v", [1, 2, 3])
def test_bubble_without_communication_is_the_formula(p: int, groups: int, v: int) -> None:
    m, forward, backward = groups * p, 6 * 7, 6 * 11
    for schedule in ("gpipe", "1f1b", "interleaved"):
        chunks = v if schedule == "interleaved" else 1
        line = longest_path(
            orders(schedule, p, m, chunks), lambda _, each, n=chunks: (forward if each.forward else backward) // n
        )
        assert line.total_ps == m * (forward + backward) + (p - 1) * (forward + backward) // chunks, schedule


@pytest.mark.parametrize(("p", "m"), [(4, 2), (4, 3), (5, 7)])
def test_fewer_micro_batches_than_stages_or_no_multiple_keep_the_formula(p: int, m: int) -> None:
    for schedule in ("gpipe", "1f1b"):
        line = longest_path(orders(schedule, p, m), lambda _, each: 1 if each.forward else 2)
        assert line.total_ps == (m + p - 1) * 3


def test_interleaving_needs_a_multiple_of_the_stages() -> None:
    with pytest.raises(ValueError, match="no multiple"):
        interleaved(4, 6, 2)


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b", "interleaved"])
def test_every_pass_runs_once_and_activations_in_flight_are_those_of_the_memory_model(schedule: str) -> None:
    p, m, v = 4, 12, 2 if schedule == "interleaved" else 1
    for stage, passes in enumerate(orders(schedule, p, m, v)):
        assert len(set(passes)) == len(passes) == 2 * m * v
        flying, worst = 0, 0
        for each in passes:
            flying += 1 if each.forward else -1
            worst = max(worst, flying)
        assert in_flight(schedule, stage, p, m, v) * v == worst


def test_transfers_on_the_path_of_two_stages_are_counted() -> None:
    # F0 x F0' B0' x B0 on the critical path, then the other micro-batch: worked out by hand, F 10, B 20, x 3.
    plan = one_forward_one_backward(2, 1)
    assert longest_path(plan, lambda _, each: 10 if each.forward else 20, 3).total_ps == 10 + 3 + 10 + 20 + 3 + 20
    two = longest_path(one_forward_one_backward(2, 2), lambda _, each: 10 if each.forward else 20, 3)
    # Stage 1: F0 13..23, B0 23..43, F1 43..53, B1 53..73; stage 0: B1 76..96.
    assert two.total_ps == 96
    # GPipe: stage 1 F0 13..23, F1 23..33, B0 33..53, B1 53..73; stage 0: B0 56..76, B1 76..96.
    assert longest_path(gpipe(2, 2), lambda _, each: 10 if each.forward else 20, 3).total_ps == 96


def test_blocking_sends_cost_the_sender() -> None:
    plan = one_forward_one_backward(2, 2)
    lines = [longest_path(plan, lambda _, each: 10 if each.forward else 20, 3, blocking=b) for b in (False, True)]
    # Stage 1 blocks 3 after B0, so F1 is 46..56, B1 56..76, and stage 0's B1 79..99.
    assert [line.total_ps for line in lines] == [96, 99]


def test_communication_never_shortens_the_path() -> None:
    for schedule, v in (("gpipe", 1), ("1f1b", 1), ("interleaved", 2)):
        plan = orders(schedule, 4, 8, v)
        totals = [longest_path(plan, lambda _, each: 2 if each.forward else 4, x).total_ps for x in range(0, 12, 3)]
        assert all(a < b for a, b in pairwise(totals))


def test_orders_that_wait_for_each_other_are_an_error() -> None:
    with pytest.raises(ValueError, match="wait for each other"):
        longest_path([[Pass(False, 0), Pass(True, 0)]], lambda *_: 1)


def test_a_single_stage_pays_no_transfer() -> None:
    assert longest_path(interleaved(1, 2, 3), lambda *_: 1, 100).total_ps == 2 * 2 * 3
