"""Differences between two CONFIG_DBs as edits of rows and fields, and a CONFIG_DB with some of the edits applied.

Values are compared by meaning: '[TABLE|x]' is 'x', and a list is its comma-separated text.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

Tables = dict[str, dict[str, Any]]
"""A CONFIG_DB: table to key to row."""
Op = Literal["add", "remove", "replace"]

_PRIORITIES: Final = frozenset("01234567")
_DIGITS: Final = 20
"""Of the largest unsigned number of 64 bits."""
_REFERENCE: Final = re.compile(r"\[[A-Z_]+\|([^\]]*)\]")
PORT_TABLES: Final = (
    "PORT",
    "PORT_QOS_MAP",
    "QUEUE",
    "BUFFER_PG",
    "BUFFER_QUEUE",
    "BUFFER_PORT_INGRESS_PROFILE_LIST",
    "BUFFER_PORT_EGRESS_PROFILE_LIST",
    "PFC_WD",
)
"""Tables whose key begins with one or more ports."""
PRIORITY_LISTS: Final = ("pfc_enable", "pfcwd_sw_enable")


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a CONFIG_DB."""

    table: str
    key: str
    field: str
    """'' where the whole row comes or goes."""
    op: Op
    old: Any
    new: Any
    """Text of a field, or a row; None where there is none."""

    @property
    def path(self) -> str:
        """The path of RFC 6901: '~' and '/' are escaped."""
        words = (self.table, self.key, self.field) if self.field else (self.table, self.key)
        return "".join("/" + word.replace("~", "~0").replace("/", "~1") for word in words)

    @property
    def ports(self) -> tuple[str, ...]:
        """The ports that it is about."""
        if self.table == "CABLE_LENGTH":
            return (self.field,) if self.field else ()
        return tuple(self.key.partition("|")[0].split(",")) if self.table in PORT_TABLES else ()

    def __str__(self) -> str:
        name = "|".join(filter(None, (self.table, self.key, self.field)))
        if self.field and self.op == "replace":
            return f"{name}: {self.old or 'empty'} → {self.new or 'empty'}"
        return f"{name}: {self.op}" + (f" {self.new}" if self.field and self.op == "add" else "")


def well_formed(value: Any) -> Tables:  # noqa: ANN401  what json.loads() returns
    """The tables and rows of a CONFIG_DB. Other forms were refused when it was read (sonic/shape.py)."""
    return {
        table: {key: row for key, row in rows.items() if isinstance(row, dict)}
        for table, rows in value.items()
        if isinstance(rows, dict)
    }


def edits_between(old: Tables, new: Tables) -> tuple[Edit, ...]:
    """Every difference, in the order of tables, keys and fields."""
    return tuple(_edits(old, new))


def _edits(old: Tables, new: Tables) -> Iterator[Edit]:
    for table in sorted(old.keys() | new.keys()):
        rows_old, rows_new = old.get(table, {}), new.get(table, {})
        for key in sorted(rows_old.keys() | rows_new.keys()):
            was, now = rows_old.get(key), rows_new.get(key)
            if was is None or now is None:
                yield Edit(table, key, "", "remove" if now is None else "add", was, now)
                continue
            for field in sorted(was.keys() | now.keys()):
                before, after = (meaning(it[field]) if field in it else None for it in (was, now))
                if before != after:
                    op: Op = "add" if before is None else "remove" if after is None else "replace"
                    yield Edit(table, key, str(field), op, before, after)


def meaning(value: Any) -> str:  # noqa: ANN401
    """A value as the switch takes it: references without brackets, lists as comma-separated text."""
    if isinstance(value, list):
        return ",".join(map(meaning, value))
    return _REFERENCE.sub(r"\1", str(value))


def number_of(value: object) -> int:
    """A whole number as a CONFIG_DB has it; 0 for anything else."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else 0


def priorities(text: str | None) -> frozenset[int]:
    """The priorities of 'pfc_enable'; none where it is absent or holds something else."""
    return frozenset(int(part) for part in (text or "").split(",") if part.strip() in _PRIORITIES)


def in_two_steps(edits: Iterable[Edit]) -> Iterator[Edit]:
    """Split each change of a list of priorities that adds some and removes others: first all of both, then the rest."""
    for edit in edits:
        before, after = priorities(edit.old if edit.field else None), priorities(edit.new if edit.field else None)
        if edit.field in PRIORITY_LISTS and edit.op == "replace" and before - after and after - before:
            both = ",".join(map(str, sorted(before | after)))
            yield Edit(edit.table, edit.key, edit.field, "replace", edit.old, both)
            yield Edit(edit.table, edit.key, edit.field, "replace", both, edit.new)
        else:
            yield edit


def apply(tables: Tables, edits: Iterable[Edit]) -> Tables:
    """A copy of a CONFIG_DB with the edits made."""
    found = copy.deepcopy(tables)
    for edit in edits:
        rows = found.setdefault(edit.table, {})
        if not edit.field:
            if edit.new is None:
                rows.pop(edit.key, None)
            else:
                rows[edit.key] = copy.deepcopy(edit.new)
        elif edit.new is None:
            rows[edit.key].pop(edit.field, None)
        else:
            rows.setdefault(edit.key, {})[edit.field] = edit.new
        if not rows:
            found.pop(edit.table)
    return found
