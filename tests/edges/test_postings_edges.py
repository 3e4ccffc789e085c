"""The heap of postings: messages that a host has yet to post."""

from __future__ import annotations

import pytest

from fabric.dataplane.host import messages
from tests.edges.bench import Bench


def test_postings_are_ordered_by_time_then_number() -> None:
    bench = Bench()
    heap, base = bench.state.starts.copy().repeat(20), 0
    keys = [(7, 2), (5, 9), (7, 1), (5, 3), (9, 0), (5, 1), (7, 3)]
    for count, (time_ps, order) in enumerate(keys):
        messages.heap_push(heap, base, count, time_ps, order, order)
    found = []
    for left in range(len(keys), 0, -1):
        found.append((int(heap[0]["time_ps"]), int(heap[0]["order"])))
        messages.heap_pop(heap, base, left)
    assert found == sorted(keys)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 8, 31, 32])
def test_postings_leave_a_deep_heap_in_order(size: int) -> None:
    heap = Bench().state.starts.copy().repeat(40)
    times = [number * 37 % 41 for number in range(1, size + 1)]
    for count, time_ps in enumerate(times):
        messages.heap_push(heap, 0, count, time_ps, count, count)
    found = []
    for left in range(size, 0, -1):
        found.append(int(heap[0]["time_ps"]))
        messages.heap_pop(heap, 0, left)
    assert found == sorted(times)
