"""Unions of intervals of time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


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
