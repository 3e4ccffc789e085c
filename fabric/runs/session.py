"""Simulating a run: advance the engine from sample to sample, record, checkpoint, and detect the end.

Rules
1. All actions that affect the result happen at times that the scenario fixes: samples, the test whether all messages
   are done, the test for progress. Wall time only decides when to draw a progress bar, to checkpoint and to react to
   Ctrl-C. So the result is the same at any pace, for any number of threads, and
   after any number of interruptions.
2. A run ends when all messages are done and all datagrams delivered or lost (unless it lasts its full duration), at
   the duration, when no event is pending, or when no payload arrived for the scenario's `no_progress` time although
   messages wait.
3. An interrupted run first checkpoints, then writes results up to that moment; resuming removes these results.

Not here: building the engine (the caller does), checking configurations, printing.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import EventKind, Stop
from fabric.dataplane.state.compiled.compiling import CompileClock
from fabric.dataplane.state.types import TRACE
from fabric.errors import InvariantError, RunDirError
from fabric.runs import checkpoint, eventlog, folder, messages, transfers
from fabric.runs.checkpoint import Checkpoint
from fabric.runs.pace import Observation, Pace
from fabric.runs.recorder import Recorder
from fabric.runs.serving_times import ServingPlan
from fabric.runs.summary import Ending
from fabric.runs.transfers import ScheduledTransfers
from fabric.scenario.schema.expectations import Expectation
from fabric.topology.model import Fabric

if TYPE_CHECKING:  # annotations only: the caller has loaded the engine already
    from fabric.controlplane.network.run import ControlRun
    from fabric.dataplane.engine.counters import Snapshot

log = logging.getLogger(__name__)

TICK_S: Final = 0.25
"""Wall time between two checks of the clock, the progress bar and signals."""
STANDSTILL: Final = 0.1
"""Share of a run without progress of its messages, up to its end, above which the verdict reports it."""


class Engine(Protocol):
    """The interface of the emulator that a session needs (fabric/dataplane/engine/driver.py)."""

    now_ps: int

    @property
    def packet_hops(self) -> int:
        """Packets received over all ports."""

    @property
    def activity(self) -> tuple[int, int]:
        """Events and edits so far."""

    def unchanged_until_ps(self) -> int:
        """The time up to which a reader finds the counters of now, but for the time that links are down."""

    def advance(self, until_ps: int, *, budget: int | None = None) -> Stop:
        """Simulate events before until_ps."""

    def snapshot(self, *, reset_watermarks: bool = False) -> Snapshot:
        """All counters now."""

    def drain_events(self) -> NDArray[np.void]:
        """Trace rows since the last call."""

    def drain_messages(self, *, unfinished: bool = False) -> NDArray[np.void]:
        """Messages of transfers that ended since the last call, or all that are left."""

    def digest(self) -> str:
        """Hash of all observable state."""

    def save(self, path: Path) -> None:
        """Write a checkpoint."""


@dataclass(frozen=True)
class Plan:
    """The input of a session: the settings of one run and the data for its report."""

    name: str
    fabric: Fabric
    duration_ps: int
    sampling_ps: int
    stop_when_done: bool
    no_progress_ps: int | None
    """None: a lack of progress never ends the run."""
    ideal_ps: NDArray[np.int64]
    """Per message: completion time alone in an idle fabric."""
    labels: Sequence[str]
    truth: Sequence[Mapping[str, Any]]
    expectations: Sequence[Expectation]
    about: Mapping[str, Any]
    """The scenario in manifest.json: verbatim, resolved, seed, model card, options."""
    control: ControlRun | None
    """The control plane, simulated before the run; None with shortest-path routing."""
    identity: str
    """Equal for two runs exactly if they must have equal results; guards --resume."""
    transfers: ScheduledTransfers | None = None
    """None: the run has no transfers."""
    ideal_transfers_ps: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 2), np.int64))
    """(n_transfers, 2) completion times of short and long messages alone; empty where messages are not recorded."""
    datagrams: Sequence[str] = ()
    """Name of the entry of the workload of each stream of datagrams."""
    serving: Sequence[ServingPlan] = ()
    """Inference requests."""
    nics_spray: bool = False
    """Whether NICs give each packet of a queue pair another source route."""
    reads_marks: bool = True
    """Whether some queue pair's congestion control slows down for ECN marks."""

    @property
    def records_messages(self) -> bool:
        """Whether the times of every message of transfers are results."""
        return self.transfers is not None and self.transfers.records_messages


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run, for a progress bar."""

    now_ps: int
    end_ps: int
    packet_hops: int
    hops_per_s: float | None
    """Over the last seconds; None before it is known."""
    eta_s: float | None
    """Wall time to the end (pace.py); None before the first estimate."""
    latest: Snapshot | None
    """The last sample."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    status: str
    """manifest.json's status: done, interrupted or stopped-no-progress."""
    summary: Mapping[str, Any]
    digest: str

    @property
    def exit_code(self) -> int:
        """0; 1 if an expectation is not met or the run made no progress; 130 if interrupted."""
        if self.status == "interrupted":
            return 130
        return 0 if self.status == "done" and all(it["met"] for it in self.summary["expectations"]) else 1


@dataclass(frozen=True)
class Hooks:
    """Callbacks of a session, which cannot change its result. Each gets the present engine."""

    on_progress: Callable[[Progress], None] | None = None
    on_sample: Callable[[Snapshot], None] | None = None
    on_pause: Callable[[Any], None] | None = None
    """Called whenever the engine has returned; it may read the engine and must not advance it."""
    check: Callable[[Any, Snapshot], Sequence[str]] | None = None
    """Broken invariants; any ends the run with exit code 3."""
    find_cycle: Callable[[Any], Sequence[tuple[int, int]]] | None = None
    """A cyclic wait among (port, class), searched where messages wait at the end."""
    paths: Callable[[Any], Any] | None = None
    """list<string> array: the ports on the path of every message."""


@dataclass
class _Position:
    """The state of the session in a checkpoint."""

    next_sample_ps: int = 0
    samples: int = 0
    goodput_bytes: int = 0
    progress_ps: int = 0
    """Last time at which payload is known to have arrived, or no message was under way."""
    delivered_ps: int = 0
    """Last time at which payload is known to have arrived."""
    wall_s: float = 0.0
    resumed: int = 0
    checkpoints: int = 0

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass
class _Budget:
    """The size of the engine's next step, so that it returns about every TICK_S."""

    budget: int = 8
    since: float = field(default_factory=time.monotonic)

    def adapt(self, *, used_up: bool) -> None:
        """Adapt to the call that has just returned."""
        now = time.monotonic()
        took, self.since = now - self.since, now
        if used_up:
            self.budget = max(1, min(int(self.budget * min(TICK_S / max(took, 1e-6), 4.0)), 1 << 40))


def _is_outstanding(now: Snapshot) -> bool:
    """Whether a message is in progress."""
    return bool((messages.states(now) == messages.OUTSTANDING).any()) or transfers.is_outstanding(now)


class Session:
    """One run in one directory.

    Parameters
    ----------
    plan : Plan                     the run
    home : RunFolder                the run directory, claimed
    engine : Engine                 ready, restored from `start` if it is given
    start : Checkpoint, optional    the start of a resumed run
    checkpoint_every_s : float      wall time between checkpoints; 0: only when interrupted
    event_cap : int                 event rows recorded per category
    recorder : Recorder, optional   where samples and events go; absent: files of the run directory
    """

    def __init__(
        self,
        plan: Plan,
        home: folder.RunFolder,
        engine: Engine,
        *,
        start: Checkpoint | None = None,
        checkpoint_every_s: float = 60.0,
        event_cap: int = eventlog.DEFAULT_CAP,
        hooks: Hooks | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self._plan = plan
        self._home = home
        self._engine = engine
        self._hooks = hooks or Hooks()
        self._every_s = checkpoint_every_s
        self._recorder = recorder or Recorder(
            home.path, plan.fabric, event_cap, start.parts if start else None, messages=plan.records_messages
        )
        self._at = _Position()
        if start is not None:
            try:
                self._recorder.load(start.memory)
                self._at = _Position(**start.session)
            except (KeyError, IndexError, TypeError, ValueError) as error:  # intact, but with another content than ours
                raise RunDirError(
                    f"{start.engine.parent} was written by another version: {error!r}", checkpoint.REMEDY
                ) from error
            self._at.resumed += 1
        self._stop_asked = threading.Event()
        self._latest: Snapshot | None = None
        self._activity: tuple[int, int] | None = None
        """Of the engine at the last sample."""
        self._started = time.monotonic() - self._at.wall_s
        self._pace: Pace | None = None
        self._compiler = CompileClock()

    def run(self) -> Outcome:
        """Simulate to the end and write every result. Returns: the outcome.

        Raises: InvariantError where an invariant is broken; the manifest then has this status.
        """
        try:
            with self._interruptible(), self._compiler:
                ending, now = self._simulate()
            return self._finish(ending, now)
        except InvariantError as error:
            self._home.end("broken-invariant", self._timings(), error=error.text)
            raise

    def interrupt(self) -> None:
        """End at the next opportunity, as Ctrl-C does."""
        self._stop_asked.set()

    def _simulate(self) -> tuple[Ending, Snapshot]:
        plan, engine = self._plan, self._engine
        if self._at.samples == 0:
            self._sample()  # at time 0: gauges that never change are known from the start
        budget = _Budget()
        saved_at = time.monotonic()
        while True:
            bound_ps = min(self._at.next_sample_ps, plan.duration_ps)
            stop = engine.advance(bound_ps, budget=budget.budget)
            self._recorder.take_events(engine.drain_events(), engine.now_ps)
            if plan.records_messages:
                self._recorder.take_messages(engine.drain_messages(), engine.now_ps)
            budget.adapt(used_up=stop is Stop.BUDGET)
            self._tell()
            ending = None
            if stop is not Stop.BUDGET:
                now = self._sample()
                ending = self._ending(stop, now)
            if ending is not None:
                return ending, now
            if stop is not Stop.BUDGET:
                self._pass_over(now)
            if self._stop_asked.is_set():
                self._save()
                return Ending("interrupted"), self._last_look()
            if self._every_s and time.monotonic() - saved_at >= self._every_s:
                self._save()
                saved_at = budget.since = time.monotonic()

    def _sample(self) -> Snapshot:
        now = self._engine.snapshot(reset_watermarks=True)
        self._recorder.sample(now)
        self._at.samples += 1
        self._at.next_sample_ps += self._plan.sampling_ps
        self._see(now)
        return now

    def _pass_over(self, now: Snapshot) -> None:
        """Take the samples in which nothing changes in one step: no event and no edit since the one before `now`, and
        none to come. A hook that wants every sample gets it.
        """
        plan, at, engine = self._plan, self._at, self._engine
        activity, before, self._activity = engine.activity, self._activity, engine.activity
        if activity != before or self._hooks.on_sample is not None:
            return
        until_ps = min(engine.unchanged_until_ps(), plan.duration_ps - 1)
        outstanding = _is_outstanding(now)
        if outstanding and plan.no_progress_ps is not None:
            until_ps = min(until_ps, at.progress_ps + plan.no_progress_ps - 1)
        times_ps = range(at.next_sample_ps, until_ps + 1, plan.sampling_ps)
        if not times_ps:
            return
        engine.advance(times_ps[-1])
        self._recorder.pass_over(now, times_ps)
        at.samples += len(times_ps)
        at.next_sample_ps = times_ps[-1] + plan.sampling_ps
        if not outstanding:
            at.progress_ps = times_ps[-1]
        self._latest = replace(now, time_ps=times_ps[-1])

    def _see(self, now: Snapshot) -> None:
        self._latest = now
        if self._hooks.check is not None:
            broken = self._hooks.check(self._engine, now)
            if broken:
                raise InvariantError(
                    f"{len(broken)} broken at {now.time_ps} ps:\n"
                    + "\n".join(f"  {invariant}" for invariant in broken),
                    "this is a defect of the emulator; please report it with manifest.json",
                )
        if self._hooks.on_sample is not None:
            self._hooks.on_sample(now)

    def _ending(self, stop: Stop, now: Snapshot) -> Ending | None:
        """Whether rule 2 ends the run at this sample."""
        state = messages.states(now)
        waiting = bool((state <= messages.OUTSTANDING).any()) or transfers.is_waiting(now.transfers)
        outstanding = _is_outstanding(now)
        goodput = int(now.hosts["goodput_bytes"].sum())
        if goodput != self._at.goodput_bytes:
            self._at.goodput_bytes, self._at.delivered_ps = goodput, now.time_ps
            self._at.progress_ps = now.time_ps
        if stop is Stop.IDLE:
            if not outstanding:  # what waits now waits for messages that have failed
                self._at.progress_ps = self._at.delivered_ps
            return (
                self._stalled()
                if waiting
                else Ending("all messages done" if self._plan.stop_when_done else "nothing left to do")
            )
        if not outstanding:
            self._at.progress_ps = now.time_ps
        silent = not state.size and not len(now.transfers)
        asking = silent and not now.finished  # a run of ARP alone lasts until the last request
        if not (waiting or asking or now.datagrams_left) and self._plan.stop_when_done:
            return Ending("all messages done")
        limit = self._plan.no_progress_ps
        if limit is not None and now.time_ps - self._at.progress_ps >= limit:
            return self._stalled()
        if now.time_ps >= self._plan.duration_ps:
            return Ending("duration", self._standstill(now.time_ps), self._cycle() if waiting else ())
        return None

    def _standstill(self, now_ps: int) -> int | None:
        """Time of the last progress, if messages in progress have made none for STANDSTILL of the run."""
        since_ps, plan = self._at.progress_ps, self._plan
        return since_ps if now_ps - since_ps >= max(STANDSTILL * plan.duration_ps, plan.sampling_ps) else None

    def _stalled(self) -> Ending:
        return Ending("no progress", self._at.progress_ps, self._cycle())

    def _cycle(self) -> Sequence[tuple[int, int]]:
        """The cyclic wait, if there is one; the event log gets a row at its first port."""
        cycle = self._hooks.find_cycle(self._engine) if self._hooks.find_cycle else ()
        if cycle:
            port, class_ = cycle[0]
            row = np.zeros(1, TRACE)
            row["time_ps"], row["device"] = self._engine.now_ps, self._plan.fabric.ports[port].node
            row["port"], row["prio"], row["qp"] = port, class_, eventlog.NO_ID
            row["kind"], row["a"] = EventKind.DEADLOCK, len(cycle)
            self._recorder.take_events(row, self._engine.now_ps)
        return cycle

    def _last_look(self) -> Snapshot:
        """A sample outside the plan, for the results of an interrupted run; a resumed run never sees it."""
        now = self._engine.snapshot()
        if now.time_ps > (self._latest.time_ps if self._latest else 0):
            self._recorder.sample(now)
        return now

    def _save(self) -> None:
        self._home.check()
        began = time.monotonic()
        self._at.checkpoints += 1
        self._at.wall_s = began - self._started
        checkpoint.write(
            self._home.path,
            self._at.checkpoints,
            self._engine,
            self._recorder.save(),
            self._recorder.flush(),
            self._at.as_dict(),
            self._plan.identity,
        )
        log.info(
            "checkpoint written",
            extra={
                "number": self._at.checkpoints,
                "at_ps": self._engine.now_ps,
                "took_s": round(time.monotonic() - began, 2),
            },
        )

    def _finish(self, ending: Ending, now: Snapshot) -> Outcome:
        status = {"interrupted": "interrupted", "no progress": "stopped-no-progress"}.get(ending.reason, "done")
        paths = self._hooks.paths(self._engine) if self._hooks.paths else None
        if self._plan.records_messages:
            self._recorder.last_messages(self._engine.drain_messages(unfinished=True))
        summary, digest = self._home.write_results(
            self._plan, self._recorder, now, ending, paths, self._engine.digest()
        )
        self._home.end(status, self._timings(), digest=digest, samples=self._at.samples)
        if status != "interrupted":
            checkpoint.forget(self._home.path)
        return Outcome(status, summary, digest)

    def _timings(self) -> dict[str, Any]:
        wall_s = time.monotonic() - self._started
        hops = self._engine.packet_hops
        return {
            "wall_s": round(wall_s, 3),
            "packet_hops": hops,
            "packet_hops_per_s": round(hops / wall_s) if wall_s else 0,
            "simulated_ps": self._engine.now_ps,
            "resumed": self._at.resumed,
            "checkpoints": self._at.checkpoints,
        }

    def _tell(self) -> None:
        if self._hooks.on_pause is not None:
            self._hooks.on_pause(self._engine)
        if self._hooks.on_progress is None:
            return
        engine, end_ps, latest = self._engine, self._plan.duration_ps, self._latest
        if latest is None:
            return
        if self._pace is None:
            expected = np.zeros(len(latest.hosts), np.int64)
            np.add.at(expected, latest.qps["dst"][latest.messages["qp"]], latest.messages["size_bytes"])
            if self._plan.transfers is not None:
                np.add.at(expected, latest.transfers["dst"], self._plan.transfers.size_bytes)
            self._pace = Pace(end_ps, expected if self._plan.stop_when_done and expected.any() else None)
        delivered = latest.hosts["goodput_bytes"].astype(np.int64)
        # A fault may need a kernel for the first time in the middle of a run; its compilation must not change the pace.
        simulated_s = time.monotonic() - self._compiler.seconds
        self._pace.observe(Observation(simulated_s, engine.now_ps, engine.packet_hops, delivered))
        self._hooks.on_progress(
            Progress(engine.now_ps, end_ps, engine.packet_hops, self._pace.hops_per_s, self._pace.eta_s, latest)
        )

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """SIGINT and SIGTERM end the run between two calls of the engine; a second SIGINT ends it at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def request_end(signum: int, frame: FrameType | None) -> None:
            if self._stop_asked.is_set() and signum == signal.SIGINT:
                signal.default_int_handler(signum, frame)
            self._stop_asked.set()

        before = {number: signal.signal(number, request_end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
