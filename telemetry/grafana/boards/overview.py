"""Health of the fabric: links between tiers as a heat map, traffic, and counts that should stay at 0."""

from __future__ import annotations

from typing import Final

from telemetry.alerting.alerts import STOPPED_RATIO
from telemetry.grafana.clock import clock
from telemetry.grafana.model import Board, Kind, Need, Panel, Quantity, Query, Section, Unit
from telemetry.grafana.queries import DEVICES, INSTANCES, RANGE, Asking, top

_ASK: Final = Asking(INSTANCES, DEVICES)
_ALL: Final = Asking(INSTANCES)
_LEAF: Final = "leaf"
_SPINE: Final = "spine"
_BUSY: Final = _ALL.rate("fabric_port_transmit_busy_seconds_total")
_PAUSED: Final = _ALL.rate("fabric_pfc_receive_paused_seconds_total", by="device, port")


def _matrix(title: str, of: Quantity, local: str, remote: str, about: str, *needs: Need) -> Panel:
    return Panel(
        title,
        Kind.MATRIX,
        (Query(_ALL.between(of, local, remote), ""),),
        about,
        width=8,
        height=8,
        top=1,
        needs=(Need.SPINES, *needs),
    )


def _count(title: str, name: str, about: str) -> Panel:
    return Panel(title, Kind.NUMBER, (Query(_ASK.total(name), ""),), about, width=4, height=4, limits=(1,))


def _or_none(expr: str) -> Quantity:
    """A count; 0 where there are no series."""
    return Quantity(f"{expr} or 0 * max by (instance) ({_ASK.rows('fabric_port_up')})", Unit.COUNT)


_DOWN: Final = _or_none(f"count by (instance) ({_ASK.rows('fabric_port_up')} == 0)")
_STOPPED: Final = _ASK.facing(
    Quantity(
        _ASK.highest(
            _ASK.rate("fabric_pfc_receive_paused_seconds_total", by="device, port, priority"), by="device, port"
        ).expr
        + f" > {STOPPED_RATIO:g}",
        Unit.SHARE,
    ),
    "host",
).expr
_DETECTED: Final = f"{_ASK.total('fabric_pfcwd_storms_detected_total', by='instance, device, port').expr} > 0"
_STORMS: Final = _or_none(f"count by (instance) (({_STOPPED}) or on (instance, device, port) ({_DETECTED}))")
_REFUSED: Final = _or_none(
    f"sum by (instance) (increase({_ASK.rows('fabric_pg_dropped_packets_total')}[{RANGE}]) "
    f"and on (instance, device, port, priority) {_ASK.rows('fabric_pg_lossless')} == 1)"
)

BOARD: Final = Board(
    "fabric-overview",
    "Fabric overview",
    "Health of the fabric and its parts.",
    (INSTANCES, DEVICES),
    (
        clock(_ALL),
        Section(
            "Links between leaves and spines",
            (
                _matrix(
                    "Leaf to spine, share of line rate",
                    _BUSY,
                    _LEAF,
                    _SPINE,
                    "Time that the leaf's port was sending, by leaf (rows) and spine (columns). A fabric in balance "
                    "has one colour; a bright column is a spine, a bright row a leaf.",
                ),
                _matrix(
                    "Spine to leaf, share of line rate",
                    _BUSY,
                    _SPINE,
                    _LEAF,
                    "The same downwards, by spine (rows) and leaf (columns). A bright column is a hot spot.",
                ),
                _matrix(
                    "Leaf paused by spine, share of time",
                    _PAUSED,
                    _LEAF,
                    _SPINE,
                    "Time for which the spine paused the leaf, sum of all priorities. Congestion spreads from "
                    "here to the hosts of that leaf.",
                    Need.PFC,
                ),
            ),
        ),
        Section(
            "Counts that should stay at 0, over the time range",
            (
                Panel("Ports down", Kind.NUMBER, (Query(_DOWN, ""),), "Ports whose link is down now.", 4, 4, (1,)),
                _count("Packets dropped", "fabric_port_dropped_packets_total", "Discarded anywhere, for any reason."),
                Panel(
                    "Lossless packets refused",
                    Kind.NUMBER,
                    (Query(_REFUSED, ""),),
                    "Refused at ingress by a lossless priority group, where one is too many. What the PFC "
                    "watchdog drops "
                    "in a storm is not in it.",
                    4,
                    4,
                    (1,),
                ),
                _count("Damaged frames", "fabric_port_fcs_errors_total", "Frames with a wrong FCS: optics or cables."),
                Panel(
                    "Ports in a PFC storm",
                    Kind.NUMBER,
                    (Query(_STORMS, ""),),
                    f"Ports towards hosts that were paused for more than {STOPPED_RATIO:.0%} of some window, or "
                    f"at which "
                    "a PFC watchdog detected a storm.",
                    4,
                    4,
                    (1,),
                ),
                _count("Messages given up", "fabric_rnic_messages_failed_total", "Their queue pair failed."),
            ),
        ),
        Section(
            "Traffic",
            (
                Panel(
                    "Busiest ports",
                    Kind.LINES,
                    (Query(top(10, _ASK.rate("fabric_port_transmit_busy_seconds_total")), "{{device}}:{{port}}"),),
                    "Share of the line rate, preamble and gap included.",
                    top=1,
                ),
                Panel(
                    "Goodput of receivers",
                    Kind.LINES,
                    (Query(_ASK.rate("fabric_rnic_goodput_bytes_total"), "{{device}}"),),
                    "Payload that arrived in order, each byte once.",
                ),
                Panel(
                    "Drops",
                    Kind.LINES,
                    (Query(_ASK.rate("fabric_port_dropped_packets_total", by="device"), "{{device}}"),),
                    "By device; the dashboard of buffers tells a pool from headroom.",
                ),
                Panel(
                    "Slowdown, 99th percentile",
                    Kind.LINES,
                    (
                        Query(
                            _ALL.quantile(0.99, "fabric_flow_slowdown_ratio", by="size_class", unit=Unit.TIMES),
                            "{{size_class}}",
                        ),
                    ),
                    "Completion time over the one in an empty fabric; users feel this. Only where messages ended.",
                    needs=(Need.ENDED,),
                ),
            ),
        ),
    ),
)
"""fabric-overview."""
