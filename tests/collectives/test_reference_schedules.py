"""Our schedules against recorded ones for 2 to 9 ranks (tests/data/collectives)."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from fabric.collectives.algorithms.trees import double_tree_parents
from fabric.collectives.proof import totals
from fabric.collectives.registry import build
from tests.collectives.requests_of import a_request
from tests.conftest import ROOT

CASES: list[dict[str, Any]] = json.loads(
    gzip.decompress((ROOT / "tests/data/collectives/schedules-2-9.json.gz").read_bytes())
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['algorithm']}-{case['ranks']}")
def test_steps_messages_and_bytes_are_those_of_the_reference(case: dict[str, Any]) -> None:
    n, elements = case["ranks"], 5040
    schedule = build(case["algorithm"], a_request("all-reduce", n, elements))
    size = elements * 4
    found = totals(schedule)
    assert (found.steps, found.messages) == (case["steps"], case["messages"])
    assert found.total_bytes == case["total_over_size"] * size
    sent, received = [0] * n, [0] * n
    chunk = size // case["chunks"]
    for _, sender, receiver, first, end, _ in case["rows"]:
        sent[sender] += (end - first) * chunk
        received[receiver] += (end - first) * chunk
    assert (list(found.sent_bytes), list(found.received_bytes)) == (sent, received)
    assert max(sent) == pytest.approx(case["max_sent_over_size"] * size)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['algorithm']}-{case['ranks']}")
def test_every_message_is_that_of_the_reference(case: dict[str, Any]) -> None:
    schedule = build(case["algorithm"], a_request("all-reduce", case["ranks"], 5040))
    ours = sorted(
        [move.step, move.sender, move.receiver, move.cells[0], move.cells[-1] + 1, "+" if move.adds else "="]
        for move in schedule.moves()
    )
    assert ours == sorted(case["rows"])


@pytest.mark.parametrize("case", [it for it in CASES if "parents" in it], ids=lambda case: str(case["ranks"]))
def test_both_trees_are_those_of_the_reference(case: dict[str, Any]) -> None:
    assert list(double_tree_parents(case["ranks"])) == case["parents"]


@pytest.mark.parametrize("n", range(4, 65))
def test_a_rank_is_inner_in_at_most_one_tree(n: int) -> None:
    inner = [{up for up in parents if up is not None} for parents in double_tree_parents(n)]
    assert inner[0] & inner[1] <= ({0} if n % 2 else set())
