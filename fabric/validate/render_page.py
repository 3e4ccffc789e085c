"""A verdict as a page: HTML that loads nothing from elsewhere, and Markdown for a merge request."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from fabric.validate.checks.base import Finding, Severity
from fabric.validate.render_text import grouped, many, names, summary
from fabric.validate.runner import Verdict

_STYLE: Final = """body{font:15px/1.45 system-ui,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem;color:#222;
background:#fff}h1{font-size:1.4rem}h2{font-size:1.05rem;margin:.2rem 0 .4rem}section{border-left:.35rem solid #888;
padding:.2rem 1rem;margin:1.2rem 0}.error{border-color:#b00020}.warn{border-color:#c77700}.info{border-color:#3a6ea5}
table{border-collapse:collapse;width:100%;margin:.5rem 0}td,th{text-align:left;vertical-align:top;padding:.25rem .6rem;
border-bottom:1px solid #ddd;overflow-wrap:anywhere}th{font-weight:600;font-size:.9em}code,pre{font-size:.85em}
pre{background:#f5f5f5;padding:.5rem;overflow-x:auto}p{margin:.3rem 0}b.error{color:#b00020}b.warn{color:#a86200}
b.info{color:#3a6ea5}nav td{padding:.1rem .6rem}
nav td:nth-child(-n+2){white-space:nowrap}
section table{table-layout:fixed}th:nth-child(1){width:11%}th:nth-child(2){width:27%}small{color:#666}
@media(max-width:40rem){section th{display:none}section td{display:block;padding:.1rem 0;border:0}
section td:last-child{padding-bottom:.5rem;border-bottom:1px solid #ddd}section{padding:.2rem .6rem}}
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}pre{background:#252525}td,th{border-color:#444}
a{color:#8ab4f8}small{color:#999}b.error{color:#ff6b6b}b.warn{color:#ffb347}b.info{color:#8ab4f8}}"""
_EVIDENCE: Final = 6


def as_html(verdict: Verdict) -> str:
    """One self-contained page: an index, then a section per check with its findings; notes folded away."""
    parts = ["<!doctype html>", '<html lang="en"><head><meta charset="utf-8"><title>fabric validate</title>',
             '<meta name="viewport" content="width=device-width,initial-scale=1">',
             f"<style>{_STYLE}</style></head><body>",
             "<h1>fabric validate</h1>", f"<p>{escape(summary(verdict))}</p>"]
    parts += [f"<p>Paths: {escape(verdict.paths)}</p>"] if verdict.paths else []
    if verdict.changes:
        parts.append("<h2>Changes</h2>" + _pre("Changes", verdict.changes))
    groups: dict[tuple[Severity, str], list[tuple[Finding, list[str]]]] = {}
    for finding, objects in grouped(verdict.findings):
        groups.setdefault((finding.severity, finding.check.id), []).append((finding, objects))
    loud = {key: rows for key, rows in groups.items() if key[0] is not Severity.INFO}
    parts += _index(loud)
    parts += [_section(severity, rows) for (severity, _), rows in loud.items()]
    quiet = [_section(severity, rows) for (severity, _), rows in groups.items() if severity is Severity.INFO]
    if quiet:
        shown = many(verdict.count(Severity.INFO), "note")
        parts += [f"<details><summary>{shown}</summary>", *quiet, "</details>"]
    if verdict.fixed:
        rows = [f"<li>{item.check.id} {escape(item.device)} {escape(item.object)}</li>" for item in verdict.fixed]
        parts.append(f"<h2>Fixed</h2><ul>{''.join(rows)}</ul>")
    if verdict.suppressed:
        rows = [f"<li>{item.check.id} {escape(item.device)} {escape(item.object)}: {escape(rule.reason)} "
                f"(until {rule.expires})</li>" for item, rule in verdict.suppressed]
        parts.append(f"<details><summary>{len(rows)} suppressed</summary><ul>{''.join(rows)}</ul></details>")
    if verdict.unread:
        lines = [f"{item.place}: {item.what}" for item in verdict.unread]
        parts.append(f"<details><summary>{many(len(lines), 'place')} not understood</summary>"
                     f"{_pre('Not understood', lines)}</details>")
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _pre(title: str, lines: Sequence[str]) -> str:
    """Lines as they are; focusable, so that arrow keys reach what is beyond the edge."""
    return f'<pre tabindex="0" role="region" aria-label="{title}">{escape(chr(10).join(lines))}</pre>'


def _index(groups: dict[tuple[Severity, str], list[tuple[Finding, list[str]]]]) -> list[str]:
    rows = [f'<tr><td><b class="{severity.word}">{severity.word}</b></td><td><a href="#{id_}-{severity.word}">{id_}</a>'
            f"</td><td>{escape(found[0][0].check.title)}</td><td>{sum(len(objects) for _, objects in found)} on "
            f"{escape(names(list(dict.fromkeys(item.device for item, _ in found)), 8))}</td></tr>"
            for (severity, id_), found in groups.items()]
    return ["<nav><table>", *rows, "</table></nav>"] if rows else []


def _section(severity: Severity, found: list[tuple[Finding, list[str]]]) -> str:
    check = found[0][0].check
    rows = [f"<tr><td><b>{escape(item.device)}</b></td><td>{escape(names(objects, 12))}</td><td>{escape(item.text)}"
            + "".join(f"<br><code>{escape(str(one))}</code>" for one in item.evidence[:_EVIDENCE])
            + (f"<br>and {len(item.evidence) - _EVIDENCE:,} more: --json" if len(item.evidence) > _EVIDENCE else "")
            + "</td></tr>"
            for item, objects in found]
    head = "<tr><th>switch</th><th>where</th><th>finding and evidence</th></tr>"
    return (f'<section class="{severity.word}" id="{check.id}-{severity.word}">'
            f"<h2>{check.id} {escape(check.title)}</h2>"
            f"<p>{escape(check.consequence)}</p><p><b>Remedy:</b> {escape(check.remedy)} "
            f"<small>({escape(check.source)})</small></p>"
            f"<table>{head}{''.join(rows)}</table></section>")


def as_markdown(verdict: Verdict) -> str:
    """A table per severity, short enough for a comment."""
    lines = ["# fabric validate", "", _cell(summary(verdict)), ""]
    lines += [f"Paths: {_cell(verdict.paths)}", ""] if verdict.paths else []
    lines += ["## Changes", "", *(f"- {_cell(line)}" for line in verdict.changes), ""] if verdict.changes else []
    for severity, word in ((Severity.ERROR, "Errors"), (Severity.WARN, "Warnings"), (Severity.INFO, "Notes")):
        found = [item for item in grouped(verdict.findings) if item[0].severity is severity]
        if not found:
            continue
        lines += [f"## {word}", "", "| check | switch | where | finding | remedy |", "|---|---|---|---|---|"]
        lines += [f"| {item.check.id} {_cell(item.check.title)} | {_cell(item.device)} | {_cell(names(objects))} | "
                  f"{_cell(item.text)}{f' (`{_cell(str(item.place))}`)' if item.place else ''} | "
                  f"{_cell(item.check.remedy)} |" for item, objects in found]
        lines.append("")
    lines += [f"Suppressed: {item.check.id} {_cell(item.device)} {_cell(item.object)}: {_cell(rule.reason)} (until "
              f"{rule.expires})" for item, rule in verdict.suppressed]
    lines += [f"Fixed: {item.check.id} {_cell(item.device)} {_cell(item.object)}" for item in verdict.fixed]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return escape(text, quote=False).replace("|", "\\|").replace("\n", " ")
