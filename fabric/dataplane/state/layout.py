"""Types of the fields of the engine's tables, and how rows are laid out in memory."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

I8, F8, U4, U2, U1 = np.int64, np.float64, np.uint32, np.uint16, np.uint8

CACHE_LINE: Final = 64
LINE_PAIR: Final = 2 * CACHE_LINE
"""Processors fetch lines two by two (Intel's optimisation manual: the spatial prefetcher): two
threads that write neighbouring lines evict each other's.
"""
_PADDED_FROM = 56


def table(*fields: tuple[Any, ...], apart: bool = False) -> np.dtype[np.void]:
    """A row type. Rows of more than 56 bytes fill whole cache lines: no row straddles one needlessly, and rows of
    different owners never share one. Rows `apart` share no pair of lines either, where that was measured to help
    (decisions/0046).
    """
    packed = np.dtype(list(fields), align=True)
    if packed.itemsize <= _PADDED_FROM and not apart:
        return packed
    names, places = packed.names or (), dict(packed.fields or {})
    unit = LINE_PAIR if apart else CACHE_LINE
    size = -(-packed.itemsize // unit) * unit
    return np.dtype(
        {
            "names": names,
            "formats": [places[name][0] for name in names],
            "offsets": [places[name][1] for name in names],
            "itemsize": size,
        },
        align=True,
    )
