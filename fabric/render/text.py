"""A Document for a terminal: headings, tables and trees by rich; charts and maps are left to the page.

Colours only repeat the words, so nothing is lost in a pipe or a log file.
"""

from __future__ import annotations

from typing import Final, TextIO

from rich import box
from rich.console import RenderableType
from rich.markdown import Markdown as RichMarkdown
from rich.table import Table as RichTable
from rich.text import Text
from rich.tree import Tree as RichTree

from fabric.render.console import PlainConsole
from fabric.render.document import (
    Block,
    Branch,
    Document,
    Facts,
    Markdown,
    Prose,
    Status,
    Table,
    Tree,
    Unit,
    Value,
    show,
)
from fabric.render.fitting import fit, note
from fabric.visible import visible

STYLES: Final = {Status.GOOD: "green", Status.WARNING: "yellow", Status.BAD: "bold red", Status.NEUTRAL: ""}
PIPE_WIDTH: Final = 160
"""Columns where the output is not a terminal: wide enough that no name is cut."""
MAX_ROWS: Final = 40
"""Rows of a table that are shown; `--json` has them all."""
MAX_BRANCHES: Final = 12
"""Children shown under one node of a tree; the rest are counted. `--json` has them all."""


def console_for(stream: TextIO) -> PlainConsole:
    """A console that writes to `stream`, wide and plain where it is no terminal."""
    return PlainConsole(stream, PIPE_WIDTH)


def print_document(document: Document, console: PlainConsole, max_rows: int = MAX_ROWS) -> None:
    """Write a whole document, at most so many rows of each table."""
    console.print(Text.assemble((visible(document.title), "bold"), "  ", (visible(document.subtitle), "dim")))
    console.print(_styled(document.verdict, document.status))
    for reason in document.reasons:
        console.print(Text("  ").append_text(_styled(f"- {reason.text}", reason.status)))
    if document.answer is not None:
        console.print()
        console.print(
            Text.assemble(("First root cause: ", "bold"), _styled(document.answer.text, document.answer.status))
        )
        for fact in document.answer.facts:
            console.print(Text.assemble("  ", _dim(f"{fact.title}:"), " ", _cell(fact.value, fact.unit, fact.status)))
    for section in document.sections:
        rendered = [part for block in section.blocks for part in _render(block, max_rows, console.width)]
        if rendered:
            console.print()
            console.print(Text(visible(section.title), "bold"))
            for part in rendered:
                console.print(part)


def _styled(text: str, status: Status) -> Text:
    return Text(visible(text, lines=True), STYLES[status])


def _dim(text: str) -> Text:
    return Text(visible(text, lines=True), "dim")


def _render(block: Block, max_rows: int, width: int) -> list[RenderableType]:
    match block:
        case Prose(text, status):
            return [_styled(text, status)]
        case Facts(facts):
            return [
                Text("  ").join(
                    Text.assemble(_dim(fact.title), " ", _cell(fact.value, fact.unit, fact.status)) for fact in facts
                )
            ]
        case Markdown(text):
            return [RichMarkdown(visible(text, lines=True), hyperlinks=False)]
        case Table():
            return _table(block, max_rows, width)
        case Tree():
            return [
                *([_dim(block.title)] if block.title else []),
                _tree(block.root),
                *([_dim(block.note)] if block.note else []),
            ]
        case _:
            return []


def _table(block: Table, max_rows: int, width: int) -> list[RenderableType]:
    if not block.rows:
        return []
    table = RichTable(
        box=box.SIMPLE_HEAD,
        title=visible(block.title) or None,
        title_justify="left",
        title_style="italic",
        pad_edge=False,
    )
    for column in block.columns:
        table.add_column(
            visible(column.title), justify="left" if column.unit is Unit.TEXT else "right", overflow="fold"
        )
    for number, row in enumerate(block.rows[:max_rows]):
        status = block.statuses[number] if block.statuses else Status.NEUTRAL
        cells = (_cell(value, column.unit) for value, column in zip(row, block.columns, strict=True))
        table.add_row(*cells, style=STYLES[status] or None)
    left_out = fit(table, width)
    rest = len(block.rows) - max_rows
    notes = [*([f"{rest:,} more rows: --json"] if rest > 0 else []), *([block.note] if block.note else [])]
    narrow = [note(left_out, "widen the terminal, or --json")] if left_out else []
    return [table, *narrow, *map(_dim, notes)]


def _cell(value: Value, unit: Unit, status: Status = Status.NEUTRAL) -> Text:
    return Text(visible(show(value, unit)), STYLES[status])


def _label(branch: Branch) -> Text:
    facts = (_dim(f"{fact.title} {show(fact.value, fact.unit)}") for fact in branch.facts)
    return Text("  ").join([_styled(branch.label, branch.status), *facts])


def _tree(root: Branch) -> RichTree:
    tree = RichTree(_label(root), guide_style="dim")
    _grow(tree, root)
    return tree


def _grow(tree: RichTree, branch: Branch) -> None:
    for child in branch.children[:MAX_BRANCHES]:
        _grow(tree.add(_label(child)), child)
    rest = len(branch.children) - MAX_BRANCHES
    if rest > 0:
        tree.add(_dim(f"and {rest} more"))
