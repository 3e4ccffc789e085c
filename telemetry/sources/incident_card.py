"""The first root cause of a run as a ticket: what, where, who was hurt, when, why one may say so, what to do first."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Final

from fabric.runs.rundir import RunDir
from fabric.units import count
from fabric.visible import command, in_markdown, visible
from telemetry.diagnosis.changes import moment
from telemetry.diagnosis.root import Root
from telemetry.diagnosis.seen import IDEAL
from telemetry.sources.incidents import Incident, incidents_of

WIDTH: Final = 80
AGAIN: Final = "See it again"
SEVERITY: Final = ("traffic is lost or blocked", "traffic is slower", "what a network is built for")
"""By Root.rank."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a card says, in any form."""

    root: Root
    fields: dict[str, list[str]]
    """Title of each field to its lines, in their order."""
    end_ns: int
    """End of the run."""
    change_ns: int | None
    """When the last change before the root was made; None: there was none."""


def ticket(run: RunDir, view: str = IDEAL) -> Ticket | None:
    """The first root of a run; None where no metric of the view shows a fault. Raises: RunDirError."""
    found = incidents_of(run, view)
    if not found:
        return None
    first = found[0]
    fields = _fields(run, first, [it.root for it in found[1:]])
    change = None if first.change is None else first.change.time_ns
    return Ticket(first.root, fields, int(run.summary["stop"]["time_ns"]), change)


def card(run: RunDir, form: str, view: str = IDEAL) -> str:
    """The ticket as text or Markdown, ready to print; one sentence where there is none. Raises: RunDirError."""
    found = ticket(run, view)
    if found is None:
        return "No root cause: no metric shows a fault.\n"
    return _markdown(found.root, found.fields) if form == "markdown" else _text(found.root, found.fields)


def _fields(run: RunDir, incident: Incident, others: list[Root]) -> dict[str, list[str]]:
    """Title of each field to its lines."""
    root = incident.root
    meaning = root.meaning
    manifest = run.manifest
    words: list[object] = ["fabric", "run", manifest["scenario"]["file"]]
    for it in manifest["scenario"]["set"]:
        words += ["--set", it]
    found: dict[str, list[str]] = {
        "Root": [f"{root.kind.value}: {meaning.title}"],
        "Place": [root.place + (f", with {', '.join(root.members)}" if root.members else "")],
        "Severity": [SEVERITY[root.rank]],
        "First seen": [moment(root.began_ns)],
        "Last seen": [moment(root.ended_ns)],
        "Hurt": incident.hurt.lines,
        **({"Routes": [incident.routes]} if incident.routes else {}),
        "Lost": [_lost_line(run)],
        "Changed": [incident.change_line],
        "Evidence": list(root.evidence),
        "First act": [incident.act],
        "Read": incident.reading,
        AGAIN: [command(*words, "--out", "again"), command("fabric", "explain", "roots", "again")],
    }
    if others:
        found["Also"] = [f"{it.kind.value} at {it.place}" for it in others]
    found["Run"] = [f"{run.path.name}, digest {str(manifest['digest'])[:16]}"]
    return found


def _lost_line(run: RunDir) -> str:
    """Packets lost in the whole run, by reason, most first."""
    reasons = {name: int(it["pkts"]) for name, it in run.summary["drops"]["by_reason"].items()}
    if not reasons:
        return "no packet in the whole run"
    told = (f"{number:,} {name.replace('_', ' ')}" for name, number in sorted(reasons.items(), key=lambda it: -it[1]))
    return f"{count(sum(reasons.values()), 'packet')} in the whole run: {', '.join(told)}"


def _text(root: Root, fields: dict[str, list[str]]) -> str:
    lines = [visible(f"INCIDENT {root.kind.value} at {root.place}"), "=" * WIDTH]
    width = max(map(len, fields)) + 2
    for title, values in fields.items():
        shown = [line for value in values for line in _folded(visible(value), WIDTH - width, title)]
        for number, line in enumerate(shown):
            lines.append(f"{'' if number else title:<{width}}{line}")
    return "\n".join(lines) + "\n"


def _folded(text: str, width: int, title: str) -> list[str]:
    """Lines of a value; a command is copied whole, so it is not folded."""
    return [text] if title == AGAIN else textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _markdown(root: Root, fields: dict[str, list[str]]) -> str:
    lines = [f"## Incident: {in_markdown(root.kind.value)} at {in_markdown(root.place)}", ""]
    for title, values in fields.items():
        if title == AGAIN:
            lines += [f"**{title}**", "", "```", *(visible(it) for it in values), "```", ""]
        elif len(values) == 1:
            lines += [f"**{title}:** {in_markdown(values[0])}", ""]
        else:
            lines += [f"**{title}**", "", *(f"- {in_markdown(it)}" for it in values), ""]
    return "\n".join(lines[:-1]) + "\n"
