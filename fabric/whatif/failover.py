"""A failover drill: the study of single failures, told by what users would have felt of each.

The runs, their grouping and their order are those of study.py; only the page differs from page.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from fabric.render.document import Block, Column, Document, Section, Status, Table, Unit, Value, show
from fabric.units import PS_PER_NS, count, format_measured_bytes, format_time_ps
from fabric.whatif import page
from fabric.whatif.damage import STATUS, WORDS, Effect
from fabric.whatif.elements import ElementKind
from fabric.whatif.measure import Compared
from fabric.whatif.study import Finding, Study

PARTS: Final = {
    "links": ElementKind.LINK,
    "optics": ElementKind.OPTIC,
    "leaves": ElementKind.LEAF,
    "spines": ElementKind.SPINE,
    "super-spines": ElementKind.SUPER_SPINE,
    "switches": ElementKind.SWITCH,
    "pods": ElementKind.POD,
    "planes": ElementKind.PLANE,
    "risk-groups": ElementKind.GROUP,
}
"""Words of --parts."""
COLUMNS: Final = (
    Column("name", "Failure"),
    Column("kind", "Kind"),
    Column("equal", "Equal", Unit.COUNT),
    Column("effect", "Effect"),
    Column("hosts_cut", "Cut off", Unit.COUNT),
    Column("failed", "Failed", Unit.COUNT),
    Column("undelivered", "Missing", Unit.COUNT),
    Column("lost_pkts", "Lost", Unit.COUNT),
)
"""What a failure broke."""
TIMES: Final = (
    Column("name", "Failure"),
    Column("kind", "Kind"),
    Column("delayed", "Late", Unit.COUNT),
    Column("longest_delay_ns", "By up to", Unit.NS),
    Column("stall", "Stall"),
    Column("behind_bytes", "Behind", Unit.BYTES),
    Column("recovery_ns", "Back after", Unit.NS),
)
"""How long users waited."""
TO_THE_END: Final = "to the end"
NOTE: Final = (
    "Equal: parts that this one stands for. Cut off: hosts without a way to the others. Failed: messages given up by "
    "their senders; Missing: messages and transfers not delivered by the end. Lost: packets. Order: by damage, as "
    "`fabric whatif` has it; later: some messages are, the slowest are not."
)
NOTE_OF_TIMES: Final = (
    "Late: messages delivered later, by 2% and more. Stall: longest time in which a host received nothing though it "
    f"was due; {TO_THE_END}: some host never received again. Behind: payload that was late at the worst moment. Back "
    "after: from the failure until the last host that stalled received again; empty: payload is missing at the end."
)
_DROPPED: Final = frozenset({"redundancy", "maintenance", "growth"})


def compose(study: Study, explained: Sequence[Section] = (), command: str = "") -> Document:
    """The page of a drill; arguments as for page.compose()."""
    whole = page.compose(study, explained, command)
    sections = tuple(
        replace(it, title="What users would have felt", blocks=tuple(_felt(study))) if it.key == "ranking" else it
        for it in whole.sections
        if it.key not in _DROPPED
    )
    title = f"Failover drill: {study.place.scenario.name}"
    return replace(whole, title=title, verdict=verdict(study.findings), sections=sections)


def verdict(findings: Sequence[Finding]) -> str:
    """How many failures break something, and what users felt most; failures whose run failed are told as such."""
    ran = [it for it in findings if it.damage is not None]
    failed = _parts(it for it in findings if it.damage is None)
    broken = _parts(it for it in ran if it.damage is not None and it.damage.effect is Effect.BREAKS)
    head = f"{count(_parts(findings), 'single failure')}, {broken:,} of them break something"
    head += f", and {failed:,} could not be simulated." if failed else "."
    if not ran:
        return head
    told = dict(zip((id(it) for it in ran), rows(ran), strict=True))
    worst = max(ran, key=lambda it: _noticed(told[id(it)]))
    if not any(_noticed(told[id(worst)])):
        return f"{head} Users would not notice any of {'the others' if failed else 'them'}."
    return f"{head} The worst is {worst.case.what} {worst.case.name}: {_told(worst)}."


def _parts(findings: Iterable[Finding]) -> int:
    """Parts that these failures stand for."""
    return sum(max(len(it.case.members), 1) for it in findings)


def _noticed(row: Mapping[str, Value]) -> tuple[float, ...]:
    """What users notice of a row, the worst first."""
    keys = ("hosts_cut", "undelivered", "failed", "longest_delay_ns", "behind_bytes")
    return tuple(float(str(row[key] or 0)) for key in keys)


def _told(finding: Finding) -> str:
    """What users felt, in one sentence."""
    said = []
    cut, undelivered = (0, 0) if finding.damage is None else (finding.damage.hosts_cut, finding.damage.undelivered)
    if cut:
        said.append(f"{count(cut, 'host')} cut off")
    it = None if finding.outcome is None else finding.outcome.felt
    if it is not None and it.failed:
        said.append(f"{count(it.failed, 'message')} failed")
    if undelivered:
        said.append(f"{undelivered:,} not delivered")
    if it is None:
        return ", ".join(said)
    if it.delayed:
        said.append(f"{it.delayed:,} delayed by up to {format_time_ps(it.longest_delay_ns * PS_PER_NS)}")
    if it.missing_bytes:
        said.append(f"{format_measured_bytes(it.missing_bytes)} never arrived")
    elif it.recovery_ns:
        said.append(f"recovered after {format_time_ps(it.recovery_ns * PS_PER_NS)}")
    elif it.behind_bytes:
        said.append(f"{format_measured_bytes(it.behind_bytes)} behind at the worst moment")
    return ", ".join(said)


def rows(findings: Sequence[Finding]) -> list[dict[str, Value]]:
    """One row per failure in order of damage, keyed by column; every number raw."""
    found = []
    for it in findings:
        noticed = None if it.outcome is None else it.outcome.felt
        compared = None if it.outcome is None else it.outcome.compared
        row: dict[str, Value] = {
            "name": it.case.name,
            "kind": it.case.what,
            "equal": max(len(it.case.members), 1),
            "effect": _effect(it),
            "hosts_cut": None if it.damage is None else it.damage.hosts_cut,
            "undelivered": None if it.damage is None else it.damage.undelivered,
            "stall": _stall(compared),
        }
        for key in ("failed", "delayed", "longest_delay_ns", "behind_bytes", "recovery_ns", "lost_pkts"):
            row[key] = None if noticed is None else getattr(noticed, key)
        found.append(row)
    return found


def _stall(compared: Compared | None) -> str | None:
    """The longest stall in words; that of a host that never came back has no length."""
    if compared is None or compared.outage_ns is None:
        return None
    if compared.hosts_not_back:
        return TO_THE_END
    return show(compared.outage_ns, Unit.NS)


def _effect(it: Finding) -> str:
    """The class of the damage; a failure that leaves the slowest messages as they were may still delay others."""
    if it.damage is None:
        return "run failed"
    noticed = None if it.outcome is None else it.outcome.felt
    if it.damage.effect is Effect.NONE and noticed is not None and noticed.delayed:
        return "later"
    return WORDS[it.damage.effect]


def _felt(study: Study) -> Iterable[Block]:
    statuses = tuple(Status.BAD if it.damage is None else STATUS[it.damage.effect] for it in study.findings)
    found = rows(study.findings)
    times = [None if it.outcome is None else it.outcome.compared for it in study.findings]
    parts = tuple(
        {"stall_ns": None if it is None else it.outage_ns, "hosts_not_back": None if it is None else it.hosts_not_back}
        for it in times
    )
    for key, title, columns, note, more in (
        ("felt", "What it broke", COLUMNS, NOTE, ()),
        ("waited", "How long users waited", TIMES, NOTE_OF_TIMES, parts),
    ):
        cells = tuple(tuple(row[column.key] for column in columns) for row in found)
        yield Table(key, title, columns, cells, note, statuses, more)
