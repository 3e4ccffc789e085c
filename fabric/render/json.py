"""A Document for programs: every number raw, every table a list of objects keyed by column, no text to parse.

Charts and maps are left out: they draw data that timeseries.parquet and events.parquet hold in full.
"""

from __future__ import annotations

from typing import Any

from fabric.render.document import Answer, Block, Branch, Document, Fact, Facts, Markdown, Prose, Table, Tree


def to_json(document: Document) -> dict[str, Any]:
    """A document as what json.dumps takes: title, status, verdict, reasons, and one object per section."""
    return {
        "title": document.title,
        "subtitle": document.subtitle,
        "status": document.status.value,
        "verdict": document.verdict,
        "reasons": [reason.text for reason in document.reasons],
        **({"first_root": _answer(document.answer)} if document.answer is not None else {}),
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
                parts = block.parts or ({},) * len(block.rows)
                rows = zip(block.rows, parts, strict=True)
                found[block.key] = [{**dict(zip(keys, row, strict=True)), **more} for row, more in rows]
            case Tree():
                found.setdefault(block.key, []).append(_branch(block.root))
            case _:
                pass
    return found


def _answer(answer: Answer) -> dict[str, Any] | None:
    """The first root cause; None where there is none."""
    return {"text": answer.text, **_facts(answer.facts)} if answer.facts else None


def _facts(facts: tuple[Fact, ...]) -> dict[str, Any]:
    return {fact.key: fact.value for fact in facts}


def _branch(branch: Branch) -> dict[str, Any]:
    return {"label": branch.label, **_facts(branch.facts), "children": [_branch(child) for child in branch.children]}
