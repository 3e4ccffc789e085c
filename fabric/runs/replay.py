"""Snapshots of a finished run, one for every sample, rebuilt from its directory.

Metrics, detectors and exporters read Snapshots, so they read a recorded run as a live one, and no value is recorded
twice. Values of the time series are exact at each sample, times to the nanosecond; the last Snapshot is that of the
engine. Missing: the number of events simulated (0), and changes of settings that are not observables (a threshold
that was edited during the run has its last value throughout; next hops that were added later are 0 before).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state.codes import N_CLASSES, QpState
from fabric.dataplane.state.types import Table
from fabric.runs import endstate
from fabric.runs.observables import OBSERVABLES, Drops, Field, Observable, Ratio, Scope, down_ns, paused
from fabric.runs.rundir import RunDir
from fabric.runs.series import group_of_member
from fabric.runs.transfers import is_waiting
from fabric.topology.model import Fabric
from fabric.units import PS_PER_NS

Ints = NDArray[np.int64]

_BY_NAME: Final = {it.name: it for it in OBSERVABLES}
_RESTORED: Final = tuple(it for it in OBSERVABLES if isinstance(it.read, Field | Ratio | Drops))


def snapshots(run: RunDir, *, whole_ns: bool = False) -> Iterator[Snapshot]:
    """Every sample of a run in order of time; the next sample changes the tables of the present one.

    With `whole_ns`, times of the last one are rounded down to the nanosecond as those of the others are, so that no
    counter of time grows by a rounding.

    Raises: RunDirError where the run has not ended or was written without its tables.
    """
    last = endstate.read(run)
    coded = _Coded(run.timeseries(), last)
    tables = {name: getattr(last, name).copy() for name in endstate.TABLES}
    _forget(tables)
    first = 0
    for time_ns in _moments(run, coded.time_ns, last).tolist():
        if time_ns == last.time_ps // PS_PER_NS:
            yield _in_recorded_units(last) if whole_ns else last
            return
        until = int(np.searchsorted(coded.time_ns, time_ns, side="right"))
        coded.apply(slice(first, until), tables)
        first = until
        time_ps = time_ns * PS_PER_NS
        _restore_down(tables["ports"], time_ps)
        _restore_messages(tables, last, time_ps)
        _restore_transfers(tables, last, time_ps)
        ended = int((tables["messages"]["end_ps"] >= 0).sum())
        left = is_waiting(tables["transfers"])
        yield replace(
            last,
            time_ps=time_ps,
            events=0,
            finished=ended == len(last.messages) and not left,
            packet_hops=int(tables["ports"]["rx_pkts"].sum()),
            **tables,
        )


def _in_recorded_units(last: Snapshot) -> Snapshot:
    """The last Snapshot with every restored field in whole units of its record, as the samples before it have it."""
    tables = {name: getattr(last, name).copy() for name in endstate.TABLES}
    for it in _RESTORED:
        if isinstance(it.read, Field) and it.read.divisor > 1:
            values = tables[it.read.table][it.read.field]
            values[...] = values // it.read.divisor * it.read.divisor
    ports = tables["ports"]
    ports["down_ps"] = ports["down_ps"] // PS_PER_NS * PS_PER_NS
    return replace(last, **tables)


def _moments(run: RunDir, changed_ns: Ints, last: Snapshot) -> Ints:
    """Every sampling instant, also those without a change."""
    end_ps, step_ps = last.time_ps, int(run.manifest["sampling_ps"])
    grid = np.append(np.arange(0, end_ps, step_ps), end_ps) // PS_PER_NS
    return np.union1d(grid, changed_ns[changed_ns <= end_ps // PS_PER_NS])


def _forget(tables: dict[str, Table]) -> None:
    """Set all observables to 0, the value before their first row."""
    for it in _RESTORED:
        if isinstance(it.read, Drops):
            tables["drops"][it.read.field] = 0
        elif isinstance(it.read, Field | Ratio):
            tables[it.read.table][it.read.field] = 0
    for name in ("paused", "down_ps", "down_since_ps"):
        tables["ports"][name] = 0


def _restore_down(ports: Table, time_ps: int) -> None:
    """down_ps includes the present outage, so an outage in progress starts now."""
    ports["down_since_ps"] = np.where(ports["up"] == 0, time_ps, 0)


def _restore_messages(tables: dict[str, Table], last: Snapshot, time_ps: int) -> None:
    """The messages at a sample, and their queue pairs: busy while one of their messages is."""
    ends, starts = last.messages["end_ps"], last.messages["start_ps"]
    messages, qps = tables["messages"], tables["qps"]
    messages["start_ps"] = np.where(starts < time_ps, starts, -1)  # events at the time of a sample come after it
    messages["end_ps"] = np.where(ends < time_ps, ends, -1)
    messages["failed"] = np.where(ends < time_ps, last.messages["failed"], 0)
    at_work = last.messages["qp"][(messages["start_ps"] >= 0) & (messages["end_ps"] < 0)]
    failed = last.messages["qp"][messages["failed"] != 0]
    qps["acked_psn"], qps["posted_psn"] = 0, 0
    qps["posted_psn"][at_work] = 1
    qps["state"] = np.where(last.qps["state"] == int(QpState.FAILED), int(QpState.READY), last.qps["state"])
    qps["state"][failed] = int(QpState.FAILED)


def _restore_transfers(tables: dict[str, Table], last: Snapshot, time_ps: int) -> None:
    """The transfers at a sample: begun, and done or failed; how many of their messages were done is not recorded."""
    if not len(last.transfers):
        return
    rows, ends = tables["transfers"], last.transfers["completed_ps"]
    ended = (ends >= 0) & (ends < time_ps)
    rows["first_ps"] = np.where(last.transfers["first_ps"] < time_ps, last.transfers["first_ps"], -1)
    rows["completed_ps"] = np.where(ended, ends, -1)
    for name in ("done_messages", "failed_messages"):
        rows[name] = np.where(ended, last.transfers[name], 0)


class _Coded:
    """The time series with positions in place of names."""

    def __init__(self, table: pa.Table, last: Snapshot) -> None:
        table = table.unify_dictionaries().combine_chunks()
        self.time_ns: Ints = table["time_ns"].to_numpy()
        names = _column(table, "observable")
        self._names = names.dictionary.to_pylist()
        self._of: Ints = names.indices.to_numpy()
        value = table["value"].fill_null(0).to_numpy()
        ratio = table["value_ratio"].fill_null(0.0).to_numpy()
        self._value = (
            np.where(np.array([_BY_NAME[name].is_ratio for name in self._names])[self._of], ratio, value)
            if len(self._names)
            else ratio
        )
        self._rows = _rows(table, [_BY_NAME[name] for name in self._names], self._of, last)

    def apply(self, span: slice, tables: dict[str, Table]) -> None:
        """Apply the rows of some samples to their tables."""
        of = self._of[span]
        order = np.argsort(of, kind="stable")
        bounds = np.searchsorted(of[order], np.arange(len(self._names) + 1))
        rows, values = self._rows[span][order], self._value[span][order]
        for code in np.flatnonzero(np.diff(bounds)).tolist():
            here = slice(bounds[code], bounds[code + 1])
            _put(_BY_NAME[self._names[code]], rows[here], values[here], tables)


def _put(observable: Observable, rows: Ints, values: NDArray[np.float64], tables: dict[str, Table]) -> None:
    read = observable.read
    if isinstance(read, Field):
        tables[read.table].reshape(-1)[read.field][rows] = values.astype(np.int64) * read.divisor
    elif isinstance(read, Ratio):
        tables[read.table].reshape(-1)[read.field][rows] = values
    elif isinstance(read, Drops):
        flat = tables["drops"].reshape(-1, tables["drops"].shape[-1])
        flat[read.field][rows, int(read.reason)] = values.astype(np.int64)
    elif read is paused:
        bitmap = tables["ports"]["paused"]
        bit = (1 << rows % N_CLASSES).astype(bitmap.dtype)
        np.bitwise_or.at(bitmap, rows[values != 0] // N_CLASSES, bit[values != 0])
        np.bitwise_and.at(bitmap, rows[values == 0] // N_CLASSES, ~bit[values == 0])
    elif read is down_ns:
        tables["ports"]["down_ps"][rows] = values.astype(np.int64) * PS_PER_NS


def _rows(table: pa.Table, observables: list[Observable], of: Ints, last: Snapshot) -> Ints:
    """Row of each line in the table that its observable is read from; a derived value has row 0 and is not restored."""
    device = _ids(_column(table, "device"), {node.name: node.id for node in last.fabric.nodes})
    port = _port_ids(table, device, last.fabric)
    class_ = table["class"].fill_null(0).to_numpy().astype(np.int64)
    item = table["item"].fill_null(0).to_numpy().astype(np.int64)
    switch = last.pools["switch"].astype(np.int64)
    group, member_port = group_of_member(last), last.members["port"].astype(np.int64)
    keys = group * len(last.fabric.ports) + member_port
    order = np.argsort(keys, kind="stable")
    scopes = np.array([list(Scope).index(it.scope) for it in observables], np.int64)
    scope = scopes[of] if len(scopes) else np.zeros(0, np.int64)
    found = np.zeros(len(of), np.int64)
    rules: dict[Scope, Callable[[NDArray[np.bool_]], Ints]] = {
        Scope.PORT: lambda at: port[at],
        Scope.POOL: lambda at: np.searchsorted(switch, device[at]) + item[at],
        Scope.HOST: lambda at: device[at],
        Scope.SENDER: lambda at: item[at],
        Scope.RECEIVER: lambda at: item[at],
        Scope.SEGMENT: lambda at: (device[at] - len(last.hosts)) * last.segments.shape[1] + item[at],
        Scope.MEMBER: lambda at: order[np.searchsorted(keys[order], item[at] * len(last.fabric.ports) + port[at])],
        **dict.fromkeys((Scope.QUEUE, Scope.PG, Scope.PRIORITY), lambda at: port[at] * N_CLASSES + class_[at]),
    }
    for number, it in enumerate(Scope):
        at = scope == number
        if it in rules and at.any():
            found[at] = rules[it](at)
    return found


def _column(table: pa.Table, name: str) -> pa.DictionaryArray:
    found = table[name]
    return (
        found.chunk(0)
        if found.num_chunks
        else pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array([], pa.string()))
    )


def _ids(column: pa.DictionaryArray, id_of: dict[str, Any]) -> Ints:
    table = np.array([id_of[name] for name in column.dictionary.to_pylist()] or [0], np.int64)
    return np.asarray(table[column.indices.fill_null(0).to_numpy()], np.int64)


def _port_ids(table: pa.Table, device: Ints, fabric: Fabric) -> Ints:
    """PortId by device and port name; 0 where there is none."""
    names = _column(table, "port")
    code_of = {name: code for code, name in enumerate(names.dictionary.to_pylist())}
    place = np.zeros((len(fabric.nodes), len(code_of) + 1), np.int64)
    for port in fabric.ports:
        place[port.node, code_of.get(port.name, len(code_of))] = port.id
    return np.asarray(place[device, names.indices.fill_null(len(code_of)).to_numpy()], np.int64)
