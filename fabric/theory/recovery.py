"""Loss recovery of an RDMA queue pair: the share of sent packets that are new.

Source: geometry of go-back-N (textbook); livelock of go-back-0: Guo et al., SIGCOMM 2016, section 4.1.
"""

from __future__ import annotations

import math


def go_back_n_efficiency(loss_ratio: float, resent_pkts: float) -> float:
    """(1-p) / (1-p+pW): new packets per packet sent, if every loss costs W packets, the lost one included.

    loss_ratio : p, independent for every packet; resent_pkts : W, packets that a NAK makes the sender repeat.
    """
    return (1.0 - loss_ratio) / (1.0 - loss_ratio + loss_ratio * resent_pkts)


def resent_per_loss_pkts(round_trip_ps: int, packet_ps: int) -> int:
    """W of a sender that never waits: packets begun from the lost packet until the NAK for it arrives.

    The packet after the lost one reveals the gap: its last bit leaves two packet times after the lost packet's first,
    and round_trip_ps later (last bit sent to NAK handled) the sender goes back.
    """
    return 2 + -(-round_trip_ps // packet_ps)


def go_back_0_success(loss_ratio: float, message_pkts: int) -> float:
    """Probability that one attempt at a whole message has no loss."""
    return float((1.0 - loss_ratio) ** message_pkts)


def packet_loss_ratio(bit_error_ratio: float, frame_bytes: int) -> float:
    """Probability that at least one bit of a frame is wrong."""
    return -math.expm1(8 * frame_bytes * math.log1p(-bit_error_ratio))


def bit_error_ratio(loss_ratio: float, frame_bytes: int) -> float:
    """Inverse of packet_loss_ratio."""
    return -math.expm1(math.log1p(-loss_ratio) / (8 * frame_bytes))
