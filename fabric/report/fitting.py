"""Tables in narrow terminals: whole columns are left out and named, so that no name or number is cut."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from rich.cells import cell_len
from rich.table import Column, Table
from rich.text import Text

WRAPPED: Final = 16
"""A column of words may shrink to this width; its cells then take several lines."""
_BETWEEN: Final = 3
"""Blanks between columns (rich, SIMPLE_HEAD), and at both edges together."""


def fit(grid: Table, width: int, keep: Collection[str] = ()) -> list[str]:
    """Leave out columns until the table fits, numbers from the right first.

    Parameters
    ----------
    grid : Table          built; changed where it is too wide
    width : int           of the terminal, characters
    keep : headings       never left out; nor is the first column, which says what a row is about

    Returns: the headings that were left out.
    """
    columns = list(grid.columns)
    wanted = {id(column): _least_width(column, first=number == 0) for number, column in enumerate(columns)}
    # Numbers before words, the rightmost first: the last column of words is often the reason.
    order = [*(column for column in reversed(columns[1:]) if column.justify == "right"),
             *(column for column in reversed(columns[1:]) if column.justify != "right")]
    left_out: list[Column] = []
    for column in order:
        if sum(wanted[id(it)] + _BETWEEN for it in columns) + _BETWEEN <= width:
            break
        if _heading(column) not in keep:
            columns.remove(column)
            left_out.append(column)
    if left_out:
        grid.columns = [replace(column, _index=number) for number, column in enumerate(columns)]
    for column, old in zip(grid.columns, columns, strict=True):
        column.min_width = wanted[id(old)]
        column.overflow = "fold"
    return [_heading(column) for column in reversed(left_out)]


def note(left_out: Collection[str], more: str) -> Text:
    """What to say below a table without these columns; `more` says where they are."""
    return Text(f"left out for want of width: {', '.join(left_out)}; {more}", style="dim")


def _heading(column: Column) -> str:
    return column.header.plain if isinstance(column.header, Text) else str(column.header)


def _least_width(column: Column, *, first: bool) -> int:
    """Of the longest cell where it may not be broken, else of its longest word; headings break between words."""
    texts = [cell.plain if isinstance(cell, Text) else Text.from_markup(str(cell)).plain for cell in column.cells]
    heading = max((cell_len(word) for word in _heading(column).split()), default=0)
    whole = max(map(cell_len, texts), default=0)
    if first or column.justify == "right" or column.no_wrap:
        return max(heading, whole)
    return max(heading, min(whole, WRAPPED))
