"""Root causes of a finished run as a page: what began it, where, why one may say so, what to do first."""

from __future__ import annotations

from typing import Final

from fabric.render.document import Block, Column, Document, Prose, Section, Status, Table, Unit, worst
from fabric.runs.rundir import RunDir
from fabric.units import count
from telemetry.alerting.rules import NOMINAL_DILATION
from telemetry.diagnosis.confidence import FAMILIES, UNKNOWN, to_enable, unfitted
from telemetry.diagnosis.confidence import table as table_of_confidence
from telemetry.diagnosis.diagnose import METRICS, diagnose
from telemetry.diagnosis.root import MEANINGS, Root
from telemetry.diagnosis.seen import ABSENT, IDEAL, missing_in, read_by
from telemetry.record.polling.poller import Poller
from telemetry.record.polling.profiles import PROFILES
from telemetry.sources.recorded import store_of

_STATUS: Final = (Status.BAD, Status.WARNING, Status.NEUTRAL)
"""By Root.rank."""
_NOTE: Final = (
    "From metrics alone, by docs/diagnosis.md; not from the faults that the scenario injected. Confidence: how often "
    "roots like this one were right in simulated faults (docs/detection.md). Roots of the load have none{others}."
)


def _note(view: str) -> str:
    """What a reader should know of the table; families that were in no run of the fit are named."""
    kinds = sorted(kind.value for name in unfitted(view) for kind in FAMILIES[name])
    return _NOTE.format(others=f", nor have those that were not measured: {', '.join(kinds)}" if kinds else "")


def roots_of(run: RunDir, view: str = IDEAL) -> list[Root]:
    """Root causes of a run, with the counters that a view has (a name in PROFILES). Raises: RunDirError.

    A view's periods are in nominal time: NOMINAL_DILATION seconds of a switch's clock in a simulated second.
    """
    if view == IDEAL:
        return diagnose(store_of(run, METRICS), run.fabric)
    poller = Poller(PROFILES[view], run.fabric, NOMINAL_DILATION, int(run.manifest["seed"]))
    return diagnose(store_of(run, read_by(view), poller, ABSENT), run.fabric, missing_in(view))


def explain_roots(run: RunDir, view: str = IDEAL) -> Document:
    """The roots by themselves."""
    roots = roots_of(run, view)
    return Document("Roots", run.path.name, _status(roots), _verdict(roots), (), (_section(roots, view),))


def roots_section(run: RunDir) -> Section:
    """The roots as a section of a longer page."""
    return _section(roots_of(run), IDEAL)


def _status(roots: list[Root]) -> Status:
    return worst([_STATUS[it.rank] for it in roots]) if roots else Status.GOOD


def _verdict(roots: list[Root]) -> str:
    if not roots:
        return "no root cause: no metric shows a fault"
    first = roots[0]
    more = f", and {count(len(roots) - 1, 'more root')}" if len(roots) > 1 else ""
    return f"{MEANINGS[first.kind].title}: {first.place}{more}"


def _section(roots: list[Root], view: str) -> Section:
    if not roots:
        return Section("roots", "Root causes", (Prose(_verdict(roots), Status.GOOD), Prose(_note(view))))
    columns = (
        Column("kind", "Kind"),
        Column("place", "Where"),
        Column("members", "With"),
        Column("began_ns", "From", Unit.NS),
        Column("ended_ns", "To", Unit.NS),
        Column("confidence", "Sure", Unit.RATIO),
    )
    sure = [table_of_confidence().probability(it, roots, view) for it in roots]
    rows = tuple(
        (it.kind.value, it.place, _short(it.members), it.began_ns, it.ended_ns, p)
        for it, p in zip(roots, sure, strict=True)
    )
    statuses = tuple(_STATUS[it.rank] for it in roots)
    parts = tuple(
        {"device": it.device, "port": it.port or None, "class": it.priority, "members": list(it.members)}
        for it in roots
    )
    table = Table("roots", "What to look at first", columns, rows, _note(view), statuses, parts)
    prose: list[Block] = []
    for it, p in zip(roots, sure, strict=True):
        prose.append(Prose(_sentences(it, p, missing_in(view)), _STATUS[it.rank]))
    return Section("roots", "Root causes", (table, *prose))


def _sentences(root: Root, sure: float | None, missing: frozenset[str]) -> str:
    """What it is and what to do; below UNKNOWN what is not known, and the counter that would decide."""
    meaning, evidence = MEANINGS[root.kind], "; ".join(root.evidence)
    if sure is None or sure >= UNKNOWN:
        return f"{root.place}: {meaning.title}. {evidence}. First: {meaning.act}."
    counter = to_enable(root.kind, missing)
    last = f"Enable {counter}: it would decide" if counter else f"If it is: {meaning.act}"
    return f"{root.place}: unknown; most likely {meaning.title} ({sure:.0%}). {evidence}. {last}."


def _short(names: tuple[str, ...]) -> str:
    """At most three names."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
