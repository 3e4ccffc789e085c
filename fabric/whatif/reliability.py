"""Reliability of a fabric from that of its parts: time to the first failure, and what it costs a training job.

Every figure has a source or comes from the user. A part without one is counted and left out of the sums, which the
report says: its MTBF is then too long. Failures are independent with constant rates; a shared cause (power, software)
is no part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fabric.render.document import Block, Column, Document, Fact, Facts, Prose, Section, Status, Table, Unit, Value
from fabric.theory import checkpointing, series_system
from fabric.topology.model import Fabric
from fabric.units import format_duration_s
from fabric.whatif.elements import ElementKind, elements
from fabric.whatif.redundancy import hosts_cut
from fabric.whatif.symmetry import grouped

HOUR_S: Final = 3600
COPPER_MM: Final = 5_000
"""Up to this length a cable is taken for passive copper, which has no optics. Assumed."""
_LLAMA: Final = (
    "Llama Team, The Llama 3 Herd of Models, 2024, section 3.3.4: 54 days on 16,384 GPUs (21.2 million GPU hours)"
)


@dataclass(frozen=True, slots=True)
class Figure:
    """MTBF of one part."""

    hours: float
    source: str


DEFAULTS: Final[Mapping[str, Figure]] = {
    "switch": Figure(352_590, "Cisco Nexus 9336C-FX2 data sheet, a prediction"),
    "host": Figure(86_300, f"{_LLAMA}, 58.7 % of 419 interruptions were GPUs; per GPU"),
    "nic": Figure(3_033_000, f"{_LLAMA}, 7 interruptions by NICs; per GPU"),
}
"""Kind of part -> its figure. Optics and cables have none: predictions and reports from the field differ too much."""
KINDS: Final = ("switch", "optic", "cable", "nic", "host")


@dataclass(frozen=True, slots=True)
class Part:
    """Equal parts of a fabric."""

    kind: str
    count: int
    stops: bool
    """Whether the loss of one cuts a host off; else the others carry on, slower."""
    figure: Figure | None
    where: str = ""

    @property
    def mtbf_h(self) -> float | None:
        """Time to the first failure among them, hours."""
        return None if self.figure is None else self.figure.hours / self.count


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """How a job writes checkpoints, seconds."""

    write_s: float
    restart_s: float
    interval_s: float | None
    """As configured; None: the best one only."""


def parts_of(fabric: Fabric, figures: Mapping[str, Figure]) -> list[Part]:
    """The parts of a fabric by kind, and by whether one of them cuts hosts off; links inside servers are left out."""
    every = [it for it in elements(fabric) if it.kind not in {ElementKind.OPTIC, ElementKind.POD, ElementKind.PLANE}]
    found: dict[tuple[str, bool, str], int] = {}

    def add(kind: str, number: int, *, stops: bool, where: str) -> None:
        if number:
            found[kind, stops, where] = found.get((kind, stops, where), 0) + number

    for group in grouped(fabric, every, {}, {}):
        one, number = group.representative, len(group.members)
        stops = bool(hosts_cut(fabric, one))
        if one.kind is not ElementKind.LINK:
            add("switch", number, stops=stops, where=one.kind.value)
            continue
        link = fabric.links[one.links[0]]
        ends = " - ".join(sorted({fabric.node_of(link.a).role.value, fabric.node_of(link.b).role.value}))
        add("cable", number, stops=stops, where=ends)
        if link.length_mm > COPPER_MM or link.length_mm == 0:
            add("optic", 2 * number, stops=stops, where=ends)
        nics = sum(fabric.node_of(port).is_host for port in (link.a, link.b))
        add("nic", nics * number, stops=stops, where="host")
    add("host", len(fabric.hosts), stops=True, where="host")
    order = {kind: number for number, kind in enumerate(KINDS)}
    rows = [Part(kind, n, stops, figures.get(kind), where) for (kind, stops, where), n in found.items()]
    return sorted(rows, key=lambda it: (order[it.kind], it.where))


def mtbf_h(parts: Sequence[Part], *, stopping: bool) -> float:
    """Time to the first failure of any part, or of any that cuts a host off; hours."""
    return series_system.system_mtbf(
        (it.count, it.figure.hours) for it in parts if it.figure is not None and (it.stops or not stopping)
    )


def arithmetic(parts: int, each: float) -> Section:
    """0.999 over 1,000 parts is 37 %."""
    whole = series_system.all_work(each, parts)
    facts = (
        Fact("parts", "Parts", parts, Unit.COUNT),
        Fact("each_ratio", "Each works", each, Unit.RATIO),
        Fact("all_ratio", "All work", whole, Unit.RATIO),
        Fact(
            "needed_ratio",
            "Each would need, for all to work with 99.9%",
            round(100 * series_system.needed_each(0.999, parts), 8),
        ),
    )
    shown = (*facts[:3], Fact(facts[3].key, facts[3].title, f"{facts[3].value}%"))
    text = (
        f"{parts:,} parts that each work with a probability of {each:g} all work with {each:g}^{parts:,} = {whole:.1%}."
    )
    return Section("arithmetic", "All parts at once", (Prose(text), Facts(shown)))


def compose(
    name: str, about: str, parts: Sequence[Part], job: Checkpoints | None, before: Sequence[Section]
) -> Document:
    """The report of a fabric."""
    any_h, stop_h = mtbf_h(parts, stopping=False), mtbf_h(parts, stopping=True)
    missing = sorted({it.kind for it in parts if it.figure is None})
    verdict = f"Some part fails every {_hours(any_h)}; one whose loss cuts a host off every {_hours(stop_h)}."
    reasons = []
    if missing:
        named = " and ".join(missing)
        text = f"No figure for {named}: left out, so the true times are shorter. Give --mtbf {missing[0]}=HOURS."
        reasons.append(Prose(text, Status.WARNING))
    sections = [*before, Section("parts", "Parts", tuple(_parts(parts)))]
    if job is not None:
        sections.append(Section("checkpoints", "Checkpoints of a job on all hosts", tuple(_checkpoints(job, stop_h))))
    return Document(f"Reliability: {name}", about, Status.NEUTRAL, verdict, tuple(reasons), tuple(sections))


def _parts(parts: Sequence[Part]) -> Iterable[Block]:
    columns = (
        Column("kind", "Part"),
        Column("where", "Where"),
        Column("count", "Number", Unit.COUNT),
        Column("stops", "Cuts hosts off"),
        Column("each_mtbf_h", "MTBF of one, h", Unit.COUNT),
        Column("mtbf_h", "of all, h", Unit.COUNT),
        Column("failures_per_year", "Failures a year", Unit.COUNT),
        Column("source", "Source"),
    )
    rows: list[tuple[Value, ...]] = []
    for it in parts:
        each = None if it.figure is None else it.figure.hours
        year = None if it.mtbf_h is None else 8766 / it.mtbf_h
        source = "none: left out" if it.figure is None else it.figure.source
        rows.append((it.kind, it.where, it.count, "yes" if it.stops else "no", each, it.mtbf_h, year, source))
    yield Table("parts", "", columns, tuple(rows), "Independent failures at constant rates; rates add.")


def _checkpoints(job: Checkpoints, stop_h: float) -> Iterable[Block]:
    if math.isinf(stop_h):
        yield Prose("No part with a figure stops a job, so it needs no checkpoint.")
        return
    mtbf_s = stop_h * HOUR_S
    best = checkpointing.daly_interval(job.write_s, mtbf_s)
    young = checkpointing.young_interval(job.write_s, mtbf_s)
    rows: list[tuple[Value, ...]] = []
    told = [("best (Daly 2006)", best), ("first order (Young 1974)", young), ("as given", job.interval_s)]
    for name, interval in told:
        if interval is not None:
            lost = checkpointing.lost_share(interval, job.write_s, job.restart_s, mtbf_s)
            rows.append((name, format_duration_s(interval), interval, lost, lost * 24))
    columns = (
        Column("interval", "Interval"),
        Column("text", "Computation between checkpoints"),
        Column("interval_s", "s", Unit.COUNT),
        Column("lost_ratio", "Time lost", Unit.RATIO),
        Column("lost_h_per_day", "h a day", Unit.COUNT),
    )
    note = (
        f"A checkpoint takes {format_duration_s(job.write_s)}, a restart {format_duration_s(job.restart_s)}. Time "
        "lost: checkpoints, work since the last one, restarts (Daly 2006), with a job that any cut-off host stops."
    )
    yield Facts(
        (
            Fact("job_mtbf_h", "The job is stopped every", _hours(stop_h)),
            Fact("day_ratio", "No stop in a day", series_system.survives(24, stop_h), Unit.RATIO),
        )
    )
    yield Table("checkpoints", "", columns, tuple(rows), note)


def _hours(hours: float) -> str:
    return "never" if math.isinf(hours) else f"{hours:,.3g} h" if hours < 48 else f"{hours / 24:,.3g} days"
