"""The parts of a dashboard. There are seven kinds of panels; panels.py writes Grafana's JSON.

This module knows no metrics: expressions and units come from queries.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Unit(StrEnum):
    """Grafana's ids of the units in use (packages/grafana-data, valueFormats/categories.ts)."""

    SECONDS = "s"
    BYTES = "bytes"
    """Powers of 1024, for buffers."""
    BYTES_PER_SECOND = "Bps"
    """Powers of 1000, for line rates."""
    PACKETS_PER_SECOND = "pps"
    EVENTS_PER_SECOND = "cps"
    SHARE = "percentunit"
    """0 to 1, shown as percent."""
    TIMES = "suffix:x"
    COUNT = "short"


class Need(StrEnum):
    """A condition for data in a panel; the value is the text shown where it is not met."""

    SPINES = "no leaves and spines"
    PFC = "no lossless priority"
    WATCHDOG = "no PFC watchdog is on"
    ECN = "no ECN-capable packets"
    ENDED = "no message has ended"
    WAITING = "nothing waits now"
    SEARCH = "a recorded run does not say"
    """A live run searches for a deadlock at every scrape; a run directory records one only at its end."""
    COLLECTIVE = "no collective has ended"
    OPERATIONS = "no collective in the workload"
    JOB = "no step of a job has ended"
    TRANSFERS = "no job in the workload"
    BGP = "no router speaks BGP"
    OVERLAY = "no VXLAN overlay"
    ARP = "no ARP requests"
    UPLINKS = "no uplink sends: all are idle, or paused"
    SEEN = "no exporter's view of the run is scraped"


class Kind(StrEnum):
    """Kind of a panel."""

    LINES = "timeseries"
    NUMBER = "stat"
    NAME = "name"
    """The legend in large letters, for panels that show labels."""
    MATRIX = "matrix"
    """A table with a colour for every pair of devices: a heat map of links."""
    TABLE = "table"
    DISTRIBUTION = "heatmap"
    """Buckets of a histogram over time."""
    STATES = "state-timeline"


@dataclass(frozen=True, slots=True)
class Quantity:
    """An expression and the unit of its values."""

    expr: str
    unit: Unit


@dataclass(frozen=True, slots=True)
class Query:
    """One expression of a panel."""

    of: Quantity
    legend: str
    """Labels in double braces."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture."""

    title: str
    kind: Kind
    queries: tuple[Query, ...]
    """All queries of a panel have one unit."""
    about: str
    """Meaning of the panel and of good or bad values; shown behind the (i)."""
    width: int = 12
    """Width, of 24 columns."""
    height: int = 8
    limits: tuple[float, ...] = ()
    """Upper limit of green and, if there are two, of orange."""
    top: float | None = None
    """Upper end of the scale."""
    columns: tuple[str, str] = ("device", "peer_device")
    """Labels of a matrix: rows, columns."""
    needs: tuple[Need, ...] = ()
    """Conditions for data; where one is not met the panel is empty and says so. (): it always has data."""

    @property
    def empty(self) -> str:
        """Text shown in place of data."""
        return ", or ".join(self.needs)

    @property
    def unit(self) -> Unit:
        """The unit of all queries."""
        return self.queries[0].of.unit


@dataclass(frozen=True, slots=True)
class Section:
    """A row of Grafana: a heading and its panels, from left to right."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable at the top of a dashboard, with values from Prometheus."""

    name: str
    label: str
    values: str
    """Grafana's label_values(...)."""
    several: bool = False
    """Whether several values or all can be selected; otherwise exactly one."""
    regex: str = ""
    """Filter of the offered values; all where it is ''."""


@dataclass(frozen=True, slots=True)
class Board:
    """A dashboard."""

    uid: str
    """Part of its URL; alerts link to it."""
    title: str
    about: str
    variables: tuple[Variable, ...]
    sections: tuple[Section, ...]

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All pictures."""
        return tuple(panel for section in self.sections for panel in section.panels)
