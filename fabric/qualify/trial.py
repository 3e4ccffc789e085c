"""One run of a bench: snapshots around the measured window, drops and marks by queue pair, frames in flight.

The traffic begins at 0. The window is from the warm-up to nine tenths of the traffic, in two halves. Where they do not
agree the run is done again, twice as long, up to three times.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import N_CLASSES, DropReason, EventKind, TraceBit
from fabric.proof.outcome import Loss
from fabric.qualify import tester
from fabric.qualify.bench import Bench, Flow
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from fabric.topology.model import Fabric
from fabric.units import PS_PER_US

LONGEST: Final = 4
"""A run is at most so many times as long as the plan's file says."""
_SAMPLES: Final = 97
"""Of the frames in flight; a prime, so that the samples do not fall in step with messages."""
_DRAIN_STEPS: Final = 40
_RECORDED: Final = TraceBit.DROP | TraceBit.MARK | TraceBit.PAUSE
_WINDOW_ENDS: Final = 0.9
CONTROL_FRAME_BYTES: Final = 256
"""An ACK, NAK or CNP is smaller, a full data frame larger."""


@dataclass
class Trial:
    """A run, finished."""

    bench: Bench
    fabric: Fabric
    start: Snapshot
    """Begin of the measured window."""
    middle: Snapshot
    stop: Snapshot
    """End of the measured window."""
    end: Snapshot
    drained: bool
    events: NDArray[Any]
    in_flight: dict[str, list[int]] = field(default_factory=dict)
    """Data frames of a kind on the way, at each sample of the window."""
    depths: NDArray[Any] = field(default_factory=lambda: np.zeros((0, 0, N_CLASSES), np.int64))
    """(samples of the window, ports, queues) bytes that waited."""

    def __post_init__(self) -> None:
        at = {int(self.fabric.by_name[host].id): port for host, port in self.bench.hosts.items()}
        of = {(it.src, it.dst, it.priority): it for it in self.bench.flows}
        by_dscp = {dscp: priority for priority, dscp in self.bench.dscps.items()}
        rows = self.end.qps
        self.flow_of: dict[int, Flow] = {}
        """Queue pair to its flow."""
        for number in range(len(rows)):
            key = at[int(rows["src"][number])], at[int(rows["dst"][number])], by_dscp[int(rows["dscp"][number])]
            self.flow_of[number] = of[key]
        self.port_ids = {
            port.name: int(port.id)
            for port in self.fabric.ports
            if self.fabric.nodes[port.node].name == self.bench.device.name
        }
        self.host_ports = {
            port: int(self.fabric.hosts[self.fabric.by_name[host].id].first_port)
            for host, port in self.bench.hosts.items()
        }
        self.host_ids = {port: int(self.fabric.by_name[host].id) for host, port in self.bench.hosts.items()}

    @property
    def window_ps(self) -> int:
        """Length of the measured window."""
        return self.stop.time_ps - self.start.time_ps

    def queue_bytes(self, before: Snapshot, after: Snapshot, port: str) -> NDArray[np.int64]:
        """(8,) bytes that left by the queues of a port."""
        row = self.port_ids[port]
        sent: NDArray[np.int64] = after.queues["sent_bytes"][row] - before.queues["sent_bytes"][row]
        return sent

    def groups(self, port: str) -> NDArray[Any]:
        """(8,) priority groups of a port at the end of the run."""
        rows: NDArray[Any] = self.end.pgs.reshape(-1, N_CLASSES)[self.port_ids[port]]
        return rows

    @property
    def disagreement(self) -> float:
        """Largest difference of a queue's rate between the halves of the window, as a share of the port's rate."""
        worst = 0.0
        for port in self.bench.ports:
            first = self.queue_bytes(self.start, self.middle, port) / (self.middle.time_ps - self.start.time_ps)
            second = self.queue_bytes(self.middle, self.stop, port) / (self.stop.time_ps - self.middle.time_ps)
            line = self.bench.mbps / 8_000_000  # bytes per ps
            worst = max(worst, float(np.abs(first - second).max()) / line)
        return worst

    @property
    def steady(self) -> bool:
        """Whether the two halves of the window agree."""
        return self.disagreement <= self.bench.case.times.agree

    def data_events(self, kind: EventKind, *, in_window: bool = False) -> Counter[int]:
        """Drops or marks of data frames, by queue pair."""
        rows = self.events[self.events["kind"] == int(kind)]
        if in_window:
            rows = rows[(rows["time_ps"] >= self.start.time_ps) & (rows["time_ps"] < self.stop.time_ps)]
        found: Counter[int] = Counter()
        towards = {number: self.port_ids[flow.dst] for number, flow in self.flow_of.items()}
        for event in rows:
            qp = int(event["qp"])
            if qp not in self.flow_of:
                continue
            if kind == EventKind.MARK and int(event["port"]) != towards[qp]:
                continue  # an acknowledgement, on its way back
            if kind == EventKind.DROP and int(event["a"]) < CONTROL_FRAME_BYTES:
                continue
            found[qp] += 1
        return found

    def losses(self, of: str = "all") -> list[Loss]:
        """Where frames of flows of a kind, and their answers, were discarded, the most first."""
        drops: Counter[tuple[int, int, int]] = Counter()
        first: dict[tuple[int, int, int], int] = {}
        for event in self.events[self.events["kind"] == int(EventKind.DROP)]:
            flow = self.flow_of.get(int(event["qp"]))
            if flow is not None and of not in {"all", flow.kind}:
                continue
            key = int(event["port"]), int(event["prio"]), int(event["reason"])
            drops[key] += 1
            first.setdefault(key, int(event["time_ps"]))
        return [
            Loss(self.fabric.port_name(port), tc, DropReason(reason).name.lower(), many,
                 first[port, tc, reason] / PS_PER_US)
            for (port, tc, reason), many in drops.most_common()
        ]  # fmt: skip


def run(bench: Bench) -> Trial:
    """Run a bench until the halves of its window agree, or it is LONGEST times as long. Raises: InputErrors."""
    longer = 1
    while True:
        trial = _run(bench, longer)
        if trial.steady or longer >= LONGEST:
            return trial
        longer *= 2


def _run(bench: Bench, longer: int) -> Trial:
    compiled = compile_scenario(build_scenario(bench.raw(longer), Path(f"{bench.case.case}.yml")))
    edits = sorted([*compiled.edits, *tester.storms(bench, compiled.fabric, longer)], key=lambda it: it.time_ps)
    engine = Emulator(compiled.fabric, compiled.params, edits, record=_RECORDED)
    lasts_ps = bench.scaled_ps(bench.case.times.simulated) * longer
    start_ps = bench.scaled_ps(bench.case.times.warm_up) * longer
    stop_ps = int(lasts_ps * _WINDOW_ENDS)
    events: list[NDArray[Any]] = []

    def at(time_ps: int) -> Snapshot:
        engine.advance(time_ps)
        events.append(engine.drain_events())
        return engine.snapshot()

    start = at(start_ps)
    taken = [at(start_ps + (2 * it + 1) * (stop_ps - start_ps) // (2 * _SAMPLES)) for it in range(_SAMPLES)]
    stop = at(stop_ps)
    end = stop
    if bench.case.ends == "drained":
        for step in range(1, _DRAIN_STEPS + 1):
            end = at(stop_ps + (4 * lasts_ps - stop_ps) * step // _DRAIN_STEPS)
            if end.finished:
                break
    trial = Trial(bench, compiled.fabric, start, taken[_SAMPLES // 2], stop, end, end.finished, np.concatenate(events))
    trial.depths = np.array([now.queues["depth_bytes"] for now in taken])
    _in_flight(trial, taken)
    return trial


def _in_flight(trial: Trial, taken: list[Snapshot]) -> None:
    """Data frames sent, and neither received nor dropped, at each sample."""
    kinds = {kind: [n for n, flow in trial.flow_of.items() if flow.kind == kind] for kind in ("lossless", "lossy")}
    drops = trial.events[trial.events["kind"] == int(EventKind.DROP)]
    drops = drops[(drops["a"] >= CONTROL_FRAME_BYTES) & (drops["qp"] < len(trial.end.qps))]
    for kind, rows in kinds.items():
        mine = np.array(rows, np.int64)
        times = np.sort(drops["time_ps"][np.isin(drops["qp"], mine)])
        trial.in_flight[kind] = [
            int(now.qps["sent_pkts"][mine].sum() - now.rqps["expected_psn"][mine].sum()
                - now.rqps["out_of_sequence"][mine].sum() - np.searchsorted(times, now.time_ps))
            for now in taken
        ] if rows else []  # fmt: skip
