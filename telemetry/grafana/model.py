"""What a dashboard is made of. Seven kinds of panels are enough, and Grafana's JSON of each is written in panels.py.

Nothing here knows a metric: expressions and units come from queries.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Unit(StrEnum):
    """Grafana's ids of the units in use (packages/grafana-data, valueFormats/categories.ts)."""

    SECONDS = "s"
    BYTES = "bytes"
    """Powers of 1024, as buffers are."""
    BYTES_PER_SECOND = "Bps"
    """Powers of 1000, as line rates are."""
    PACKETS_PER_SECOND = "pps"
    EVENTS_PER_SECOND = "cps"
    SHARE = "percentunit"
    """0 to 1, shown as percent."""
    TIMES = "suffix:x"
    COUNT = "short"


class Need(StrEnum):
    """What a fabric must have or do before a panel has anything to show; the value is shown where it has not."""

    SPINES = "no leaves and spines"
    PFC = "no lossless priority"
    WATCHDOG = "no PFC watchdog is on"
    ECN = "no ECN-capable packets"
    ENDED = "no message has ended"
    WAITING = "nothing waits now"
    SEARCH = "a recorded run does not say"
    """A live run looks for circles of waiting at every scrape; a run directory knows of one only at its end."""
    COLLECTIVE = "no collective has ended"
    BGP = "no router speaks BGP"
    OVERLAY = "no VXLAN overlay"
    ARP = "no ARP requests"
    SEEN = "no exporter's view of the run is scraped"


class Kind(StrEnum):
    """How a panel shows what it asks for."""

    LINES = "timeseries"
    NUMBER = "stat"
    NAME = "name"
    """The legend in large letters: labels are what matters."""
    MATRIX = "matrix"
    """A table with a colour for every pair of devices: a heat map of links."""
    TABLE = "table"
    DISTRIBUTION = "heatmap"
    """Buckets of a histogram over time."""
    STATES = "state-timeline"


@dataclass(frozen=True, slots=True)
class Quantity:
    """An expression and what its values are."""

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
    """Of one unit."""
    about: str
    """What it shows and what is good or bad; people read it behind the (i)."""
    width: int = 12
    """Of 24 columns."""
    height: int = 8
    limits: tuple[float, ...] = ()
    """Where green ends; where orange ends, if there are two."""
    top: float | None = None
    """Upper end of the scale."""
    columns: tuple[str, str] = ("device", "peer_device")
    """Labels of a matrix: rows, columns."""
    needs: tuple[Need, ...] = ()
    """Where one is missing the panel is empty, and says so; (): it always has data."""

    @property
    def empty(self) -> str:
        """What is shown in the place of data."""
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
    """A choice at the top of a dashboard, filled by Prometheus."""

    name: str
    label: str
    values: str
    """Grafana's label_values(...)."""
    several: bool = False
    """Several values or all of them; else exactly one."""
    regex: str = ""
    """Which values are offered; all where it is ''."""


@dataclass(frozen=True, slots=True)
class Board:
    """A dashboard."""

    uid: str
    """In its address; alerts link to it."""
    title: str
    about: str
    variables: tuple[Variable, ...]
    sections: tuple[Section, ...]

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All pictures."""
        return tuple(panel for section in self.sections for panel in section.panels)
