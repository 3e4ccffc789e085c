"""A verdict as a page: HTML that loads nothing from elsewhere, and Markdown for a merge request."""

from __future__ import annotations

from html import escape
from typing import Final

from fabric.validate.checks.base import Severity
from fabric.validate.render_text import grouped, names, summary
from fabric.validate.runner import Verdict

_STYLE: Final = """body{font:15px/1.45 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222;
background:#fff}h1{font-size:1.4rem}section{border-left:.35rem solid #888;padding:.3rem 1rem;margin:1rem 0}
.error{border-color:#b00020}.warn{border-color:#c77700}.info{border-color:#3a6ea5}code,pre{font-size:.9em}
pre{background:#f5f5f5;padding:.5rem;overflow-x:auto}dt{font-weight:600}dd{margin:0 0 .4rem 1rem}
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}pre{background:#252525}}"""


def as_html(verdict: Verdict) -> str:
    """One self-contained page: errors first, notes folded away."""
    parts = ["<!doctype html>", '<html lang="en"><head><meta charset="utf-8"><title>fabric validate</title>',
             '<meta name="viewport" content="width=device-width,initial-scale=1">',
             f"<style>{_STYLE}</style></head><body>",
             "<h1>fabric validate</h1>", f"<p>{escape(summary(verdict))}</p>"]
    parts += [f"<p>Paths: {escape(verdict.paths)}</p>"] if verdict.paths else []
    if verdict.changes:
        parts.append("<h2>Changes</h2><pre>" + escape("\n".join(verdict.changes)) + "</pre>")
    for severity in reversed(Severity):
        found = [item for item in grouped(verdict.findings) if item[0].severity is severity]
        folded = severity is Severity.INFO and bool(found)
        if folded:
            parts.append(f"<details><summary>{len(found)} notes</summary>")
        for finding, objects in found:
            evidence = escape("\n".join(map(str, finding.evidence[:6])))
            parts.append(
                f'<section class="{severity.word}"><h2>{finding.check.id} {escape(finding.check.title)}</h2>'
                f"<p><b>{escape(finding.device)}</b> {escape(names(objects, 12))}: {escape(finding.text)}</p>"
                + (f"<pre>{evidence}</pre>" if evidence else "") + "<dl>"
                f"<dt>What happens</dt><dd>{escape(finding.check.consequence)}</dd>"
                f"<dt>Remedy</dt><dd>{escape(finding.check.remedy)}</dd>"
                f"<dt>Source</dt><dd>{escape(finding.check.source)}</dd></dl></section>")
        if folded:
            parts.append("</details>")
    if verdict.fixed:
        rows = [f"<li>{item.check.id} {escape(item.device)} {escape(item.object)}</li>" for item in verdict.fixed]
        parts.append(f"<h2>Fixed</h2><ul>{''.join(rows)}</ul>")
    if verdict.unread:
        parts.append(f"<details><summary>{len(verdict.unread)} places not understood</summary><pre>" + escape(
            "\n".join(f"{item.place}: {item.what}" for item in verdict.unread)) + "</pre></details>")
    return "\n".join([*parts, "</body></html>"]) + "\n"


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
    lines += [f"Fixed: {item.check.id} {_cell(item.device)} {_cell(item.object)}" for item in verdict.fixed]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return escape(text, quote=False).replace("|", "\\|").replace("\n", " ")
