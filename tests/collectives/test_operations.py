"""Definitions of operations: sizes, factors, blocks."""

from __future__ import annotations

import pytest

from fabric.collectives.operations import OPERATIONS, printed_elements
from fabric.collectives.schedule import part, split


@pytest.mark.parametrize(
    ("operation", "factor"),
    [("all-reduce", 1.75), ("reduce-scatter", 0.875), ("all-gather", 0.875), ("broadcast", 1), ("reduce", 1),
     ("scatter", 0.875), ("gather", 0.875), ("all-to-all", 0.875), ("all-to-all-v", 0.875), ("send-recv", 1)],
)  # fmt: skip
def test_bus_bandwidth_factor(operation: str, factor: float) -> None:
    assert OPERATIONS[operation].bus_factor_ratio(8) == factor
    assert OPERATIONS[operation].bus_factor_ratio(1) == 1


def test_blocks_are_rounded_down_to_16_bytes_a_rank() -> None:
    gather = OPERATIONS["all-gather"]
    assert printed_elements(gather, 2**20, 24, 4) * 4 == 1_048_320
    assert printed_elements(gather, 2**20, 8, 4) * 4 == 2**20
    assert printed_elements(gather, 24 * 16 - 1, 24, 4) == 0
    assert printed_elements(gather, 24 * 16, 24, 4) * 4 == 24 * 16
    assert printed_elements(OPERATIONS["all-reduce"], 1_000_003, 24, 4) == 250_000


def test_parts_of_parts() -> None:
    assert split(10, 4) == (2, 2)
    assert [split(10, 4).of(index) for index in range(4)] == [3, 3, 2, 2]
    assert [part(10, 4, 0, 2, index) for index in range(2)] == [2, 1]
    assert [part(1, 3, index) for index in range(3)] == [1, 0, 0]
