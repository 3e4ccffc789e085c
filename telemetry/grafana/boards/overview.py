"""Health of the fabric: links between tiers as a heat map, traffic, and counts that should stay at 0."""

from __future__ import annotations

from typing import Final

from telemetry.alerting.alerts import STOPPED_RATIO
from telemetry.grafana.clock import clock
from telemetry.grafana.model import Board, Kind, Need, Panel, Quantity, Query, Section, Unit
from telemetry.grafana.queries import DEVICES, INSTANCES, RANGE, WINDOW, Asking, top

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


def _frames(asking: Asking, direction: str) -> Quantity:
    """Frames without those of PFC, by port."""
    frames = asking.rate(f"fabric_port_{direction}_packets_total", by="device, port").expr
    pauses = asking.rate(f"fabric_port_{direction}_pause_frames_total", by="device, port").expr
    return Quantity(f"({frames}) - ({pauses})", Unit.PACKETS_PER_SECOND)


def _received() -> Quantity:
    """Frames that a switch receives over those that its neighbours send to it."""
    sent = f"sum by (instance, device) ({_ALL.from_peer(_frames(_ALL, 'transmit')).expr})"
    received = f"sum by (instance, device) ({_frames(_ASK, 'receive').expr})"
    hosts = _ALL.rows("fabric_device_info", role="host")
    return Quantity(f"{received} / ({sent} > 0) unless on (instance, device) {hosts}", Unit.SHARE)


def _missing() -> Quantity:
    """Bytes sent to a port in a window less those that it received and those that a full cable holds."""
    held = f"{_ALL.rows('fabric_port_speed_bytes_per_second')} * {_ALL.rows('fabric_port_arrival_delay_seconds')}"
    sent = Quantity(f"increase({_ALL.rows('fabric_port_transmit_bytes_total')}[{WINDOW}]) - {held}", Unit.BYTES)
    received = f"increase({_ASK.rows('fabric_port_receive_bytes_total')}[{WINDOW}])"
    return Quantity(f"clamp_min({_ALL.from_peer(sent).expr} - on (instance, device, port) {received}, 0)", Unit.BYTES)


_SPEEDS: Final = Quantity(
    f"min by (instance, device) ({_ASK.rows('fabric_port_speed_bytes_per_second')} "
    f"/ {_ASK.rows('fabric_port_configured_speed_bytes_per_second')})",
    Unit.SHARE,
)


def _lines(title: str, of: Quantity, legend: str, about: str, limits: tuple[float, ...] = ()) -> Panel:
    return Panel(title, Kind.LINES, (Query(of, legend),), about, width=8, limits=limits)


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
            "Losses without congestion, and links",
            (
                _lines(
                    "Packets without a route or in a loop",
                    _ASK.discarded("~no_route|ttl"),
                    "{{device}}",
                    "Discarded because there is no next hop, or because their time to live ended in a forwarding loop. "
                    "Routes that converge lose packets for moments, a wrong table for as long as it is wrong.",
                ),
                _lines(
                    "Packets larger than the MTU",
                    _ASK.discarded("mtu"),
                    "{{device}}",
                    "Discarded for their size. VXLAN adds 50 bytes; a fabric whose MTU fits them discards none.",
                ),
                _lines(
                    "Sent and not received",
                    top(10, _missing()),
                    "{{device}}:{{port}}",
                    "Bytes that the other end of the cable sent, that did not arrive, and that the cable does not "
                    "hold. Damaged frames have a counter, silent losses only this.",
                ),
                _lines(
                    "Received of what neighbours send",
                    _received(),
                    "{{device}}",
                    "Frames without PFC, all cables of a switch together; at 0 % it has carrier and forwards nothing.",
                ),
                _lines(
                    "Slowest port over its configured speed",
                    _SPEEDS,
                    "{{device}}",
                    "Below 100 % a port of the device has lost lanes, and ECMP goes on sending it a full share.",
                ),
                _lines(
                    "Time without carrier",
                    top(10, _ASK.rate("fabric_port_down_seconds_total")),
                    "{{device}}:{{port}}",
                    "Share of time. Outages between two samples are in it, which the state of a port does not show.",
                ),
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
