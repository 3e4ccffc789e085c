"""The whole run in one document: causes by severity, each with the command for its details."""

from __future__ import annotations

from fabric.explain.cause import cause
from fabric.explain.drops import explain_drops
from fabric.explain.evidence import Evidence
from fabric.explain.message import explain_message, known_or_error
from fabric.explain.pfc import explain_pfc
from fabric.render.document import Document, Prose, Section, Status, worst
from fabric.visible import command

_ORDER = (Status.BAD, Status.WARNING, Status.GOOD, Status.NEUTRAL)


def explain_run(evidence: Evidence) -> Document:
    """Pauses, drops, and the slowest message if there are messages."""
    folder = evidence.run.path
    answers = [
        ("pfc", command("fabric", "explain", "pfc", folder), explain_pfc(evidence)),
        ("drops", command("fabric", "explain", "drops", folder), explain_drops(evidence)),
    ]
    answers.sort(key=lambda answer: _ORDER.index(answer[2].status))
    if evidence.messages["slowdown"].size:  # last: it names an effect, not a cause
        slowest = known_or_error(evidence, None)
        answers.append(
            ("message", command("fabric", "explain", "message", folder, slowest), explain_message(evidence, slowest))
        )
    titles = {"pfc": "Pauses", "drops": "Drops", "message": "The slowest message"}
    sections = tuple(
        Section(
            key,
            titles[key],
            (Prose(document.verdict, document.status), *document.reasons, Prose(f"Details: {command}")),
        )
        for key, command, document in answers
    )
    headline = cause(evidence) or evidence.run.summary["headline"]
    return Document("Run", folder.name, worst([document.status for _, _, document in answers]), headline, (), sections)
