"""The results of a run as arrays over ids: the input of every explanation.

Turns the named columns of a run directory back into PortIds and NodeIds, and joins pauses into trees once. It draws no
conclusions; the other files of the package do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fabric.dataplane.state.codes import BY_FLOW, BY_SENDER, EventKind
from fabric.errors import RunDirError
from fabric.explain import pause_tree
from fabric.ids import NodeId
from fabric.runs import endstate
from fabric.runs.rundir import RunDir
from fabric.topology.feeds import feeds
from fabric.topology.model import Fabric
from fabric.topology.paths import EcmpTable, equal_cost_ports
from fabric.units import PS_PER_NS

Place = tuple[int, int]
"""(PortId, class); class -1 where a row is about the whole port."""

_PAUSE_KINDS: Final = ("pause_sent", "resume_sent", "paused", "resumed")
_EMPTY: Final = np.empty(0, np.int64)
SIGNALS: Final[Mapping[str | None, str]] = {
    "dcqcn": "DCQCN: congestion notifications",
    "dctcp": "DCTCP: marks echoed in ACKs",
    "timely": "TIMELY: round-trip times",
    "hpcc": "HPCC: telemetry in ACKs",
    "hpcc-pint": "HPCC-PINT: the fullest hop's load in ACKs",
    "swift": "Swift: delays of fabric and host",
    "cubic": "CUBIC: losses, and marks echoed in ACKs",
}
"""What slows queue pairs down, by transport.cc."""


def advice(*categories: str) -> str:
    """How to record events that a scenario left out."""
    named = " and ".join(f"'{it}'" for it in categories)
    return f"add {named} to telemetry.events of the scenario and run it again"


class Evidence:
    """One run, ready to be explained. Every table is read on first use."""

    def __init__(self, run: RunDir) -> None:
        self.run = run
        self._counters: dict[str, dict[Place, float]] = {}

    @property
    def fabric(self) -> Fabric:
        """The topology of the run."""
        return self.run.fabric

    @cached_property
    def routes(self) -> EcmpTable:
        """Shortest paths with every cable up; a run with failures may have used longer ones for a while."""
        return equal_cost_ports(self.fabric)

    @cached_property
    def end_ns(self) -> int:
        """Simulated time at the end of the run."""
        return int(self.run.summary["stop"]["time_ns"])

    @property
    def end_ps(self) -> int:
        """As end_ns, in picoseconds."""
        return self.end_ns * PS_PER_NS

    def port_named(self, name: str) -> int:
        """PortId of 'leaf1:Ethernet4'."""
        return int(self.fabric.port_called[name])

    def ports_of(self, table: pa.Table) -> NDArray[np.int64]:
        """PortId of every row by its columns device and port; -1 where the row is about no port."""
        device, ports = (table[name].combine_chunks() for name in ("device", "port"))
        if not len(table):
            return _EMPTY
        device, ports = (
            column.dictionary_encode() if not pa.types.is_dictionary(column.type) else column
            for column in (device, ports)
        )
        n_ports = len(ports.dictionary) + 1
        codes = np.asarray(device.indices.fill_null(-1)).astype(np.int64) * n_ports + np.asarray(
            ports.indices.fill_null(n_ports - 1)
        )
        pairs, inverse = np.unique(codes, return_inverse=True)
        device_names, port_names = device.dictionary.to_pylist(), [*ports.dictionary.to_pylist(), ""]
        ids = [
            self.fabric.port_called.get(f"{device_names[pair // n_ports]}:{port_names[pair % n_ports]}", -1)
            for pair in pairs.tolist()
        ]
        return np.array(ids, dtype=np.int64)[inverse.reshape(-1)]

    def counter(self, name: str) -> Mapping[Place, float]:
        """An observable's final values by (PortId, class); absent means 0. For observables of ports, queues, groups
        and priorities.
        """
        self.load([name])
        return self._counters[name]

    def load(self, names: Sequence[str]) -> None:
        """Read several observables' final values at once, for `counter`."""
        missing = [name for name in names if name not in self._counters]
        if not missing:
            return
        table = self.run.counters(missing)
        self._counters |= {name: {} for name in missing}
        ports = self.ports_of(table).tolist()
        classes = integers(table["class"], -1).tolist()
        values = np.where(_valid(table["value"]), integers(table["value"], 0), floats(table["value_ratio"])).tolist()
        for name, port, class_, value in zip(table["observable"].to_pylist(), ports, classes, values, strict=True):
            self._counters[name][port, class_] = value

    @cached_property
    def messages(self) -> Mapping[str, NDArray[Any]]:
        """Columns src, dst (NodeId), prio, start_ps, end_ps (-1: not yet), size_bytes, slowdown (NaN: not done)."""
        table = self.run.messages(["src", "dst", "priority", "start_ns", "end_ns", "size_bytes", "slowdown"])
        return {
            "src": self._nodes_of(table["src"]),
            "dst": self._nodes_of(table["dst"]),
            "prio": integers(table["priority"], 0),
            "start_ps": _moment_ps(table["start_ns"]),
            "end_ps": _moment_ps(table["end_ns"]),
            "size_bytes": integers(table["size_bytes"], 0),
            "slowdown": floats(table["slowdown"]),
        }

    def _nodes_of(self, column: pa.ChunkedArray) -> NDArray[np.int64]:
        encoded = column.combine_chunks()
        if not pa.types.is_dictionary(encoded.type):
            encoded = encoded.dictionary_encode()
        ids = np.array([int(self.fabric.by_name[name].id) for name in encoded.dictionary.to_pylist()] or [0], np.int64)
        return ids[np.asarray(encoded.indices)] if len(encoded) else _EMPTY

    def events(self, kinds: Sequence[str]) -> Mapping[str, NDArray[Any]]:
        """Columns time_ps, kind (EventKind), port, prio, reason (str), qp, a, b, c, d of the rows of these kinds."""
        table = self.run.events(list(kinds))
        codes = {kind.name.lower(): int(kind) for kind in EventKind}
        return {
            "time_ps": integers(table["time_ns"], 0) * PS_PER_NS,
            "kind": np.array([codes[name] for name in table["kind"].to_pylist()], np.int64),
            "port": self.ports_of(table),
            "prio": integers(table["class"], -1),
            "reason": np.array(table["reason"].to_pylist(), dtype=object),
            "qp": integers(table["qp"], -1),
            **{name: integers(table[name], 0) for name in ("a", "b", "c", "d")},
        }

    def series(self, name: str) -> dict[Place, tuple[NDArray[np.int64], NDArray[Any]]]:
        """An observable over time: (PortId, class) -> (times_ns, values); the value holds until the next row, and is 0
        before the first.
        """
        table = self.run.timeseries([name])
        return _split(self.ports_of(table), integers(table["class"], -1), integers(table["time_ns"], 0), _values(table))

    def item_series(self, name: str) -> dict[int, tuple[NDArray[np.int64], NDArray[Any]]]:
        """As `series`, for observables of queue pairs: item -> (times_ns, values)."""
        table = self.run.timeseries([name])
        items = integers(table["item"], -1)
        split = _split(items, np.zeros_like(items), integers(table["time_ns"], 0), _values(table))
        return {item: found for (item, _), found in split.items()}

    def device_series(self, name: str) -> dict[int, tuple[NDArray[np.int64], NDArray[Any]]]:
        """As `series`, for observables of hosts: NodeId -> (times_ns, values)."""
        table = self.run.timeseries([name])
        nodes = self._nodes_of(table["device"])
        split = _split(nodes, np.zeros_like(nodes), integers(table["time_ns"], 0), _values(table))
        return {node: found for (node, _), found in split.items()}

    @cached_property
    def pauses(self) -> list[pause_tree.PauseSpan]:
        """Every pause of the run with its cause."""
        transfers = self.run.transfers(["dst"])
        ends = np.concatenate([self.messages["dst"], self._nodes_of(transfers["dst"])])
        destinations = [NodeId(int(node)) for node in np.unique(ends)]
        reach = feeds(self.fabric, self.routes, destinations)
        ports, prios, times, depths = [], [], [], []
        for (port, prio), (at, values) in self.series("queue_watermark_bytes").items():
            ports.append(np.full(at.size, port, np.int64))
            prios.append(np.full(at.size, prio, np.int64))
            times.append(at * PS_PER_NS)
            depths.append(values)
        joined = [np.concatenate(parts) if parts else _EMPTY for parts in (ports, prios, times, depths)]
        depths_at = pause_tree.Depths(*joined)
        held_back = self.run.counters(["rx_buffer_peak_bytes"])["device"].to_pylist()
        slow = {int(self.fabric.by_name[name].id) for name in held_back}
        return pause_tree.trace_pauses(self.fabric, self.events(_PAUSE_KINDS), reach, depths_at, self.end_ps, slow)

    @cached_property
    def _pauses_by_place(self) -> dict[Place, list[pause_tree.PauseSpan]]:
        found: dict[Place, list[pause_tree.PauseSpan]] = {}
        for span in self.pauses:
            found.setdefault((int(span.port), span.prio), []).append(span)
        return found

    def pauses_of(self, port: int, prio: int) -> list[pause_tree.PauseSpan]:
        """Pauses that stopped a port in a class, in the order of `pauses`."""
        return self._pauses_by_place.get((int(self.fabric.ports[port].peer), prio), [])

    @cached_property
    def episodes(self) -> list[pause_tree.Episode]:
        """Pause trees, most paused time first."""
        return pause_tree.episodes(self.pauses)

    def blast(self, episode: pause_tree.Episode) -> pause_tree.Blast:
        """Hosts, switches and messages that an episode delayed."""
        return pause_tree.blast(self.fabric, episode, self.messages, self.leave_by, self.end_ps)

    @cached_property
    def leave_by(self) -> Mapping[int, NDArray[np.int64]]:
        """PortId -> rows of the messages whose packets leave by it; where switches spread them, of all that may."""
        found: dict[int, list[int]] = {}
        spread: dict[tuple[int, int], frozenset[int]] = {}
        paths = self.run.messages(["path"])["path"].to_pylist()
        ends = zip(self.messages["src"].tolist(), self.messages["dst"].tolist(), strict=True)
        for row, (path, pair) in enumerate(zip(paths, ends, strict=True)):
            if path is None and pair not in spread:
                spread[pair] = self.ports_between(*pair)
            for port in spread[pair] if path is None else map(self.port_named, path):
                found.setdefault(port, []).append(row)
        return {port: np.array(rows, np.int64) for port, rows in found.items()}

    def ports_between(self, src: int, dst: int) -> frozenset[int]:
        """PortIds of every port on a shortest path between two hosts (NodeIds), with every cable up."""
        ports: set[int] = set()
        frontier = {src}
        while frontier:
            egress = {int(port) for node in frontier for port in self.routes.ports_to(node, dst)}
            ports |= egress
            frontier = {int(self.fabric.peer_of(port).id) for port in egress} - {dst}
        return frozenset(ports)

    @cached_property
    def _payloads_bytes(self) -> NDArray[np.int64]:
        return endstate.read(self.run).qps["payload_bytes"].astype(np.int64)

    def full_payload_bytes(self, qp: int) -> int:
        """Payload of a full packet of a queue pair; of a run that did not record it, transport.mtu."""
        return int(self._payloads_bytes[qp]) or int(self.run.manifest["card"]["frames"]["payload_bytes"])

    @cached_property
    def spreads(self) -> bool:
        """Whether packets are sprayed, flowlets moved or paths chosen by NICs: switches give a queue pair no path."""
        return not self._balancers <= BY_FLOW

    @property
    def source_routed(self) -> bool:
        """Whether NICs choose paths."""
        return bool(self._balancers & BY_SENDER)

    @cached_property
    def _balancers(self) -> set[int]:
        """The codes.LoadBalance of the switches."""
        return set(endstate.read(self.run).switches["load_balance"].tolist())

    @property
    def notified_by(self) -> str:
        """What made queue pairs send below line rate: the congestion control and its signal."""
        transport = self.run.manifest["scenario"]["resolved"]["transport"]
        controls = [transport.get("cc"), *(it["cc"] for it in transport.get("overrides", ()))]
        signals = dict.fromkeys(SIGNALS[it] for it in controls if it in SIGNALS)
        return "; ".join(signals) or SIGNALS["dcqcn"]

    def records(self, category: str) -> bool:
        """Whether the scenario recorded events of a category (telemetry.events)."""
        return category in self.run.manifest["scenario"]["resolved"]["telemetry"]["events"]

    def unrecorded(self, category: str) -> int:
        """Events of a category that were beyond the log's cap."""
        return int(self.run.summary.get("events", {}).get("unrecorded", {}).get(category, 0))

    def message_row(self, name: str) -> int:
        """Position of a message by its id. Raises: RunDirError naming the nearest ids."""
        import difflib  # noqa: PLC0415  only for a mistyped name

        names: list[str] = self.run.messages(["id"])["id"].to_pylist()
        if name in names:
            return names.index(name)
        near = difflib.get_close_matches(name, names, 3, 0.5)
        raise RunDirError(
            f"{self.run.path} has no message '{name}'",
            f"nearest: {', '.join(near)}"
            if near
            else f"ids run from '{names[0]}' to '{names[-1]}'"
            if names
            else "the run has no messages",
        )


def integers(column: pa.ChunkedArray, none: int) -> NDArray[np.int64]:
    """A column as int64 with `none` for nulls."""
    return np.asarray(column.combine_chunks().fill_null(none)).astype(np.int64)


def floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """A column as float64 with NaN for nulls."""
    return np.asarray(column.cast(pa.float64()).combine_chunks().fill_null(float("nan")))


def _valid(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    return np.asarray(column.is_valid().combine_chunks())


def _values(table: pa.Table) -> NDArray[Any]:
    if table["value_ratio"].null_count == len(table):
        return integers(table["value"], 0)
    return floats(table["value_ratio"])


def _moment_ps(column: pa.ChunkedArray) -> NDArray[np.int64]:
    found = integers(column, -1)
    return np.where(found < 0, -1, found * PS_PER_NS)


def _split(
    ports: NDArray[np.int64], classes: NDArray[np.int64], times: NDArray[np.int64], values: NDArray[Any]
) -> dict[Place, tuple[NDArray[np.int64], NDArray[Any]]]:
    if not ports.size:
        return {}
    order = np.lexsort((times, classes, ports))
    ports, classes, times, values = ports[order], classes[order], times[order], values[order]
    starts = np.flatnonzero(np.r_[True, (ports[1:] != ports[:-1]) | (classes[1:] != classes[:-1])])
    ends = np.r_[starts[1:], ports.size]
    return {
        (int(ports[start]), int(classes[start])): (times[start:end], values[start:end])
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    }
