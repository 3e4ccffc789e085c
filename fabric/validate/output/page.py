"""A verdict as a page: HTML that loads nothing from elsewhere, and Markdown for a merge request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fabric.validate.causes import Cause
from fabric.validate.checks.base import Severity
from fabric.validate.checks.registry import CHECKS
from fabric.validate.coverage import NOT_JUDGED, NOT_UNDERSTOOD, uncovered
from fabric.validate.output.searched import Searched, html_parts
from fabric.validate.output.text import consequences, many, names, remedy, summary, where
from fabric.validate.proofs import Proof
from fabric.validate.runner import Verdict
from fabric.visible import in_markdown, in_markdown_code
from fabric.visible import in_markup as escape

STYLE: Final = """body{overflow-wrap:anywhere;font:15px/1.45 system-ui,sans-serif;
max-width:76rem;margin:2rem auto;padding:0 1rem;color:#222;
background:#fff}h1{font-size:1.4rem}h2{font-size:1.05rem;margin:.2rem 0 .4rem}section{border-left:.35rem solid #888;
padding:.2rem 1rem;margin:1.2rem 0}.error{border-color:#b00020}.warn{border-color:#c77700}.info{border-color:#3a6ea5}
table{border-collapse:collapse;width:100%;margin:.5rem 0}td,th{text-align:left;vertical-align:top;padding:.25rem .6rem;
border-bottom:1px solid #ddd}th{font-weight:600;font-size:.9em}code,pre{font-size:.85em}
pre{background:#f5f5f5;padding:.5rem;overflow-x:auto}p{margin:.3rem 0}b.error{color:#b00020}b.warn{color:#a86200}
b.info{color:#3a6ea5}nav td{padding:.1rem .6rem}
nav td:nth-child(-n+2),.n{white-space:nowrap}
section table{table-layout:fixed}th:nth-child(1){width:11%}th:nth-child(2){width:27%}small{color:#666}
.wide{overflow-x:auto}.wide td,.wide th{white-space:nowrap}
@media(max-width:40rem){section th{display:none}section td{display:block;padding:.1rem 0;border:0}
section td:last-child{padding-bottom:.5rem;border-bottom:1px solid #ddd}section{padding:.2rem .6rem}}
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}pre{background:#252525}td,th{border-color:#444}
a{color:#8ab4f8}small{color:#999}b.error{color:#ff6b6b}b.warn{color:#ffb347}b.info{color:#8ab4f8}}"""
_EVIDENCE: Final = 6


def as_html(verdict: Verdict, searched: Searched | None = None) -> str:
    """One self-contained page: an index, then a section per check with its causes; notes folded away.

    Parameters
    ----------
    searched    losses and margins of a search, where there was one: after the notes
    """
    parts = [f"<p>{escape(summary(verdict))}</p>"]
    parts += [f"<p>Headroom: {escape(verdict.headroom)}</p>"] if verdict.headroom else []
    parts += [f"<p>Paths: {escape(verdict.paths)}</p>"] if verdict.paths else []
    if verdict.changes:
        parts.append("<h2>Changes</h2>" + pre("Changes", verdict.changes))
    groups: dict[tuple[Severity, str], list[Cause]] = {}
    for cause in verdict.causes:
        groups.setdefault((cause.severity, cause.check.id), []).append(cause)
    loud = {key: causes for key, causes in groups.items() if key[0] is not Severity.INFO}
    parts += [f"<p>Proofs: {escape(verdict.proofs_text)}</p>"] if verdict.proofs_text else []
    parts += _index(loud)
    parts += [_section(verdict, severity, causes) for (severity, _), causes in loud.items()]
    quiet = [
        _section(verdict, severity, causes) for (severity, _), causes in groups.items() if severity is Severity.INFO
    ]
    if quiet:
        shown = many(verdict.count(Severity.INFO), "note")
        parts += [f"<details><summary>{shown}</summary>", *quiet, "</details>"]
    parts += html_parts(searched) if searched is not None else []
    if verdict.fixed:
        rows = [f"<li>{item.check.id} {escape(item.device)} {escape(item.object)}</li>" for item in verdict.fixed]
        parts.append(f"<h2>Fixed</h2><ul>{''.join(rows)}</ul>")
    if verdict.hidden or verdict.gone:
        rows = [f"<li>{escape(line)}</li>" for line in _gone(verdict)]
        parts.append(f"<h2>Gone, and not known to be fixed</h2><ul>{''.join(rows)}</ul>")
    if verdict.visible:
        rows = [f"<li>{escape(line)}</li>" for line in _seen(verdict)]
        parts.append(f"<h2>Visible now</h2><ul>{''.join(rows)}</ul>")
    if verdict.suppressed:
        rows = [
            f"<li>{item.check.id} {escape(item.device)} {escape(item.object)}: {escape(rule.reason)} "
            f"(until {rule.expires})</li>"
            for item, rule in verdict.suppressed
        ]
        parts.append(f"<details><summary>{len(rows)} suppressed</summary><ul>{''.join(rows)}</ul></details>")
    for kind, word, every in ((NOT_UNDERSTOOD, "place", verdict.unread), (NOT_JUDGED, "setting", verdict.unjudged)):
        lines = [str(item) for item in uncovered(verdict) if item.kind == kind]
        if lines:
            alike = "" if len(lines) == len(every) else f", alike ones of a file in one line: {len(lines)}"
            head = f"{many(len(every), word)} {kind}{alike}"
            parts.append(f"<details><summary>{head}</summary>{pre(kind.capitalize(), lines)}</details>")
    return whole_page("fabric validate", parts)


def whole_page(title: str, parts: Sequence[str]) -> str:
    """A page of these parts that loads nothing from elsewhere."""
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<title>{title}</title>\n<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<style>{STYLE}</style></head><body>\n<h1>{title}</h1>"
    )
    return "\n".join([head, *parts, "</body></html>"]) + "\n"


def pre(title: str, lines: Sequence[str]) -> str:
    """Lines as they are; focusable, so that arrow keys reach what is beyond the edge."""
    return f'<pre tabindex="0" role="region" aria-label="{title}">{escape(chr(10).join(lines))}</pre>'


def _index(groups: dict[tuple[Severity, str], list[Cause]]) -> list[str]:
    rows = []
    for (severity, id_), causes in groups.items():
        devices = list(dict.fromkeys(name for cause in causes for name in cause.devices))
        number = sum(len(cause.findings) for cause in causes)
        rows.append(
            f'<tr><td><b class="{severity.word}">{severity.word}</b></td><td><a href="#{id_}-{severity.word}">{id_}</a>'
            f"</td><td>{escape(causes[0].check.title)}</td><td>{number} on {escape(names(devices, 8))}</td></tr>"
        )
    return ["<nav><table>", *rows, "</table></nav>"] if rows else []


def _section(verdict: Verdict, severity: Severity, causes: list[Cause]) -> str:
    check = causes[0].check
    rows = []
    for cause in causes:
        first, (devices, objects) = cause.first, where(cause, 12)
        cell = escape(first.text)
        cell += "".join(f"<br><code>{escape(str(one))}</code>" for one in first.evidence[:_EVIDENCE])
        more = len(first.evidence) - _EVIDENCE
        cell += f"<br>and {more:,} more: --json" if more > 0 else ""
        follows = consequences(cause)
        cell += f"<br>With it: {_titled(escape(follows))}" if follows else ""
        cell += "".join(
            f"<br><b>Simulated {it.check}:</b> {escape(str(it))}{_attached(it)}" for it in verdict.proofs_of(cause)
        )
        changes = remedy(cause)[1:]
        cell += "".join(
            f"<br><code>{escape(line)}</code>"
            if line.startswith("$ ")
            else f"<br>{'' if number else '<b>Do:</b> '}{escape(line)}"
            for number, line in enumerate(changes)
        )
        rows.append(f"<tr><td><b>{_whole(devices)}</b></td><td>{escape(objects)}</td><td>{cell}</td></tr>")
    head = "<tr><th>switch</th><th>where</th><th>finding and evidence</th></tr>"
    return (
        f'<section class="{severity.word}" id="{check.id}-{severity.word}">'
        f"<h2>{check.id} {escape(check.title)}</h2>"
        f"<p>{escape(check.consequence)}</p><p><b>Remedy:</b> {escape(check.remedy)} "
        f"<small>({escape(check.source)})</small></p>"
        f"<table>{head}{''.join(rows)}</table></section>"
    )


def as_markdown(verdict: Verdict) -> str:
    """A table of causes per severity, short enough for a comment."""
    lines = ["# fabric validate", "", _cell(summary(verdict)), ""]
    lines += [f"Headroom: {_cell(verdict.headroom)}", ""] if verdict.headroom else []
    lines += [f"Paths: {_cell(verdict.paths)}", ""] if verdict.paths else []
    lines += [f"Proofs: {_cell(verdict.proofs_text)}", ""] if verdict.proofs_text else []
    lines += ["## Changes", "", *(f"- {_cell(line)}" for line in verdict.changes), ""] if verdict.changes else []
    for severity, word in ((Severity.ERROR, "Errors"), (Severity.WARN, "Warnings"), (Severity.INFO, "Notes")):
        causes = [item for item in verdict.causes if item.severity is severity]
        if not causes:
            continue
        lines += [f"## {word}", "", "| check | switch | where | finding | remedy |", "|---|---|---|---|---|"]
        for cause in causes:
            item, (devices, objects) = cause.first, where(cause)
            place = f" ({in_markdown_code(str(item.place))})" if item.place else ""
            own, *changes = remedy(cause)
            follows = f"; with it: {_cell(consequences(cause))}" if cause.consequences else ""
            todo = [
                in_markdown_code(line.removeprefix("$ ")) if line.startswith("$ ") else _cell(line)
                for line in (own, *changes)
            ]
            shown = "".join(f"; simulated {it.check}: {_cell(str(it))}" for it in verdict.proofs_of(cause))
            lines.append(
                f"| {item.check.id} {_cell(item.check.title)} | {_cell(devices)} | {_cell(objects)} | "
                f"{_cell(item.text)}{place}{follows}{shown} | {'; '.join(todo)} |"
            )
        lines.append("")
    lines += [
        f"Suppressed: {item.check.id} {_cell(item.device)} {_cell(item.object)}: {_cell(rule.reason)} (until "
        f"{rule.expires})"
        for item, rule in verdict.suppressed
    ]
    lines += [f"Fixed: {item.check.id} {_cell(item.device)} {_cell(item.object)}" for item in verdict.fixed]
    lines += [f"Gone: {_cell(line)}" for line in _gone(verdict)]
    lines += [f"Visible now: {_cell(line)}" for line in _seen(verdict)]
    rows = uncovered(verdict)
    if rows:
        head = f"{many(len(verdict.unread) + len(verdict.unjudged), 'part')} not understood or not judged"
        alike = f", alike ones of a file in one line: {len(rows)}"
        lines += ["", f"{head}{alike}:", "", *(f"- {_cell(str(item))}" for item in rows)]
    return "\n".join(lines) + "\n"


def _gone(verdict: Verdict) -> list[str]:
    """Findings of the baseline that are gone and not known to be fixed."""
    its = [(it.finding, f"fixed, or hidden by {it}") for it in verdict.hidden]
    its += [(it.finding, str(it)) for it in verdict.gone]
    return [f"{item.check.id} {item.device} {item.object}: {how}" for item, how in its]


def _seen(verdict: Verdict) -> list[str]:
    """New findings that were there before."""
    its = [(it.finding, it) for it in verdict.visible]
    return [
        f"{item.check.id} {item.device} {item.object}: its statement is as before; {how} hid it, or it is new"
        for item, how in its
    ]


def _attached(proof: Proof) -> str:
    """The scenario, folded away."""
    if not proof.scenario:
        return ""
    return f"<details><summary>scenario: fabric run shows it</summary>{pre('Scenario', [proof.scenario])}</details>"


def _titled(follows: str) -> str:
    """Identifiers of checks with their titles, which a browser shows where the pointer is."""
    return re.sub(
        r"\b[A-Z]\d+b?\b(?= \()",
        lambda it: f'<abbr title="{escape(CHECKS[it[0]].title)}">{it[0]}</abbr>' if it[0] in CHECKS else it[0],
        follows,
    )


def _whole(names: str) -> str:
    """Names of switches that no line break divides at a hyphen."""
    return re.sub(r"[^\s,]+", lambda it: f'<span class="n">{it[0]}</span>', escape(names))


def _cell(text: str) -> str:
    return in_markdown(text.replace("\n", " "))
