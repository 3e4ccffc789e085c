"""A verdict as text for a terminal, and the catalogue of checks as text or Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Final

from fabric.configs.capabilities import Language
from fabric.configs.model import Site
from fabric.units import count
from fabric.validate.causes import Cause
from fabric.validate.checks.base import Check, Finding, Severity
from fabric.validate.checks.registry import CHECKS, FAMILIES
from fabric.validate.coverage import NOT_UNDERSTOOD, Uncovered, uncovered
from fabric.validate.manual import is_choice, reason
from fabric.validate.remedies import Fix
from fabric.validate.runner import Verdict
from fabric.visible import visible

_OBJECTS: Final = 6
_UNREAD: Final = 10
"""More places than these are listed with `everything`; a line says so."""
_EVIDENCE: Final = 4
"""Lines of evidence of one finding."""
_CHANGES: Final = 4
"""Changes of one cause that were found together, each with its command."""
_SEARCH: Final = "`fabric validate CONFIGS --fix` tries what the baseline and most other switches have"


def grouped(findings: Sequence[Finding]) -> Iterator[tuple[Finding, list[str]]]:
    """Findings of one check with one text on one switch: the first, and all their objects."""
    found: dict[tuple[str, Severity, str, str], tuple[Finding, list[str]]] = {}
    for item in findings:
        found.setdefault((item.check.id, item.severity, item.device, item.text), (item, []))[1].append(item.object)
    yield from found.values()


def names(objects: Sequence[str], most: int = _OBJECTS) -> str:
    """The first few objects and how many more there are."""
    return ", ".join(objects[:most]) + (f" and {len(objects) - most} more" if len(objects) > most else "")


def where(cause: Cause, most: int = _OBJECTS) -> tuple[str, str]:
    """The devices of a cause, and the objects on them."""
    devices = cause.devices
    objects = list(dict.fromkeys(one for those in devices.values() for one in those))
    return names(list(devices), most), names(objects, most)


def remedy(cause: Cause) -> list[str]:
    """What to do: the check's words, then the field, the value and the command on the first device; of changes that
    were found by trying, each with the source of its value.
    """
    fixes = cause.fixes
    lines = [cause.check.remedy]
    if cause.first.found:
        shown = fixes[:_CHANGES]
        lines += [line for it in shown for line in (str(it), f"$ {it.command}" if it.command else "")]
        sources = list(dict.fromkeys(it.source for it in shown if it.source))
        lines += [f"why: {'; '.join(sources)}"] if sources else []
        left = len(fixes) - len(shown)
        return [it for it in lines if it] + ([f"{count(left, 'more such change')}: --json"] if left else [])
    if fixes:
        more = f"; {count(len(fixes) - 1, 'more such change')}: --json" if len(fixes) > 1 else ""
        devices = list(dict.fromkeys(it.device for it in fixes))
        if fixes[0].command and len(devices) > 1 and len({it.command for it in fixes}) == 1:
            more += f"; one command on each of {names(devices)}"
        lines.append(f"{fixes[0]}{more}")
    if fixes and fixes[0].command:
        lines.append(f"$ {fixes[0].command}")
    elif why := without_command(cause):
        lines.append(f"no command: {why}")
    return lines


def without_command(cause: Cause) -> str:
    """Why a cause has no command: what a search of all files ended with, else what is known of the check; '' without
    a reason.
    """
    if cause.first.unfixed:
        return cause.first.unfixed
    why = reason(cause.check.id, languages(cause))
    if cause.severity < Severity.WARN or is_choice(cause.check.id):
        return why
    return f"{why}; {_SEARCH}" if why else _SEARCH


def languages(cause: Cause) -> list[Language]:
    """Languages of the switches that the evidence of a cause is of."""
    sites = (it.at for finding in cause.findings[:1] for it in finding.evidence)
    return list(dict.fromkeys(it.device.language for it in sites if isinstance(it, Site)))


def consequences(cause: Cause) -> str:
    """'L9 (2), N1 (4); 4 paths between 2 pairs of switches'; '' without any."""
    parts = [", ".join(f"{id_} ({number})" for id_, number in cause.counts.items())] if cause.consequences else []
    if cause.paths:
        parts.append(f"{count(cause.paths, 'path')} between {count(cause.pairs, 'pair')} of switches hurt")
    return "; ".join(parts)


def proven(verdict: Verdict, cause: Cause) -> list[str]:
    """One line for each check of the cause that was simulated, then the file that shows it."""
    lines = []
    for proof in verdict.proofs_of(cause):
        who = "" if proof.check == cause.check.id else f"{proof.check} {proof.device} {proof.object} "
        lines.append(f"simulated: {who}{proof}")
        lines += [f"  $ fabric run {quote(proof.file)}"] if proof.file and proof.result == "proven" else []
        if proof.result != "proven" and proof.not_lowered:
            lines.append(f"  not lowered: {'; '.join(proof.not_lowered[:_EVIDENCE])}")
    return lines


def many(count: int, word: str, plural: str = "") -> str:
    """'1 link', '2 links'."""
    return f"{count} {word if count == 1 else plural or word + 's'}"


def not_judged(verdict: Verdict) -> int:
    """Findings of R12: rules that the files do not say enough for."""
    return sum(it.check.id == "R12" for it in verdict.findings)


def open_rules(verdict: Verdict) -> str:
    """'2 rules could not be judged', and what that means; '' where all were judged."""
    rules = not_judged(verdict)
    if not rules:
        return ""
    those = "it" if rules == 1 else "them"
    return f"{many(rules, 'rule')} could not be judged, and no error of {those} is no proof (an error with --strict)"


def summary(verdict: Verdict) -> str:
    """One line: what was read, what could not be judged, the causes, and the findings."""
    parts = [
        many(verdict.count(severity), word)
        for severity, word in ((Severity.ERROR, "error"), (Severity.WARN, "warning"), (Severity.INFO, "note"))
    ]
    causes = sum(it.severity > Severity.INFO for it in verdict.causes)
    if causes:
        parts[0] = f"{many(causes, 'cause')} of {parts[0]}"
    parts[:0] = [f"{many(rules, 'rule')} could not be judged"] if (rules := not_judged(verdict)) else []
    more = [f"{len(verdict.suppressed)} suppressed"] if verdict.suppressed else []
    if verdict.known or verdict.fixed or verdict.hidden or verdict.gone:
        parts_of = [f"{verdict.known} known from the baseline", f"{len(verdict.fixed)} fixed"]
        parts_of += [f"{len(verdict.hidden)} hidden or fixed"] if verdict.hidden else []
        parts_of += [f"{len(verdict.gone)} not judged any more"] if verdict.gone else []
        parts_of += [f"{len(verdict.visible)} visible now"] if verdict.visible else []
        more.append(", ".join(parts_of))
    more += [f"{many(len(verdict.unread), 'place')} not understood"] if verdict.unread else []
    more += [f"{many(len(verdict.unjudged), 'setting')} not judged: --all"] if verdict.unjudged else []
    seen = (many(verdict.devices, "switch", "switches"), many(verdict.ports, "port"), many(verdict.links, "link"))
    return ", ".join(seen) + ": " + ", ".join(parts) + (f" ({'; '.join(more)})" if more else "")


def _statement(finding: Finding) -> list[str]:
    """Where the change goes, where no line of evidence says it."""
    its = finding.statement
    return [] if its is None or its in {it.place for it in finding.evidence} else [f"        to change at: {its}"]


def render(verdict: Verdict, *, everything: bool = False) -> str:
    """Causes of errors and warnings with evidence; notes and most places not understood only with `everything`."""
    lines: list[str] = [silent, ""] if (silent := open_rules(verdict)) else []
    if verdict.changes:
        lines += ["changes:", *(f"  {line}" for line in verdict.changes), ""]
    told: dict[tuple[Fix, ...], Cause] = {}
    for cause in verdict.causes:
        if cause.severity is Severity.INFO and not everything:
            if cause.check.id == "R12":
                lines += [f"could not be judged: {where(cause)[0]}: {cause.first.text}", ""]
            continue
        first, (devices, shown) = cause.first, where(cause)
        lines.append(f"{cause.severity.word:5} {first.check.id:4} {devices}  {shown}")
        lines.append(f"      {first.check.title}: {first.text}")
        lines += _statement(first)
        lines += [f"        {item}" for item in first.evidence[:_EVIDENCE]]
        left = len(first.evidence) - _EVIDENCE
        lines += [f"        and {count(left, 'more line')} of evidence: --json"] if left > 0 else []
        lines.append(f"      so: {first.check.consequence}")
        follows = consequences(cause)
        lines += [f"      with it: {follows}"] if follows else []
        lines += [f"      {line}" for line in proven(verdict, cause)]
        lines += [
            f"      {'do:' if not number else '   '} {line}" for number, line in enumerate(_remedy_once(cause, told))
        ]
        lines.append("")
    for finding, objects in grouped([it for it in verdict.fixed if everything or it.severity > Severity.INFO]):
        lines.append(f"fixed {finding.check.id:4} {finding.device}  {names(objects)}: {finding.text}")
    for it in verdict.hidden:
        if everything or it.finding.severity > Severity.INFO:
            lines.append(f"gone  {_placed(it.finding)}: {it.finding.text}: fixed, or hidden by {it}")
    for gone in verdict.gone:
        if everything or gone.finding.severity > Severity.INFO:
            lines.append(f"gone  {_placed(gone.finding)}: {gone.finding.text}: {gone}")
    for it in verdict.visible:
        if everything or it.finding.severity > Severity.INFO:
            lines.append(f"known {_placed(it.finding)}: its statement is as before; {it} hid it, or it is new")
    for finding, rule in verdict.suppressed if everything else ():
        lines.append(
            f"suppressed {finding.check.id} {finding.device} {finding.object}: {rule.reason} "
            f"(until {rule.expires}, {rule.place})"
        )
    rows = uncovered(verdict)
    lines += [str(item) for item in rows] if everything else _first_unread(rows)
    lines += [f"headroom: {verdict.headroom}"] if verdict.headroom else []
    lines += [f"paths: {verdict.paths}"] if verdict.paths else []
    lines += [f"proofs: {verdict.proofs_text}"] if verdict.proofs_text else []
    return "\n".join(map(visible, [*lines, summary(verdict)])) + "\n"


def _remedy_once(cause: Cause, told: dict[tuple[Fix, ...], Cause]) -> list[str]:
    """The remedy; where it is the same change as that of an earlier cause, that one's name instead of the command."""
    before = told.setdefault(cause.fixes, cause) if cause.fixes else cause
    if before is cause:
        return remedy(cause)
    return [
        cause.check.remedy,
        f"the same change as for {before.check.id} {names(where(before)[:1])}  {where(before)[1]}",
    ]


def _placed(finding: Finding) -> str:
    return f"{finding.check.id:4} {finding.device}  {finding.object}"


def _first_unread(rows: Sequence[Uncovered]) -> list[str]:
    """Places not understood, those that could act on RoCE first; and how many more there are."""
    unread = [item for item in rows if item.kind == NOT_UNDERSTOOD]
    chosen = sorted(unread, key=lambda it: not it.roce)[:_UNREAD]
    left = len(unread) - len(chosen)
    more = [f"not understood: {many(left, 'more place')}: --all or --json lists each"] if left else []
    return [*(str(item) for item in unread if item in chosen), *more]


def explain(check: Check) -> str:
    """Everything that is known of one check."""
    return (
        f"{check.id}  {check.title}  ({check.severity.word})\n\n"
        f"condition    {check.condition}\nconsequence  {check.consequence}\n"
        f"remedy       {check.remedy}\nsource       {check.source}\n"
    )


def catalogue() -> str:
    """Id, severity and title of every check."""
    return "".join(f"{check.id:4} {check.severity.word:5} {check.title}\n" for check in CHECKS.values())


def catalogue_markdown() -> str:
    """docs/checks.md: every check with all its words."""
    about = (
        "Made from the code by `fabric validate --list --format markdown`; a test compares them. The severity is "
        "the usual one; a check says less or more where the case is milder or worse."
    )
    lines = ["# Checks of `fabric validate`", "", about, ""]
    for letter, title, checks in FAMILIES:
        lines += [f"## {letter}. {title}", ""]
        for check in checks:
            lines += [
                f"### {check.id}: {check.title} ({check.severity.word})",
                "",
                f"- **Condition:** {check.condition}",
                f"- **Otherwise:** {check.consequence}",
                f"- **Remedy:** {check.remedy}",
                f"- **Source:** {check.source}",
                "",
            ]
    return "\n".join(lines)
