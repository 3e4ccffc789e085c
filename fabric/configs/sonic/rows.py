"""Rows of a CONFIG_DB, cleaned: values of the right type and range, references without brackets, keys expanded.

A row's mistake becomes a Defect of the device. A part that is not known becomes an Unread, and a known field that no
reader asks for becomes unjudged: `Fields` remembers the names it was asked for. Values are literal, as on the switch:
a blank or an invisible character at the end of a value makes it another value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, KeysView
from typing import Any, Final

from fabric.configs.model import Defect, Device, Leaf, Meant, Unread, Where
from fabric.configs.sonic.schema import FREE_FIELDS, IGNORED, SCHEMA, UNJUDGED_EFFECTS, Rule
from fabric.configs.sonic.tables import defect_of, mistyped_tables
from fabric.configs.text.roce_effect import effect_of
from fabric.configs.text.spelling import meant, nearest_to, odd_characters, slip_of

_BRACKETS: Final = re.compile(r"\[[A-Z0-9_]+\|([^\]]*)\]")
_INTEGER: Final = re.compile(r"-?[0-9]{1,19}")
_INDEX: Final = re.compile(r"([0-9]{1,3})(?:-([0-9]{1,3}))?")
_RANGE: Final = re.compile(r"Ethernet\d+-(?:Ethernet)?\d+")
"""Ports as other systems write several."""
_PRIORITIES: Final = re.compile(r"(?:[0-7](?:,[0-7])*)?")
_NULL: Final = "NULL"
MAX_DEFECTS: Final = 10_000
"""Of one kind of one file; a file with more is broken as a whole and says so with these."""

Value = int | str | tuple[str, ...]


class Fields(dict[str, Value]):
    """Clean fields of one row, and the names that a reader asked for."""

    def __init__(self, asked: set[str]) -> None:
        super().__init__()
        self._asked = asked

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401  as dict has it
        """The value of a field."""
        self._asked.add(name)
        return super().get(name, default)

    def unused(self, *names: str) -> None:
        """Count fields that a reader asked for and could not use as not asked for."""
        self._asked.difference_update(names)

    def __getitem__(self, name: str) -> Value:
        self._asked.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self._asked.add(str(name))
        return super().__contains__(name)


class Rows:
    """The tables of one file; the form of those that are read was checked (shape.py)."""

    def __init__(self, data: dict[str, Any], device: Device) -> None:
        self._device = device
        self._tables: dict[str, dict[str, Any]] = {}
        self._where: dict[tuple[str, str], Where] = {}
        self._asked: dict[tuple[str, str], set[str]] = {}
        self._clean: dict[str, list[tuple[str, Where, Fields]]] = {}
        self._unread: dict[str, tuple[Where, list[Leaf]]] = {}
        meant = mistyped_tables(data)
        for name, right in meant.items():
            device.defects.append(defect_of(name, right, data[name]))
            self._where.update({(right, key): (name, key) for key in data[name]})
        for name, table in data.items():
            # Dumps of the database itself write TABLE|KEY at the top (db_migrator's files do).
            head, bar, key = name.partition("|")
            rows = {key: table} if bar else table
            self._tables.setdefault(meant.get(head, head), {}).update(rows if isinstance(rows, dict) else {"": rows})
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

    def keys(self, table: str) -> KeysView[str]:
        """Keys of a table, as written and in the order of the file."""
        return self._tables.get(table, {}).keys()

    def where(self, table: str, key: str) -> Where:
        """Path of a row in the file."""
        return self._where.get((table, key), (table, key))

    def defect(self, check: str, where: Where, name: str, text: str, root: Where = ()) -> None:
        """Remember something wrong."""
        if len(self._device.defects) < MAX_DEFECTS:
            self._device.defects.append(Defect(check, where, name, text, root))

    def unread(self, where: Where, what: str, *leaves: Leaf) -> None:
        """Remember something not understood; parts that are alike are one, with all their values."""
        self._unread.setdefault(what, (where, []))[1].extend(leaves)

    def table_unread(self, table: str, what: str) -> None:
        """Remember a table that is not read, with every value in it."""
        leaves: list[Leaf] = []
        for key, fields in self._tables[table].items():
            if isinstance(fields, dict) and fields:
                leaves += [((table, key, str(name)), _text(value)) for name, value in fields.items()]
            else:
                leaves.append(((table, key) if key else (table,), _text(fields)))
        self.unread((table,), what, *leaves)

    def finish(self) -> None:
        """List in the device what was not understood, and every known field that no reader asked for."""
        device = self._device
        for table, rows in self._tables.items():
            for key in rows:
                odd = odd_characters(key)
                if odd:
                    self.defect("R5", self.where(table, key), f"{table}|{key}"[:120], f"is a key {odd}")
        device.unread += [
            Unread(device.place(where), what, tuple(leaves), effect_of(what, leaves, by_name=True))
            for what, (where, leaves) in self._unread.items()
        ]
        found: dict[str, tuple[Where, list[Leaf], str]] = {}
        for table in self._tables:
            if table not in SCHEMA:
                continue
            known = {*SCHEMA[table], *IGNORED.get(table, ())}
            for key, fields in self._tables[table].items():
                asked = self._asked.get((table, key), set())
                for name, value in fields.items():
                    field = name.removesuffix("@")
                    if field in asked or field == _NULL or not (field in known or table in FREE_FIELDS):
                        continue
                    effect = UNJUDGED_EFFECTS.get((table, field), "")
                    row = found.setdefault(
                        f"field '{field[:60]}' of {table}", ((*self.where(table, key), name), [], effect)
                    )
                    row[1].append(((table, key, field), _text(value)))
        device.unjudged += [
            Unread(device.place(where), what, tuple(leaves), effect) for what, (where, leaves, effect) in found.items()
        ]

    def raw(self, table: str) -> Iterator[tuple[str, Where, dict[str, Any]]]:
        """Every row, not cleaned: for tables with free field names."""
        for key, fields in self._tables.get(table, {}).items():
            yield key, self.where(table, key), fields

    def rows(self, table: str) -> Iterator[tuple[str, Where, Fields]]:
        """Every row with its clean fields; a table that is read twice has its defects once."""
        if table not in self._clean:
            self._clean[table] = list(self._cleaned(table))
        yield from self._clean[table]

    def _cleaned(self, table: str) -> Iterator[tuple[str, Where, Fields]]:
        rules, ignored = SCHEMA[table], IGNORED.get(table, frozenset())
        free = table in FREE_FIELDS
        for key, where, fields in self.raw(table):
            asked = self._asked.setdefault((table, key), set())
            clean = Fields(asked)
            for name, value in fields.items():
                field = name.removesuffix("@")
                rule = rules.get(field)
                if rule is not None:
                    found = self.value(rule, value, (*where, name), f"{table}|{key}", field)
                    if found is not None:
                        clean[field] = found
                    continue
                if field in ignored or field == _NULL:
                    continue
                if self._mistyped(table, key, name, fields):
                    asked.add(field)  # the defect names it
                    continue
                if free and not _stands_for(table, name, fields, 2):
                    continue
                asked.add(field)  # named here, as not understood
                what = f"field '{name[:60]}' of {table}{nearest_to(field, frozenset({*rules, *ignored}))}"
                self.unread((*where, name), what, ((table, key, name), _text(value)))
            yield key, where, clean

    def _mistyped(self, table: str, key: str, name: str, fields: dict[str, Any]) -> bool:
        """Add a defect (R5) for a field that stands for a known one that the row lacks; whether it does."""
        intended = _stands_for(table, name, fields)
        if not intended:
            return False
        where = self.where(table, key)
        text = f"'{name[:60]}' is no field of {table} (did you mean '{intended}'?), so {intended} is not stated"
        root = (*where, intended)
        meant = Meant((table, key, name), (table, key, intended), _text(fields[name]))
        if len(self._device.defects) < MAX_DEFECTS:
            self._device.defects.append(Defect("R5", (*where, name), f"{table}|{key}", text, root, meant=(meant,)))
        return True

    def value(self, rule: Rule, value: Any, where: Where, name: str, field: str) -> Value | None:  # noqa: ANN401
        """One clean value, or None and a defect."""
        if isinstance(value, list) and rule.kind in {"list", "refs", "priorities"}:
            value = ",".join(str(item) for item in value)
        if isinstance(value, int):
            value = str(value) if abs(value) < 10**19 else "9" * 20
        text: str = value
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
        elif rule.kind == "exact":
            if text in rule.choices:
                return text
            bad = f"none of {', '.join(rule.choices)}, as they are written here"
        elif rule.kind == "priorities":
            if _PRIORITIES.fullmatch(text):
                return text
            bad = "no list of priorities 0..7"
        elif rule.kind == "free":
            return text
        elif rule.kind == "text":
            bad = odd_characters(text)
            if not bad:
                return text
        elif rule.kind == "list":
            bad = next(filter(None, map(odd_characters, text.split(","))), "")
            if not bad:
                return tuple(part for part in text.split(",") if part)
        else:
            names = [self._plain(part, where) for part in (text.split(",") if rule.kind == "refs" else [text])]
            for one in names:
                if one != _NULL and one not in self._tables.get(rule.table, {}):
                    near = meant(one, frozenset(self._tables.get(rule.table, {})))
                    text = f"{field} names {rule.table} '{one[:60]}', which is not in the file{near}"
                    self.defect("R1", where, name, text)
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
                near = self._lacking(table, port)
                meant_ = f" (did you mean '{near}'?)" if near else self._other_names(port)
                root = self._device.ports[near].where if near else ()
                self.defect("R1", where, f"{table}|{text[:60]}", f"port '{port[:40]}' is not in PORT{meant_}", root)

    def _other_names(self, name: str) -> str:
        """What a name is that is none of a port in CONFIG_DB: an alias, or a range as other systems write it."""
        owner = next((key for key, _, fields in self.raw("PORT") if fields.get("alias") == name), "")
        if owner:
            return f": it is the alias of '{owner}'; write the name"
        if _RANGE.fullmatch(name):
            return ": CONFIG_DB has no ranges; write a row for each port"
        return ""

    def _lacking(self, table: str, name: str) -> str:
        """The port without a row in a table whose name differs from a given one in upper and lower case alone."""
        same = [port for port in self._device.ports if port.lower() == name.strip().lower()]
        had = {port for key in self.keys(table) for port in key.partition("|")[0].split(",")}
        return next((port for port in same if port not in had), "")


def _stands_for(table: str, name: str, fields: dict[str, Any], most: int = 1) -> str:
    """The known field, `most` slips away, that the row lacks; '' where there is none."""
    intended = slip_of(name.removesuffix("@"), frozenset({*SCHEMA[table], *IGNORED.get(table, ())}), most)
    return "" if {intended, f"{intended}@"} & fields.keys() else intended


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=True, sort_keys=True)
