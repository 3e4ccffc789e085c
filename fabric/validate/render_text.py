"""A verdict as text for a terminal, and the catalogue of checks as text or Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fabric.units import count
from fabric.validate.checks.base import Check, Finding, Severity
from fabric.validate.checks.registry import CHECKS, FAMILIES
from fabric.validate.runner import Verdict

_OBJECTS: Final = 6
_UNREAD: Final = 10
_EVIDENCE: Final = 4
"""Lines of evidence of one finding."""


def grouped(findings: Sequence[Finding]) -> Iterator[tuple[Finding, list[str]]]:
    """Findings of one check with one text on one switch: the first, and all their objects."""
    found: dict[tuple[str, Severity, str, str], tuple[Finding, list[str]]] = {}
    for item in findings:
        found.setdefault((item.check.id, item.severity, item.device, item.text), (item, []))[1].append(item.object)
    yield from found.values()


def names(objects: Sequence[str], most: int = _OBJECTS) -> str:
    """The first few objects and how many more there are."""
    return ", ".join(objects[:most]) + (f" and {len(objects) - most} more" if len(objects) > most else "")


def many(count: int, word: str, plural: str = "") -> str:
    """'1 link', '2 links'."""
    return f"{count} {word if count == 1 else plural or word + 's'}"


def summary(verdict: Verdict) -> str:
    """One line: what was looked at and what came of it."""
    parts = [many(verdict.count(severity), word) for severity, word in (
        (Severity.ERROR, "error"), (Severity.WARN, "warning"), (Severity.INFO, "note"))]
    more = [f"{len(verdict.suppressed)} suppressed"] if verdict.suppressed else []
    more += [f"{verdict.known} known from the baseline, {len(verdict.fixed)} fixed"] if (
        verdict.known or verdict.fixed) else []
    more += [f"{many(len(verdict.unread), 'place')} not understood"] if verdict.unread else []
    seen = (many(verdict.devices, "switch", "switches"), many(verdict.ports, "port"), many(verdict.links, "link"))
    return (", ".join(seen) + ": " + ", ".join(parts)
            + (f" ({'; '.join(more)})" if more else ""))


def render(verdict: Verdict, *, everything: bool = False) -> str:
    """Errors and warnings with their evidence; notes and what was not understood only with `everything`."""
    lines: list[str] = []
    if verdict.changes:
        lines += ["changes:", *(f"  {line}" for line in verdict.changes), ""]
    for finding, objects in grouped(verdict.findings):
        if finding.severity is Severity.INFO and not everything:
            continue
        lines.append(f"{finding.severity.word:5} {finding.check.id:4} {finding.device}  {names(objects)}")
        lines.append(f"      {finding.check.title}: {finding.text}")
        lines += [f"        {item}" for item in finding.evidence[:_EVIDENCE]]
        left = len(finding.evidence) - _EVIDENCE
        lines += [f"        and {count(left, 'more line')} of evidence: --json"] if left > 0 else []
        lines += [f"      so: {finding.check.consequence}", f"      do: {finding.check.remedy}", ""]
    for finding, objects in grouped([it for it in verdict.fixed if everything or it.severity > Severity.INFO]):
        lines.append(f"fixed {finding.check.id:4} {finding.device}  {names(objects)}: {finding.text}")
    for finding, rule in verdict.suppressed if everything else ():
        lines.append(f"suppressed {finding.check.id} {finding.device} {finding.object}: {rule.reason} "
                     f"(until {rule.expires}, {rule.place})")
    shown = verdict.unread if everything else verdict.unread[:_UNREAD] if verdict.unread and _few(verdict) else ()
    lines += [f"not understood: {item.what} ({item.place})" for item in shown]
    lines += [f"paths: {verdict.paths}"] if verdict.paths else []
    return "\n".join([*lines, summary(verdict)]) + "\n"


def _few(verdict: Verdict) -> bool:
    return len(verdict.unread) <= _UNREAD


def explain(check: Check) -> str:
    """Everything that is known of one check."""
    return (f"{check.id}  {check.title}  ({check.severity.word})\n\n"
            f"condition    {check.condition}\nconsequence  {check.consequence}\n"
            f"remedy       {check.remedy}\nsource       {check.source}\n")


def catalogue() -> str:
    """Id, severity and title of every check."""
    return "".join(f"{check.id:4} {check.severity.word:5} {check.title}\n" for check in CHECKS.values())


def catalogue_markdown() -> str:
    """docs/checks.md: every check with all its words."""
    about = ("Made from the code by `fabric validate --list --format markdown`; a test compares them. The severity is "
             "the usual one; a check says less or more where the case is milder or worse.")
    lines = ["# Checks of `fabric validate`", "", about, ""]
    for letter, title, checks in FAMILIES:
        lines += [f"## {letter}. {title}", ""]
        for check in checks:
            lines += [f"### {check.id}: {check.title} ({check.severity.word})", "",
                      f"- **Condition:** {check.condition}",
                      f"- **Otherwise:** {check.consequence}", f"- **Remedy:** {check.remedy}",
                      f"- **Source:** {check.source}", ""]
    return "\n".join(lines)
