"""True values beside the values that a real exporter polls in the same run."""

from __future__ import annotations

from typing import Final

from telemetry.grafana.clock import clock
from telemetry.grafana.model import Board, Kind, Need, Panel, Quantity, Query, Section, Unit, Variable
from telemetry.grafana.queries import DEVICES, INSTANCES, PORTS, PRIORITIES, RANGE, Asking

_SEEN: Final = Variable(
    "seen", "As seen by", "label_values(fabric_sim_time_seconds, instance)", regex="/.+:(?:sonic|sonic-10s|hft)$/"
)
"""`fabric export --as-seen-by` and deploy/prometheus.yml name an exporter's view RUN:EXPORTER."""
_TRUTH: Final = Asking(INSTANCES, DEVICES, PORTS, PRIORITIES)
_VIEW: Final = Asking(INSTANCES, DEVICES, PORTS, PRIORITIES, instance="$seen")
_BOTH: Final = ((_TRUTH, "true"), (_VIEW, "seen"))
_DEPTH: Final = "fabric_queue_bytes"
_WATERMARK: Final = "fabric_queue_watermark_bytes"
_PAUSED: Final = "fabric_pfc_receive_paused_seconds_total"


def _highest(asking: Asking, name: str) -> Quantity:
    return Quantity(f"max by (instance) ({asking.rows(name)})", asking.now(name).unit)


def _highest_rate(asking: Asking, name: str) -> Quantity:
    of = asking.rate(name)
    return Quantity(f"max by (instance) ({of.expr})", of.unit)


def _share_of_line_rate(asking: Asking) -> Quantity:
    speed = asking.rows("fabric_port_speed_bytes_per_second")
    sent = asking.rate("fabric_port_transmit_bytes_total").expr
    return Quantity(f"max by (instance) (({sent}) / on (instance, device, port) {speed})", Unit.SHARE)


def _lines(title: str, queries: tuple[Query, ...], about: str, *needs: Need) -> Panel:
    return Panel(title, Kind.LINES, queries, about, needs=needs)


def _peak(title: str, asking: Asking, name: str, about: str) -> Panel:
    of = Quantity(f"max(max_over_time({asking.rows(name)}[{RANGE}]))", Unit.BYTES)
    return Panel(
        title, Kind.NUMBER, (Query(of, ""),), about, width=6, height=4, needs=(Need.SEEN,) if asking is _VIEW else ()
    )


BOARD: Final = Board(
    "fabric-as-seen-by",
    "As seen by",
    "True values beside polled ones: microbursts between two polls, and pauses that are estimated.",
    (INSTANCES, _SEEN, DEVICES, PORTS, PRIORITIES),
    (
        clock(_TRUTH),
        Section(
            "Deepest queue in the time range",
            (
                _peak("True watermark", _TRUTH, _WATERMARK, "Highest depth between two samples of the run."),
                _peak("Watermark as seen", _VIEW, _WATERMARK, "Known only when it is next read and cleared."),
                _peak("True depth", _TRUTH, _DEPTH, "Highest depth at a sample of the run."),
                _peak(
                    "Depth as seen",
                    _VIEW,
                    _DEPTH,
                    "A poll shows one point in time: a burst between two polls is missing.",
                ),
            ),
        ),
        Section(
            "Over time",
            (
                _lines(
                    "Deepest queue",
                    tuple(
                        Query(_highest(asking, name), f"{what}, {how}")
                        for name, what in ((_WATERMARK, "watermark"), (_DEPTH, "depth"))
                        for asking, how in _BOTH
                    ),
                    "A watermark is late; a depth is rarely polled at its maximum.",
                ),
                _lines(
                    "Busiest port, share of line rate",
                    tuple(Query(_share_of_line_rate(asking), how) for asking, how in _BOTH),
                    "Bytes between two polls, over the line rate: a slow poll averages a burst away.",
                ),
                _lines(
                    "Longest paused port, share of time",
                    tuple(Query(_highest_rate(asking, _PAUSED), how) for asking, how in _BOTH),
                    "SONiC estimates: the whole interval between two polls of its watchdog counts where PFC frames "
                    "arrived in it or the priority was paused at both ends.",
                    Need.PFC,
                ),
                _lines(
                    "Packets marked",
                    tuple(
                        Query(asking.rate("fabric_ecn_marked_packets_total", by="device"), f"{{{{device}}}} {how}")
                        for asking, how in _BOTH
                    ),
                    "Counters are complete, but increase in steps.",
                ),
            ),
        ),
    ),
)
"""fabric-as-seen-by."""
