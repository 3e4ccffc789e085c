"""Transfers over several queue pairs carry the same bytes, in the same order."""

from __future__ import annotations

import numpy as np
import pytest

from fabric.collectives.registry import build
from fabric.collectives.schedule import Request
from fabric.collectives.striping import striped
from fabric.collectives.transfers import TransferList, expand


@pytest.mark.parametrize("algorithm", ["ring", "double-binary-tree", "halving-doubling"])
@pytest.mark.parametrize("queue_pairs", [1, 2, 3, 16])
def test_parts_carry_the_bytes_of_the_whole_and_wait_for_all_parts(algorithm: str, queue_pairs: int) -> None:
    whole = build(algorithm, Request("all-reduce", 8, 1003, 4)).transfers
    parts = striped(whole, queue_pairs)
    assert not list(parts.problems())
    assert (parts.sent_bytes(8) == whole.sent_bytes(8)).all()
    assert len(parts) == queue_pairs * len(whole)
    assert len(expand(parts).after) == queue_pairs**2 * len(expand(whole).after)
    sizes = [parts.sizes_bytes(row) for row in range(len(parts))]
    for row in range(len(whole)):
        mine = np.array(sizes[row * queue_pairs : (row + 1) * queue_pairs])
        assert (mine.sum(axis=0) == whole.sizes_bytes(row)).all()
        assert (mine.max(axis=0) - mine.min(axis=0) <= 1).all()


def test_a_computation_stays_whole() -> None:
    rows = TransferList()
    first = rows.add(0, 1, small_bytes=10)
    compute = rows.add(1, 1, delay_ps=5)
    last = rows.add(1, 0, small_bytes=7)
    rows.need(first, compute)
    rows.need(compute, last)
    parts = striped(rows.build(), 2)
    assert parts.src.tolist() == [0, 0, 1, 1, 1]
    assert parts.small_bytes.tolist() == [5, 5, 0, 4, 3]
    assert list(zip(parts.earlier.tolist(), parts.later.tolist(), strict=True)) == [(0, 2), (1, 2), (2, 3), (2, 4)]
