"""How long bytes take on a wire: exact, rounded up (asic), or as the public HPCC simulator truncates it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fabric.state.codes import Law
from fabric.state.types import TX_SIZES

PS_PER_S = 1_000_000_000_000
PAUSE_QUANTUM_BITS = 512
"""IEEE 802.3 annex 31B: one pause quantum."""


def quantum_ps(rate_bps: int) -> int:
    """512 bit times at a port's speed, picoseconds, rounded up."""
    return -(-PAUSE_QUANTUM_BITS * PS_PER_S // rate_bps)


def hpcc_serialisation_ns(size_bytes: int, rate_bps: int) -> int:
    """floor(floor((8.0 * b / R) * 2**64) * 10**9 / 2**64): double arithmetic, then a 64.64 fixed-point time
    truncated.
    """
    return (int(8.0 * size_bytes / rate_bps * 2.0**64) * 10**9) >> 64


def serialisation_row(rate_bps: int, overhead_bytes: int, law: Law) -> NDArray[np.int64]:
    """(TX_SIZES,) picoseconds by frame size; rounded up so that no link beats its rate (Law.ASIC)."""
    if law is Law.HPCC:
        return np.array([1000 * hpcc_serialisation_ns(size, rate_bps) for size in range(TX_SIZES)], np.int64)
    bits = (np.arange(TX_SIZES, dtype=np.int64) + overhead_bytes) * 8
    return np.asarray(-(-bits * PS_PER_S // rate_bps), np.int64)
