"""Plays a scenario at its pace, pass after pass, and answers what is asked of it in between.

Rules
1. Without requests that change something, a pass is the very run that `fabric run` makes: only the moments at which the
   engine is asked to stop differ, and those never change a result.
2. What is asked for takes effect at `edit_ps`: the first moment that no device has played yet.
3. Observers get every event once, in order of time, when all devices have played that moment.
4. A pass ends when all messages are done (where the scenario ends so), at its duration, or when nothing is pending.
   A run that makes no progress is not ended: an operator wants to see it stand.
5. Simulated time begins to pass when the engine has answered for the first time, which compiles it where no compiled
   one is kept. Until then the run is not ready. Time that the compiler takes later is not taken for a slow machine.

Not here: making an engine, recording, HTTP.
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

from fabric.engine.counters import Snapshot
from fabric.errors import InvariantError
from fabric.state.codes import Stop
from fabric.units import PS_PER_S, format_time_ps
from telemetry.live.mailbox import BusyError, Mailbox
from telemetry.live.pacing import Pacer

log = logging.getLogger(__name__)

SLICE_S: Final = 0.05
"""Wall clock time between two stops of the engine: how stale a scrape may be, and how long a request may wait."""
HEED_S: Final = 0.25
"""At most this long, nobody looks whether to stop; the engine is also asked to return about so often."""
SPEED_WINDOW_S: Final = 5.0
"""Wall clock time over which the present speed is told."""
DEAD_S: Final = 60.0
"""A playing thread that has not come by for so long hangs."""
STARTING_S: Final = 600.0
"""The same before the engine has answered for the first time: on a slow machine its compilation takes minutes."""
READY_S: Final = 2.0
"""A request is answered within this time, or the run is not ready."""
STARTING: Final = "the run has not begun: the engine is being compiled or loaded"
SAY_SLIP_EVERY_S: Final = 60.0
"""At most one warning about a pace that cannot be held in so long."""


class Engine(Protocol):
    """What is played (fabric/engine/driver.py)."""

    now_ps: int

    @property
    def finished(self) -> bool:
        """Whether every message is done or has failed."""

    def advance(self, until_ps: int, *, budget: int | None = None) -> Stop:
        """Play events before until_ps."""

    def snapshot(self, *, reset_watermarks: bool = False) -> Snapshot:
        """All counters now."""

    def drain_events(self) -> NDArray[Any]:
        """Trace rows since the last call."""


class Observer:
    """Who is told what happens, by the playing thread; a subclass listens to what it needs."""

    def begin(self, number: int) -> None:
        """Pass `number`, from 1, begins."""

    def events(self, rows: NDArray[Any], complete_ps: int) -> None:
        """Trace rows before complete_ps, in order of time."""

    def sample(self, now: Snapshot) -> None:
        """One of the scenario's samples."""

    def end(self, reason: str, now: Snapshot) -> None:
        """The pass is over."""

    def broken(self, error: InvariantError) -> None:
        """A law of the model was broken: nothing more will come."""


class Phase(StrEnum):
    """What the player is doing."""

    STARTING = "starting"
    PLAYING = "playing"
    PAUSED = "paused"
    FINISHED = "finished"
    """The last pass is over; its end is still shown."""
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Program:
    """What to play."""

    duration_ps: int
    sampling_ps: int
    stop_when_done: bool
    loop: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the player is."""

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


class Player:
    """The playing thread's loop. Everything but `stop` and `mailbox.ask` belongs to that thread.

    Parameters
    ----------
    program : Program
    make_engine : callable       a new engine at time 0, for every pass
    pacer, mailbox               pace, and requests to answer
    observers : sequence         told of passes, events and samples
    clock : callable             monotonic wall clock in seconds
    compiled_s : callable        seconds that the compiler has taken so far (fabric/state/compiling.py)
    """

    def __init__(self, program: Program, make_engine: Callable[[], Engine], pacer: Pacer, mailbox: Mailbox,
                 observers: Sequence[Observer] = (), clock: Callable[[], float] = time.monotonic,
                 compiled_s: Callable[[], float] = lambda: 0.0) -> None:
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

    # ===== for the playing thread, and for requests it carries out =====

    def play(self) -> None:
        """Play until stopped; without `loop` the end of the only pass is shown until then."""
        while not self._stop_asked:
            reason = self._play_pass()
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
            raise RuntimeError("play() makes the engine")
        return self._engine

    @property
    def edit_ps(self) -> int:
        """The first moment that can still be changed."""
        return max(self._bound_ps, self.engine.now_ps)

    @property
    def changeable(self) -> bool:
        """Whether a pass is going on."""
        return self._phase is Phase.PLAYING

    def standing(self) -> Standing:
        """Where the player is."""
        now_ps = self._engine.now_ps if self._engine is not None else 0
        phase = Phase.PAUSED if self._phase is Phase.PLAYING and self.pacer.paused else self._phase
        return Standing(phase, self.number, self._passes, now_ps, self._before_ps + now_ps, self.pacer.dilation,
                        self._speed_ratio(), self.pacer.slipped_s)

    def pause(self) -> None:
        """Hold simulated time."""
        self.pacer.pause(self.engine.now_ps)
        self._trail.clear()

    def resume(self) -> None:
        """Go on."""
        self.pacer.resume(self._clock(), self.engine.now_ps)

    def change_pace(self, dilation: float) -> None:
        """Another dilation from now on."""
        self.pacer.change(dilation, self._clock(), self.engine.now_ps)
        self._trail.clear()

    # ===== for any thread =====

    @property
    def started(self) -> bool:
        """Whether the engine has answered for the first time: nothing is being compiled any more."""
        return self._answered

    @property
    def moment(self) -> tuple[int, int]:
        """(number of the pass, simulated time in ps), as it was a moment ago."""
        return self.number, self._engine.now_ps if self._engine is not None else 0

    def ready(self) -> bool:
        """Whether a request is answered now; waits for READY_S to know."""
        if not self._answered:
            return False
        try:
            self.mailbox.ask(lambda: None, READY_S)
        except BusyError:
            return False
        return True

    @property
    def alive(self) -> bool:
        """Whether the playing thread has come by lately."""
        return self._clock() - self._seen_s < (DEAD_S if self._answered else STARTING_S)

    def stop(self) -> None:
        """End at the next opportunity; may be called from a signal handler."""
        self._stop_asked = True

    # ===== one pass =====

    def _play_pass(self) -> str:
        self._before_ps += self._engine.now_ps if self._engine is not None else 0
        self._engine = engine = self._make_engine()
        self.number += 1
        self._bound_ps = self._next_sample_ps = 0
        self._rows = []
        self._phase = Phase.PLAYING
        for observer in self._observers:
            observer.begin(self.number)
        self._sample(engine)     # at time 0: gauges that never change are known from the start
        reason = None
        try:
            if not self._answered:
                engine.advance(0)    # nothing is due: compiles the engine, or loads it
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
        """Wait for the next slice, answering requests; play it. Returns why the pass is over, if it is."""
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
            return "all messages done"
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
            log.warning("the pace cannot be held", extra={
                "asked_dilation": self.pacer.dilation, "held_dilation": round(1 / speed, 1),
                "at": format_time_ps(engine.now_ps), "remedy": "raise the dilation"})

    def _speed_ratio(self) -> float:
        if len(self._trail) < 2:
            return 0.0
        (first_s, first_ps), (last_s, last_ps) = self._trail[0], self._trail[-1]
        return (last_ps - first_ps) / PS_PER_S / (last_s - first_s) if last_s > first_s else 0.0
