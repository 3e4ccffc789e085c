"""How much a lossless priority group must be able to take after it has sent XOFF, and how fast a peer must stop.

    bytes = 2 x cable + response + receiver pipeline + local frame + peer frame + PAUSE frame,  x cell expansion

IEEE 802.1Q annex on PFC buffer requirements (formerly 802.1Qbb annex O), with the response bound of 802.3 31B.3.7 and
the worst expansion of frames into cells, as vendors' tables assume (64-byte frames).
"""

from __future__ import annotations

from typing import Final

from fabric.units import PS_PER_S

RESPONSE_QUANTA: Final = {
    # IEEE 802.3 31B.3.7, in pause quanta of 512 bit times; 800G as 400G (sonic-swss buffer_headroom_mellanox.lua).
    10**9: 2, 10 * 10**9: 67, 25 * 10**9: 80, 40 * 10**9: 118, 50 * 10**9: 147, 100 * 10**9: 394, 200 * 10**9: 453,
    400 * 10**9: 905, 800 * 10**9: 905}
QUANTUM_BITS: Final = 512
PAUSE_WIRE_BYTES: Final = 84
"""A PAUSE frame of 64 bytes with preamble and inter-packet gap."""
FRAME_OVERHEAD_BYTES: Final = 18
"""Ethernet header and FCS around an IP packet."""
WIRE_OVERHEAD_BYTES: Final = 20
"""Preamble, start delimiter, inter-packet gap."""


def response_bound_ps(rate_bps: int) -> int:
    """Longest time from the end of a PAUSE frame to the stop (31B.3.7); a speed between two rows takes the upper
    one.
    """
    speed = min((listed for listed in RESPONSE_QUANTA if listed >= rate_bps), default=max(RESPONSE_QUANTA))
    return -(-RESPONSE_QUANTA[speed] * QUANTUM_BITS * PS_PER_S // rate_bps)


def response_ps(setting: int | str, rate_bps: int) -> int:
    """A `response:` setting as time: half or all of the bound, or the time itself."""
    if isinstance(setting, int):
        return setting
    bound = response_bound_ps(rate_bps)
    return bound if setting == "worst" else bound // 2


def cells(size_bytes: int, cell_bytes: int) -> int:
    """Bytes that a frame occupies: whole cells."""
    return -(-size_bytes // cell_bytes) * cell_bytes


def expansion(cell_bytes: int) -> tuple[int, int]:
    """Worst (buffer bytes, wire bytes) of any frame of 64 bytes or more: 64 itself, or one byte into a new cell."""
    candidates = [64, *(cell_bytes * k + 1 for k in range(1, 64) if cell_bytes * k + 1 > 64)]
    worst = max(candidates, key=lambda size: cells(size, cell_bytes) / (size + WIRE_OVERHEAD_BYTES))
    return max(cells(worst, cell_bytes), worst + WIRE_OVERHEAD_BYTES), worst + WIRE_OVERHEAD_BYTES


def headroom_bytes(rate_bps: int, delay_ps: int, mtu_bytes: int, latency_ps: int, cell_bytes: int,
                   peer_response_ps: int = 0) -> int:
    """Worst-case headroom of one lossless priority group.

    Parameters
    ----------
    rate_bps, delay_ps : int    of the cable; delay is one-way
    mtu_bytes : int             IP MTU, the larger of both ends
    latency_ps : int            what the receiver adds before it counts a frame
    cell_bytes : int            accounting unit
    peer_response_ps : int      the peer's configured response, where it is slower than the 802.3 bound

    Returns: bytes, whole cells.
    Source: IEEE 802.1Q (module docstring).
    """
    time_ps = 2 * delay_ps + latency_ps + max(peer_response_ps, response_bound_ps(rate_bps))
    frame = mtu_bytes + FRAME_OVERHEAD_BYTES + WIRE_OVERHEAD_BYTES
    wire = -(-time_ps * rate_bps // (8 * PS_PER_S)) + 2 * frame + PAUSE_WIRE_BYTES
    numerator, denominator = expansion(cell_bytes)
    return cells(-(-wire * numerator // denominator), cell_bytes)
