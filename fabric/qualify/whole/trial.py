"""A run on a whole fabric, finished: snapshots around the measured window of each slot, events, the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import TraceBit
from fabric.qualify.whole import traffic
from fabric.qualify.whole.schema import RunSpec
from fabric.qualify.whole.subject import Subject
from fabric.qualify.whole.traffic import Slot
from fabric.runs.collective_times import Prepared, prepare_collective
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.topology.model import Fabric, Role

_STEPS: Final = 100
"""Of the time after the traffic, in which what is late arrives; and of that in which things come to rest."""
_SAMPLES: Final = 40
_RECORDED: Final = TraceBit.DROP | TraceBit.PAUSE


@dataclass
class FabricTrial:
    """A run, finished."""

    subject: Subject
    run: RunSpec
    ranks: int | None
    compiled: CompiledScenario
    windows: dict[str, tuple[Snapshot, Snapshot]]
    """By the host that receives in the slot; '': all of the traffic."""
    begin: Snapshot
    """Of time 0."""
    end: Snapshot
    events: NDArray[Any]
    samples: list[Snapshot] = field(default_factory=list)
    """Of the whole run, in steps of equal length."""
    prepared: Prepared | None = None
    """Of a run with one collective: what it should take."""
    alone: tuple[FabricTrial, ...] = ()
    """Of a run with several collectives: each of them without the others."""

    @property
    def fabric(self) -> Fabric:
        """As compiled."""
        return self.compiled.fabric

    @property
    def hosts(self) -> tuple[str, ...]:
        """Hosts that take part."""
        return traffic.hosts_of(self.subject, self.run, self.ranks)

    @cached_property
    def cables(self) -> tuple[tuple[int, int], ...]:
        """(sending port, receiving port) of each direction of the cables between switches."""
        found = []
        for port in self.fabric.ports:
            near, far = self.fabric.node_of(port.id), self.fabric.peer_of(port.id)
            if not near.is_host and not far.is_host and Role.SCALE_UP not in {near.role, far.role}:
                found.append((int(port.id), int(port.peer)))
        return tuple(found)

    @cached_property
    def hops(self) -> tuple[tuple[int, int], ...]:
        """As cables, with those to and from the hosts that take part."""
        found = list(self.cables)
        for host in self.hosts:
            port = self.subject.port_of(host)
            found += [(port, int(self.fabric.ports[port].peer)), (int(self.fabric.ports[port].peer), port)]
        return tuple(found)

    def hop_name(self, hop: tuple[int, int]) -> str:
        """'leaf1:Ethernet16 to spine1:Ethernet8'."""
        return f"{self.fabric.port_name(hop[0])} to {self.fabric.port_name(hop[1])}"

    def port_name(self, port: int) -> str:
        """'leaf1:Ethernet16'."""
        return self.fabric.port_name(port)

    @property
    def lasts_ps(self) -> int:
        """Of the traffic."""
        return traffic.lasts_ps(self.subject, self.run)


def carry_out(subject: Subject, run: RunSpec, ranks: int | None = None) -> FabricTrial:
    """Run it. Raises: InputErrors where the fabric cannot carry the traffic."""
    changes = traffic.sections(subject, run, ranks)
    leaves = {subject.leaf_of(it) for it in traffic.hosts_of(subject, run, ranks)}
    scenario, compiled = subject.compiled(changes, without=() if len(leaves) > 1 else ("vxlan",))  # of no effect there
    alone = run.loads[0].pattern == "collective" and len(run.loads) == 1
    prepared = prepare_collective(scenario, compiled) if alone else None
    edits = sorted([*compiled.edits, *traffic.storms(subject, compiled.fabric, run)], key=lambda it: it.time_ps)
    engine = Emulator(compiled.fabric, compiled.params, edits, record=_RECORDED)
    parts: list[NDArray[Any]] = []

    def at(time_ps: int) -> Snapshot:
        engine.advance(time_ps)
        parts.append(engine.drain_events())
        return engine.snapshot()

    begin = engine.snapshot()
    marks: dict[int, Snapshot] = {}
    slots = traffic.slots(subject, run)
    lasts = slots[-1].end_ps
    times = {it for slot in slots for it in _window(run, slot)}
    grid = {lasts * step // _SAMPLES for step in range(1, _SAMPLES + 1)}
    for time_ps in sorted(times | grid):
        marks[time_ps] = at(time_ps)
    end = marks[lasts]
    for step in range(1, _STEPS + 1):
        if run.ends == "stopped" or (run.ends == "drained" and end.finished):
            break
        before, end = end, at(lasts + step * lasts // (2 if run.ends == "still" else 1))
        if run.ends == "still" and _moved(before) == _moved(end):
            break
    windows = {slot.host: (marks[a], marks[b]) for slot in slots for a, b in [_window(run, slot)]}
    samples = [marks[it] for it in sorted(grid)]
    trial = FabricTrial(subject, run, ranks, compiled, windows, begin, end, np.concatenate(parts), samples, prepared)
    if len(run.loads) > 1 and all(it.pattern == "collective" for it in run.loads):
        trial.alone = tuple(carry_out(subject, run.model_copy(update={"loads": (it,)}), ranks) for it in run.loads)
    return trial


def _window(run: RunSpec, slot: Slot) -> tuple[int, int]:
    span = slot.end_ps - slot.begin_ps
    return slot.begin_ps + round(run.window[0] * span), slot.begin_ps + round(run.window[1] * span)


def _moved(now: Snapshot) -> int:
    """Bytes that left by queues; PAUSE frames, which go on, do not."""
    return int(now.queues["sent_bytes"].sum())
