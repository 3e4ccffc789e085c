"""One scenario carried out in this process, and the questions that proofs ask of its end.

Scenarios of proofs last their full duration, so the metrics here are those of `fabric run` on the same file.
Times are microseconds where they are printed, picoseconds inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import N_CLASSES, DropReason, EventKind, TraceBit
from fabric.runs.measures import Number, measure
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from fabric.topology.model import Fabric
from fabric.verify.deadlock import find_cycle

_STEPS: Final = 40
"""Searches for a deadlock in one run: one that stays is found by the last."""
PS_PER_US: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Loss:
    """Packets discarded at one port, of one class, for one reason."""

    port: str
    """'leaf1:Ethernet0'."""
    tc: int
    reason: str
    packets: int
    first_us: float | None

    @property
    def switch(self) -> str:
        """The device."""
        return self.port.partition(":")[0]


@dataclass
class Outcome:
    """The end of one run."""

    fabric: Fabric
    now: Snapshot
    metrics: Mapping[str, Number]
    expectations: list[tuple[str, bool]]
    """Each expectation of the scenario, and whether it is met."""
    events: NDArray[Any]
    cycle: list[tuple[int, int]]
    packet_hops: int

    @property
    def ok(self) -> bool:
        """Whether `fabric run` exits with 0."""
        return all(met for _, met in self.expectations)

    def count(self, metric: str) -> int:
        """A metric that is a count or a time; 0 where the run has none."""
        return int(self.metrics[metric] or 0)

    def port(self, device: str, port: str) -> int:
        """Id of a port."""
        node = self.fabric.by_name[device]
        return next(int(number) for number in node.ports if self.fabric.ports[number].name == port)

    def losses(self, bulk_hosts: frozenset[str] = frozenset()) -> list[Loss]:
        """Where RoCE was discarded, the most first; queue pairs of other senders do not count."""
        counts: dict[tuple[int, int, int], int] = {}
        first: dict[tuple[int, int, int], int] = {}
        for event in self._of(EventKind.DROP):
            if self._is_bulk(int(event["qp"]), bulk_hosts):
                continue
            key = int(event["port"]), int(event["prio"]), int(event["reason"])
            many = int(event["b"]) if DropReason(key[2]) in {DropReason.LINK_DOWN, DropReason.WATCHDOG} else 1
            counts[key] = counts.get(key, 0) + max(1, many)
            first.setdefault(key, int(event["time_ps"]))
        ordered = sorted(counts.items(), key=lambda item: -item[1])
        return [
            Loss(self.fabric.port_name(p), c, DropReason(r).name.lower(), n, first[p, c, r] / PS_PER_US)
            for (p, c, r), n in ordered
        ]

    def _is_bulk(self, qp: int, bulk_hosts: frozenset[str]) -> bool:
        if not bulk_hosts or qp >= len(self.now.qps):
            return False
        row = self.now.qps[qp]
        ends = (self.fabric.nodes[int(row[end])].name for end in ("src", "dst"))
        return any(name in bulk_hosts for name in ends)

    def _of(self, kind: EventKind) -> Iterator[Any]:
        yield from self.events[self.events["kind"] == int(kind)]

    def received_xoff(self, device: str, port: str, class_: int | None = None) -> int:
        """Pauses that stopped a port: all of its classes, or one. XOFF frames that a deaf port ignored count, too."""
        rows = self.now.prios[self.port(device, port)]
        return int((rows["rx_xoff_pkts"] if class_ is None else rows["rx_xoff_pkts"][class_]).sum())

    def sent_xoff(self, device: str, port: str, class_: int | None = None) -> int:
        """XOFF frames that a port sent."""
        rows = self.now.prios[self.port(device, port)]
        return int((rows["tx_xoff_pkts"] if class_ is None else rows["tx_xoff_pkts"][class_]).sum())

    def group(self, device: str, port: str, class_: int) -> Any:  # noqa: ANN401  a row of a structured array
        """A priority group's row."""
        return self.now.pgs.reshape(-1, N_CLASSES)[self.port(device, port)][class_]

    def queue(self, device: str, port: str, queue: int) -> Any:  # noqa: ANN401  a row of a structured array
        """An egress queue's row."""
        return self.now.queues.reshape(-1, N_CLASSES)[self.port(device, port)][queue]

    def priority(self, device: str, port: str, class_: int) -> Any:  # noqa: ANN401  a row of a structured array
        """A class's row of flow control at a port."""
        return self.now.prios[self.port(device, port)][class_]

    def first(self, kind: EventKind, device: str, port: str) -> float | None:
        """Time of the first event of a kind at a port, us; None where there is none."""
        number = self.port(device, port)
        return next((int(it["time_ps"]) / PS_PER_US for it in self._of(kind) if int(it["port"]) == number), None)

    def sent_by(self, host: str) -> int:
        """Packets that a host's queue pairs sent."""
        node = int(self.fabric.by_name[host].id)
        return int(self.now.qps["sent_pkts"][self.now.qps["src"] == node].sum())

    def ends_us(self, host: str) -> list[float]:
        """Completion times of a host's messages since the start of the run, us; unfinished ones are left out."""
        node = int(self.fabric.by_name[host].id)
        mine = self.now.qps["src"][self.now.messages["qp"]] == node
        ends = self.now.messages["end_ps"][mine & (self.now.messages["failed"] == 0)]
        return [float(it) / PS_PER_US for it in ends if it > 0]


def simulate(raw: Mapping[str, Any], file: str = "proof.yml") -> Outcome:
    """Run a scenario to its duration. Raises: InputErrors where it is not one."""
    compiled = compile_scenario(build_scenario(raw, Path(file)))
    record = TraceBit.PAUSE | TraceBit.DROP | TraceBit.MARK
    engine = Emulator(
        compiled.fabric, compiled.params, compiled.edits, record=record, reroute_delay_ps=compiled.reroute_delay_ps
    )
    cycle: list[tuple[int, int]] = []
    events = []
    for step in range(1, _STEPS + 1):
        engine.advance(compiled.duration_ps * step // _STEPS)
        events.append(engine.drain_events())
    now = engine.snapshot()
    if (now.messages["end_ps"] < 0).any():
        cycle = list(find_cycle(engine.state, engine.fabric))
    metrics = measure(now, compiled.ideal_ps, int(bool(cycle)))
    met = []
    for one in compiled.expectations:
        value = metrics[one.metric]
        met.append((str(one), value is not None and one.holds(value)))
    return Outcome(compiled.fabric, now, metrics, met, np.concatenate(events), cycle, engine.packet_hops)
