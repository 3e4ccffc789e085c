"""`headroom: auto` of a scenario: the larger one of two sets of terms of `fabric.theory.headroom`.

1. What the switches of this emulator need: every term, with frames of any size up to the longest RoCE frame.
2. The annex of IEEE 802.1Q: one frame of the port's MTU at each end, all bytes in the worst frames for the cells.

The second is larger unless the MTU is below about two RoCE frames. Both assume the 802.3 response limit, or the peer's
`response:` where it is slower, so that a peer that is exchanged later does no harm.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from fabric.theory.headroom import LEAST_FRAME_BYTES, Hop, cells, expansion, need_bytes, response_bound_ps

FRAME_OVERHEAD_BYTES = 18
"""Ethernet header and FCS around an IP packet."""


def headroom_bytes(
    rate_bps: int,
    delay_ps: int,
    mtu_bytes: int,
    latency_ps: int,
    cell_bytes: int,
    peer_response_ps: int = 0,
    *,
    roce_frame_bytes: int = 0,
    other_classes: int = 0,
) -> int:
    """Worst-case headroom of one lossless priority group.

    Parameters
    ----------
    rate_bps, delay_ps : int    of the cable; delay is one-way
    mtu_bytes : int             IP MTU, the larger of both ends
    latency_ps : int            delay in the receiver before it counts a frame
    cell_bytes : int            accounting unit
    peer_response_ps : int      the peer's configured response, where it is slower than the 802.3 bound
    roce_frame_bytes : int      longest frame of a lossless class, with FCS; 0: not known, the annex alone
    other_classes : int         further classes that the port pauses

    Returns: bytes, whole cells.
    """
    frame = mtu_bytes + FRAME_OVERHEAD_BYTES
    hop = Hop(
        rate_bps,
        delay_ps,
        max(peer_response_ps, response_bound_ps(rate_bps)),
        frame,
        min(roce_frame_bytes, frame) or frame,
        LEAST_FRAME_BYTES,
        cell_bytes,
        latency_ps,
        other_classes=other_classes,
    )
    annex = need_bytes(replace(hop, frame_bytes=frame, without=frozenset({"others", "coding", "limit", "cells"})))
    by_annex = cells(-int(-annex * max(expansion(cell_bytes), Fraction(1)) // 1), cell_bytes)
    return max(by_annex, need_bytes(hop)) if roce_frame_bytes else by_annex
