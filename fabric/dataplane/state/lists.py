"""The engine's linked lists, read from Python: rows of `packets`, linked by their field `next`; 0 is the end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.compiled.jit import i64, on_arrays


@on_arrays
def follow(
    links: NDArray[np.uint32],
    heads: NDArray[np.uint32],
    tails: NDArray[np.uint32],
    rows: NDArray[np.int64],
    places: NDArray[np.int64],
) -> int:
    """Follow every list from its head, and return how many rows they have.

    Parameters
    ----------
    links : (packets,)      the row that follows each row; 0: none
    heads : (lists,)        first row of each list; 0: the list is empty
    tails : (lists,)        last row where the link of the last row is stale; 0: the list ends by its link
    rows, places : (n,)     written: the first n rows, list by list, and the index of the list of each

    A row is in one list, so no more rows than `links` has are followed: lists that are damaged end there.
    """
    count = 0
    for place in range(len(heads)):
        row = i64(heads[place])
        while row != 0 and count < len(links):
            if count < len(rows):
                rows[count] = row
                places[count] = place
            count += 1
            row = 0 if row == i64(tails[place]) else i64(links[row])
    return count
