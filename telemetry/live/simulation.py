"""A live simulation: runs a scenario at its pace, pass after pass, and answers requests in between.

Rules
1. Without changes, a pass equals the run of `fabric run`: only the times at which the engine stops differ, and these
   never change a result.
2. A change takes effect at `edit_ps`: the first time that no device has simulated yet.
3. Observers get every event once, in order of time, when all devices have simulated its time.
4. A pass ends when all messages are done or have failed (where the scenario ends so), at its duration, or when nothing
   is pending. A run that makes no progress (a deadlock) is not ended, so that an operator can inspect it.
5. Simulated time starts when the engine has returned for the first time, which includes compilation without a cache.
   Until then the run is not ready. Later compilation time does not count as lag.

This module neither makes an engine nor records, and knows no HTTP.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.state.codes import Stop
from fabric.errors import InvariantError
from fabric.units import PS_PER_S, format_time_ps
from telemetry.live.mailbox import BusyError, Mailbox
from telemetry.live.pacing import Pacer

log = logging.getLogger(__name__)

SLICE_S: Final = 0.05
"""Wall clock time between two stops of the engine: maximum age of a scrape and waiting time of a request."""
HEED_S: Final = 0.25
"""Maximum time between two checks for a stop; the engine also returns about this often."""
SPEED_WINDOW_S: Final = 5.0
"""Wall clock window of the reported speed."""
DEAD_S: Final = 60.0
"""A simulation thread without progress for this long hangs."""
STARTING_S: Final = 600.0
"""The same before the first return of the engine: on a slow machine compilation takes minutes."""
READY_S: Final = 2.0
"""The run is ready if it answers a request within this time."""
STARTING: Final = "the run has not begun: the engine is being compiled or loaded"
SAY_SLIP_EVERY_S: Final = 60.0
"""Minimum time between two warnings about a pace that cannot be held."""


class Engine(Protocol):
    """The simulated engine (fabric/dataplane/engine/driver.py)."""

    now_ps: int

    @property
    def finished(self) -> bool:
        """Whether every message is done or has failed."""

    @property
    def outcome(self) -> str:
        """Result of the messages once `finished`: all done, some failed, or there were none."""

    def advance(self, until_ps: int, *, budget: int | None = None) -> Stop:
        """Simulate events before until_ps."""

    def snapshot(self, *, reset_watermarks: bool = False) -> Snapshot:
        """All counters now."""

    def drain_events(self) -> NDArray[Any]:
        """Trace rows since the last call."""


class Observer:
    """Callbacks of the simulation thread; a subclass overrides the ones it needs."""

    def begin(self, number: int) -> None:
        """Pass `number`, from 1, begins."""

    def events(self, rows: NDArray[Any], complete_ps: int) -> None:
        """Trace rows before complete_ps, in order of time."""

    def sample(self, now: Snapshot) -> None:
        """One of the scenario's samples."""

    def end(self, reason: str, now: Snapshot) -> None:
        """The pass is over."""

    def broken(self, error: InvariantError) -> None:
        """An invariant of the model was broken: there are no further callbacks."""


class Phase(StrEnum):
    """State of the simulation."""

    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    FINISHED = "finished"
    """The last pass is over; its end is still shown."""
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Program:
    """The scenario to simulate."""

    duration_ps: int
    sampling_ps: int
    stop_when_done: bool
    loop: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """Progress of the simulation."""

    phase: Phase
    number: int
    """The present pass, from 1."""
    passes: int
    """Passes completed."""
    now_ps: int
    """Within the present pass."""
    elapsed_ps: int
    """Over all passes."""
    dilation: float
    speed_ratio: float
    """Simulated seconds per second of wall clock, over the last SPEED_WINDOW_S."""
    slipped_s: float


class Simulation:
    """The loop of the simulation thread. All but the methods marked "for any thread" belong to that thread.

    Parameters
    ----------
    program : Program
    make_engine : callable       a new engine at time 0, for every pass
    pacer, mailbox               pace, and requests to answer
    observers : sequence         callbacks for passes, events and samples
    clock : callable             monotonic wall clock in seconds
    compiled_s : callable        seconds that the compiler has taken so far
    (fabric/dataplane/state/compiled/compiling.py)
    """

    def __init__(
        self,
        program: Program,
        make_engine: Callable[[], Engine],
        pacer: Pacer,
        mailbox: Mailbox,
        observers: Sequence[Observer] = (),
        clock: Callable[[], float] = time.monotonic,
        compiled_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.program = program
        self.mailbox = mailbox
        self.pacer = pacer
        self.number = 0
        self._make_engine = make_engine
        self._observers = tuple(observers)
        self._clock = clock
        self._compiled_s = compiled_s
        self._answered = False
        self._engine: Engine | None = None
        self._phase = Phase.STARTING
        self._passes = 0
        self._before_ps = 0
        self._bound_ps = 0
        self._next_sample_ps = 0
        self._budget = 8
        self._rows: list[NDArray[Any]] = []
        self._stop_asked = False
        self._trail: deque[tuple[float, int]] = deque()
        self._said_slip_s = -math.inf
        self._seen_s = clock()

    # ===== for the simulation thread, and for requests that it carries out =====

    def simulate(self) -> None:
        """Simulate until stopped; without `loop` the final state of the only pass is shown until then."""
        while not self._stop_asked:
            reason = self._simulate_pass()
            if not self.program.loop or reason == "stopped":
                break
        if not self._stop_asked:
            self._phase = Phase.FINISHED
            self._trail.clear()
        while not self._stop_asked:
            self._seen_s = self._clock()
            self.mailbox.work(HEED_S)
        self._phase = Phase.STOPPED

    @property
    def engine(self) -> Engine:
        """The engine of the present pass; the last one's after its end."""
        if self._engine is None:
            raise RuntimeError("simulate() makes the engine")
        return self._engine

    @property
    def edit_ps(self) -> int:
        """The first time that can still be changed."""
        return max(self._bound_ps, self.engine.now_ps)

    @property
    def changeable(self) -> bool:
        """Whether a pass is in progress."""
        return self._phase is Phase.RUNNING

    def standing(self) -> Standing:
        """Progress of the simulation."""
        now_ps = self._engine.now_ps if self._engine is not None else 0
        phase = Phase.PAUSED if self._phase is Phase.RUNNING and self.pacer.paused else self._phase
        return Standing(
            phase,
            self.number,
            self._passes,
            now_ps,
            self._before_ps + now_ps,
            self.pacer.dilation,
            self._speed_ratio(),
            self.pacer.slipped_s,
        )

    def pause(self) -> None:
        """Pause simulated time."""
        self.pacer.pause(self.engine.now_ps)
        self._trail.clear()

    def resume(self) -> None:
        """Go on."""
        self.pacer.resume(self._clock(), self.engine.now_ps)

    def change_pace(self, dilation: float) -> None:
        """Change the dilation from now on."""
        self.pacer.change(dilation, self._clock(), self.engine.now_ps)
        self._trail.clear()

    # ===== for any thread =====

    @property
    def started(self) -> bool:
        """Whether the engine has returned for the first time: compilation has ended."""
        return self._answered

    @property
    def moment(self) -> tuple[int, int]:
        """(number of the pass, simulated time in ps), slightly out of date."""
        return self.number, self._engine.now_ps if self._engine is not None else 0

    def ready(self) -> bool:
        """Whether the run answers requests; waits for up to READY_S."""
        if not self._answered:
            return False
        try:
            self.mailbox.ask(lambda: None, READY_S)
        except BusyError:
            return False
        return True

    @property
    def alive(self) -> bool:
        """Whether the simulation thread has made progress lately."""
        return self._clock() - self._seen_s < (DEAD_S if self._answered else STARTING_S)

    def stop(self) -> None:
        """Stop at the next check; may be called from a signal handler."""
        self._stop_asked = True

    # ===== one pass =====

    def _simulate_pass(self) -> str:
        self._before_ps += self._engine.now_ps if self._engine is not None else 0
        self._engine = engine = self._make_engine()
        self.number += 1
        self._bound_ps = self._next_sample_ps = 0
        self._rows = []
        self._phase = Phase.RUNNING
        for observer in self._observers:
            observer.begin(self.number)
        self._sample(engine)  # at time 0: constant gauges are known from the start
        reason = None
        try:
            if not self._answered:
                engine.advance(0)  # no event is due: this compiles or loads the engine
                self._answered = True
            self.pacer.begin(self._clock(), 0)
            if self.pacer.paused:
                self.pacer.pause(0)
            while reason is None:
                reason = "stopped" if self._stop_asked else self._step(engine)
        except InvariantError as error:
            for observer in self._observers:
                observer.broken(error)
            raise
        last = engine.snapshot()
        for observer in self._observers:
            observer.end(reason, last)
        self._passes += reason != "stopped"
        return reason

    def _step(self, engine: Engine) -> str | None:
        """Wait for the next slice, answering requests; simulate it. Returns the reason if the pass is over."""
        now_s = self._seen_s = self._clock()
        slice_ps = max(int(SLICE_S / self.pacer.dilation * PS_PER_S), 1)
        bound_ps = min(engine.now_ps + slice_ps, self._next_sample_ps, self.program.duration_ps)
        wait_s = self.pacer.wait_s(now_s, bound_ps)
        if wait_s > 0:
            self.mailbox.work(min(wait_s, HEED_S))
            return None
        self._bound_ps = max(self._bound_ps, bound_ps)
        compiled_s = self._compiled_s()
        stop = engine.advance(bound_ps, budget=self._budget)
        self._rows.append(engine.drain_events())
        compiled_s = self._compiled_s() - compiled_s
        self.pacer.excuse(compiled_s)
        took_s = self._clock() - now_s - compiled_s
        if stop is Stop.BUDGET:
            self._budget = max(1, min(int(self._budget * min(HEED_S / max(took_s, 1e-6), 4.0)), 1 << 40))
        else:
            self._hand_on(engine.now_ps)
        self._note_pace(engine)
        self.mailbox.work(0)
        ended = stop is Stop.IDLE or engine.now_ps >= self.program.duration_ps
        if stop is Stop.BUDGET or not (ended or engine.now_ps >= self._next_sample_ps):
            return None
        self._sample(engine)
        if engine.finished and self.program.stop_when_done:
            return engine.outcome
        if stop is Stop.IDLE:
            return "nothing left to do" if engine.finished else "no progress"
        return "duration" if ended else None

    def _sample(self, engine: Engine) -> None:
        now = engine.snapshot(reset_watermarks=True)
        self._next_sample_ps += self.program.sampling_ps
        for observer in self._observers:
            observer.sample(now)

    def _hand_on(self, complete_ps: int) -> None:
        rows = np.concatenate(self._rows) if len(self._rows) > 1 else self._rows[0]
        self._rows = []
        if rows.size:
            # Stable: rows of one device at one moment keep their order (Emulator.drain_events).
            rows = rows[np.lexsort((rows["device"], rows["time_ps"]))]
        for observer in self._observers:
            observer.events(rows, complete_ps)

    def _note_pace(self, engine: Engine) -> None:
        now_s = self._clock()
        lag_s = self.pacer.keep_up(now_s, engine.now_ps)
        self._trail.append((now_s, self._before_ps + engine.now_ps))
        while now_s - self._trail[0][0] > SPEED_WINDOW_S and len(self._trail) > 2:
            self._trail.popleft()
        speed = self._speed_ratio()
        if lag_s and speed and now_s - self._said_slip_s >= SAY_SLIP_EVERY_S:
            self._said_slip_s = now_s
            log.warning(
                "the pace cannot be held",
                extra={
                    "asked_dilation": self.pacer.dilation,
                    "held_dilation": round(1 / speed, 1),
                    "at": format_time_ps(engine.now_ps),
                    "remedy": "raise the dilation",
                },
            )

    def _speed_ratio(self) -> float:
        if len(self._trail) < 2:
            return 0.0
        (first_s, first_ps), (last_s, last_ps) = self._trail[0], self._trail[-1]
        return (last_ps - first_ps) / PS_PER_S / (last_s - first_s) if last_s > first_s else 0.0
