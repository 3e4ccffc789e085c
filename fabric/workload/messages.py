"""Messages one by one: from the scenario itself or from CSV `id,src,dst,size_bytes,start_ns,priority,after`.

`after` lists ids, separated by spaces or semicolons. A dependency is local to a host: the earlier message must arrive
at, or be sent by, the later one's sender, because only that host observes its end. An optional column
delay_ns is the compute time between the last dependency and the posting.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from fabric.errors import InputErrors, Problem
from fabric.reading import MIB
from fabric.topology.select import nearest
from fabric.units import PS_PER_NS
from fabric.visible import hidden, spelled
from fabric.workload.batch import Batch, Surroundings
from fabric.workload.beside import read_beside
from fabric.workload.demand import Demand, SpecField, no_demand, of_columns
from fabric.workload.spec import MessagesSpec

REQUIRED: Final = ("id", "src", "dst", "size_bytes", "start_ns")
COLUMNS: Final = (*REQUIRED, "priority", "after", "delay_ns")
MAX_BYTES: Final = 256 * MIB
"""Of a message list: about five million messages."""
MAX_DIGITS: Final = 18
MAX_VALUE: Final = 10**15
"""Of bytes and nanoseconds: a petabyte, eleven days."""
_MAX_PROBLEMS: Final = 20
"""Of one file: the first problems are enough."""


class Row(NamedTuple):
    """One message as written."""

    where: str
    id: str
    src: str
    dst: str
    size_bytes: int
    start_ps: int
    priority: int
    after: Sequence[str]
    delay_ps: int


def generate(spec: MessagesSpec, name: str, path: str, around: Surroundings) -> Batch:
    """The messages in the order of the list."""
    _ = name
    if spec.file is None:
        rows = [
            Row(
                f"{path}.messages[{number}]",
                item.id or "",
                item.src,
                item.dst,
                item.size,
                item.start,
                -1 if item.priority is None else item.priority,
                item.after or (),
                item.delay,
            )
            for number, item in enumerate(spec.messages)
        ]
    else:
        rows = read_csv(around.folder / spec.file, f"{path}.file", around.problems)
    return _resolve(rows, around)


def read_csv(file: Path, path: str, problems: list[Problem]) -> list[Row]:
    """All rows; their problems are appended to `problems`."""
    try:
        reader = csv.DictReader(StringIO(read_beside(file, MAX_BYTES, path), newline=""))
        header = [name.strip() for name in reader.fieldnames or ()]
        reader.fieldnames = header
        missing = [name for name in REQUIRED if name not in header]
        unknown = [name for name in header if name not in COLUMNS]
        if not set(header) & set(COLUMNS):  # another kind of file, whose content must not appear in messages
            problems.append(
                Problem(
                    f"{path}, {file.name} line 1", "is no header of a message list", f"begin with {','.join(REQUIRED)}"
                )
            )
            return []
        problems += [
            Problem(
                f"{path}, {file.name} line 1",
                f"column '{name}' is missing",
                f"the columns are {','.join(COLUMNS[:-1])} and optionally delay_ns",
            )
            for name in missing
        ]
        problems += [
            Problem(f"{path}, {file.name} line 1", f"unknown column '{name}'", nearest(name, COLUMNS, "columns"))
            for name in unknown
        ]
        if missing or unknown:
            return []
        found: list[Problem] = []
        rows = list(_rows(reader, f"{path}, {file.name}", found))
    except InputErrors as error:
        problems += error.problems
        return []
    except csv.Error as error:
        problems.append(Problem(path, f"{file.name}: not CSV: {error}", "export it as CSV again"))
        return []
    problems += found[:_MAX_PROBLEMS]
    if not rows and not found:
        problems.append(Problem(path, f"{file.name} holds no message", "add a line below the header"))
    return rows


def _rows(reader: csv.DictReader[str], path: str, problems: list[Problem]) -> Iterator[Row]:
    for cells in reader:
        where = f"{path} line {reader.line_num}"
        values = {}
        for column, least, empty in (
            ("size_bytes", 0, ""),
            ("start_ns", 0, ""),
            ("priority", 0, "-1"),
            ("delay_ns", 0, "0"),
        ):
            text = (cells.get(column) or "").strip() or empty
            try:
                values[column] = int(text) if len(text) <= MAX_DIGITS else least - 1
            except ValueError:
                problems.append(
                    Problem(where, f"{column} {text[:40]!r} is not a whole number", "write digits without a unit")
                )
                values[column] = least
            if values[column] < least and text != empty:
                why = "is negative" if text.startswith("-") else "is too large"
                problems.append(Problem(where, f"{column} {text[:40]} {why}", f"write {least} to {MAX_VALUE:,}"))
            elif values[column] > MAX_VALUE:
                problems.append(Problem(where, f"{column} {text} is too large", f"write {least} to {MAX_VALUE:,}"))
        if values["priority"] > 7:
            problems.append(Problem(where, f"priority {values['priority']} does not exist", "write 0 to 7, or nothing"))
        for column in ("id", "src", "dst", "after"):
            character = hidden((cells.get(column) or "").strip())
            if character:
                text = f"{column} holds the hidden character {spelled(character)}"
                problems.append(Problem(where, text, "remove it"))
        after = (cells.get("after") or "").replace(";", " ").split()
        if values["delay_ns"] and not after:
            problems.append(Problem(where, "delay_ns has no effect without after", "use start_ns instead"))
        yield Row(
            where,
            (cells["id"] or "").strip(),
            (cells["src"] or "").strip(),
            (cells["dst"] or "").strip(),
            values["size_bytes"],
            values["start_ns"] * PS_PER_NS,
            values["priority"],
            after,
            values["delay_ns"] * PS_PER_NS,
        )


def _resolve(rows: Sequence[Row], around: Surroundings) -> Batch:
    """Names to ids; dependencies to row numbers."""
    by_name = around.fabric.by_name
    hosts = [host.name for host in around.fabric.hosts]
    number_of: dict[str, int] = {}
    found: list[Problem] = []
    for number, row in enumerate(rows):
        if row.id and number_of.setdefault(row.id, number) != number:
            found.append(
                Problem(row.where, f"id '{row.id}' is used twice", f"first at {rows[number_of[row.id]].where}")
            )
        for end in dict.fromkeys((row.src, row.dst)):
            node = by_name.get(end)
            if node is None or not node.is_host:
                text = f"'{end}' is a {node.role}, not a host" if node else f"no host is called '{end}'"
                found.append(Problem(row.where, text, nearest(end, hosts, "hosts")))
    after: list[tuple[int, int]] = []
    for number, row in enumerate(rows):
        for earlier in row.after:
            if earlier not in number_of:
                found.append(
                    Problem(
                        row.where,
                        f"after names '{earlier}', which is no message's id",
                        nearest(earlier, list(number_of), "ids"),
                    )
                )
            else:
                after.append((number_of[earlier], number))
    around.problems.extend(found[:_MAX_PROBLEMS])
    if found:
        rows, after = (), []

    def column(values: list[int]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        return np.array(values, np.int64)

    return Batch(
        column([by_name[row.src].id for row in rows]),
        column([by_name[row.dst].id for row in rows]),
        column([row.size_bytes for row in rows]),
        column([row.start_ps for row in rows]),
        column([row.priority for row in rows]),
        column([row.delay_ps for row in rows]),
        after,
        [row.id for row in rows],
        [row.where for row in rows],
    )


def demand(spec: MessagesSpec, _name: str, path: str, around: Surroundings) -> Demand:
    """The demand of the list without keeping its rows; rows that generate() will refuse do not count."""
    rows = (
        ((item.src, item.dst, item.size, item.start, len(item.after or ())) for item in spec.messages)
        if spec.file is None
        else _counted(around.folder / spec.file, f"{path}.file", around.problems)
    )
    number_of = {host.name: host.id for host in around.fabric.hosts}
    columns = [array("q") for _ in range(4)]
    dependencies = 0
    for src, dst, size_bytes, start_ps, waits in rows:
        if src not in number_of or dst not in number_of:
            continue
        for column, value in zip(columns, (number_of[src], number_of[dst], size_bytes, start_ps), strict=True):
            column.append(value)
        dependencies += waits
    if not columns[0]:
        return no_demand()
    found = [np.frombuffer(column, np.int64) for column in columns]
    field = SpecField("messages" if spec.file is None else "file")
    return of_columns(
        field,
        field,
        found[0],
        found[1],
        found[2],
        int(found[3].min()),
        int(found[3].max()),
        dependencies,
        len(around.fabric.hosts),
    )


def _counted(file: Path, path: str, problems: list[Problem]) -> Iterator[tuple[str, str, int, int, int]]:
    """(src, dst, bytes, start in ps, dependencies) of each row that can be read."""
    try:
        reader = csv.reader(StringIO(read_beside(file, MAX_BYTES, path), newline=""))
        header = [name.strip() for name in next(reader, ())]
        if not set(REQUIRED) <= set(header):
            return
        src, dst, size, start = (header.index(name) for name in REQUIRED[1:])
        after = header.index("after") if "after" in header else None
        for cells in reader:
            try:
                size_bytes, start_ns = int(cells[size][: MAX_DIGITS + 1]), int(cells[start][: MAX_DIGITS + 1])
                waits = len(cells[after].replace(";", " ").split()) if after is not None and after < len(cells) else 0
            except (IndexError, ValueError):
                continue
            if 0 <= size_bytes <= MAX_VALUE and 0 <= start_ns <= MAX_VALUE:
                yield cells[src].strip(), cells[dst].strip(), size_bytes, start_ns * PS_PER_NS, waits
    except InputErrors as error:
        problems += error.problems
    except (csv.Error, IndexError):
        return
