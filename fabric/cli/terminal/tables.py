"""Tables for people on standard output."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table for people; a column that begins with '>' is aligned to the right."""
    from rich.table import Table  # noqa: PLC0415

    from fabric.render.console import PlainConsole  # noqa: PLC0415

    table = Table(title=title, title_justify="left", box=None, pad_edge=False, title_style="bold", header_style="dim")
    for column in columns:
        table.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(str, row))
    console = PlainConsole(sys.stdout)
    console.width = max(console.width, 150)
    console.print(table)
