"""Root causes of a finished run as a page: what began it, where, who was hurt, what changed, what to do first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fabric.render.document import Block, Document, Prose, Section, Status, worst
from fabric.runs.rundir import RunDir
from fabric.units import listed
from telemetry.diagnosis.confidence import FAMILIES, UNKNOWN, to_enable, unfitted
from telemetry.diagnosis.root import Root
from telemetry.diagnosis.seen import IDEAL, missing_in
from telemetry.sources.incidents import Incident, incidents_of
from telemetry.sources.roots_table import STATUS_OF_RANK, and_more, roots_table

_SOURCE: Final = "From metrics alone, by docs/diagnosis.md; not from the faults that the scenario injected."
_NOTE: Final = (
    "{source} From and To are the samples between which metrics show it, so events may give a later begin and an "
    "earlier end. Confidence: how often roots like this one were right in simulated faults (docs/detection.md). Roots "
    "of the load have none{others}."
)


def _note(view: str) -> str:
    """What a reader should know of the table; families that were in no run of the fit are named."""
    kinds = sorted(kind.value for name in unfitted(view) for kind in FAMILIES[name])
    return _NOTE.format(
        source=_SOURCE, others=f", nor have those that were not measured: {', '.join(kinds)}" if kinds else ""
    )


def explain_roots(run: RunDir, view: str = IDEAL) -> Document:
    """The roots by themselves."""
    found = incidents_of(run, view)
    return Document("Roots", run.path.name, status_of(found), verdict(found), (), (section(found, view, alone=True),))


def status_of(found: Sequence[Incident]) -> Status:
    """The worst of the roots; good without one."""
    return worst([STATUS_OF_RANK[it.root.rank] for it in found]) if found else Status.GOOD


def verdict(found: Sequence[Incident]) -> str:
    """The first root in one sentence."""
    if not found:
        return "no root cause: no metric shows a fault"
    first = found[0].root
    return f"{first.meaning.title}: {first.place}{and_more(len(found))}"


def section(found: Sequence[Incident], view: str = IDEAL, *, alone: bool = False) -> Section:
    """The roots as a section; alone: the document's own verdict is that of the roots."""
    if not found:
        none = () if alone else (Prose(verdict(found), Status.GOOD),)
        return Section("roots", "Root causes", (*none, Prose(_SOURCE)))
    rows = tuple(
        (it.root.kind.value, it.root.place, listed(it.root.members, 3), it.root.began_ns, it.root.ended_ns, it.sure)
        for it in found
    )
    parts = tuple(
        {
            "device": it.root.device,
            "port": it.root.port or None,
            "class": it.root.priority,
            "members": list(it.root.members),
            **it.as_json(),
        }
        for it in found
    )
    table = roots_table(rows, [it.root.rank for it in found], _note(view), parts)
    prose: list[Block] = []
    for it in found:
        prose.append(Prose(_sentences(it.root, it.act, it.sure, missing_in(view)), STATUS_OF_RANK[it.root.rank]))
        prose.append(Prose(_beside(it)))
    return Section("roots", "Root causes", (table, *prose))


def _beside(it: Incident) -> str:
    """Who was hurt, what changed, where to read on."""
    routes = f" Routes: {it.routes}." if it.routes else ""
    return f"Hurt: {'; '.join(it.hurt.lines)}.{routes} Changed before: {it.change_line}. Read: {', '.join(it.reading)}."


def _sentences(root: Root, act: str, sure: float | None, missing: frozenset[str]) -> str:
    """What it is and what to do; below UNKNOWN what is not known, and the counter that would decide."""
    meaning, evidence = root.meaning, "; ".join(root.evidence)
    if sure is None or sure >= UNKNOWN:
        return f"{root.place}: {meaning.title}. {evidence}. First: {act}."
    counter = to_enable(root.kind, missing)
    last = f"Enable {counter}: it would decide" if counter else f"If it is: {act}"
    return f"{root.place}: unknown; most likely {meaning.title} ({sure:.0%}). {evidence}. {last}."
