"""A Document for programs: every number raw, every table a list of objects keyed by column, no text to parse.

Charts and maps are drawings of what the run directory holds in full, so they are left out; their data is in
timeseries.parquet and events.parquet.
"""

from __future__ import annotations

from typing import Any

from fabric.report.model import Block, Branch, Document, Fact, Facts, Markdown, Prose, Table, Tree


def to_json(document: Document) -> dict[str, Any]:
    """A document as what json.dumps takes: title, status, verdict, reasons, and one object per section."""
    return {
        "title": document.title,
        "subtitle": document.subtitle,
        "status": document.status.value,
        "verdict": document.verdict,
        "reasons": [reason.text for reason in document.reasons],
        **{section.key: _section(section.blocks) for section in document.sections},
    }


def _section(blocks: tuple[Block, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for block in blocks:
        match block:
            case Facts(facts):
                found |= _facts(facts)
            case Prose(text, _) | Markdown(text):
                found.setdefault("text", []).append(text)
            case Table():
                keys = [column.key for column in block.columns]
                found[block.key] = [dict(zip(keys, row, strict=True)) for row in block.rows]
            case Tree():
                found.setdefault(block.key, []).append(_branch(block.root))
            case _:
                pass
    return found


def _facts(facts: tuple[Fact, ...]) -> dict[str, Any]:
    return {fact.key: fact.value for fact in facts}


def _branch(branch: Branch) -> dict[str, Any]:
    return {"label": branch.label, **_facts(branch.facts), "children": [_branch(child) for child in branch.children]}
