"""Loss recovery of an RDMA queue pair: what share of the sent packets is new.

Source: geometry of go-back-N (textbook); livelock of go-back-0: Guo et al., SIGCOMM 2016, section 4.1.
"""

from __future__ import annotations


def go_back_n_efficiency(loss_ratio: float, resent_pkts: float) -> float:
    """(1-p) / (1-p+pW): new packets per packet sent, if every loss costs W packets, the lost one included.

    loss_ratio : p, independent for every packet; resent_pkts : W, what a NAK makes the sender repeat.
    """
    return (1.0 - loss_ratio) / (1.0 - loss_ratio + loss_ratio * resent_pkts)


def resent_per_loss_pkts(round_trip_s: float, packet_s: float) -> float:
    """W of a sender that never waits: what it has sent, from the lost packet until the NAK for it arrives.

    The packet after the lost one reveals the gap, so the NAK comes one packet time and one round trip (last bit sent to
    NAK received, the data's own serialisation included) after the lost packet's departure.
    """
    return 1.0 + round_trip_s / packet_s


def go_back_0_success(loss_ratio: float, message_pkts: int) -> float:
    """Chance that one attempt at a whole message meets no loss."""
    return float((1.0 - loss_ratio) ** message_pkts)


def packet_loss_ratio(bit_error_ratio: float, frame_bytes: int) -> float:
    """Chance that at least one bit of a frame is wrong."""
    return 1.0 - float((1.0 - bit_error_ratio) ** (8 * frame_bytes))


def bit_error_ratio(loss_ratio: float, frame_bytes: int) -> float:
    """Inverse of packet_loss_ratio."""
    return 1.0 - float((1.0 - loss_ratio) ** (1.0 / (8 * frame_bytes)))
