"""Rows of a CONFIG_DB, cleaned: values of the right type and range, references without brackets, keys expanded.

Whatever is wrong with a row becomes a Defect of the device, whatever is unknown becomes an Unread; the readers of
`sonic.py` then see only what is right. Nothing here knows what the fields mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final

from fabric.configs.model import Defect, Device, Unread, Where
from fabric.configs.sonic_schema import FREE_FIELDS, IGNORED, SCHEMA, Rule

_BRACKETS: Final = re.compile(r"\[[A-Z0-9_]+\|([^\]]*)\]")
_INTEGER: Final = re.compile(r"-?[0-9]{1,19}")
_INDEX: Final = re.compile(r"([0-9]{1,3})(?:-([0-9]{1,3}))?")
_PRIORITIES: Final = re.compile(r"(?:[0-7](?:,[0-7])*)?")
_NULL: Final = "NULL"
_CLOSE: Final = 0.88
MAX_DEFECTS: Final = 10_000
"""Of one kind of one file; a file with more is broken as a whole and says so with these."""

Value = int | str | tuple[str, ...]


@lru_cache(maxsize=1000)
def meant(word: str, known: frozenset[str]) -> str:
    """' (did you mean ...?)' for a word that is one slip away from a known one."""
    close = get_close_matches(word[:60], known, n=1, cutoff=_CLOSE)
    return f" (did you mean '{close[0]}'?)" if close else ""


class Rows:
    """The tables of one file."""

    def __init__(self, data: dict[str, Any], device: Device) -> None:
        self._device = device
        self._tables: dict[str, dict[str, Any]] = {}
        self._where: dict[tuple[str, str], Where] = {}
        for name, table in data.items():
            # Dumps of the database itself write TABLE|KEY at the top (db_migrator's files do).
            head, bar, key = name.partition("|")
            rows = {key: table} if bar else table
            if not isinstance(rows, dict):
                self.defect("R5", (name,), name, f"is {_kind(rows)} where a table of keys is needed")
                continue
            self._tables.setdefault(head, {}).update(rows)
            if bar:
                self._where[head, key] = (name,)
        self.brackets: dict[str, tuple[Where, str, int]] = {}
        """Table -> the first reference in brackets, and how many there are."""

    def __contains__(self, table: str) -> bool:
        return table in self._tables

    @property
    def names(self) -> list[str]:
        """Every table of the file."""
        return list(self._tables)

    def keys(self, table: str) -> set[str]:
        """Keys of a table, as written."""
        return set(self._tables.get(table, ()))

    def where(self, table: str, key: str) -> Where:
        """Path of a row in the file."""
        return self._where.get((table, key), (table, key))

    def defect(self, check: str, where: Where, name: str, text: str) -> None:
        """Remember something wrong."""
        if len(self._device.defects) < MAX_DEFECTS:
            self._device.defects.append(Defect(check, where, name, text))

    def unread(self, where: Where, what: str) -> None:
        """Remember something not understood."""
        if len(self._device.unread) < MAX_DEFECTS:
            self._device.unread.append(Unread(self._device.place(where), what))

    def raw(self, table: str) -> Iterator[tuple[str, Where, dict[str, Any]]]:
        """Every row whose value is a mapping, not cleaned: for tables with free field names."""
        for key, fields in self._tables.get(table, {}).items():
            where = self.where(table, key)
            if isinstance(fields, dict):
                yield key, where, fields
            else:
                self.defect("R5", where, f"{table}|{key}", f"is {_kind(fields)} where fields are needed")

    def rows(self, table: str) -> Iterator[tuple[str, Where, dict[str, Value]]]:
        """Every row with its clean fields."""
        rules, ignored = SCHEMA[table], IGNORED.get(table, frozenset())
        free = table in FREE_FIELDS
        for key, where, fields in self.raw(table):
            clean: dict[str, Value] = {}
            for name, value in fields.items():
                field = name.removesuffix("@")
                rule = rules.get(field)
                if rule is not None:
                    found = self.value(rule, value, (*where, name), f"{table}|{key}", field)
                    if found is not None:
                        clean[field] = found
                elif not free and field not in ignored and field != _NULL:
                    self.unread((*where, name), f"field '{name[:60]}' of {table}{meant(field, frozenset(rules))}")
            yield key, where, clean

    def value(self, rule: Rule, value: Any, where: Where, name: str, field: str) -> Value | None:  # noqa: ANN401
        """One clean value, or None and a defect."""
        if isinstance(value, list) and rule.kind in {"list", "refs", "priorities"}:
            value = ",".join(str(item) for item in value)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value) if abs(value) < 10**19 else "9" * 20
        if not isinstance(value, str):
            self.defect("R5", where, name, f"{field} is {_kind(value)} where text is needed")
            return None
        text = value.strip()
        bad = ""
        if rule.kind == "int":
            if not _INTEGER.fullmatch(text):
                bad = "no whole number"
            elif not rule.low <= int(text) <= rule.high:
                bad = f"outside {rule.low}..{rule.high}"
            else:
                return int(text)
        elif rule.kind in {"choice", "flag"}:
            found = text.lower() if text.lower() in rule.choices else text
            if found in rule.choices:
                return found
            bad = f"none of {', '.join(rule.choices)}"
        elif rule.kind == "priorities":
            if _PRIORITIES.fullmatch(text.replace(" ", "")):
                return text.replace(" ", "")
            bad = "no list of priorities 0..7"
        elif rule.kind == "text":
            return text
        elif rule.kind == "list":
            return tuple(part.strip() for part in text.split(",") if part.strip())
        else:
            names = [self._plain(part.strip(), where) for part in text.split(",")] if rule.kind == "refs" else [
                self._plain(text, where)]
            for one in names:
                if one != _NULL and one not in self._tables.get(rule.table, {}):
                    self.defect("R1", where, name, f"{field} names {rule.table} '{one[:60]}', which is not in the file")
            return tuple(names) if rule.kind == "refs" else names[0]
        self.defect("R5", where, name, f"{field} '{text[:40]}' is {bad}")
        return None

    def _plain(self, text: str, where: Where) -> str:
        match = _BRACKETS.fullmatch(text)
        if match is None:
            return text
        first, shown, count = self.brackets.get(where[0], (where, text, 0))
        self.brackets[where[0]] = (first, shown, count + 1)
        return match[1]

    def port_index(self, table: str, key: str, where: Where, high: int) -> Iterator[tuple[str, int]]:
        """'Ethernet0,Ethernet4|3-4' -> both ports, indices 3 and 4. VoQ keys end in port|index as well."""
        ports, bar, index = key.rpartition("|")
        match = _INDEX.fullmatch(index)
        if not bar or match is None:
            self.defect("R5", where, f"{table}|{key}", f"key '{key[:60]}' is not port|index or port|first-last")
            return
        first, last = int(match[1]), int(match[2] or match[1])
        if first > last or last > high:
            self.defect("R5", where, f"{table}|{key}", f"index {index} is outside 0..{high}")
            return
        for port in self.ports(table, ports.rsplit("|", 1)[-1], where):
            for number in range(first, last + 1):
                yield port, number

    def ports(self, table: str, text: str, where: Where) -> Iterator[str]:
        """The ports of a comma list that the file has; a defect for each it has not."""
        for port in text.split(","):
            if port in self._device.ports:
                yield port
            elif port != "CPU" and "PORT" in self:
                self.defect("R1", where, f"{table}|{text[:60]}", f"port '{port[:40]}' is not in PORT")


def _kind(value: object) -> str:
    if value is None:
        return "null"
    return {bool: "true or false", int: "a number", float: "a fraction", str: "text", list: "a list"}.get(
        type(value), "a mapping")
