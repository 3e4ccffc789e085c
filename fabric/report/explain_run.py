"""The whole run in one answer: causes first, worst first, each with the command for its details."""

from __future__ import annotations

from fabric.report.cause import cause
from fabric.report.evidence import Evidence
from fabric.report.explain_drops import explain_drops
from fabric.report.explain_message import explain_message, known_or_error
from fabric.report.explain_pfc import explain_pfc
from fabric.report.model import Document, Prose, Section, Status, worst

_ORDER = (Status.BAD, Status.WARNING, Status.GOOD, Status.NEUTRAL)


def explain_run(evidence: Evidence) -> Document:
    """What held and what was lost: pauses, drops, and the slowest message, where there are messages."""
    folder = evidence.run.path
    answers = [("pfc", f"fabric explain pfc {folder}", explain_pfc(evidence)),
               ("drops", f"fabric explain drops {folder}", explain_drops(evidence))]
    answers.sort(key=lambda answer: _ORDER.index(answer[2].status))
    if evidence.messages["slowdown"].size:      # last: it tells of one that was hurt, not of what hurt it
        slowest = known_or_error(evidence, None)
        answers.append(("message", f"fabric explain message {folder} {slowest}", explain_message(evidence, slowest)))
    titles = {"pfc": "Pauses", "drops": "Drops", "message": "The slowest message"}
    sections = tuple(
        Section(key, titles[key], (Prose(document.verdict, document.status), *document.reasons,
                                   Prose(f"Details: {command}")))
        for key, command, document in answers)
    headline = cause(evidence) or evidence.run.summary["headline"]
    return Document("Run", folder.name, worst([document.status for _, _, document in answers]), headline, (), sections)
