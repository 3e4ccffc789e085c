"""The queue of jobs: first in first out, and backfill by time limits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from fabric.jobs.admission import Admitted, Submitted, admit

NODES = ("n1", "n2", "n3", "n4")


def first(job: Submitted, free: frozenset[str]) -> Sequence[str]:
    return sorted(free)[: job.nodes]


def queue(policy: str, *jobs: tuple[str, int, int, int]) -> dict[str, Admitted]:
    """Jobs as (name, arrival, nodes, limit)."""
    return admit([Submitted(*job) for job in jobs], NODES, policy, first)  # type: ignore[arg-type]


def test_jobs_that_fit_begin_when_they_arrive() -> None:
    found = queue("fifo", ("a", 5, 2, 10), ("b", 7, 2, 10))
    assert [(it.start_ps, it.nodes, it.after, it.turn_ps) for it in found.values()] == [
        (5, ("n1", "n2"), (), 5),
        (7, ("n3", "n4"), (), 7),
    ]


def test_fifo_keeps_the_order_and_backfill_lets_a_short_job_pass() -> None:
    jobs = (("a", 0, 3, 100), ("big", 1, 4, 50), ("short", 2, 1, 98), ("long", 3, 1, 99))
    fifo = queue("fifo", *jobs)
    assert [fifo[name].start_ps for name in ("a", "big", "short", "long")] == [0, 100, 150, 150]
    backfill = queue("backfill", *jobs)
    # `short` ends by 100, when `big` may begin; `long` would end at 102, and delay it.
    assert [backfill[name].start_ps for name in ("a", "big", "short", "long")] == [0, 100, 2, 150]
    assert set(backfill["big"].after) == {"a", "short"}


def test_backfill_may_use_for_long_what_the_first_job_leaves() -> None:
    found = queue("backfill", ("a", 0, 2, 100), ("b", 0, 1, 1000), ("big", 1, 3, 50), ("c", 2, 1, 5000))
    # big's reservation: at 100 with a's two nodes and the free one; nothing is left over, so c waits for it.
    assert found["c"].start_ps >= found["big"].start_ps
    spare = queue("backfill", ("a", 0, 3, 100), ("big", 1, 3, 50), ("c", 2, 1, 5000))
    assert (spare["c"].start_ps, spare["big"].start_ps) == (2, 100)


def test_a_job_behind_others_waits_for_them_and_one_behind_the_queue_for_its_turn() -> None:
    found = queue("fifo", ("a", 0, 3, 100), ("big", 1, 4, 50), ("c", 2, 1, 10))
    assert found["big"].after == ("a",)
    assert found["big"].turn_ps == 1  # it begins when its nodes are really free
    assert found["c"].after == ("big",)
    held = queue("fifo", ("a", 0, 3, 100), ("big", 1, 2, 50), ("c", 2, 1, 10))
    # n4 is free all the time: only the order keeps c, so it begins at the time that the limits give.
    assert (held["c"].nodes, held["c"].after, held["c"].turn_ps) == (("n3",), ("a",), 2)
    assert held["big"].nodes == ("n1", "n2")


@pytest.mark.parametrize("policy", ["fifo", "backfill"])
def test_no_node_has_two_jobs_at_a_time(policy: str) -> None:
    jobs = [(f"j{n}", 3 * n % 17, 1 + n % 4, 5 + 7 * n % 13) for n in range(30)]
    found = queue(policy, *jobs)
    limit = {name: limit for name, _, _, limit in jobs}
    for node in NODES:
        spans = sorted((it.start_ps, it.start_ps + limit[name]) for name, it in found.items() if node in it.nodes)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
    assert all(found[name].start_ps >= arrival for name, arrival, _, _ in jobs)
