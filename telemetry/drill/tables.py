"""What a trainee can look at: tables of the recorded metrics of a drill, over the whole run or a part of it.

A cell is the growth of a counter within the window, the last or the highest value of a gauge in it; a cell is empty
where the monitoring of the drill does not have the metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.render.document import Column, Table, Unit, Value
from fabric.topology.model import Fabric
from fabric.units import PS_PER_NS, PS_PER_S
from telemetry.drill.aliases import natural
from telemetry.record.store import Store

_NS: Final = float(PS_PER_S // PS_PER_NS)
_CLASS: Final = ("priority", "queue", "traffic_class")


class How(StrEnum):
    """How a series becomes one cell."""

    GROWTH = "growth"
    LAST = "last"
    LOWEST = "lowest"
    HIGHEST = "highest"


@dataclass(frozen=True, slots=True)
class Cell:
    """One column of a table."""

    key: str
    title: str
    metric: str
    how: How = How.GROWTH
    unit: Unit = Unit.COUNT
    scale: float = 1.0
    match: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """One table."""

    text: str
    labels: tuple[str, ...]
    """Labels that make a row; 'class' is priority, queue or traffic class."""
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """The rows and the time to show."""

    device: str = ""
    port: str = ""
    since_ns: int = 0
    until_ns: int | None = None
    every: bool = False
    """Rows in which nothing was counted, too."""


def _count(key: str, title: str, metric: str, **match: str) -> Cell:
    return Cell(key, title, f"fabric_{metric}_total", match=tuple(match.items()))


def _time(key: str, title: str, metric: str) -> Cell:
    return Cell(key, title, f"fabric_{metric}_total", unit=Unit.NS, scale=_NS)


# fmt: off
LAYOUTS: Final[Mapping[str, Layout]] = {
    "ports": Layout("frames, speed and errors of every port", ("device", "port"), (
        Cell("up", "Up", "fabric_port_up", How.LAST),
        Cell("speed_bps", "Speed", "fabric_port_speed_bytes_per_second", How.LAST, Unit.BPS, 8.0),
        Cell("lowest_bps", "Lowest", "fabric_port_speed_bytes_per_second", How.LOWEST, Unit.BPS, 8.0),
        _count("sent", "Sent", "port_transmit_packets"), _count("received", "Received", "port_receive_packets"),
        _count("fcs", "FCS", "port_fcs_errors"), _count("dropped", "Drops", "port_dropped_packets"),
        _count("lost", "Link", "port_lost_packets"), _time("down_ns", "Down", "port_down_seconds"))),
    "pfc": Layout("PFC frames and pauses of every port and class", ("device", "port", "class"), (
        _count("rx_xoff", "XOFF rx", "pfc_receive_frames", kind="xoff"),
        _count("rx_xon", "XON rx", "pfc_receive_frames", kind="xon"),
        _time("paused_ns", "Paused", "pfc_receive_paused_seconds"),
        _count("tx_xoff", "XOFF tx", "pfc_transmit_frames", kind="xoff"),
        _count("tx_xon", "XON tx", "pfc_transmit_frames", kind="xon"),
        _time("pausing_ns", "Pausing", "pfc_transmit_paused_seconds"))),
    "watchdog": Layout("storms that the PFC watchdog found", ("device", "port", "class"), (
        _count("detected", "Detected", "pfcwd_storms_detected"),
        _count("restored", "Restored", "pfcwd_storms_restored"))),
    "queues": Layout("egress queues: frames, drops, watermarks, ECN marks", ("device", "port", "class"), (
        _count("sent", "Sent", "queue_transmit_packets"), _count("dropped", "Drops", "queue_dropped_packets"),
        Cell("watermark_bytes", "Watermark", "fabric_queue_watermark_bytes", How.HIGHEST, Unit.BYTES),
        _count("marked", "Marked", "ecn_marked_packets"))),
    "groups": Layout("ingress priority groups: frames, drops, headroom", ("device", "port", "class"), (
        Cell("lossless", "Lossless", "fabric_pg_lossless", How.LAST),
        _count("received", "Received", "priority_receive_packets"), _count("dropped", "Drops", "pg_dropped_packets"),
        _count("xoff", "XOFFs", "pg_xoff_episodes"),
        Cell("headroom_bytes", "Headroom", "fabric_pg_headroom_watermark_bytes", How.HIGHEST, Unit.BYTES),
        Cell("limit_bytes", "Limit", "fabric_pg_headroom_limit_bytes", How.LAST, Unit.BYTES))),
    "drops": Layout("discarded packets by reason", ("device", "port", "class", "reason"), (
        _count("dropped", "Packets", "dropped_packets"),)),
    "hosts": Layout("NICs: notifications, losses, receive buffers", ("device",), (
        _count("cnp_sent", "CNP tx", "rnic_cnp_sent_packets"), _count("handled", "handled", "rnic_cnp_handled_packets"),
        _count("ignored", "ignored", "rnic_cnp_ignored_packets"), _count("cuts", "Cuts", "rnic_rate_cuts"),
        _count("disorder", "OOS", "rnic_out_of_sequence_packets"), _count("timeouts", "Timeouts", "rnic_timeouts"),
        Cell("qps", "QPs", "fabric_rnic_active_queue_pairs", How.HIGHEST),
        Cell("buffer_bytes", "Buffer", "fabric_rnic_receive_buffer_peak_bytes", How.HIGHEST, Unit.BYTES))),
    "sessions": Layout("BGP sessions: the least of Established, flaps, prefixes", ("device", "peer"), (
        Cell("established", "Established", "fabric_bgp_peer_state", How.LOWEST, match=(("state", "established"),)),
        _count("flaps", "Flaps", "bgp_peer_flaps"),
        Cell("prefixes", "Prefixes", "fabric_bgp_prefixes", How.LAST))),
    "overlay": Layout("EVPN and ARP of every VTEP", ("device",), (
        Cell("routes", "Routes", "fabric_evpn_routes", How.LAST),
        Cell("least", "Least", "fabric_evpn_routes", How.LOWEST),
        _count("moves", "MAC moves", "evpn_mac_moves"), _count("asked", "ARP", "arp_requests"),
        _count("flooded", "flooded", "arp_requests_flooded"))),
    "jobs": Layout("jobs: slowest rank over the median, steps", ("workload",), (
        Cell("straggler", "Straggler", "fabric_job_straggler_ratio", How.HIGHEST, Unit.TIMES),
        _count("steps", "Steps", "job_steps"),
        Cell("step_ns", "Last step", "fabric_job_last_step_duration_seconds", How.LAST, Unit.NS, _NS))),
}
# fmt: on


def table(name: str, store: Store, window: Window) -> Table:
    """One table of LAYOUTS; counted rows first, those with most in their first counter at the top."""
    layout = LAYOUTS[name]
    cells = [cell for cell in layout.cells if cell.metric in store.metrics]
    rows: dict[tuple[str, ...], list[float | None]] = {}
    for column, cell in enumerate(cells):
        for labels, (at_ns, values) in store.iter_series(cell.metric, **dict(cell.match)):
            here = dict(labels)
            if (window.device and here.get("device") != window.device) or (
                window.port and here.get("port") != window.port
            ):
                continue
            key = tuple(_label(here, it) for it in layout.labels)
            value = _value(cell, at_ns, values, window)
            if value is None:
                continue
            row = rows.setdefault(key, [None] * len(cells))
            row[column] = (row[column] or 0.0) + value * cell.scale
    counted = [n for n, cell in enumerate(cells) if cell.how in {How.GROWTH, How.HIGHEST}]
    shown = [(key, row) for key, row in rows.items() if window.every or not counted or any(row[n] for n in counted)]
    shown.sort(key=lambda it: [natural(word) for word in it[0]])
    heads = tuple(Column(it, it.capitalize()) for it in layout.labels)
    missing = [cell.title for cell in layout.cells if cell.metric not in store.metrics]
    note = f"Not in this view: {', '.join(missing)}." if missing and cells else ""
    if missing and not cells:
        note = "This view has none of these counters."
    elif not shown:
        note = "Nothing was counted here."
    return Table(
        name,
        layout.text[0].upper() + layout.text[1:],
        (*heads, *(Column(it.key, it.title, it.unit) for it in cells)),
        tuple((*key, *(_shown(value, cell) for value, cell in zip(row, cells, strict=True))) for key, row in shown),
        note,
    )


def series(store: Store, metric: str, window: Window) -> Table:
    """Every sample of the series of one metric."""
    rows = []
    for labels, (at_ns, values) in store.iter_series(metric):
        here = dict(labels)
        if (window.device and here.get("device") != window.device) or (window.port and here.get("port") != window.port):
            continue
        place = " ".join(f"{name}={value}" for name, value in labels)
        rows += [
            (place, int(time), float(value))
            for time, value in zip(at_ns, values, strict=True)
            if time >= window.since_ns and (window.until_ns is None or time <= window.until_ns)
        ]
    rows.sort(key=lambda it: natural(it[0]))  # each in order of time
    columns = (Column("series", "Series"), Column("time_ns", "At", Unit.NS), Column("value", "Value"))
    return Table("series", metric, columns, tuple(rows))


def cables(fabric: Fabric, window: Window) -> Table:
    """The cables of a fabric."""
    rows = [
        (fabric.port_name(link.a), fabric.port_name(link.b), link.rate_bps)
        for link in fabric.links
        if not window.device or window.device in {fabric.node_of(link.a).name, fabric.node_of(link.b).name}
    ]
    columns = (Column("a", "From"), Column("b", "To"), Column("rate_bps", "Rate", Unit.BPS))
    return Table("topology", "Cables", columns, tuple(rows))


def _label(labels: Mapping[str, str], name: str) -> str:
    if name == "class":
        return next((labels[it] for it in _CLASS if it in labels), "")
    return labels.get(name, "")


def _value(cell: Cell, at_ns: NDArray[np.int64], values: NDArray[np.float64], window: Window) -> float | None:
    """One cell of a series; None where it has no sample in the window."""
    inside = at_ns >= window.since_ns
    if window.until_ns is not None:
        inside &= at_ns <= window.until_ns
    if not inside.any():
        return None
    chosen = values[inside]
    if cell.how is How.GROWTH:
        before = values[at_ns < window.since_ns]
        return float(chosen[-1] - (before[-1] if before.size else 0.0))
    if cell.how is How.LAST:
        return float(chosen[-1])
    return float(chosen.min() if cell.how is How.LOWEST else chosen.max())


def _shown(value: float | None, cell: Cell) -> Value:
    if value is None:
        return None
    return value if cell.unit is Unit.TIMES else round(value)
