"""Congestion control: ECN marks, CNPs, pauses."""

from __future__ import annotations

from typing import Final

from telemetry.grafana.clock import clock
from telemetry.grafana.model import Board, Kind, Need, Panel, Query, Section, Unit
from telemetry.grafana.queries import DEVICES, INSTANCES, PORTS, PRIORITIES, Asking, over, top

_ASK: Final = Asking(INSTANCES, DEVICES, PORTS, PRIORITIES)
_QUEUE: Final = "{{device}}:{{port}} queue {{queue}}"
_PORT: Final = "{{device}}:{{port}} priority {{priority}}"


def _hosts(title: str, name: str, about: str) -> Panel:
    return Panel(title, Kind.LINES, (Query(_ASK.rate(name), "{{device}}"),), about, width=8)


BOARD: Final = Board(
    "fabric-congestion",
    "Congestion",
    "Congestion control: marks, notifications, pauses.",
    (INSTANCES, DEVICES, PORTS, PRIORITIES),
    (
        clock(_ASK),
        Section(
            "Switches",
            (
                Panel(
                    "Share of packets marked",
                    Kind.LINES,
                    (
                        Query(
                            top(
                                10,
                                over(
                                    _ASK.rate("fabric_ecn_marked_packets_total"),
                                    _ASK.rate("fabric_ecn_eligible_packets_total"),
                                ),
                            ),
                            _QUEUE,
                        ),
                    ),
                    "CE marks over ECN-capable packets: the strength of the signal to senders.",
                    top=1,
                    needs=(Need.ECN,),
                ),
                Panel(
                    "Share of time paused",
                    Kind.LINES,
                    (Query(top(10, _ASK.rate("fabric_pfc_receive_paused_seconds_total")), _PORT),),
                    "Time that PFC kept the port from sending. Marks should come long before this.",
                    limits=(0.05, 0.95),
                    top=1,
                    needs=(Need.PFC,),
                ),
                Panel(
                    "Deepest queues",
                    Kind.LINES,
                    (Query(top(10, _ASK.now("fabric_queue_watermark_bytes")), _QUEUE),),
                    "Highest depth since the previous sample: bursts between two scrapes are in it only as far as "
                    "the last "
                    "sampling period.",
                ),
                Panel(
                    "Packets marked and admitted, by switch",
                    Kind.LINES,
                    (
                        Query(_ASK.rate("fabric_ecn_marked_packets_total", by="device"), "{{device}} marks"),
                        Query(_ASK.rate("fabric_pg_admitted_packets_total", by="device"), "{{device}} admits"),
                    ),
                    "Packets marked beside packets admitted.",
                ),
                Panel(
                    "XOFF episodes, by switch",
                    Kind.LINES,
                    (Query(_ASK.rate("fabric_pg_xoff_episodes_total", by="device"), "{{device}}"),),
                    "Times that a switch paused a neighbour. A switch with XOFFs and without marks gives senders no "
                    "signal to slow down; with fewer marks than XOFFs it marks too late.",
                    24,
                    needs=(Need.PFC,),
                ),
            ),
        ),
        Section(
            "Senders and receivers",
            (
                _hosts(
                    "CNPs sent",
                    "fabric_rnic_cnp_sent_packets_total",
                    "As notification point: congestion on the path to this host.",
                ),
                _hosts(
                    "CNPs obeyed",
                    "fabric_rnic_cnp_handled_packets_total",
                    "As reaction point: congestion on the path from this host.",
                ),
                _hosts("Rate decreases", "fabric_rnic_rate_cuts_total", "Rate decreases of the host's queue pairs."),
                Panel(
                    "Sending rates",
                    Kind.DISTRIBUTION,
                    (Query(_ASK.now("fabric_rnic_rate_bytes_per_second_bucket"), "{{le}}"),),
                    "Rate allowed to each queue pair at work; all at line rate is a fabric without congestion.",
                ),
                Panel(
                    "Slowdown",
                    Kind.LINES,
                    tuple(
                        Query(
                            _ASK.quantile(share, "fabric_flow_slowdown_ratio", by="size_class", unit=Unit.TIMES),
                            f"{{{{size_class}}}} p{share * 100:g}",
                        )
                        for share in (0.5, 0.99)
                    ),
                    "Completion time over the one in an empty fabric.",
                    needs=(Need.ENDED,),
                ),
            ),
        ),
    ),
)
"""fabric-congestion."""
