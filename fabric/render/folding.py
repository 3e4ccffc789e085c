"""Text of fixed width for terminals: lines of cells folded without loss, and tables whose headings and cells wrap.

Cells of a line are separated by two blanks or more. Prose has none: it is folded where a terminal shows it, and
whole in a pipe or a file, where lines are searched.
"""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

_CELL: Final = re.compile(r"(?<=\S) {2,}(?=\S)")
_COMMAND: Final = "$ "
"""A line with a command for a shell: it is copied, so it is never folded."""
_HANG: Final = 4
_BETWEEN: Final = 2


def terminal_width() -> int:
    """Columns: those of COLUMNS, else of the terminal, else 80."""
    return shutil.get_terminal_size((80, 24)).columns


def folded(text: str, width: int, *, prose: bool = False) -> str:
    """Every line of cells within `width` columns, where its words allow it; lines of prose too where asked.

    The last cell takes several lines; it begins on the next one where it would begin in the right half.
    """
    return "".join(f"{row}\n" for line in text.splitlines() for row in _rows(line, width, prose=prose))


def _rows(line: str, width: int, *, prose: bool = False) -> list[str]:
    gaps = list(_CELL.finditer(line))
    if len(line) <= width or line.lstrip().startswith(_COMMAND):
        return [line]
    lead = len(line) - len(line.lstrip())
    if not gaps:
        return _prose(line, lead, width) if prose else [line]
    start = gaps[-1].end()
    longest = max(map(len, line[start:].split()))
    if start <= width // 2 and (start + longest <= width or lead + _HANG + longest > width):
        head, hang = line[:start], " " * start
    else:
        head, hang = "", " " * (lead + _HANG)
    rows = textwrap.wrap(line[start:], max(1, width - len(hang)), break_long_words=False, break_on_hyphens=False)
    above = [] if head else _rows(line[: gaps[-1].start()], width)
    return above + [(head if head and not number else hang) + row for number, row in enumerate(rows)]


def _prose(line: str, lead: int, width: int) -> list[str]:
    """A line of words, with the following ones indented deeper."""
    return textwrap.wrap(
        line.lstrip(),
        max(width, lead + _HANG + 1),
        initial_indent=line[:lead],
        subsequent_indent=" " * (lead + _HANG),
        break_long_words=False,
        break_on_hyphens=False,
    )


def columns(titles: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """A table: each column as wide as its longest cell; where that is too wide, the widest ones wrap at blanks."""
    table = [list(map(str, row)) for row in (titles, *rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    least = [
        max(len(word) for cell in column for word in (cell.split() or [""])) for column in zip(*table, strict=True)
    ]
    room = width - _BETWEEN * (len(widths) - 1)
    while sum(widths) > room:
        wide = [number for number in range(len(widths)) if widths[number] > least[number]]
        if not wide:
            break
        widths[max(wide, key=lambda number: widths[number])] -= 1
    return [line for row in table for line in _table_row(row, widths)]


def _table_row(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    cells = [
        textwrap.wrap(cell, size, break_long_words=False, break_on_hyphens=False) or [""]
        for cell, size in zip(row, widths, strict=True)
    ]
    return [
        (" " * _BETWEEN).join(part.ljust(size) for part, size in zip(parts, widths, strict=True)).rstrip()
        for parts in zip_longest(*cells, fillvalue="")
    ]
