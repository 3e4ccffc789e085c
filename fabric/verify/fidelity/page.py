"""The page about fidelity: prose from page.md, numbers from the rows of this run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Final

from fabric.verify.fidelity.table import Finding, Outcome, Verdict
from fabric.visible import visible

_TABLES: Final = "<!-- tables -->"
_VERDICT: Final = "<!-- verdict -->"
_MISSES: Final = "<!-- misses -->"


def markdown(families: Mapping[str, Sequence[Outcome]]) -> str:
    """docs/fidelity.md."""
    template = files("fabric.verify.fidelity").joinpath("page.md").read_text(encoding="utf-8")
    outcomes = [outcome for family in families.values() for outcome in family]
    return (
        template.replace(_VERDICT, _verdict(families))
        .replace(_MISSES, _misses(outcomes))
        .replace(
            _TABLES,
            "\n".join(line for heading, family in families.items() if family for line in _family(heading, family)),
        )
    )


def number(value: float) -> str:
    """Whole numbers in full, others with a few digits."""
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def error_text(finding: Finding) -> str:
    """Relative error, or the difference where the reference is 0."""
    ratio = finding.error_ratio
    if ratio is None:
        return f"+{number(finding.ours)}"
    return "0" if ratio == 0 else f"{ratio:+.3%}"


def verdict_text(finding: Finding) -> str:
    """The verdict, with the bounds of a known miss."""
    if finding.known is None:
        return str(finding.verdict)
    low, high = finding.known
    return f"{finding.verdict} ({number(low)} to {number(high)})"


def _verdict(families: Mapping[str, Sequence[Outcome]]) -> str:
    """One sentence, then one line per family."""
    outcomes = [outcome for family in families.values() for outcome in family]
    rows, numbers = _shares(outcomes)
    found = [finding.verdict for outcome in outcomes for finding in outcome.findings]
    known = found.count(Verdict.KNOWN)
    new = sum(verdict in {Verdict.MISSES, Verdict.MOVED} for verdict in found)
    lines = [
        f"**{rows} rows agree, {numbers} numbers; {known} are known misses within their bounds, {new} are not.**",
        "",
        "| compared with | rows that agree | numbers that agree | known misses | new misses |",
        "|---|---|---|---|---|",
    ]
    for heading, family in families.items():
        rows, numbers = _shares(family)
        found = [finding.verdict for outcome in family for finding in outcome.findings]
        new = sum(verdict in {Verdict.MISSES, Verdict.MOVED} for verdict in found)
        lines.append(f"| {heading} | {rows} | {numbers} | {found.count(Verdict.KNOWN)} | {new} |")
    return "\n".join(lines)


def _shares(outcomes: Sequence[Outcome]) -> tuple[str, str]:
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    return (
        f"{sum(outcome.agrees for outcome in outcomes)} of {len(outcomes)}",
        f"{sum(finding.verdict is Verdict.AGREES for finding in findings)} of {len(findings)}",
    )


def _misses(outcomes: Sequence[Outcome]) -> str:
    lines = []
    for outcome in outcomes:
        wrong = [finding for finding in outcome.findings if finding.verdict is not Verdict.AGREES]
        if wrong:
            texts = "; ".join(
                f"{it.quantity}: {number(it.ours)} instead of {number(it.reference)} ({error_text(it)}, "
                f"allowed {number(it.low)} to {number(it.high)}; {verdict_text(it)})"
                for it in wrong
            )
            lines.append(f"- `{outcome.row.id}`: {texts}. {outcome.row.known_miss or 'Not explained.'}")
    return "\n".join(lines) or "None."


def _family(heading: str, outcomes: Sequence[Outcome]) -> list[str]:
    lines = [
        f"### {heading}",
        "",
        "| row | what | quantity | reference | ours | error | tolerance | verdict |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for outcome in outcomes:
        row = outcome.row
        for place, it in enumerate(outcome.findings):
            first = (f"`{row.id}` [{row.tag}]", _cell(row.title)) if place == 0 else ("", "")
            lines.append(
                "| "
                + " | ".join(
                    [
                        *first,
                        _cell(it.quantity),
                        number(it.reference),
                        number(it.ours),
                        error_text(it),
                        _cell(it.tolerance),
                        verdict_text(it) if it.agrees else f"**{verdict_text(it)}**",
                    ]
                )
                + " |"
            )
    sources = dict.fromkeys(f"`{outcome.row.model}`: {outcome.row.source}" for outcome in outcomes)
    return [*lines, "", "Model and source of the reference:", "", *(f"- {source}" for source in sources), ""]


def _cell(text: str) -> str:
    return visible(text.replace("\n", " ")).replace("|", "\\|")
