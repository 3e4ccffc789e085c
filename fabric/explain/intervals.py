"""Unions, differences and intersections of intervals of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

Spans = list[tuple[int, int]]
"""Disjoint (from, to), ascending."""


def joined(
    start: NDArray[np.int64], until: NDArray[np.int64], mine: NDArray[np.bool_], gap: int
) -> Iterator[tuple[int, int]]:
    """The union of intervals, gaps up to `gap` closed."""
    rows = np.flatnonzero(mine)
    rows = rows[np.argsort(start[rows], kind="stable")]
    if not len(rows):
        return
    reach = np.maximum.accumulate(until[rows])
    cuts = np.flatnonzero(start[rows][1:] > reach[:-1] + gap) + 1
    for first, last in zip(np.r_[0, cuts], np.r_[cuts, len(rows)], strict=True):
        yield int(start[rows][first]), int(reach[last - 1])


def union(spans: Iterable[tuple[int, int]]) -> Spans:
    """The union of intervals in any order; they may overlap."""
    found: Spans = []
    for start, stop in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], stop)
        elif start < stop:
            found.append((start, stop))
    return found


def common(first: Spans, second: Spans) -> Spans:
    """What two lists of disjoint intervals, ascending, share. One pass over both."""
    found: Spans = []
    row = place = 0
    while row < len(first) and place < len(second):
        start, stop = max(first[row][0], second[place][0]), min(first[row][1], second[place][1])
        if start < stop:
            found.append((start, stop))
        if first[row][1] < second[place][1]:
            row += 1
        else:
            place += 1
    return found


def subtract(whole: Spans, part: Iterable[tuple[int, int]]) -> tuple[Spans, int]:
    """Intervals of `whole` outside all of `part`, and the length of what was inside.

    Parameters
    ----------
    whole : disjoint intervals, ascending
    part : intervals in any order; they may overlap
    """
    inside = common(whole, union(part))
    outside: Spans = []
    place = 0
    for start, stop in whole:
        at = start
        while place < len(inside) and inside[place][1] <= stop:
            low, high = inside[place]
            if low > at:
                outside.append((at, low))
            at = high
            place += 1
        if at < stop:
            outside.append((at, stop))
    return outside, length(inside)


def length(spans: Spans) -> int:
    """Their sum."""
    return sum(stop - start for start, stop in spans)
