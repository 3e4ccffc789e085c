"""A Document for a terminal: headings, tables and trees by rich; charts and maps are left to the page.

Colours only say again what the words say, so nothing is lost in a pipe or a log file.
"""

from __future__ import annotations

from typing import Final, TextIO

from rich import box
from rich.console import Console, RenderableType
from rich.markdown import Markdown as RichMarkdown
from rich.markup import escape
from rich.table import Table as RichTable
from rich.tree import Tree as RichTree

from fabric.report.fitting import fit, note
from fabric.report.model import Block, Branch, Document, Facts, Markdown, Prose, Status, Table, Tree, Unit, show

STYLES: Final = {Status.GOOD: "green", Status.WARNING: "yellow", Status.BAD: "bold red", Status.NEUTRAL: ""}
PIPE_WIDTH: Final = 160
"""Columns where the output is not a terminal: wide enough that no name is cut."""
MAX_ROWS: Final = 40
"""Rows of a table that are shown; `--json` has them all."""
MAX_BRANCHES: Final = 12
"""Children shown under one node of a tree; the rest are counted. `--json` has them all."""


def console_for(stream: TextIO) -> Console:
    """A console that writes to `stream`, wide and plain where it is no terminal."""
    return Console(file=stream, highlight=False, width=None if stream.isatty() else PIPE_WIDTH)


def print_document(document: Document, console: Console, max_rows: int = MAX_ROWS) -> None:
    """Write a whole document, at most so many rows of each table."""
    console.print(f"[bold]{escape(document.title)}[/]  [dim]{escape(document.subtitle)}[/]")
    console.print(_styled(document.verdict, document.status))
    for reason in document.reasons:
        console.print(f"  {_styled(f'- {reason.text}', reason.status)}")
    for section in document.sections:
        rendered = [part for block in section.blocks for part in _render(block, max_rows, console.width)]
        if rendered:
            console.print()
            console.print(f"[bold]{escape(section.title)}[/]")
            for part in rendered:
                console.print(part)


def _styled(text: str, status: Status) -> str:
    style = STYLES[status]
    return f"[{style}]{escape(text)}[/]" if style else escape(text)


def _render(block: Block, max_rows: int, width: int) -> list[RenderableType]:
    match block:
        case Prose(text, status):
            return [_styled(text, status)]
        case Facts(facts):
            return ["  ".join(f"[dim]{escape(fact.title)}[/] {_styled(show(fact.value, fact.unit), fact.status)}"
                              for fact in facts)]
        case Markdown(text):
            return [RichMarkdown(text)]
        case Table():
            return _table(block, max_rows, width)
        case Tree():
            return [*([f"[dim]{escape(block.title)}[/]"] if block.title else []), _tree(block.root),
                    *([f"[dim]{escape(block.note)}[/]"] if block.note else [])]
        case _:
            return []


def _table(block: Table, max_rows: int, width: int) -> list[RenderableType]:
    if not block.rows:
        return []
    table = RichTable(box=box.SIMPLE_HEAD, title=escape(block.title) or None, title_justify="left",
                      title_style="italic", pad_edge=False)
    for column in block.columns:
        table.add_column(column.title, justify="left" if column.unit is Unit.TEXT else "right", overflow="fold")
    for number, row in enumerate(block.rows[:max_rows]):
        status = block.statuses[number] if block.statuses else Status.NEUTRAL
        cells = (escape(show(value, column.unit)) for value, column in zip(row, block.columns, strict=True))
        table.add_row(*cells, style=STYLES[status] or None)
    left_out = fit(table, width)
    rest = len(block.rows) - max_rows
    notes = [*([f"{rest:,} more rows: --json"] if rest > 0 else []), *([block.note] if block.note else [])]
    narrow = [note(left_out, "widen the terminal, or --json")] if left_out else []
    return [table, *narrow, *(f"[dim]{escape(text)}[/]" for text in notes)]


def _label(branch: Branch) -> str:
    facts = "  ".join(f"[dim]{escape(fact.title)} {escape(show(fact.value, fact.unit))}[/]" for fact in branch.facts)
    return f"{_styled(branch.label, branch.status)}{'  ' if facts else ''}{facts}"


def _tree(root: Branch) -> RichTree:
    tree = RichTree(_label(root), guide_style="dim")
    _grow(tree, root)
    return tree


def _grow(tree: RichTree, branch: Branch) -> None:
    for child in branch.children[:MAX_BRANCHES]:
        _grow(tree.add(_label(child)), child)
    rest = len(branch.children) - MAX_BRANCHES
    if rest > 0:
        tree.add(f"[dim]and {rest} more[/]")
