"""Counters that real exporters poll, and their periods. A period is wall time of the real device; a dilation converts
it to simulated time.

Sources: sonic-swss orchagent/portsorch.h (port counters 1 s, queue 10 s, watermarks 60 s, priority group drops 10 s,
WRED queue 10 s and port 1 s); pfcwd/main.py (poll 200 ms); the high frequency telemetry HLD (`config hft`: 10 ms by
default). SONiC leaves WRED counters off unless they are enabled; they are assumed to be on here. A host is read when it
is scraped: node_exporter keeps nothing, so its period is Prometheus' scrape_interval, assumed to be 15 s.

Reading a watermark clears it, so it shows the highest value of the whole interval, after its end. A gauge shows the
value at the time of reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from telemetry.catalogue.metrics import CATALOGUE
from telemetry.catalogue.spec import Kind, MetricSpec


@dataclass(frozen=True, slots=True)
class Group:
    """Counters that are read together."""

    name: str
    period_s: float
    fields: frozenset[str]
    """'table.field' of a Snapshot."""
    on_hosts: bool = False
    cleared: bool = False
    """Cleared on read: watermarks."""
    estimates_pauses: bool = False
    """Paused time is not read but estimated from two polls (telemetry/record/polling/estimator.py)."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A monitoring system: its groups of counters."""

    name: str
    about: str
    groups: tuple[Group, ...]
    """None: every change is seen at once."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics of the catalogue that this monitoring has, with or without delay."""
        if not self.groups:
            return tuple(spec.name for spec in CATALOGUE)
        polled = frozenset[str]().union(*(group.fields for group in self.groups))
        return tuple(spec.name for spec in CATALOGUE if _is_visible(spec, polled))


DERIVED_FROM: Final[Mapping[str, str]] = {
    "received_bytes()": "ports.rx_bytes",
    "received_pkts()": "ports.rx_pkts",
    "discarded_bytes()": "ports.dropped_bytes",
    "discarded_pkts()": "ports.dropped_pkts",
    "class_received_bytes()": "pgs.rx_bytes",
    "class_received_pkts()": "pgs.rx_pkts",
    "paused()": "ports.paused",
    "watchdog_operational()": "queues.wd_state",
    "watchdog_stormed()": "queues.wd_state",
    **dict.fromkeys(("ecn_kmin_bytes()", "ecn_kmax_bytes()", "ecn_pmax_ratio()"), ""),
    "sim_time_ps()": "",
    "configured_rate_bps()": "",
    "finished()": "",
}
"""Source of a metric that is a function -> the field that is polled for it."""
_ALWAYS: Final = frozenset(
    {"", "ports.rate_bps", "pools.size_bytes", "pools.headroom_size_bytes", "pgs.xoff_bytes", "pgs.lossless"}
)
"""Settings, known without polling."""


def _is_visible(spec: MetricSpec, polled: frozenset[str]) -> bool:
    if spec.kind is Kind.INFO:
        return spec.source != "pause_causes()"
    return all(DERIVED_FROM.get(source, source) in polled | _ALWAYS for source in spec.sources())


def _fields(table: str, names: str) -> frozenset[str]:
    return frozenset(f"{table}.{name}" for name in names.split())


_PORT: Final = (
    _fields("ports", "rx_bytes rx_pkts tx_bytes tx_pkts rx_pause_pkts tx_pause_pkts fcs_errors up")
    | _fields("ports", "dropped_pkts dropped_bytes")
    | _fields("prios", "rx_xoff_pkts rx_xon_pkts tx_xoff_pkts tx_xon_pkts")
)
_QUEUE: Final = _fields("queues", "depth_bytes depth_pkts sent_pkts sent_bytes dropped_pkts dropped_bytes")
_WATERMARK: Final = (
    _fields("queues", "watermark_bytes")
    | _fields("pgs", "watermark_bytes headroom_watermark_bytes")
    | _fields("pools", "watermark_bytes headroom_watermark_bytes")
)
_PG_DROP: Final = _fields("pgs", "dropped_pkts")
_WRED: Final = _fields("queues", "marked_pkts")
_PFCWD: Final = (
    _fields("queues", "wd_state wd_detected wd_restored wd_dropped_pkts")
    | _fields("ports", "paused")
    | _fields("prios", "rx_paused_ps on2off_pkts")
)
_OCCUPANCY: Final = _fields("pgs", "use_bytes headroom_bytes") | _fields("pools", "used_bytes")
_HOST: Final = (
    _PORT
    | _fields("prios", "rx_paused_ps tx_paused_ps on2off_pkts")
    | _fields("queues", "sent_pkts sent_bytes")
    | _fields("pgs", "rx_pkts rx_bytes")
    | _fields("hosts", "cnp_sent cnp_handled cnp_ignored ecn_received out_of_sequence naks_received")
    | _fields("hosts", "timeouts rx_discards")
)

_HOSTS: Final = Group("host", 15.0, _HOST, on_hosts=True)
_WATCHDOG: Final = Group("pfcwd", 0.2, _PFCWD, estimates_pauses=True)


def _switch(port_s: float, queue_s: float, watermark_s: float, drop_s: float, wred_s: float) -> tuple[Group, ...]:
    return (
        Group("port", port_s, _PORT),
        Group("queue", queue_s, _QUEUE),
        Group("watermark", watermark_s, _WATERMARK, cleared=True),
        Group("pg drop", drop_s, _PG_DROP),
        Group("wred", wred_s, _WRED),
    )


def _by_name(profiles: Iterable[Profile]) -> Mapping[str, Profile]:
    return {it.name: it for it in profiles}


PROFILES: Final[Mapping[str, Profile]] = _by_name(
    (
        Profile("ideal", "every counter at every sample of the run", ()),
        Profile(
            "sonic",
            "SONiC's own periods: port 1 s, queue 10 s, watermarks 60 s, watchdog 200 ms",
            (*_switch(1.0, 10.0, 60.0, 10.0, 10.0), _WATCHDOG, _HOSTS),
        ),
        Profile(
            "sonic-10s",
            "an exporter that reads SONiC's counters every 10 s",
            (*_switch(10.0, 10.0, 60.0, 10.0, 10.0), Group("pfcwd", 10.0, _PFCWD, estimates_pauses=True), _HOSTS),
        ),
        Profile(
            "hft",
            "SONiC's high frequency telemetry: ports, queues, groups and pools every 10 ms",
            (*_switch(0.01, 0.01, 0.01, 0.01, 0.01), Group("occupancy", 0.01, _OCCUPANCY), _WATCHDOG, _HOSTS),
        ),
    )
)
