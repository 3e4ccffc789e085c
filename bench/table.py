"""One table, rendered as text for a terminal and as Markdown for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """Cells are text; the first column is a name, the others are right-aligned."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def text(self) -> str:
        """For a terminal."""
        lines = [list(self.columns), *map(list, self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.columns))]
        shown = [
            "  ".join(
                cell.ljust(width) if number == 0 else cell.rjust(width)
                for number, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        rule = "-" * max(map(len, shown))
        return "\n".join([self.title, rule, shown[0], rule, *shown[1:], *([self.note] if self.note else []), ""])

    def markdown(self) -> str:
        """For a page."""
        head = ["| " + " | ".join(self.columns) + " |", "|---|" + "---:|" * (len(self.columns) - 1)]
        body = ["| " + " | ".join(row) + " |" for row in self.rows]
        return "\n".join([f"**{self.title}**", "", *head, *body, *(["", self.note] if self.note else [])])


def millions(value: float) -> str:
    """'7.42'."""
    return f"{value / 1e6:.2f}"


def seconds(value: float) -> str:
    """Three significant digits: '0.0512 s', '1.25 s', '17.3 s'."""
    return f"{value:.3g} s"


def megabytes(value: float) -> str:
    """'431 MB' (decimal)."""
    return f"{value / 1e6:.0f} MB"


def count(value: int) -> str:
    """'7,780,728'."""
    return f"{value:,}"
