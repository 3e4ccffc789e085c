"""A report as data: a document of sections, each of facts, tables, trees, charts and maps, with raw numbers in it.

Explanations of a run make one Document; text.py, json.py and html.py render it. Numbers stay raw and carry a Unit,
so that the JSON has 1048576 where the page says 1.049MB. This module depends on no run, fabric or output format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from fabric.units import PS_PER_NS, format_bit_rate, format_measured_bytes, format_time_ps

Value = str | int | float | bool | None
"""One cell. None: does not apply, or has not occurred."""


class Unit(StrEnum):
    """The unit of a raw number."""

    TEXT = "text"
    COUNT = "count"
    BYTES = "bytes"
    NS = "ns"
    BPS = "bps"
    RATIO = "ratio"
    """Shown in per cent."""
    WATTS = "watts"
    TIMES = "times"
    """A factor, shown as 1.5x."""


class Status(StrEnum):
    """Severity of a statement."""

    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"
    NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class Fact:
    """One named number or word."""

    key: str
    """Name in JSON, with the unit as suffix except for counts."""
    title: str
    value: Value
    unit: Unit = Unit.TEXT
    status: Status = Status.NEUTRAL


@dataclass(frozen=True, slots=True)
class Facts:
    """Several facts side by side."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Prose:
    """One paragraph."""

    text: str
    status: Status = Status.NEUTRAL


@dataclass(frozen=True, slots=True)
class Markdown:
    """A page written for people, such as a runbook: CommonMark, without HTML in it."""

    text: str


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    key: str
    title: str
    unit: Unit = Unit.TEXT


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of raw values under typed columns."""

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    note: str = ""
    """Explanation of the numbers, one or two sentences."""
    statuses: tuple[Status, ...] = ()
    """One per row, or none at all."""
    parts: tuple[Mapping[str, object], ...] = ()
    """For programs, beside the columns: the parts of what a cell joins. One per row, or none at all."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One node of a tree with its children."""

    label: str
    facts: tuple[Fact, ...] = ()
    children: tuple[Branch, ...] = ()
    status: Status = Status.NEUTRAL


@dataclass(frozen=True, slots=True)
class Tree:
    """A labelled tree."""

    key: str
    title: str
    root: Branch
    note: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart: y holds from each x to the next where the chart is stepped."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A vertical line in a chart: an event."""

    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over a common x axis."""

    key: str
    title: str
    x_title: str
    x_unit: Unit
    y_title: str
    y_unit: Unit
    series: tuple[Series, ...]
    marks: tuple[Mark, ...] = ()
    note: str = ""
    stepped: bool = True
    log_x: bool = False


@dataclass(frozen=True, slots=True)
class MapNode:
    """A device in a drawing: row 0 is the bottom."""

    name: str
    role: str
    row: int
    status: Status = Status.NEUTRAL
    note: str = ""
    """Shown after its name when it is pointed at."""


@dataclass(frozen=True, slots=True)
class MapLink:
    """A cable in a drawing, with a share for each end, such as its paused time, that its colour shows."""

    a: int
    b: int
    """Positions in Map.nodes."""
    rate_bps: int
    a_paused_ratio: float
    """Share of the run in which a's end was paused by b, or Map.measure of what a sends."""
    b_paused_ratio: float
    note: str = ""
    """Shown when it is pointed at, instead of Map.measure of the end."""


@dataclass(frozen=True, slots=True)
class Still:
    """One interval in which one end of a cable was paused."""

    link: int
    by_a: bool
    """True: end a sent the pause, so that b was stopped."""
    start_ns: int
    end_ns: int
    tree: int
    """Number of its pause tree, for colours."""


@dataclass(frozen=True, slots=True)
class Map:
    """The fabric drawn in tiers, coloured by paused time; with `stills` it can be replayed."""

    key: str
    title: str
    nodes: tuple[MapNode, ...]
    links: tuple[MapLink, ...]
    stills: tuple[Still, ...] = ()
    origins: tuple[int, ...] = ()
    """Positions in nodes where the pause trees begin."""
    start_ns: int = 0
    end_ns: int = 0
    note: str = ""
    measure: str = "paused share of the run"
    """What the ratios of the links are."""

    @property
    def hidden(self) -> frozenset[int]:
        """Positions of the nodes that are not drawn: switches within servers, where there are others."""
        inner = frozenset(number for number, node in enumerate(self.nodes) if node.role == "scale-up")
        others = any(node.role not in {"scale-up", "host"} for node in self.nodes)
        return inner if others else frozenset()


@dataclass(frozen=True, slots=True)
class Layer:
    """One quantity at the ends of all cables, or at hosts, in every interval of a LayeredMap."""

    key: str
    title: str
    measure: str
    """What a value is, as a legend has it."""
    unit: Unit
    limits: tuple[float, ...]
    """Ascending: a value above the first n limits has step n, and so colour p<n>; none is empty."""
    values: Mapping[int, tuple[tuple[int, float], ...]]
    """End, 2 * position of the link + (0: a, 1: b), or with on_nodes position of the node -> (interval, value) wherever
    the value changes; 0 before the first.
    """
    parts: Mapping[str, Mapping[int, tuple[tuple[int, float], ...]]] = field(default_factory=dict)
    """As values, by what they are made of: loss by reason, a host's time by phase."""
    on_nodes: bool = False
    empty: str = ""
    """Why it has no values: nothing happened, or the run did not record it."""


@dataclass(frozen=True, slots=True)
class Pane:
    """One fabric of a LayeredMap."""

    title: str
    """'' where it is the only one."""
    base: Map
    ports: tuple[str, ...]
    """Name of the port at each end, numbered as in Layer.values."""
    layers: tuple[Layer, ...]
    """The same keys in the same order in every pane."""
    roots: tuple[int, ...] = ()
    """Nodes of the first root cause, the device itself first."""
    root_ends: tuple[int, ...] = ()
    victims: tuple[int, ...] = ()
    """Nodes that were hurt."""


@dataclass(frozen=True, slots=True)
class LayeredMap:
    """One fabric, or two side by side, with one layer and one interval of time shown at once."""

    key: str
    title: str
    edges_ns: tuple[int, ...]
    """Bounds of the intervals: interval k lasts from edges_ns[k] to edges_ns[k + 1]."""
    panes: tuple[Pane, ...]
    layer: int
    """Position of the layer that is shown first."""
    interval: int
    """The interval that is shown first."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reader wants to know first: the first root cause, or that there is none."""

    status: Status
    text: str
    """One sentence."""
    facts: tuple[Fact, ...] = ()
    target: str = ""
    """Key of the LayeredMap that opens at its moment; '': none."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One interval of one lane of a Gantt chart."""

    lane: int
    kind: int
    """Position in Gantt.kinds."""
    start_ns: int
    end_ns: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class Gantt:
    """Lanes by time; later bars are drawn above earlier ones."""

    key: str
    title: str
    lanes: tuple[str, ...]
    kinds: tuple[str, ...]
    bars: tuple[Bar, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing made elsewhere, such as by matplotlib: an <svg> element whose texts are escaped."""

    key: str
    title: str
    svg: str
    note: str = ""


Block = Facts | Prose | Markdown | Table | Tree | Chart | Gantt | Map | LayeredMap | Picture


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its blocks."""

    key: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report."""

    title: str
    subtitle: str
    status: Status
    verdict: str
    """One sentence that an operator can act on."""
    reasons: tuple[Prose, ...]
    """The sentences behind the verdict."""
    sections: tuple[Section, ...]
    answer: Answer | None = None


def format_watts(watts: float) -> str:
    """1250.0 -> '1.25kW'."""
    for factor, name in ((1e6, "MW"), (1e3, "kW")):
        if abs(watts) >= factor:
            return f"{watts / factor:.4g}{name}"
    return f"{watts:.4g}W"


def worst(statuses: Sequence[Status]) -> Status:
    """The worst of several statuses; NEUTRAL of none."""
    order = (Status.BAD, Status.WARNING, Status.GOOD)
    return next((status for status in order if status in statuses), Status.NEUTRAL)


def show(value: Value, unit: Unit) -> str:
    """A raw value formatted for people: 1048576 bytes -> '1.049MB', 0.25 ratio -> '25%', None -> '-'."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    match unit:
        case Unit.BYTES:
            return format_measured_bytes(value)
        case Unit.NS:
            return "0" if value == 0 else format_time_ps(value * PS_PER_NS)
        case Unit.BPS:
            return format_bit_rate(value)
        case Unit.RATIO:
            return f"{100 * value:.3g}%"
        case Unit.WATTS:
            return format_watts(value)
        case Unit.TIMES:
            return f"{value:,.0f}x" if value >= 100 else f"{value:.3g}x"
        case _:
            return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
