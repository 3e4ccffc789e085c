"""Facts taken from a running engine: in a storm every pause leads to the broken NIC; a locked ring is a deadlock."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.dataplane.engine.driver import Emulator
from fabric.runs import simulate
from fabric.runs.rundir import RunDir
from fabric.runs.session import Hooks
from fabric.runs.simulate import Options
from fabric.scenario.load import load_scenario
from fabric.verify.deadlock import find_cycle
from fabric.verify.fidelity.experiment import SCENARIOS, compiled, emulator
from telemetry.catalogue.causes import pause_causes
from telemetry.catalogue.columns import SnapshotMetrics
from telemetry.catalogue.derive import RunInfo
from telemetry.sources.engine_facts import observed
from telemetry.sources.recorded import store_of

STORM = Path(__file__).resolve().parents[2] / "scenarios" / "pause-storm.yml"


@pytest.fixture(scope="module")
def storm() -> Emulator:
    compiled, _ = simulate.prepare(load_scenario(STORM))
    engine = Emulator(compiled.fabric, compiled.params, compiled.edits, record=compiled.record)
    engine.advance(1)
    return engine


def test_before_anything_is_paused_no_packet_is_followed(storm: Emulator) -> None:
    now = observed(storm)
    assert (now.holders, now.cycle) == (None, ())
    assert pause_causes(now) == []


def test_in_a_storm_every_pause_leads_to_the_broken_nic(storm: Emulator) -> None:
    storm.advance(1_000_000_000)
    now = observed(storm)
    causes = pause_causes(now)
    assert {("leaf1", "Ethernet12")} < {(it["device"], it["port"]) for it in causes}, "the way to host4 and others"
    assert {it["evidence"] for it in causes} == {"packets"}
    assert {(it["root"], it["root_device"]) for it in causes} == {("broken_nic", "host4")}
    assert now.cycle == ()


def test_counters_alone_find_the_same_root(storm: Emulator) -> None:
    causes = pause_causes(storm.snapshot())
    assert {it["evidence"] for it in causes} == {"depth"}
    assert {it["root_device"] for it in causes} == {"host4"}


def test_a_locked_ring_is_a_deadlock() -> None:
    case = compiled("v14-ring")
    engine = emulator(case)
    engine.advance(2_000_000_000)
    now = observed(engine)
    ring = {now.fabric.node_of(port).name for port, _ in now.cycle}
    assert ring == {"s1", "s2", "s3", "s4"}
    causes = {(it["device"], it["cause_device"]) for it in pause_causes(now) if it["device"] in ring}
    assert len({it["root_device"] for it in pause_causes(now)}) == 1
    assert {device for device, _ in causes} == {cause for _, cause in causes} == ring
    columns = SnapshotMetrics(RunInfo("0", "run", "ring", "asic", 1)).columns(now)
    assert [it.values.tolist() for it in columns if it.name == "fabric_pfc_deadlock"] == [[1]]


def test_a_deadlock_that_a_run_found_is_in_its_recorded_metrics(tmp_path: Path) -> None:
    case, plan = simulate.prepare(load_scenario(SCENARIOS / "v14-ring.yml"), until_ps=2_000_000_000)
    hooks = Hooks(find_cycle=lambda engine: find_cycle(engine.state, engine.fabric))
    simulate.simulate(case, plan, Options(tmp_path / "run"), hooks)
    found = store_of(RunDir.open(tmp_path / "run"), ["fabric_pfc_deadlock"]).series("fabric_pfc_deadlock")
    assert [(time_ns.tolist(), value.tolist()) for time_ns, value in found.values()] == [([2_000_000], [1])]
