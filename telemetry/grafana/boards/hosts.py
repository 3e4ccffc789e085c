"""Hosts and their RNICs: traffic, losses, completions."""

from __future__ import annotations

from typing import Final

from telemetry.grafana.clock import clock
from telemetry.grafana.model import Board, Kind, Need, Panel, Query, Section, Unit
from telemetry.grafana.queries import DEVICES, INSTANCES, Asking, over

_ASK: Final = Asking(INSTANCES, DEVICES)
_HOST: Final = "{{device}}"


def _rate(title: str, name: str, about: str) -> Panel:
    return Panel(title, Kind.LINES, (Query(_ASK.rate(name), _HOST),), about, width=8)


BOARD: Final = Board(
    "fabric-hosts",
    "Hosts and RNICs",
    "Traffic, losses, retransmissions and completions of hosts.",
    (INSTANCES, DEVICES),
    (
        clock(_ASK),
        Section(
            "Work",
            (
                _rate(
                    "Goodput",
                    "fabric_rnic_goodput_bytes_total",
                    "Payload received, each byte once; in order unless recovery is out-of-order.",
                ),
                Panel(
                    "Queue pairs at work",
                    Kind.LINES,
                    (Query(_ASK.now("fabric_rnic_active_queue_pairs"), _HOST),),
                    "With something to send or unacknowledged.",
                    8,
                ),
                _rate("Messages completed", "fabric_rnic_messages_completed_total", "Acknowledged to the last byte."),
                Panel(
                    "Completion time",
                    Kind.LINES,
                    tuple(
                        Query(
                            _ASK.quantile(share, "fabric_flow_completion_seconds", by="size_class", unit=Unit.SECONDS),
                            f"{{{{size_class}}}} p{share * 100:g}",
                        )
                        for share in (0.5, 0.99)
                    ),
                    "Simulated time from posting to the last acknowledgement.",
                    8,
                    needs=(Need.ENDED,),
                ),
                Panel(
                    "Bus bandwidth of collectives",
                    Kind.LINES,
                    (
                        Query(
                            _ASK.quantile(
                                0.5,
                                "fabric_collective_busbw_bytes_per_second",
                                by="workload",
                                unit=Unit.BYTES_PER_SECOND,
                            ),
                            "{{workload}}",
                        ),
                    ),
                    "nccl-tests' busbw, median of the repetitions that ended; empty without a collective.",
                    8,
                    needs=(Need.COLLECTIVE,),
                ),
                Panel(
                    "Sending rates",
                    Kind.DISTRIBUTION,
                    (Query(_ASK.now("fabric_rnic_rate_bytes_per_second_bucket"), "{{le}}"),),
                    "Rate allowed to each queue pair at work.",
                    8,
                ),
            ),
        ),
        Section(
            "Congestion control",
            (
                _rate(
                    "CNPs sent", "fabric_rnic_cnp_sent_packets_total", "mlx5 np_cnp_sent: congestion towards this host."
                ),
                _rate(
                    "CNPs obeyed",
                    "fabric_rnic_cnp_handled_packets_total",
                    "mlx5 rp_cnp_handled: congestion on the path from this host.",
                ),
                _rate(
                    "CNPs ignored",
                    "fabric_rnic_cnp_ignored_packets_total",
                    "mlx5 rp_cnp_ignored; some are normal, within the interval of the last decrease.",
                ),
            ),
        ),
        Section(
            "Loss and repair",
            (
                _rate(
                    "Out of sequence",
                    "fabric_rnic_out_of_sequence_packets_total",
                    "mlx5 out_of_sequence: packets were lost or reordered in the fabric.",
                ),
                _rate("Sent again", "fabric_rnic_retransmitted_packets_total", "Retransmitted packets."),
                _rate(
                    "Timeouts",
                    "fabric_rnic_timeouts_total",
                    "mlx5 local_ack_timeout_err: the tail of a message was lost, or the fabric was paused.",
                ),
                _rate(
                    "Placed out of order",
                    "fabric_rnic_out_of_order_packets_total",
                    "Packets that arrived out of order and were stored at once: normal where switches spray, "
                    "and none elsewhere. Only NICs with recovery out-of-order count them.",
                ),
                _rate(
                    "Declared lost",
                    "fabric_rnic_declared_lost_packets_total",
                    "Packets that a sender with recovery out-of-order declared lost; about as many as were dropped.",
                ),
                _rate(
                    "Spurious retransmissions",
                    "fabric_rnic_spurious_retransmissions_total",
                    "Retransmitted packets that had arrived: path delays differ by more than the reordering window.",
                ),
            ),
        ),
        Section(
            "Receive buffer",
            (
                Panel(
                    "Receive buffer in use",
                    Kind.LINES,
                    (
                        Query(
                            over(
                                _ASK.now("fabric_rnic_receive_buffer_used_bytes"),
                                _ASK.now("fabric_rnic_receive_buffer_size_bytes"),
                            ),
                            _HOST,
                        ),
                    ),
                    "Only a host that drains below line rate fills it; then it pauses its switch.",
                    8,
                    limits=(0.5, 0.9),
                    top=1,
                ),
                _rate("Discarded on arrival", "fabric_rnic_receive_discards_total", "mlx5 rx_prioN_discards."),
                _rate("NAKs sent", "fabric_rnic_naks_sent_total", "A receiver saw a gap in sequence numbers."),
            ),
        ),
    ),
)
"""fabric-hosts."""
