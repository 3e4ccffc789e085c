"""The table of docs/traces.md: every collective operation of a Chakra trace is delivered."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.traces import RANKS, SIZE_BYTES, Delivered, all_delivered, table
from fabric.traces.graph import OPERATIONS
from fabric.traces.lower import minimum_bytes

PAGE = Path(__file__).resolve().parents[2] / "docs/traces.md"


@pytest.fixture(scope="module")
def found() -> list[Delivered]:
    return list(all_delivered())


def test_every_operation_of_a_chakra_trace_is_delivered(found: list[Delivered]) -> None:
    assert [it.operation for it in found] == list(OPERATIONS)
    assert [it.source for it in found].count("ASTRA-sim") == 4
    for it in found:
        assert it.undelivered == 0
        # ASTRA-sim's all-gather names the share of a rank, so its result is eight times the size.
        assert it.size_bytes == SIZE_BYTES * (RANKS if it.operation == "all-gather" else 1)
        assert it.delivered_bytes == it.in_file_bytes == minimum_bytes(it.operation, RANKS, it.size_bytes)


def test_the_page_has_the_table(found: list[Delivered]) -> None:
    assert table(found).markdown() in PAGE.read_text(encoding="utf-8"), "python -m bench.traces --write docs/traces.md"
