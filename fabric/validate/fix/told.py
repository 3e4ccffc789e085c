"""The changes that `--fix` finds, beside the findings that they clear: the remedy of a report is the same change.

A search tries changes on copies, which costs as much as the checks once more for every trial. A report of a large
fabric is not made longer by that: there the remedies are those of the rules, and `--fix` searches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fabric.validate.checks.base import Finding, Severity
from fabric.validate.fix.placed import Edits, edits_of, statement
from fabric.validate.fix.search import NOT_TRIED, Left, Plan, Step, find
from fabric.validate.fix.state import Change, Key
from fabric.validate.judge import Request
from fabric.validate.remedies import Fix
from fabric.validate.runner import Verdict

_MOST_PORTS: Final = 4000
"""Ports that all trials together may check: some seconds."""
_MANY: Final = 4
"""So many settings of one mapping are told as one."""
_BEFORE: Final = 2
"""Checks of the whole fabric before the first trial: the verdict, and the state that trials start from."""


def with_remedies(request: Request, verdict: Verdict) -> Verdict:
    """The verdict with the changes that a search finds, where the fabric is small enough. Raises: InputErrors."""
    trials = _MOST_PORTS // max(1, verdict.ports) - _BEFORE
    if trials < 1 or not any(it.severity >= Severity.WARN for it in verdict.findings):
        return verdict
    return told(verdict, find(request, verdict, trials))


def told(verdict: Verdict, plan: Plan) -> Verdict:
    """The verdict with the changes of a plan beside each finding that they clear; where none does, the reason."""
    repairs: dict[Key, _Repair] = {}
    for step in plan.steps:
        fixes = tuple(_fix(it, step.cause.check.remedy) for it in step.changes)
        repair = _Repair(step, fixes, edits_of(plan, step))
        for key in step.cleared:
            repairs.setdefault(key, repair)
    left = {it.key: one for one in plan.left for it in one.cause.findings}
    return replace(verdict, findings=tuple(_told(it, repairs, left) for it in verdict.findings))


@dataclass(frozen=True, slots=True)
class _Repair:
    """A step, as remedies and as edits of lines."""

    step: Step
    fixes: tuple[Fix, ...]
    edits: Edits


def _told(finding: Finding, repairs: Mapping[Key, _Repair], left: Mapping[Key, Left]) -> Finding:
    if its := repairs.get(finding.key):
        place = statement(finding, its.step, its.edits) if finding.key in _own(its.step) else None
        return replace(finding, found=its.fixes, statement=place)
    why = left[finding.key].reason if finding.key in left else ""
    return replace(finding, unfixed=why) if why and not why.startswith(NOT_TRIED) else finding


def _own(step: Step) -> frozenset[Key]:
    """The findings that are the mistake itself, not what follows from it."""
    return frozenset(it.key for it in step.cause.findings)


def _fix(change: Change, rule: str) -> Fix:
    """A change as a remedy.

    Parameters
    ----------
    rule    the remedy of the check, which is the source of a change that the check itself gives
    """
    words = change.what
    if words.startswith("nv "):
        words = "; ".join(map(_nvue_words, _heads(change.statements))) if len(change.statements) > 1 else ""
    if change.source == rule:
        return Fix(change.device, change.field, change.value, change.command, change.rows, "", words, change.file)
    what = words if change.value or words else f"add {change.field}"
    return Fix(change.device, change.field, change.value, change.command, change.rows, change.source, what, change.file)


def _nvue_words(statement: str) -> str:
    """'nv unset vrf default ...' -> 'remove vrf default ...'."""
    verb, _, rest = statement.removeprefix("nv ").partition(" ")
    return f"{'remove' if verb == 'unset' else verb} {rest}"


def _heads(statements: Sequence[str]) -> Sequence[str]:
    """The statements; of many that set words below one path, that path and how many there are."""
    sets = [it.split(" ") for it in statements if it.startswith("nv set ")]
    if len(sets) < _MANY:
        return statements
    same = [words[0] for words in zip(*sets, strict=False) if len(set(words)) == 1]
    others = [it for it in statements if not it.startswith("nv set ")]
    return [*others, f"{' '.join(same)} with {len(sets)} settings"]
