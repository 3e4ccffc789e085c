"""The line of the statement that a finding asks to be changed: the one that its repair replaces.

A check names the construct that is wrong, whose place is often the line that opens its block. A copy of the file with
the change that clears the finding differs from the file in the statement itself. Where the change adds a line, the
place is the line before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fabric.configs.model import Place
from fabric.errors import InputErrors
from fabric.validate.baseline_values import BASELINE
from fabric.validate.checks.base import Finding
from fabric.validate.fix.files import Replacement, replacements
from fabric.validate.fix.search import Plan, Step
from fabric.validate.fix.state import CannotApplyError

Edits = Mapping[str, Sequence[Replacement]]


def edits_of(plan: Plan, step: Step) -> Edits:
    """File to the edits of its lines that a step makes; {} where the files cannot show them one by one."""
    try:
        return replacements(plan.start, step.changes)
    except (CannotApplyError, InputErrors):
        return {}


def statement(finding: Finding, step: Step, edits: Edits) -> Place | None:
    """The line that a repair replaces: of the file that the finding names, else of the one that was changed.

    Another file counts only where the baseline decides: without one, the repair of a disagreement may be at either end.
    """
    named = [it.place for it in finding.evidence if it.place is not None]
    first = named[0] if named else None
    if first is None:
        return None
    file = first.file
    if file not in edits:
        if not edits or all(it.source != BASELINE for it in step.changes):
            return None
        file = next(iter(edits))
    lines = [max(1, low if high >= low else low - 1) for low, high, _ in edits[file]]
    if not lines:
        return None
    if file != first.file:
        return Place(file, lines[0])
    below = [it for it in lines if it >= first.line]
    return Place(file, min(below) if below else max(lines))
