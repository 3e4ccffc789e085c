"""Root causes of a live run so far: the rules of `fabric explain roots`, asked while it runs.

Rules
1. The samples of the present pass are kept, with what the diagnosis reads. Beyond MOST_SAMPLES of them, or MOST_CHANGES
   of their values, the older half is dropped: roots are then of what is left.
2. The simulation thread records, and copies what it has recorded when somebody asks: at most MOST_CHANGES values, some
   tens of milliseconds. The diagnosis itself runs in the thread that asks.
3. An answer is given again for REST times as long as its diagnosis took, so that readers of a large fabric do not take
   the processor from its simulation.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fabric.controlplane.network.run import ControlRun
from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state.codes import EventKind
from fabric.scenario.inject import Change as LiveChange
from fabric.topology.model import Fabric
from fabric.units import NS_PER_S, PS_PER_NS
from telemetry.catalogue.derive import RunInfo
from telemetry.catalogue.observation import observe
from telemetry.diagnosis.changes import Change, before, is_act
from telemetry.diagnosis.confidence import table as table_of_confidence
from telemetry.diagnosis.diagnose import METRICS, diagnose
from telemetry.diagnosis.rehearsed import playbook, runbooks_of
from telemetry.diagnosis.root import Root
from telemetry.diagnosis.seen import IDEAL
from telemetry.live.control import LiveControl
from telemetry.live.simulation import Observer
from telemetry.live.world import LiveWorld
from telemetry.record.sampler import Sampler
from telemetry.record.store import Store
from telemetry.sources.change_log import done_by_people, in_order, logged_by_routers, of_cables

MOST_SAMPLES: Final = 4096
MOST_CHANGES: Final = 4_000_000
"""Some 64 MB."""
REST: Final = 10
_CABLES: Final = {
    int(EventKind.LINK_DOWN): "link_down",
    int(EventKind.LINK_UP): "link_up",
    int(EventKind.RATE_CHANGED): "rate_changed",
}
_MOST_EVENTS: Final = 10_000
"""Events of cables that are kept of a pass."""

T = TypeVar("T")


class Ask(Protocol):
    """Carries out a function in the simulation thread (telemetry/live/mailbox.py)."""

    def __call__(self, work: Callable[[], T]) -> T:
        """Raises: BusyError."""


@dataclass(frozen=True, slots=True)
class _State:
    """What the simulation thread hands over: copies."""

    number: int
    """Of the pass."""
    sample: int
    """Number of the last sample of the pass."""
    now_ns: int
    """Time of that sample."""
    store: Store
    control: ControlRun | None
    truth: Sequence[Mapping[str, Any]]
    """Lines of truth.jsonl, of the scenario and of faults through the API."""
    changes: Sequence[LiveChange]
    cables: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class _Answer:
    """The last diagnosis."""

    state: tuple[int, int]
    due_s: float
    """Until then it is given again."""
    body: dict[str, Any]


class LiveRoots(Observer):
    """Records the samples of a pass, and names its root causes.

    Parameters
    ----------
    info : RunInfo          facts of the run that are not in a Snapshot
    fabric : Fabric
    world : LiveWorld       changes through the API
    control : LiveControl   an observer before this one
    truth : sequence        lines of truth.jsonl of the scenario's faults: of these only what somebody has a record of
                            (telemetry/sources/change_log.py), for what changed before a root
    sampling_ps : int       time between two samples
    clock : callable        seconds
    """

    def __init__(
        self,
        info: RunInfo,
        fabric: Fabric,
        world: LiveWorld,
        control: LiveControl,
        truth: Sequence[Mapping[str, Any]],
        sampling_ps: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._info, self._fabric, self._world, self._control = info, fabric, world, control
        self._truth, self._sample_ns, self._clock = truth, sampling_ps // PS_PER_NS, clock
        self._number = 0
        self._one_at_a_time = threading.Lock()
        self._answer: _Answer | None = None
        self._begin()

    def _begin(self) -> None:
        self._sampler = Sampler(self._info, METRICS)
        self._sampled_ps, self._last = -1, -1
        self._cables: list[Mapping[str, Any]] = []

    # ===== observer =====

    def begin(self, number: int) -> None:
        """A new pass."""
        self._number = number
        self._begin()

    def events(self, rows: NDArray[Any], complete_ps: int) -> None:  # noqa: ARG002  rows are in order
        """Keep the carriers and speeds of cables."""
        for row in rows[np.isin(rows["kind"], list(_CABLES))][: _MOST_EVENTS - len(self._cables)]:
            self._cables.append(
                {
                    "time_ns": int(row["time_ps"]) // PS_PER_NS, "kind": _CABLES[int(row["kind"])],
                    "port": int(row["port"]), "a": int(row["a"]), "b": int(row["b"]),
                }
            )  # fmt: skip

    def sample(self, now: Snapshot) -> None:
        """Record; a run may end at the time of a sample."""
        if now.time_ps // PS_PER_NS <= self._sampled_ps // PS_PER_NS and self._last >= 0:
            return
        self._sampled_ps, self._last = now.time_ps, self._last + 1
        self._sampler.sample(observe(now, control=self._control.at(now.time_ps)))
        samples = self._sampler.store.samples
        if samples > MOST_SAMPLES or (self._sampler.changes > MOST_CHANGES and samples > 2):
            self._sampler.forget(samples // 2)

    def end(self, reason: str, now: Snapshot) -> None:  # noqa: ARG002  the last sample has been taken
        """Give no earlier answer again: the next one is of the whole pass."""
        self._answer = None

    # ===== for the thread that asks =====

    def roots(self, ask: Ask) -> dict[str, Any]:
        """The answer of GET /api/v1/roots. Raises: BusyError."""
        with self._one_at_a_time:
            known, here = self._answer, ask(lambda: (self._number, self._last))
            if known is not None and (
                known.state == here or (known.state[0] == here[0] and self._clock() < known.due_s)
            ):
                return known.body
            began_s = self._clock()
            state = ask(self._state)
            body = self._diagnosed(state)
            ended_s = self._clock()
            self._answer = _Answer((state.number, state.sample), ended_s + REST * (ended_s - began_s), body)
            return body

    def _state(self) -> _State:
        """In the simulation thread."""
        store, world = self._sampler.store, self._world
        return _State(
            self._number, self._last, self._sampled_ps // PS_PER_NS, store.last(store.samples), world.control,
            [*self._truth, *world.truth], world.changes, list(self._cables),
        )  # fmt: skip

    def _log(self, state: _State) -> list[Change]:
        live = [
            {"kind": it.kind, "at_ns": it.start_ps // PS_PER_NS, "objects": it.objects, "fault": it.truth is not None}
            for it in state.changes
        ]
        people = done_by_people(self._fabric, state.truth, state.now_ns, live=live)
        routers = (it for it in logged_by_routers(state.control) if it.time_ns <= state.now_ns)
        return in_order([*people, *routers, *of_cables(self._fabric, state.cables)])

    def _diagnosed(self, state: _State) -> dict[str, Any]:
        times_ns = state.store.times_ns
        found = diagnose(state.store, self._fabric)
        return {
            "pass": state.number,
            "from_seconds": int(times_ns[0]) / NS_PER_S if times_ns.size else 0.0,
            "until_seconds": int(times_ns[-1]) / NS_PER_S if times_ns.size else 0.0,
            "roots": [row for _, row in sorted(self._rows(found, state), key=lambda it: _urgency(it[1], act=it[0]))],
        }

    def _rows(self, found: Sequence[Root], state: _State) -> Iterator[tuple[bool, dict[str, Any]]]:
        """(whether it is an act of the operator, the root as the answer has it)."""
        confidence = table_of_confidence()
        log = self._log(state) if found else []
        for root in found:
            meaning = root.meaning
            change = before(root, log, self._fabric, self._sample_ns)
            yield (
                is_act(root, change),
                {
                    "kind": root.kind.value,
                    "title": meaning.title,
                    "place": root.place,
                    "device": root.device,
                    "port": root.port or None,
                    "class": root.priority,
                    "members": list(root.members),
                    "rank": root.rank,
                    "since_seconds": root.began_ns / NS_PER_S,
                    "until_seconds": root.ended_ns / NS_PER_S,
                    "open": root.ended_ns >= state.now_ns,
                    "confidence": confidence.probability(root, found, IDEAL),
                    "evidence": list(root.evidence),
                    "act": meaning.act,
                    "change_before": None if change is None else change.line,
                    "runbooks": list(runbooks_of(root)),
                    "playbook": playbook(root.kind),
                },
            )


def _urgency(row: Mapping[str, Any], *, act: bool = False) -> tuple[bool, bool, bool, float, int, float]:
    """Sort key: harmless roots last, before them acts of the operator, who knows of them; roots that are over after
    those that last, then the most certain first.
    """
    return row["rank"] > 1, act, not row["open"], -(row["confidence"] or 0.0), row["rank"], row["since_seconds"]
