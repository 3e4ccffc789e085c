"""Per-packet pacing: when may a queue pair send its next packet.

The gap is that of the frame just sent, wire overhead included, at the queue pair's rate; at line rate it is exactly
the frame's serialisation time, so one queue pair can fill a link.
"""

from __future__ import annotations

import numpy as np

from fabric.state.jit import hot
from fabric.state.types import State

i64 = np.int64

_PS_PER_S = 1_000_000_000_000


@hot
def gap_ps(state: State, qp: int, frame_bytes: int, serialisation_ps: int) -> int:
    """Time from a departure to the next one of the same queue pair, rounded up so that no rate is exceeded.

    Domain: frame_bytes < 2**16, so the product stays below 2**63.
    """
    row = state.qps[qp]
    rate_bps = i64(row["rate_bps"])
    if rate_bps >= row["line_bps"]:
        return serialisation_ps
    bits = (frame_bytes + i64(state.config[0]["min_gap_bytes"])) * 8
    return (bits * _PS_PER_S + rate_bps - 1) // rate_bps
