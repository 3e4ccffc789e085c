"""Which rows of a Snapshot have a series, and their labels. metrics.Rows has the rule of each row set.

Building labels costs more than reading values, so labels are kept between scrapes and rebuilt only when a row is added.
A row is never removed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state.codes import N_CLASSES, DropReason
from telemetry.catalogue.collectives import classes_of
from telemetry.catalogue.control import ControlFacts
from telemetry.catalogue.derive import SIZE_CLASSES, RunInfo, Values, control_of, size_class
from telemetry.catalogue.jobs import JobProgress
from telemetry.catalogue.observation import Observation
from telemetry.catalogue.spec import LABELS, Rows

Mask = NDArray[np.bool_]


def _on_switch(snapshot: Snapshot) -> Mask:
    """(n_ports,) whether a port belongs to a switch."""
    return np.asarray(snapshot.ports["node"] >= len(snapshot.hosts))


def _every(count: Callable[[Snapshot], int]) -> Callable[[Snapshot], Mask]:
    return lambda snapshot: np.ones(count(snapshot), np.bool_)


def _classes(used: Values) -> Mask:
    """(n_ports, 8) of use anywhere -> (n_ports, 8): the classes in use, at every port."""
    return np.broadcast_to(used.astype(np.bool_).any(axis=0), used.shape)


def _pfc(snapshot: Snapshot) -> Mask:
    counted = snapshot.flow_frames_sent + snapshot.flow_frames_received
    return _classes(snapshot.flow_controlled | (counted > 0))


def _queue(snapshot: Snapshot) -> Mask:
    queues = snapshot.queues
    # Sent packets were enqueued, too, but an exporter may poll only the counter of sent packets
    # (telemetry/record/polling).
    used = (queues["enqueued_pkts"] > 0) | (queues["sent_pkts"] > 0) | (queues["dropped_pkts"] > 0)
    used[:, np.unique(snapshot.qps["tc"])] = True
    return _classes(used)


def _switch_queue(snapshot: Snapshot) -> Mask:
    return _queue(snapshot) & _on_switch(snapshot)[:, np.newaxis]


def _pg(snapshot: Snapshot) -> Mask:
    pgs = snapshot.pgs
    used = (pgs["lossless"] != 0) | (pgs["admitted_pkts"] > 0) | (pgs["dropped_pkts"] > 0)
    return _classes(used) & _on_switch(snapshot)[:, np.newaxis]


def _size_class(snapshot: Snapshot) -> Mask:
    return np.isin(np.arange(len(SIZE_CLASSES)), size_class(snapshot.messages["size_bytes"]))


def _class(snapshot: Snapshot) -> Mask:
    return _classes((snapshot.pgs["rx_pkts"] > 0) | (snapshot.pgs["lost_pkts"] > 0))


def _searched(snapshot: Snapshot) -> Mask:
    return np.array([isinstance(snapshot, Observation) and snapshot.cycle is not None])


def _watched(snapshot: Snapshot) -> Mask:
    return np.asarray((snapshot.queues["wd_watched"] != 0) | (snapshot.queues["wd_detected"] > 0))


def _carried(snapshot: Snapshot) -> Mask:
    """(n_ports, 8, 8) classes that the switch of a port puts into a watched queue (tc_to_queue).

    Where a queue has lossless and lossy classes, the lossless ones; a queue without a class has its own number.
    """
    watched = _watched(snapshot)
    found = np.zeros((*watched.shape, N_CLASSES), np.bool_)
    ports = np.flatnonzero(watched.any(axis=1) & _on_switch(snapshot))
    if len(ports) == 0:
        return found
    switch_of = snapshot.ports["node"].astype(np.int64) - len(snapshot.hosts)
    lossless_at = np.zeros((len(snapshot.switches), N_CLASSES), np.bool_)
    np.logical_or.at(lossless_at, switch_of[switch_of >= 0], snapshot.pgs["lossless"][switch_of >= 0] != 0)
    rows = switch_of[ports]
    group_of = snapshot.switches["tc_to_pg"][rows].astype(np.int64)
    inside = snapshot.switches["tc_to_queue"][rows][:, np.newaxis, :] == np.arange(N_CLASSES)[:, np.newaxis]
    lossless = inside & np.take_along_axis(lossless_at[rows], group_of, axis=1)[:, np.newaxis, :]
    mine = np.where(lossless.any(axis=2, keepdims=True), lossless, inside)
    found[ports] = mine | (~mine.any(axis=2, keepdims=True) & np.eye(N_CLASSES, dtype=np.bool_))
    return found & watched[:, :, np.newaxis]


def _member(snapshot: Snapshot) -> Mask:
    group = _group_of_member(snapshot)
    return (group >= 0) & (snapshot.groups["count"][group] > 1)


def _group_of_member(snapshot: Snapshot) -> Values:
    """(n_members,) row of the group of a member; -1 for rows without a group."""
    groups = snapshot.groups
    group = np.full(len(snapshot.members), -1)
    counts = groups["count"].astype(np.int64)
    within = np.arange(counts.sum()) - np.repeat(counts.cumsum() - counts, counts)
    group[np.repeat(groups["first"].astype(np.int64), counts) + within] = np.repeat(np.arange(len(groups)), counts)
    return group


_SHOWN: Final[Mapping[Rows, Callable[[Snapshot], Mask]]] = {
    Rows.FABRIC: _every(lambda _: 1),
    Rows.DEVICE: _every(lambda snapshot: len(snapshot.devices)),
    Rows.PORT: _every(lambda snapshot: len(snapshot.ports)),
    Rows.PFC: _pfc,
    Rows.QUEUE: _queue,
    Rows.SWITCH_QUEUE: _switch_queue,
    Rows.PG: _pg,
    Rows.LOSSLESS_PG: lambda snapshot: (snapshot.pgs["lossless"] != 0) & _on_switch(snapshot)[:, np.newaxis],
    Rows.WATCHED: _watched,
    Rows.CARRIED: _carried,
    Rows.DROP: lambda snapshot: snapshot.drops["pkts"] > 0,
    Rows.POOL: _every(lambda snapshot: len(snapshot.pools)),
    Rows.HEADROOM_POOL: lambda snapshot: snapshot.pools["headroom_size_bytes"] > 0,
    Rows.HOST: _every(lambda snapshot: len(snapshot.hosts)),
    Rows.MEMBER: _member,
    Rows.SIZE_CLASS: _size_class,
    Rows.CLASS: _class,
    Rows.SEARCHED: _searched,
    Rows.BGP_PEER: _every(lambda snapshot: len(control_of(snapshot).peers)),
    Rows.BGP_FAMILY: _every(lambda snapshot: len(control_of(snapshot).prefixes)),
    Rows.EVPN_TYPE: _every(lambda snapshot: len(control_of(snapshot).evpn)),
    Rows.MOVES: _every(lambda snapshot: len(control_of(snapshot).moves)),
    Rows.VNI: lambda snapshot: np.broadcast_to(
        snapshot.switches["is_vtep"][:, np.newaxis] != 0, snapshot.segments.shape
    ),
}
"""Rows that have a series, in the shape of their table."""

_OF_JOBS: Final[Mapping[Rows, Callable[[RunInfo, JobProgress], Mask]]] = {
    Rows.COLLECTIVE: lambda info, _: np.ones(len(classes_of(info)), np.bool_),
    Rows.JOB: lambda _, progress: np.ones(len(progress.steps), np.bool_),
    Rows.JOB_STEP: lambda _, progress: np.array([bool(steps) for steps in progress.steps], np.bool_),
}
"""The same for what the workload decides."""

Columns = list[list[str]]


def _class_labels(info: RunInfo, rows: Values) -> Columns:
    found = classes_of(info)
    mine = [found[row] for row in rows.tolist()]
    return [[getattr(it, name) for it in mine] for name in LABELS[Rows.COLLECTIVE]]


def _pick(texts: list[str], rows: Values) -> list[str]:
    return [texts[row] for row in rows.tolist()]


def _port_columns(snapshot: Snapshot, ports: Values) -> Columns:
    fabric = snapshot.fabric
    devices = [fabric.nodes[port.node].name for port in fabric.ports]
    return [_pick(devices, ports), _pick([port.name for port in fabric.ports], ports)]


def _class_columns(snapshot: Snapshot, _: RunInfo, index: tuple[Values, ...]) -> Columns:
    return [*_port_columns(snapshot, index[0]), _pick([str(c) for c in range(N_CLASSES)], index[1])]


def _carried_columns(snapshot: Snapshot, info: RunInfo, index: tuple[Values, ...]) -> Columns:
    return [*_class_columns(snapshot, info, index), _pick([str(c) for c in range(N_CLASSES)], index[2])]


def _drop_columns(snapshot: Snapshot, info: RunInfo, index: tuple[Values, ...]) -> Columns:
    return [*_class_columns(snapshot, info, index), _pick([reason.name.lower() for reason in DropReason], index[2])]


def _device_columns(snapshot: Snapshot, _: RunInfo, index: tuple[Values, ...]) -> Columns:
    return [_pick([node.name for node in snapshot.fabric.nodes], index[0])]


def _pool_columns(snapshot: Snapshot, info: RunInfo, index: tuple[Values, ...]) -> Columns:
    switch = snapshot.pools["switch"]
    position = np.arange(len(switch)) - np.searchsorted(switch, switch)
    names = list(info.pool_names) or [str(place) for place in position.tolist()]
    devices = [snapshot.fabric.nodes[node].name for node in switch.tolist()]
    return [_pick(devices, index[0]), _pick(names, index[0])]


def _member_columns(snapshot: Snapshot, _: RunInfo, index: tuple[Values, ...]) -> Columns:
    group = _group_of_member(snapshot)[index[0]]
    device, port = _port_columns(snapshot, snapshot.members["port"][index[0]])
    return [device, [str(row) for row in group.tolist()], port]


def _size_columns(_: Snapshot, __: RunInfo, index: tuple[Values, ...]) -> Columns:
    return [_pick(list(SIZE_CLASSES), index[0])]


def _vni_columns(snapshot: Snapshot, info: RunInfo, index: tuple[Values, ...]) -> Columns:
    names = [str(vni) for vni in info.vnis] or [str(place) for place in range(snapshot.segments.shape[1])]
    return [_pick([node.name for node in snapshot.fabric.switches], index[0]), _pick(names, index[1])]


def _facts_columns(
    rows: Callable[[ControlFacts], Sequence[Any]], *names: str
) -> Callable[[Snapshot, RunInfo, tuple[Values, ...]], Columns]:
    def columns(snapshot: Snapshot, _: RunInfo, index: tuple[Values, ...]) -> Columns:
        facts = rows(control_of(snapshot))
        return [[str(getattr(facts[row], name)) for row in index[0].tolist()] for name in names]

    return columns


_COLUMNS: Final[Mapping[Rows, Callable[[Snapshot, RunInfo, tuple[Values, ...]], Columns]]] = {
    Rows.FABRIC: lambda _snapshot, _info, _index: [],
    Rows.DEVICE: _device_columns,
    Rows.PORT: lambda snapshot, _, index: _port_columns(snapshot, index[0]),
    Rows.PFC: _class_columns,
    Rows.QUEUE: _class_columns,
    Rows.SWITCH_QUEUE: _class_columns,
    Rows.PG: _class_columns,
    Rows.LOSSLESS_PG: _class_columns,
    Rows.WATCHED: _class_columns,
    Rows.CARRIED: _carried_columns,
    Rows.DROP: _drop_columns,
    Rows.POOL: _pool_columns,
    Rows.HEADROOM_POOL: _pool_columns,
    Rows.HOST: _device_columns,
    Rows.MEMBER: _member_columns,
    Rows.SIZE_CLASS: _size_columns,
    Rows.CLASS: _class_columns,
    Rows.SEARCHED: lambda _snapshot, _info, _index: [],
    Rows.COLLECTIVE: lambda _snapshot, info, index: _class_labels(info, index[0]),
    Rows.JOB: lambda _snapshot, info, index: [_pick(list(info.jobs.workloads) if info.jobs else [], index[0])],
    Rows.JOB_STEP: lambda _snapshot, info, index: [_pick(list(info.jobs.workloads) if info.jobs else [], index[0])],
    Rows.BGP_PEER: _facts_columns(lambda control: control.peers, "device", "peer"),
    Rows.BGP_FAMILY: _facts_columns(lambda control: control.prefixes, "device", "peer", "family"),
    Rows.EVPN_TYPE: _facts_columns(lambda control: control.evpn, "device", "route_type"),
    Rows.MOVES: _facts_columns(lambda control: control.moves, "device", "vni"),
    Rows.VNI: _vni_columns,
}
"""Label values, one column per name in LABELS."""


class RowSet:
    """The rows of one kind that have a series, and the labels of each."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._shown: Mask | None = None
        self._labels: dict[tuple[str, str], list[dict[str, str]]] = {}
        self.index: tuple[NDArray[Any], ...] = ()
        """Index of the shown rows into their table."""

    def update(self, snapshot: Snapshot, info: RunInfo, progress: JobProgress) -> None:
        """Add the rows of this snapshot that need a series."""
        shown = _OF_JOBS[self._rows](info, progress) if self._rows in _OF_JOBS else _SHOWN[self._rows](snapshot)
        before = self._shown
        if before is not None and before.shape != shown.shape:
            # The table grew (later routes): old rows keep their positions.
            grown = np.zeros(shown.shape, np.bool_)
            grown[: len(before)] = before
            before = grown
        if before is not None:
            shown = shown | before
        if self._shown is not None and np.array_equal(self._shown, shown):
            return
        self._shown = shown
        self.index = np.nonzero(shown)
        names = LABELS[self._rows]
        columns = _COLUMNS[self._rows](snapshot, info, self.index)
        plain = (
            [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
            if columns
            else ([{}] * len(self.index[0]))
        )
        self._labels = {("", ""): plain}

    def labels(self, variant: str = "", value: str = "") -> list[dict[str, str]]:
        """Labels of every shown row, with one more label if a variant is given. Shared by samples: read-only."""
        key = (variant, value)
        if key not in self._labels:
            self._labels[key] = [{**labels, variant: value} for labels in self._labels["", ""]]
        return self._labels[key]
