"""How long bytes take on a wire: exact, rounded up (asic), or as the public ns-3 RDMA simulator truncates it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import Semantics
from fabric.dataplane.state.semantics import truncated_serialisation_ns
from fabric.dataplane.state.types import TX_SIZES

PS_PER_S = 1_000_000_000_000
PAUSE_QUANTUM_BITS = 512
"""IEEE 802.3 annex 31B: one pause quantum."""


def quantum_ps(rate_bps: int) -> int:
    """512 bit times at a port's speed, picoseconds, rounded up."""
    return -(-PAUSE_QUANTUM_BITS * PS_PER_S // rate_bps)


@lru_cache(maxsize=64)
def serialisation_row(rate_bps: int, overhead_bytes: int, semantics: Semantics) -> NDArray[np.int64]:
    """(TX_SIZES,) picoseconds by frame size, read-only; rounded up so that no link beats its rate (Semantics.ASIC).

    overhead_bytes may be below 0, on links whose rate counts payload only: a frame counts one byte at least.

    Kept for the next caller: ideal times and every State of a process ask for the same few speeds.
    """
    if semantics is Semantics.NS3_RDMA:
        row = np.array([1000 * truncated_serialisation_ns(size, rate_bps) for size in range(TX_SIZES)], np.int64)
    else:
        counted = np.arange(TX_SIZES, dtype=np.int64) + overhead_bytes
        bits = (np.maximum(counted, 1) if overhead_bytes < 0 else counted) * 8
        row = np.asarray(-(-bits * PS_PER_S // rate_bps), np.int64)
    row.flags.writeable = False
    return row
