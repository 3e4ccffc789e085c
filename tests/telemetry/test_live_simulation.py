"""The loop of the simulation thread, with a scripted engine and a clock that advances while the thread waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fabric.dataplane.state.codes import Stop
from fabric.dataplane.state.types import TRACE
from fabric.errors import InvariantError
from fabric.units import PS_PER_MS, PS_PER_US
from telemetry.live.mailbox import BusyError, Mailbox
from telemetry.live.pacing import Pacer
from telemetry.live.simulation import Observer, Phase, Program, Simulation

MS = PS_PER_MS


class Clock:
    """Wall clock of the test; waiting turns it."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Box(Mailbox):
    """A mailbox for the test alone: each wait advances the clock, and may run an action."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        self.todo: list[tuple[float, Any]] = []
        self.waits = 0

    def work(self, timeout_s: float | None) -> bool:
        self.waits += 1
        assert self.waits < 100_000, "the simulation waits for ever"
        self.clock.now_s += timeout_s or 0
        due = [entry for entry in self.todo if entry[0] <= self.clock.now_s]
        for entry in due:
            self.todo.remove(entry)
            entry[1]()
        return bool(due)


class Compiler:
    """Takes `seconds` at the first call of the engine, and again at its first call beyond `again_ps`."""

    def __init__(self, seconds: float, again_ps: int = 1 << 60) -> None:
        self.due, self.each_s, self.seconds = [0, again_ps], seconds, 0.0

    def work(self, until_ps: int) -> float:
        if not self.due or until_ps < self.due[0]:
            return 0.0
        self.due.pop(0)
        self.seconds += self.each_s
        return self.each_s


class Engine:
    """An engine that takes `cost_s` of wall clock per simulated ms, and has an event every 100us until `last_ps`."""

    def __init__(
        self,
        clock: Clock,
        cost_s: float = 0.0,
        last_ps: int = 1 << 60,
        done_ps: int = 1 << 60,
        compiler: Compiler | None = None,
    ) -> None:
        self.now_ps = 0
        self.compiler = compiler
        self.clock, self.cost_s, self.last_ps, self.done_ps = clock, cost_s, last_ps, done_ps
        self.bounds: list[int] = []
        self._rows: list[tuple[int, int]] = []

    @property
    def finished(self) -> bool:
        return self.now_ps >= self.done_ps

    @property
    def outcome(self) -> str:
        return "all messages done"

    def advance(self, until_ps: int, *, budget: int | None = None) -> Stop:
        self.bounds.append(until_ps)
        if self.compiler is not None:
            self.clock.now_s += self.compiler.work(until_ps)
        step = 100 * PS_PER_US
        first = -(-self.now_ps // step) * step
        self._rows += [
            (time_ps, device) for time_ps in range(first, min(until_ps, self.last_ps), step) for device in (1, 0)
        ]
        self.clock.now_s += (until_ps - self.now_ps) / MS * self.cost_s
        if until_ps > self.last_ps:
            self.now_ps = self.last_ps
            return Stop.IDLE
        self.now_ps = until_ps
        return Stop.BOUND

    def snapshot(self, *, reset_watermarks: bool = False) -> int:
        return self.now_ps

    def drain_events(self) -> NDArray[Any]:
        rows = np.zeros(len(self._rows), TRACE)
        rows["time_ps"], rows["device"] = [row[0] for row in self._rows], [row[1] for row in self._rows]
        self._rows = []
        return rows


class Diary(Observer):
    def __init__(self) -> None:
        self.words: list[Any] = []
        self.times: list[int] = []
        self.samples: list[object] = []

    def begin(self, number: int) -> None:
        self.words.append(("begin", number))

    def events(self, rows: NDArray[Any], complete_ps: int) -> None:
        assert not rows.size or int(rows["time_ps"].max()) < complete_ps
        self.times += rows["time_ps"].tolist()

    def sample(self, now: object) -> None:
        self.samples.append(now)

    def end(self, reason: str, now: object) -> None:
        self.words.append(("end", reason, now))


class World:
    def __init__(
        self,
        *,
        duration_ps: int = 10 * MS,
        loop: bool = False,
        stop_when_done: bool = False,
        dilation: float = 1000.0,
        compiler: Compiler | None = None,
        **engine: float,
    ) -> None:
        self.clock = Clock()
        self.box = Box(self.clock)
        self.diary = Diary()
        self.engines: list[Engine] = []

        def make() -> Engine:
            self.engines.append(Engine(self.clock, compiler=compiler, **engine))
            return self.engines[-1]

        self.simulation = Simulation(
            Program(duration_ps, MS, stop_when_done, loop),
            make,
            Pacer(dilation),
            self.box,
            [self.diary],
            self.clock,
            lambda: 0.0 if compiler is None else compiler.seconds,
        )

    def at(self, wall_s: float, work: Callable[[], object]) -> None:
        self.box.todo.append((wall_s, work))


def test_a_pass_takes_its_duration_times_the_dilation() -> None:
    world = World()
    world.at(100.0, world.simulation.stop)
    ended: list[float] = []
    world.diary.end = lambda reason, now: ended.append(world.clock.now_s)  # type: ignore[method-assign]
    world.simulation.simulate()
    assert ended == [pytest.approx(10.0, abs=0.1)]


def test_the_end_of_a_single_pass_is_shown_until_stopped() -> None:
    world = World()
    seen: list[Phase] = []
    world.at(50.0, lambda: seen.append(world.simulation.standing().phase))
    world.at(51.0, lambda: speeds.append(world.simulation.standing().speed_ratio))
    speeds: list[float] = []
    world.at(60.0, world.simulation.stop)
    world.simulation.simulate()
    assert seen == [Phase.FINISHED]
    assert speeds == [0]
    assert world.simulation.standing().phase is Phase.STOPPED
    assert world.diary.words == [("begin", 1), ("end", "duration", 10 * MS)]


def test_samples_are_taken_at_the_moments_of_the_scenario() -> None:
    world = World()
    world.at(20.0, world.simulation.stop)
    world.simulation.simulate()
    assert world.diary.samples == [number * MS for number in range(11)]


def test_every_event_is_told_once_in_order() -> None:
    world = World()
    world.at(20.0, world.simulation.stop)
    world.simulation.simulate()
    assert world.diary.times == sorted(2 * [number * 100 * PS_PER_US for number in range(100)])


def test_a_loop_adds_up_what_it_has_simulated() -> None:
    world = World(loop=True)
    standings = []
    world.at(25.0, lambda: standings.append(world.simulation.standing()))
    world.at(26.0, world.simulation.stop)
    world.simulation.simulate()
    (at,) = standings
    assert (at.number, at.passes) == (3, 2)
    assert at.elapsed_ps == pytest.approx(25 * MS, rel=0.01)
    assert at.now_ps == pytest.approx(5 * MS, rel=0.02)
    assert world.diary.words[-1][1] == "stopped"
    assert len(world.engines) == 3


def test_time_stands_still_while_paused_and_no_longer() -> None:
    world = World()
    standings = []
    world.at(2.0, world.simulation.pause)
    world.at(7.0, lambda: standings.append(world.simulation.standing()))
    world.at(8.0, world.simulation.resume)
    world.at(9.0, lambda: standings.append(world.simulation.standing()))
    world.at(20.0, world.simulation.stop)
    world.simulation.simulate()
    assert standings[0].phase is Phase.PAUSED
    assert standings[0].now_ps == pytest.approx(2 * MS, rel=0.05)
    assert standings[1].now_ps == pytest.approx(3 * MS, rel=0.05)


def test_a_paused_run_does_not_begin_to_move() -> None:
    world = World(loop=True, duration_ps=MS)
    world.simulation.pacer.paused = True
    world.at(5.0, world.simulation.stop)
    world.simulation.simulate()
    assert world.engines[0].now_ps == 0


def test_another_dilation_changes_the_pace_from_now_on() -> None:
    world = World()
    standings = []
    world.at(2.0, lambda: world.simulation.change_pace(100.0))
    world.at(2.5, lambda: standings.append(world.simulation.standing()))
    world.at(20.0, world.simulation.stop)
    world.simulation.simulate()
    assert standings[0].now_ps == pytest.approx(7 * MS, rel=0.1)


def test_a_machine_that_is_too_slow_slips_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    world = World(cost_s=3.0)
    standings = []
    world.at(25.0, lambda: standings.append(world.simulation.standing()))
    world.at(26.0, world.simulation.stop)
    world.simulation.simulate()
    (at,) = standings
    assert at.slipped_s == pytest.approx(25 * 2 / 3, rel=0.1)
    assert at.speed_ratio == pytest.approx(1 / 3000, rel=0.1)
    warning = next(record for record in caplog.records if record.message == "the pace cannot be held")
    assert warning.__dict__["asked_dilation"] == 1000.0
    assert warning.__dict__["held_dilation"] == pytest.approx(3000, rel=0.2)
    assert len(caplog.records) == 1


def test_compiling_the_engine_takes_no_simulated_time_and_is_no_slow_machine(caplog: pytest.LogCaptureFixture) -> None:
    world = World(compiler=Compiler(30.0))
    standings = []
    world.at(32.0, lambda: standings.append(world.simulation.standing()))
    world.at(50.0, world.simulation.stop)
    world.simulation.simulate()
    assert standings[0].now_ps == pytest.approx(2 * MS, rel=0.05)
    assert standings[0].slipped_s == 0
    assert standings[0].speed_ratio == pytest.approx(1 / 1000, rel=0.05)
    assert not caplog.records


def test_a_kernel_that_is_compiled_later_is_no_slow_machine_either(caplog: pytest.LogCaptureFixture) -> None:
    world = World(compiler=Compiler(20.0, again_ps=3 * MS))
    standings = []
    world.at(45.0, lambda: standings.append(world.simulation.standing()))
    world.at(60.0, world.simulation.stop)
    world.simulation.simulate()
    assert standings[0].now_ps == pytest.approx(5 * MS, rel=0.05)
    assert standings[0].slipped_s == 0
    assert not caplog.records


def test_a_slow_machine_is_told_from_its_compiler(caplog: pytest.LogCaptureFixture) -> None:
    world = World(cost_s=3.0, compiler=Compiler(20.0))
    standings = []
    world.at(40.0, lambda: standings.append(world.simulation.standing()))
    world.at(50.0, world.simulation.stop)
    world.simulation.simulate()
    assert standings[0].slipped_s == pytest.approx(20 * 2 / 3, rel=0.1)
    (warning,) = caplog.records
    assert warning.__dict__["held_dilation"] == pytest.approx(3000, rel=0.2)


def test_a_run_is_ready_when_its_engine_has_answered_and_while_requests_are() -> None:
    world = World()
    seen: list[bool] = []
    make = world.simulation._make_engine

    def watched() -> Engine:
        engine = make()
        advance = engine.advance

        def first(until_ps: int, *, budget: int | None = None) -> Stop:
            seen.append(world.simulation.started)
            return advance(until_ps, budget=budget)

        engine.advance = first  # type: ignore[method-assign]
        return engine

    world.simulation._make_engine = watched
    world.at(2.0, world.simulation.stop)
    assert not world.simulation.ready()
    world.simulation.simulate()
    assert seen[:2] == [False, True]

    def nobody(work: object, timeout_s: float = 5.0) -> None:
        raise BusyError(f"no answer within {timeout_s} s")

    world.box.ask = nobody  # type: ignore[method-assign, assignment]
    assert not world.simulation.ready()
    world.box.ask = lambda work, timeout_s=5.0: work()  # type: ignore[method-assign]
    assert world.simulation.ready()


def test_a_run_whose_engine_is_compiled_for_minutes_is_alive() -> None:
    world = World(compiler=Compiler(300.0))
    assert world.simulation.alive
    world.clock.now_s = 300.0
    assert world.simulation.alive
    world.at(302.0, world.simulation.stop)
    world.simulation.simulate()
    world.clock.now_s += 61.0
    assert not world.simulation.alive


def test_a_machine_that_keeps_the_pace_never_slips() -> None:
    world = World(cost_s=0.9)
    world.at(20.0, world.simulation.stop)
    world.simulation.simulate()
    assert world.simulation.pacer.slipped_s == 0


def test_a_change_takes_effect_where_nothing_has_been_simulated() -> None:
    world = World()
    moments = []
    world.at(3.3, lambda: moments.append((world.simulation.edit_ps, max(world.engines[0].bounds))))
    world.at(20.0, world.simulation.stop)
    world.simulation.simulate()
    assert moments[0][0] >= moments[0][1]


def test_a_pass_ends_when_all_messages_are_done_where_the_scenario_says_so() -> None:
    world = World(stop_when_done=True, done_ps=4 * MS)
    world.at(20.0, world.simulation.stop)
    world.simulation.simulate()
    assert world.diary.words[-1] == ("end", "all messages done", 4 * MS)


@pytest.mark.parametrize(("done_ps", "reason"), [(2 * MS, "nothing left to do"), (1 << 60, "no progress")])
def test_a_pass_ends_when_nothing_is_pending(done_ps: int, reason: str) -> None:
    world = World(last_ps=5 * MS // 2, done_ps=done_ps)
    world.at(20.0, world.simulation.stop)
    world.simulation.simulate()
    assert world.diary.words[-1] == ("end", reason, 5 * MS // 2)
    assert world.diary.samples[-1] == 5 * MS // 2


def test_a_broken_law_is_told_to_everybody_and_raised() -> None:
    world = World()
    reported: list[str] = []
    world.diary.broken = lambda error: reported.append(error.text)  # type: ignore[method-assign]

    def advance(until_ps: int, *, budget: int | None = None) -> Stop:
        raise InvariantError("a law is broken")

    make = world.simulation._make_engine

    def broken_engine() -> Engine:
        engine = make()
        engine.advance = advance  # type: ignore[method-assign]
        return engine

    world.simulation._make_engine = broken_engine
    with pytest.raises(InvariantError):
        world.simulation.simulate()
    assert reported == ["a law is broken"]


def test_nothing_is_changeable_once_the_run_is_over() -> None:
    world = World()
    seen = []
    world.at(3.0, lambda: seen.append(world.simulation.changeable))
    world.at(15.0, lambda: seen.append(world.simulation.changeable))
    world.at(16.0, world.simulation.stop)
    world.simulation.simulate()
    assert seen == [True, False]
