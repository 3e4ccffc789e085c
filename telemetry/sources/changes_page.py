"""The change log of a finished run as a page, with the roots that each change came before."""

from __future__ import annotations

from typing import Final

from fabric.render.document import Column, Document, Prose, Section, Status, Table, Unit
from fabric.runs.rundir import RunDir
from fabric.units import count
from telemetry.diagnosis.changes import BY_PEOPLE, Change
from telemetry.sources.change_log import log_of
from telemetry.sources.incidents import Incident, completed
from telemetry.sources.recorded import control_of
from telemetry.sources.roots import roots_of

MOST: Final = 200
"""Lines that are shown; --json has as many, and the number of all of them."""
_NOTE: Final = (
    "Configurations, endpoints and acts are what people or their tools did; sessions, routes and links what the "
    "network did. A fault that nobody would have written down, such as a broken NIC, is no line. Before: the root "
    "cause for which a line is the last change where it began, which does not prove that it is the reason."
)


def explain_changes(run: RunDir) -> Document:
    """The log, in order of time. Raises: RunDirError."""
    control = control_of(run)
    log = log_of(run, control)
    incidents = completed(run, roots_of(run, control=control), control=control)
    return Document("Changes", run.path.name, Status.NEUTRAL, _verdict(log), (), (_section(log, incidents),))


def _verdict(log: list[Change]) -> str:
    if not log:
        return "no change: no configuration, endpoint, session, route or link changed in this run"
    people = sum(it.source in BY_PEOPLE for it in log)
    return f"{count(len(log), 'change')}, {people:,} of them by people or their tools"


def _section(log: list[Change], incidents: list[Incident]) -> Section:
    if not log:
        return Section("changes", "Changes", (Prose(_NOTE),))
    columns = (
        Column("time_ns", "At", Unit.NS),
        Column("source", "Log"),
        Column("text", "Change"),
        Column("where", "Where"),
        Column("by", "By"),
        Column("root", "Before"),
    )
    shown = _shown(log, incidents)
    rows = tuple((it.time_ns, it.source.value, it.text, it.where, it.by, _first(it, incidents)) for it in shown)
    parts = tuple({"places": list(it.places), "devices": sorted(it.devices)} for it in shown)
    left = len(log) - len(shown)
    note = _NOTE + (f" {count(left, 'more change')} of the network left out." if left else "")
    statuses = tuple(Status.WARNING if _first(it, incidents) else Status.NEUTRAL for it in shown)
    return Section("changes", "Changes", (Table("changes", "", columns, rows, note, statuses, parts),))


def _shown(log: list[Change], incidents: list[Incident]) -> list[Change]:
    """At most MOST lines: those before a root, then what people did, then the earliest of the network."""
    if len(log) <= MOST:
        return log
    ranked = sorted(
        range(len(log)), key=lambda row: (not _first(log[row], incidents), log[row].source not in BY_PEOPLE, row)
    )
    return [log[row] for row in sorted(ranked[:MOST])]


def _first(change: Change, incidents: list[Incident]) -> str:
    """The first root that a change came before; '' where none."""
    return next((f"{it.root.kind.value} at {it.root.place}" for it in incidents if it.change == change), "")
