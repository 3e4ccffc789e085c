"""Sampling: the observables that changed since the last sample, as coded rows, and these rows as named columns.

A row is written when a value differs from the last one written; before the first row of a series its value is 0. So
the value at any instant is that of the last row at or before it, and an idle fabric adds no rows.

The wide tables (thousands of ports times eight classes) are compared as raw words first; fields are compared only in
rows that changed. No Python loop runs over rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fabric.dataplane.state.codes import N_CLASSES
from fabric.runs import schemas
from fabric.runs.observables import OBSERVABLES, POSITION, Observable, Rows, Scope
from fabric.runs.readings import Gathered, moved_rows
from fabric.topology.model import Fabric
from fabric.units import PS_PER_NS

if TYPE_CHECKING:  # annotations only: reading results must not load the compiler
    from fabric.dataplane.engine.counters import Snapshot

ROW: Final = np.dtype(
    [
        ("time_ns", np.int64),
        ("observable", np.int16),
        ("device", np.int32),
        ("port", np.int32),
        ("class", np.int8),
        ("item", np.int32),
        ("value", np.int64),
    ]
)
"""A coded row: observable = position in OBSERVABLES, device and port = ids, -1 = none; ratios as a float64's bits."""

PORTION_ROWS: Final = 1 << 17
"""Rows that pass_over makes at once."""

BY_SCOPE: Final[Mapping[Scope, tuple[Observable, ...]]] = {
    scope: tuple(it for it in OBSERVABLES if it.scope is scope) for scope in Scope
}

_CODES: Final[Mapping[Scope, NDArray[np.int16]]] = {
    scope: np.array([POSITION[it.name] for it in found], np.int16) for scope, found in BY_SCOPE.items()
}
"""Codes of the observables of BY_SCOPE."""

_TABLES: Final[Mapping[Scope, tuple[str, ...]]] = {
    Scope.PORT: ("ports",),
    Scope.QUEUE: ("queues",),
    Scope.PG: ("pgs",),
    Scope.PRIORITY: ("prios", "drops"),
    Scope.POOL: ("pools",),
    Scope.HOST: ("hosts",),
    Scope.SENDER: ("qps",),
    Scope.RECEIVER: ("rqps",),
    Scope.MEMBER: ("members",),
    Scope.GROUP: (),
    Scope.SEGMENT: ("segments",),
}
"""Tables that must be unchanged for the rows of a scope to be skipped; PORT and GROUP are few and always compared."""

_BUSY: Final = next(row for row, it in enumerate(BY_SCOPE[Scope.PORT]) if it.name == "busy_ns")
_DOWN_LINE: Final = next(row for row, it in enumerate(BY_SCOPE[Scope.PORT]) if it.name == "down_ns")
_UTILISATION: Final = "tx_utilisation_ratio"
_UTILISATION_LINE: Final = next(row for row, it in enumerate(BY_SCOPE[Scope.PORT]) if it.name == _UTILISATION)


def n_rows(now: Snapshot, scope: Scope) -> int:
    """Rows of a scope."""
    if scope is Scope.GROUP:
        return len(now.groups)
    return int(getattr(now, _TABLES[scope][0]).size)


def place(now: Snapshot, scope: Scope, rows: Rows) -> tuple[Rows, Rows, Rows, Rows]:
    """(device, port, class, item) of a scope's rows; -1 = none."""
    none = np.full(rows.size, -1, np.int64)
    node_of_port = now.ports["node"].astype(np.int64)
    if scope is Scope.PORT:
        return node_of_port[rows], rows, none, none
    if scope in {Scope.QUEUE, Scope.PG, Scope.PRIORITY}:
        port = rows // N_CLASSES
        return node_of_port[port], port, rows % N_CLASSES, none
    if scope is Scope.POOL:
        switch = now.pools["switch"].astype(np.int64)
        first = np.searchsorted(switch, switch[rows])  # pools of one switch are contiguous, switches ascend
        return switch[rows], none, none, rows - first
    if scope is Scope.HOST:
        return rows, none, none, none
    if scope is Scope.SEGMENT:
        n_vnis = now.segments.shape[1]
        return len(now.hosts) + rows // n_vnis, none, none, rows % n_vnis
    if scope is Scope.SENDER:
        return now.qps["src"][rows].astype(np.int64), none, none, rows
    if scope is Scope.RECEIVER:
        return now.qps["dst"][rows].astype(np.int64), none, none, rows
    first_port = now.members["port"].astype(np.int64)
    if scope is Scope.MEMBER:
        return node_of_port[first_port[rows]], first_port[rows], none, group_of_member(now)[rows]
    device = np.full(rows.size, -1, np.int64)
    used = now.groups["count"][rows] > 0
    device[used] = node_of_port[first_port[now.groups["first"][rows][used]]]
    return device, none, none, rows


@dataclass(frozen=True, slots=True)
class _Changes:
    """Changed values of one scope."""

    observable: NDArray[np.int16]
    """(n,) positions in OBSERVABLES."""
    place: tuple[Rows, Rows, Rows, Rows]
    """As place(), of the rows that were compared."""
    row: Rows
    """(n,) positions in `place`."""
    value: NDArray[np.int64]
    """(n,)."""


class Sampler:
    """Keeps the last written values and finds those that changed."""

    def __init__(self) -> None:
        self._last: dict[Scope, NDArray[np.int64]] = {
            scope: np.zeros((len(BY_SCOPE[scope]), 0), np.int64) for scope in Scope
        }
        self._last_ps = 0
        self._before: Snapshot | None = None

    def sample(self, now: Snapshot) -> NDArray[np.void]:
        """Rows (of ROW) of all values that changed since the previous call."""
        found = [changes for scope in Scope if (changes := self._scope(now, scope)) is not None]
        self._last_ps = now.time_ps
        self._before = now
        return _rows(now.time_ps // PS_PER_NS, found)

    def pass_over(self, now: Snapshot, times_ps: range) -> Iterator[NDArray[np.void]]:
        """Rows (of ROW) of samples at these times, in portions of about PORTION_ROWS.

        `now` is the last sample; until the last of these times nothing changes but how long links have been down.
        """
        ports = np.flatnonzero(now.ports["up"] == 0)
        base_ps = now.ports["down_ps"][ports] - now.ports["down_since_ps"][ports]
        device, port, class_, item = place(now, Scope.PORT, ports)
        step = max(PORTION_ROWS // max(ports.size, 1), 1)
        for begin in range(0, len(times_ps) if ports.size else 0, step):
            part = times_ps[begin : begin + step]
            moments = np.arange(part.start, part.stop, part.step, dtype=np.int64)[:, np.newaxis]
            found = np.empty((len(part), ports.size), ROW)
            found["time_ns"], found["value"] = moments // PS_PER_NS, (base_ps + moments) // PS_PER_NS
            found["observable"] = POSITION["down_ns"]
            found["device"], found["port"], found["class"], found["item"] = device, port, class_, item
            self._last[Scope.PORT][_DOWN_LINE][ports] = found["value"][-1]
            yield found.reshape(-1)
        self._last_ps = times_ps[-1]
        self._before = None  # its time is no longer that of the last sample

    def save(self) -> dict[str, NDArray[np.int64]]:
        """State for a checkpoint."""
        return {f"last_{scope.name}": last for scope, last in self._last.items()} | {
            "last_ps": np.array([self._last_ps])
        }

    def load(self, saved: Mapping[str, NDArray[np.int64]]) -> None:
        """Restore the state of save(). The next sample compares every row once, with the same result."""
        self._last = {scope: np.array(saved[f"last_{scope.name}"]) for scope in Scope}
        self._last_ps = int(saved["last_ps"][0])
        self._before = None

    def _scope(self, now: Snapshot, scope: Scope) -> _Changes | None:
        """The changes of a scope: by observable, then by row."""
        count = n_rows(now, scope)
        if not count:
            return None
        last = self._last[scope]
        if last.shape[1] < count:  # the first sample, or routes have added ECMP groups
            last = self._last[scope] = np.pad(last, ((0, 0), (0, count - last.shape[1])))
        rows = self._moved(now, scope, count)
        if not rows.size:
            return None
        new = Gathered(now, rows, count).matrix(BY_SCOPE[scope])
        if scope is Scope.PORT:
            new[_UTILISATION_LINE] = self._utilisation(now, rows)
        at = np.flatnonzero(new != (last if rows.size == count else last.take(rows, axis=1)))
        if not at.size:
            return None
        line = at // rows.size
        position = at - line * rows.size
        value = new.reshape(-1)[at]
        last[line, rows[position]] = value
        return _Changes(_CODES[scope][line], place(now, scope, rows), position, value)

    def _moved(self, now: Snapshot, scope: Scope, count: int) -> Rows:
        """Rows that may differ from the last sample, ascending."""
        if self._before is None or scope in {Scope.PORT, Scope.GROUP} or n_rows(self._before, scope) != count:
            return np.arange(count)
        moved = np.zeros(count, np.bool_)
        for table in _TABLES[scope]:
            moved[moved_rows(getattr(now, table), getattr(self._before, table), count)] = True
        if scope is Scope.PRIORITY:  # whether a class is paused stands in its port's row
            moved |= (now.paused != self._before.paused).reshape(-1)
        return np.flatnonzero(moved)

    def _utilisation(self, now: Snapshot, rows: Rows) -> NDArray[np.int64]:
        elapsed_ns = (now.time_ps - self._last_ps) / PS_PER_NS
        if elapsed_ns == 0:
            return np.asarray(self._last[Scope.PORT][_UTILISATION_LINE][rows], np.int64)
        busy_ns = now.ports["busy_ps"][rows] // PS_PER_NS - self._last[Scope.PORT][_BUSY][rows]
        return np.asarray(busy_ns / elapsed_ns, np.float64).view(np.int64)


def snapshot_rows(now: Snapshot) -> NDArray[np.void]:
    """Rows (of ROW) of every value that is not 0 at this moment; utilisation over the whole run."""
    return Sampler().sample(now)


def _rows(time_ns: int, found: list[_Changes]) -> NDArray[np.void]:
    """Changes of one moment as rows of ROW."""
    rows = np.empty(sum(changes.value.size for changes in found), ROW)
    rows["time_ns"] = time_ns
    begin = 0
    for changes in found:
        mine = rows[begin : begin + changes.value.size]
        begin += changes.value.size
        mine["observable"], mine["value"] = changes.observable, changes.value
        for column, ids in zip(("device", "port", "class", "item"), changes.place, strict=True):
            mine[column] = ids.take(changes.row)
    return rows


def decode(table: pa.Table, fabric: Fabric) -> pa.Table:
    """Coded rows as columns of schemas.TIMESERIES."""
    observable = table["observable"].to_numpy()
    value = table["value"].to_numpy()
    ratio = np.array([it.is_ratio for it in OBSERVABLES])[observable] if len(observable) else np.zeros(0, np.bool_)
    columns = {
        "time_ns": table["time_ns"].combine_chunks(),
        "observable": named(observable, [it.name for it in OBSERVABLES]),
        "device": named(table["device"].to_numpy(), [node.name for node in fabric.nodes]),
        "port": named(table["port"].to_numpy(), [port.name for port in fabric.ports]),
        "class": optional(table["class"].to_numpy(), pa.int8()),
        "item": optional(table["item"].to_numpy(), pa.int32()),
        "value": pa.array(value, pa.int64(), mask=ratio),
        "value_ratio": pa.array(np.ascontiguousarray(value).view(np.float64), pa.float64(), mask=~ratio),
    }
    return pa.table(columns, schema=schemas.TIMESERIES)


def named(codes: NDArray[np.integer], names: list[str]) -> pa.DictionaryArray:
    """Positions in `names` as a column of names; a negative position is null. A name may occur twice."""
    unique = sorted(set(names))
    place_of = {name: row for row, name in enumerate(unique)}
    table = np.array([place_of[name] for name in names], np.int32)
    missing = codes < 0
    indices = table[np.where(missing, 0, codes)] if table.size else np.zeros(codes.size, np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32(), mask=missing), pa.array(unique, pa.string()))


def optional(codes: NDArray[np.integer], kind: pa.DataType) -> pa.Array:
    """Integers of which the negative ones are null."""
    return pa.array(codes, kind, mask=codes < 0)


def group_of_member(now: Snapshot) -> Rows:
    """(n_members,) the group that each belongs to; -1: none."""
    group = np.full(len(now.members), -1, np.int64)
    first, count = now.groups["first"].astype(np.int64), now.groups["count"].astype(np.int64)
    group[np.repeat(first - np.concatenate([[0], np.cumsum(count)[:-1]]), count) + np.arange(count.sum())] = np.repeat(
        np.arange(len(now.groups)), count
    )
    return group
