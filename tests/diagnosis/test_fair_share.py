"""A message may take as many times its time alone as messages share the port of its sender or receiver."""

from __future__ import annotations

import numpy as np
import pytest

from telemetry.sources.fair_share import sharing

Spans = list[tuple[str, str, int, int]]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([("a", "x", 0, 30), ("b", "x", 0, 30), ("c", "x", 0, 30), ("d", "y", 5, 10)], [3, 3, 3, 1]),
        ([("a", "x", 0, 10), ("a", "y", 0, 10)], [2, 2]),
        ([("a", "x", 0, 10), ("b", "x", 5, 10)], [10 / (5 + 2.5), 2]),
        ([("a", "x", 0, 10), ("b", "x", 10, 20)], [1, 1]),
        ([("a", "x", 0, 10), ("b", "x", -1, 10)], [1, 1]),
        ([], []),
    ],
    ids=["receiver", "sender", "half of the time", "one after the other", "never began", "none"],
)
def test_the_number_that_shares_a_port_is_counted_over_a_message_s_time(messages: Spans, expected: list[float]) -> None:
    src, dst = (np.array([it[side] for it in messages], np.str_) for side in (0, 1))
    start, end = (np.array([it[side] for it in messages], np.int64) for side in (2, 3))
    assert sharing(src, dst, start, end) == pytest.approx(expected)
