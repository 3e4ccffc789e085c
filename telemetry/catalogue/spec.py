"""What a metric of the catalogue is: its kind, the objects that have a series, and its labels (metrics.py)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

RATES: Final = tuple(gbps * 125e6 for gbps in (0.1, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 200, 400, 800))
"""Upper bounds of the buckets of rates."""
TIMES_S: Final = tuple(float(f"{digit}e{power}") for power in range(-6, 1) for digit in (1, 2, 5))
"""Upper bounds of the buckets of durations of messages and operations."""


class Kind(StrEnum):
    """The used metric types of the exposition formats."""

    COUNTER = "counter"
    """Accumulates since the start of the run and is never reset within it."""
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    """Accumulates: one observation per event."""
    GAUGE_HISTOGRAM = "gaugehistogram"
    """A present distribution; in the text format its type is histogram."""
    INFO = "info"
    """Metadata as labels; the value is 1."""


class Rows(StrEnum):
    """The object of one series of a metric, and the rule for shown series (applied by telemetry/catalogue/rows.py).

    Series by class are shown for classes in use only, because most others would be 0. A shown series stays until the
    process ends: a counter that disappears looks like a reset.
    """

    FABRIC = "one"
    DEVICE = "every device"
    PORT = "every port"
    PFC = "every port, priorities for which some port has PFC enabled or has counted a PFC frame"
    QUEUE = "every port, queues in which some port has carried or dropped packets, or a queue pair sends"
    SWITCH_QUEUE = "as queues, ports of switches only"
    PG = "ports of switches, priority groups that are lossless at some port or have admitted or dropped packets"
    LOSSLESS_PG = "ports of switches, priority groups that are or were lossless there"
    WATCHED = "queues that the PFC watchdog watches or has watched"
    CARRIED = (
        "queues that the PFC watchdog watches or has watched, by each class that the switch puts into the queue: the "
        "lossless ones, if there are any"
    )
    DROP = "port, traffic class and reason, from the first drop on"
    POOL = "every buffer pool of every switch"
    HEADROOM_POOL = "every pool that has a shared headroom pool"
    HOST = "every host"
    MEMBER = "every member of every group of equal-cost next hops that has more than one"
    SIZE_CLASS = "size classes of which the workload has a message"
    CLASS = "every port, priorities in which some port has received or lost packets"
    PAUSE = "port and priority that may not send now; removed after the pause"
    SEARCHED = "one, where deadlocks are searched"
    COLLECTIVE = "kinds of collective operations that the workload has; an unknown label is empty"
    JOB = "workloads that are transfers: schedules, traces and jobs"
    JOB_STEP = "these, from the end of their first step on"
    BGP_PEER = "every end of every BGP session"
    BGP_FAMILY = "every end of every BGP session, by address family"
    EVPN_TYPE = "every device with EVPN, by route type"
    MOVES = "every VNI of every VTEP"
    VNI = "every VNI at every VTEP through which packets pass"


LABELS: Final = {
    Rows.FABRIC: (),
    Rows.DEVICE: ("device",),
    Rows.PORT: ("device", "port"),
    Rows.PFC: ("device", "port", "priority"),
    Rows.QUEUE: ("device", "port", "queue"),
    Rows.SWITCH_QUEUE: ("device", "port", "queue"),
    Rows.PG: ("device", "port", "priority"),
    Rows.LOSSLESS_PG: ("device", "port", "priority"),
    Rows.WATCHED: ("device", "port", "queue"),
    Rows.CARRIED: ("device", "port", "queue", "priority"),
    Rows.DROP: ("device", "port", "traffic_class", "reason"),
    Rows.POOL: ("device", "pool"),
    Rows.HEADROOM_POOL: ("device", "pool"),
    Rows.HOST: ("device",),
    Rows.MEMBER: ("device", "group", "port"),
    Rows.SIZE_CLASS: ("size_class",),
    Rows.CLASS: ("device", "port", "priority"),
    Rows.PAUSE: ("device", "port", "priority"),
    Rows.SEARCHED: (),
    Rows.COLLECTIVE: ("workload", "operation", "algorithm", "kind"),
    Rows.JOB: ("workload",),
    Rows.JOB_STEP: ("workload",),
    Rows.BGP_PEER: ("device", "peer"),
    Rows.BGP_FAMILY: ("device", "peer", "family"),
    Rows.EVPN_TYPE: ("device", "route_type"),
    Rows.MOVES: ("device", "vni"),
    Rows.VNI: ("device", "vni"),
}
"""Labels that every series of a row set carries."""


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One metric: name, meaning, labels, and source of its values."""

    name: str
    kind: Kind
    unit: str
    """Base unit, or '' for a plain count or state."""
    rows: Rows
    source: str
    """'table.field' of Snapshot or 'function()' of telemetry/catalogue/derive.py; '{}' stands for the variant's
    value."""
    help: str
    per: int = 1
    """The source is divided by this: picoseconds to seconds, bits to bytes."""
    variant: str = ""
    """Name of an extra label, or ''."""
    values: tuple[str, ...] = ()
    """The extra label's values."""
    extra: tuple[str, ...] = ()
    """Labels of an info metric beyond those of its rows."""
    buckets: tuple[float, ...] = ()
    """Upper bounds of a histogram, without infinity, in the metric's unit."""

    @property
    def labels(self) -> tuple[str, ...]:
        """All label names, `le` excepted."""
        return LABELS[self.rows] + ((self.variant,) if self.variant else ()) + self.extra

    @property
    def family(self) -> str:
        """Name of the metric family in OpenMetrics: without `_total` and `_info`."""
        return self.name.removesuffix("_total").removesuffix("_info")

    @property
    def is_histogram(self) -> bool:
        """Whether it has buckets."""
        return self.kind in (Kind.HISTOGRAM, Kind.GAUGE_HISTOGRAM)

    @property
    def count_and_sum(self) -> tuple[str, str]:
        """Names of count and sum of a histogram in OpenMetrics."""
        return ("count", "sum") if self.kind is Kind.HISTOGRAM else ("gcount", "gsum")

    def sources(self) -> tuple[str, ...]:
        """The sources, one per value of the variant."""
        return tuple(self.source.format(value) for value in self.values) if self.variant else (self.source,)


def counter(
    name: str,
    unit: str,
    rows: Rows,
    source: str,
    text: str,
    per: int = 1,
    variant: str = "",
    values: tuple[str, ...] = (),
) -> MetricSpec:
    """A count that accumulates, `fabric_NAME_total`."""
    return MetricSpec(f"fabric_{name}_total", Kind.COUNTER, unit, rows, source, text, per, variant, values)


def gauge(
    name: str,
    unit: str,
    rows: Rows,
    source: str,
    text: str,
    per: int = 1,
    variant: str = "",
    values: tuple[str, ...] = (),
) -> MetricSpec:
    """A present value, `fabric_NAME`."""
    return MetricSpec(f"fabric_{name}", Kind.GAUGE, unit, rows, source, text, per, variant, values)


def info(name: str, rows: Rows, source: str, extra: tuple[str, ...], text: str) -> MetricSpec:
    """Metadata as labels, `fabric_NAME_info`."""
    return MetricSpec(f"fabric_{name}_info", Kind.INFO, "", rows, source, text, extra=extra)
