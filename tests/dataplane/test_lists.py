"""The engine's linked lists, followed from Python."""

from __future__ import annotations

import numpy as np
import pytest

from fabric.dataplane.state.lists import follow

LINKS = np.array([0, 3, 0, 5, 0, 2], np.uint32)
"""1 -> 3 -> 5 -> 2; 4 alone."""


def followed(heads: list[int], tails: list[int], links: np.ndarray = LINKS, room: int = 10) -> list[tuple[int, int]]:
    rows, places = np.zeros(room, np.int64), np.zeros(room, np.int64)
    count = follow(links, np.array(heads, np.uint32), np.array(tails, np.uint32), rows, places)
    return list(zip(rows[:count].tolist(), places[:count].tolist(), strict=True))


def test_lists_are_followed_in_their_order_to_the_end_of_their_links() -> None:
    assert followed([4, 0, 1], [0, 0, 0]) == [(4, 0), (1, 2), (3, 2), (5, 2), (2, 2)]


@pytest.mark.parametrize("last", [1, 3, 5, 2])
def test_a_tail_ends_a_list_whose_last_link_is_stale(last: int) -> None:
    order = [1, 3, 5, 2]
    assert followed([1], [last]) == [(row, 0) for row in order[: order.index(last) + 1]]


def test_rows_are_counted_also_where_there_is_no_room_for_them() -> None:
    none = np.zeros(0, np.int64)
    assert follow(LINKS, np.array([1, 4], np.uint32), np.zeros(2, np.uint32), none, none) == 5


def test_a_list_that_is_a_ring_ends_after_as_many_rows_as_there_are() -> None:
    assert len(followed([1], [0], np.array([0, 2, 1], np.uint32))) == 3
