"""Per-packet pacing: when may a queue pair send its next packet.

The gap is that of the frame just sent, wire overhead included, at the queue pair's rate; at line rate it is exactly
the frame's serialisation time, so one queue pair can fill a link. Where the rate changes before the gap is over, the
frame's cost is paid at the rates that follow (transport/dcqcn, rule 5).
"""

from __future__ import annotations

from fabric.state.codes import Law
from fabric.state.jit import hot, i64
from fabric.state.types import State

_HPCC = int(Law.HPCC)
_PS_PER_S = 1_000_000_000_000


@hot
def _truncated_ps(size_bytes: int, rate_bps: int) -> int:
    """As state/timing.hpcc_serialisation_ns: the 64.64 product needs 94 bits, so it is taken in two halves."""
    fixed = i64(8.0 * size_bytes / rate_bps * 18446744073709551616.0)
    high, low = fixed >> 32, fixed & 0xFFFFFFFF
    return 1000 * ((high * 1_000_000_000 + (low * 1_000_000_000 >> 32)) >> 32)


@hot
def cost(state: State, frame_bytes: int) -> int:
    """What a departure owes, in 10**-12 bit: what rate_bps pays in one ps is rate_bps of them.

    Domain: frame_bytes < 2**16, so the product stays below 2**63.
    """
    return (frame_bytes + i64(state.config[0]["min_gap_bytes"])) * 8 * _PS_PER_S


@hot
def gap_ps(state: State, qp: int, frame_bytes: int, serialisation_ps: int) -> int:
    """Time from a departure to the next one of the same queue pair, rounded up so that no rate is exceeded."""
    row = state.qps[qp]
    rate_bps = i64(row["rate_bps"])
    if state.config[0]["law"] == _HPCC:
        return _truncated_ps(frame_bytes, rate_bps)
    if rate_bps >= row["line_bps"]:
        return serialisation_ps
    return (cost(state, frame_bytes) + rate_bps - 1) // rate_bps
