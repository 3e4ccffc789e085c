"""Facts taken from a running engine: in a storm every pause leads to the broken NIC, and there is no deadlock."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.cli.live_facts import observed
from fabric.engine.driver import Emulator
from fabric.report import play
from fabric.scenario.load import load_scenario
from telemetry.causes import pause_causes

STORM = Path(__file__).resolve().parents[2] / "scenarios" / "pause-storm.yml"


@pytest.fixture(scope="module")
def storm() -> Emulator:
    compiled, _ = play.prepare(load_scenario(STORM))
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
    assert len(causes) == 3
    assert {it["evidence"] for it in causes} == {"packets"}
    assert {(it["root"], it["root_device"]) for it in causes} == {("broken_nic", "host4")}
    assert now.cycle == ()


def test_counters_alone_find_the_same_root(storm: Emulator) -> None:
    causes = pause_causes(storm.snapshot())
    assert {it["evidence"] for it in causes} == {"depth"}
    assert {it["root_device"] for it in causes} == {"host4"}
