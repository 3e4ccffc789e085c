"""Tables in narrow terminals: whole columns are left out and named, so that no name or number is cut."""

from __future__ import annotations

from collections.abc import Collection, Sequence
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
    keep : headings       never left out, and neither is the first column, which names the row

    Returns: the headings that were left out.
    """
    columns = list(grid.columns)
    wanted = {id(column): _least_width(column, first=number == 0) for number, column in enumerate(columns)}
    # Numbers before words, the rightmost first: the last column of words is often the reason.
    order = [
        *(column for column in reversed(columns[1:]) if column.justify == "right"),
        *(column for column in reversed(columns[1:]) if column.justify != "right"),
    ]
    left_out: list[Column] = []
    for column in order:
        if sum(wanted[id(it)] + _BETWEEN for it in columns) + _BETWEEN <= width:
            break
        if _heading(column) not in keep:
            columns.remove(column)
            left_out.append(column)
    least = [wanted[id(column)] for column in columns]
    if left_out:
        grid.columns = [replace(column, _index=number) for number, column in enumerate(columns)]
    whole = [max(low, _whole_width(column)) for low, column in zip(least, grid.columns, strict=True)]
    spare = width - _BETWEEN * (len(whole) + 1)
    for column, low in zip(grid.columns, least, strict=True):
        column.min_width = low
        column.overflow = "fold"
    if sum(whole) > spare >= sum(least):  # rich would narrow the widest first, below what their cells need
        for column, size in zip(grid.columns, _narrowed(least, whole, spare), strict=True):
            column.width = size
    return [_heading(column) for column in reversed(left_out)]


def _narrowed(least: Sequence[int], whole: Sequence[int], spare: int) -> list[int]:
    """Widths that fit: the least ones, and what is left goes to the columns from the left, up to what they need."""
    left = spare - sum(least)
    found = []
    for low, size in zip(least, whole, strict=True):
        more = min(size - low, left)
        found.append(low + more)
        left -= more
    return found


def note(left_out: Collection[str], more: str) -> Text:
    """The note below a table without these columns; `more`: where they are shown."""
    return Text(f"left out for lack of width: {', '.join(left_out)}; {more}", style="dim")


def _heading(column: Column) -> str:
    return column.header.plain if isinstance(column.header, Text) else str(column.header)


def _whole_width(column: Column) -> int:
    """Of the longest cell and of the whole heading."""
    texts = [cell.plain if isinstance(cell, Text) else str(cell) for cell in column.cells]
    return max(map(cell_len, [_heading(column), *texts]))


def _least_width(column: Column, *, first: bool) -> int:
    """Of the longest cell where it may not be broken, else of its longest word; headings break between words."""
    texts = [cell.plain if isinstance(cell, Text) else str(cell) for cell in column.cells]
    heading = max((cell_len(word) for word in _heading(column).split()), default=0)
    whole = max(map(cell_len, texts), default=0)
    if first or column.justify == "right" or column.no_wrap:
        return max(heading, whole)
    return max(heading, min(whole, WRAPPED))
