"""Packets of a live run: with the faults of the API, equal to its counters, for readers that come and go."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fabric.capture.process import Frame
from fabric.capture.taps import RECORD, Sighting, Taps
from fabric.cli.main import main
from fabric.cli.options.tapped import frame_maker
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import Stop
from fabric.explain.eventlines import Severity
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.inject import LiveEmulator
from fabric.scenario.load import build_scenario
from fabric.scenario.schema.scenario import Scenario
from fabric.units import PS_PER_US
from telemetry.live.capture import LiveCapture, Place
from telemetry.live.events import EventSink
from telemetry.live.mailbox import Mailbox
from telemetry.live.pacing import MIN_DILATION, Pacer
from telemetry.live.simulation import Observer, Program, Simulation
from telemetry.live.tapped import TappedEmulator
from telemetry.live.world import LiveWorld
from tests.waiting import until

US = PS_PER_US
SMALL: dict[str, Any] = {
    "name": "small",
    "topology": {
        "kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2, "host_rate": "100G", "fabric_rate": "100G",
    },
    "switches": {"ecn": {"kmin": "20KB", "kmax": "60KB", "pmax": 0.5}, "memory": "1MB"},
    "workload": [{"kind": "incast", "receiver": "host1", "senders": ["host2", "host3", "host4"], "size": "300KB"}],
    "telemetry": {"events": ["pause"], "interval": "50us"},
    "run": {"duration": "150us", "seed": 3, "stop": "duration"},
}  # fmt: skip
STORM = {"kind": "pause-storm", "hosts": ["host1"], "at": "20us", "duration": "60us"}
PORT = "leaf1:Ethernet0"


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return build_scenario(SMALL, Path("small.yml"))


@pytest.fixture(scope="module")
def compiled(scenario: Scenario) -> CompiledScenario:
    return compile_scenario(scenario)


def row_of(compiled: CompiledScenario, name: str) -> int:
    return next(int(port.id) for port in compiled.fabric.ports if compiled.fabric.port_name(port.id) == name)


def tapped(
    compiled: CompiledScenario, advance: Callable[[TappedEmulator], None]
) -> tuple[TappedEmulator, list[Sighting], list[Any]]:
    engine = TappedEmulator(compiled)
    found: list[Sighting] = []
    engine.attach(Taps(engine, [row_of(compiled, PORT)]), lambda seen, _: found.extend(seen))
    advance(engine)
    rows = engine.drain_events().tolist()
    engine.detach()
    return engine, found, rows


def in_slices(engine: TappedEmulator) -> None:
    """Slices and budgets of any size, as a paced run has them."""
    at_ps = 0
    while at_ps < 150 * US:
        at_ps = min(at_ps + 1_700_001, 150 * US)
        while engine.advance(at_ps, budget=3) is Stop.BUDGET:
            pass


def shape(seen: list[Sighting]) -> list[tuple[Any, ...]]:
    return [
        (it.time_ps, it.direction, int(it.frame["kind"]), int(it.frame["qp"]), int(it.frame["seq"]), it.mark is None)
        for it in seen
    ]


def test_a_tap_of_a_paced_run_sees_what_fabric_capture_sees(compiled: CompiledScenario) -> None:
    plain = Emulator(compiled.fabric, compiled.params, compiled.edits, record=RECORD)
    expected = shape(list(Taps(plain, [row_of(compiled, PORT)]).sightings(0, compiled.duration_ps)))
    assert {it[-1] for it in expected} == {True, False}
    _, seen, _ = tapped(compiled, in_slices)
    assert shape(seen) == expected


def test_a_tap_changes_neither_results_nor_events_of_the_run(compiled: CompiledScenario) -> None:
    plain = LiveEmulator(compiled)
    plain.advance(150 * US)
    engine, seen, rows = tapped(compiled, in_slices)
    assert seen
    assert engine.digest() == plain.digest()
    assert rows == plain.drain_events().tolist() != []
    assert int(engine.state.config[0]["trace_mask"]) == int(compiled.record)


class Kept(LiveCapture):
    """Keeps frames in place of writing them."""

    def __init__(self, *words: Any) -> None:  # noqa: ANN401  as LiveCapture
        super().__init__(*words, Place(Path("/dev/null")))
        self._read.set()
        self.kept: list[tuple[int, Frame]] = []

    def _put(self, time_ps: int, frame: Frame) -> None:
        self.kept.append((time_ps, frame))


def served(scenario: Scenario, compiled: CompiledScenario) -> LiveWorld:
    return LiveWorld(scenario, compiled, 1, EventSink("small", compiled.fabric, lambda: 1.0, None, Severity.INFO))


def simulated(
    world: LiveWorld, compiled: CompiledScenario, *observers: Observer, loop: bool = False
) -> tuple[Simulation, threading.Thread]:
    program = Program(compiled.duration_ps, compiled.sampling_ps, stop_when_done=False, loop=loop)
    simulation = Simulation(program, world.make_engine, Pacer(MIN_DILATION), Mailbox(), [world, *observers])
    thread = threading.Thread(target=simulation.simulate, daemon=True)
    return simulation, thread


class Inject(Observer):
    """A fault when the pass begins."""

    def __init__(self, world: LiveWorld) -> None:
        self._world = world

    def begin(self, number: int) -> None:
        self._world.inject(STORM, 0)


def test_packets_of_an_injected_storm_are_those_of_the_counters(scenario: Scenario, compiled: CompiledScenario) -> None:
    world = served(scenario, compiled)
    capture = Kept(world, [row_of(compiled, PORT)], frame_maker(scenario, compiled))
    simulation, thread = simulated(world, compiled, Inject(world), capture)
    thread.start()
    until(lambda: simulation.standing().passes == 1, "the pass has ended")
    simulation.stop()
    thread.join()
    row = world.engine.snapshot().ports[row_of(compiled, PORT)]
    for direction, counter in (("in", "rx"), ("out", "tx")):
        frames = [frame for _, frame in capture.kept if frame["direction"] == direction]
        assert len(frames) == row[f"{counter}_pkts"]
        assert sum("class_based_pause" in it for it in frames) == row[f"{counter}_pause_pkts"]
    pauses = [time_ps for time_ps, it in capture.kept if "class_based_pause" in it and it["direction"] == "in"]
    assert pauses
    assert 20 * US <= pauses[0] < 25 * US
    assert [it[0] for it in capture.kept] == sorted(it[0] for it in capture.kept)


def _beyond(simulation: Simulation, passes: int) -> bool:
    return simulation.standing().passes > passes + 1


def packets_of(data: bytes) -> int:
    """Enhanced packet blocks (pcapng, section 4.3)."""
    at, found = 0, 0
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        found, at = found + (kind == 6), at + size
    return found


def test_a_reader_of_a_fifo_that_leaves_does_not_end_the_run_and_another_may_come(
    scenario: Scenario, compiled: CompiledScenario, tmp_path: Path
) -> None:
    fifo = tmp_path / "x.fifo"
    os.mkfifo(fifo)
    world = served(scenario, compiled)
    place = Place(fifo)
    with LiveCapture(world, [row_of(compiled, PORT)], frame_maker(scenario, compiled), place) as capture:
        simulation, thread = simulated(world, compiled, capture, loop=True)
        thread.start()
        for _ in range(2):
            with fifo.open("rb") as reader:
                first = reader.read(4096)
            assert first[:4] == b"\x0a\x0d\x0d\x0a"  # a section of its own
            assert packets_of(first) > 0
            passes = simulation.standing().passes
            until(partial(_beyond, simulation, passes), "two more passes have ended")
        assert thread.is_alive()
        simulation.stop()
        thread.join()


def test_an_output_that_fails_ends_the_capture_and_not_the_run(
    scenario: Scenario, compiled: CompiledScenario, caplog: pytest.LogCaptureFixture
) -> None:
    world = served(scenario, compiled)
    full = Place(Path("/dev/full"))
    with LiveCapture(world, [row_of(compiled, PORT)], frame_maker(scenario, compiled), full) as capture:
        simulation, thread = simulated(world, compiled, capture, loop=True)
        thread.start()
        until(lambda: "the capture has ended early" in caplog.text, "the failure is reported")
        until(partial(_beyond, simulation, simulation.standing().passes), "two more passes have ended")
        simulation.stop()
        thread.join()
    assert "No space left on device" in str([it.__dict__.get("why") for it in caplog.records])


def test_the_options_are_refused_together_with_their_remedies(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["serve", "incast", "--capture-to", "-", "--json"]) == 2
    said = capsys.readouterr().err
    assert "has no effect without --capture" in said
    assert "--json uses standard output too" in said
    assert main(["serve", "incast", "--capture", "leaf1"]) == 2
    assert "has nowhere to go" in capsys.readouterr().err
    words = ["serve", "incast", "--listen", "127.0.0.1:0", "--capture-to", str(tmp_path / "x.pcapng")]
    assert main([*words, "--capture", "laef1", "--capture", "leaf1:Ethernet1"]) == 2
    said = capsys.readouterr().err
    assert "no device is called 'laef1'" in said
    assert "leaf1 has no port 'Ethernet1'" in said
    assert not (tmp_path / "x.pcapng").exists()
