"""What pages about root causes share: the table, the status of a rank, and how many more roots there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fabric.render.document import Column, Status, Table, Unit
from fabric.units import count

STATUS_OF_RANK: Final = (Status.BAD, Status.WARNING, Status.NEUTRAL)
"""By Root.rank."""
_COLUMNS: Final = (
    Column("kind", "Kind"),
    Column("place", "Where"),
    Column("members", "With"),
    Column("began_ns", "From", Unit.NS),
    Column("ended_ns", "To", Unit.NS),
    Column("confidence", "Sure", Unit.RATIO),
)
Row = tuple[str, str, str, int, int, float | None]
"""Kind, place, other devices, begin and end in ns, confidence."""


def roots_table(rows: Sequence[Row], ranks: Sequence[int], note: str, parts: Sequence[Mapping[str, Any]]) -> Table:
    """The table of roots, what to do first at the top.

    Parameters
    ----------
    ranks : of each row, as Root.rank
    note : what a reader should know of the table
    parts : of each row, fields of --json beyond its cells
    """
    statuses = tuple(STATUS_OF_RANK[rank] for rank in ranks)
    return Table("roots", "What to look at first", _COLUMNS, tuple(rows), note, statuses, tuple(parts))


def and_more(number: int) -> str:
    """', and 2 more roots' of three; '' of one."""
    return f", and {count(number - 1, 'more root')}" if number > 1 else ""
