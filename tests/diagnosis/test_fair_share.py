"""A message may take as much longer than alone as a fair share of its hosts' ports makes it."""

from __future__ import annotations

import numpy as np
import pytest

from telemetry.sources.fair_share import sharing

Messages = list[tuple[str, str, int, int]]
"""Sender, receiver, begin, time alone."""


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([("a", "x", 0, 10), ("b", "x", 0, 10), ("c", "x", 0, 10), ("d", "y", 5, 10)], [3, 3, 3, 1]),
        ([("a", "x", 0, 10), ("a", "y", 0, 10)], [2, 2]),
        ([("a", "x", 0, 10), ("b", "x", 5, 10)], [1.5, 1.5]),
        ([("b", "x", 5, 10), ("a", "x", 0, 10)], [1.5, 1.5]),
        ([("a", "x", 0, 30), ("b", "x", 0, 10)], [40 / 30, 2]),
        ([("a", "x", 0, 10), ("b", "x", 10, 10)], [1, 1]),
        ([("a", "x", 0, 10), ("b", "x", -1, 10)], [1, 1]),
        ([("a", "x", 0, 10)] + 8 * [("a", "x", 50, 10)], [1] + 8 * [8]),
        ([], []),
    ],
    ids=["receiver", "sender", "half", "any order", "a short one", "in turn", "never began", "later", "none"],
)
def test_the_share_of_a_port_follows_from_begin_and_time_alone(messages: Messages, expected: list[float]) -> None:
    src, dst = (np.array([it[side] for it in messages], np.str_) for side in (0, 1))
    start, ideal = (np.array([it[side] for it in messages], np.int64) for side in (2, 3))
    assert sharing(src, dst, start, ideal) == pytest.approx(expected)


def test_a_port_is_never_idle_while_somebody_has_more() -> None:
    rng = np.random.default_rng(1)
    start, ideal = np.sort(rng.integers(0, 1000, 200)), rng.integers(1, 100, 200)
    took = sharing(np.array([str(it) for it in range(200)]), np.full(200, "x"), start, ideal) * ideal
    free = 0
    for begin, alone in zip(start.tolist(), ideal.tolist(), strict=True):
        free = max(free, begin) + alone
    assert (start + took).max() == pytest.approx(free)
