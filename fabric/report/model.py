"""A report as data: a document of sections, each of facts, tables, trees, charts and maps, with raw numbers in it.

Whoever explains a run makes one Document; text.py, json.py and html.py render it. Numbers stay raw and carry a Unit,
so that the JSON has 1048576 where the page says 1.049MB. This module knows no run, no fabric and no format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from fabric.units import PS_PER_NS, format_bit_rate, format_measured_bytes, format_time_ps

Value = str | int | float | bool | None
"""One cell. None means that it does not apply or has not happened."""


class Unit(StrEnum):
    """How a raw number is read."""

    TEXT = "text"
    COUNT = "count"
    BYTES = "bytes"
    NS = "ns"
    BPS = "bps"
    RATIO = "ratio"
    """Shown in per cent."""
    TIMES = "times"
    """A factor, shown as 1.5x."""


class Status(StrEnum):
    """How good the news is."""

    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"
    NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class Fact:
    """One named number or word."""

    key: str
    """Name in JSON; carries the unit where it is not a count."""
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
    """What the numbers mean, in a sentence or two."""
    statuses: tuple[Status, ...] = ()
    """One per row, or none at all."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One node of a tree and what hangs on it."""

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
    """A vertical line in a chart: something happened then."""

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


@dataclass(frozen=True, slots=True)
class MapLink:
    """A cable in a drawing, with how long each end stood still."""

    a: int
    b: int
    """Positions in Map.nodes."""
    rate_bps: int
    a_paused_ratio: float
    """Share of the run in which a's end was paused by b."""
    b_paused_ratio: float


@dataclass(frozen=True, slots=True)
class Still:
    """One interval in which one end of a cable stood still."""

    link: int
    by_a: bool
    """True when end a sent the pause, so that b stood still."""
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


Block = Facts | Prose | Markdown | Table | Tree | Chart | Map


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it."""

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


def worst(statuses: Sequence[Status]) -> Status:
    """The worst of several statuses; NEUTRAL of none."""
    order = (Status.BAD, Status.WARNING, Status.GOOD)
    return next((status for status in order if status in statuses), Status.NEUTRAL)


def show(value: Value, unit: Unit) -> str:
    """A raw value as a person reads it: 1048576 bytes -> '1.049MB', 0.25 ratio -> '25%', None -> '-'."""
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
        case Unit.TIMES:
            return f"{value:,.0f}x" if value >= 100 else f"{value:.3g}x"
        case _:
            return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
