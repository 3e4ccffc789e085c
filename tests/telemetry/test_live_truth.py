"""What scrapes of a live run are shown: the truth, or what an exporter would have polled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from fabric.dataplane.engine.counters import reset_watermarks
from fabric.explain.eventlines import Severity
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario
from fabric.scenario.schema.scenario import Scenario
from fabric.units import PS_PER_MS, PS_PER_US
from telemetry.catalogue.observation import Observation
from telemetry.live.control import LiveControl
from telemetry.live.events import EventSink
from telemetry.live.polled import Seen
from telemetry.live.truth import Truth
from telemetry.live.watermarks import WATERMARKS
from telemetry.live.world import LiveWorld
from telemetry.record.polling.profiles import PROFILES

SCENARIO = """\
name: small
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
switches: {asic: trident3}
workload:
  - {kind: incast, receiver: host1, senders: ["host2", "host3", "host4"], size: 20MB}
run: {duration: 4ms, seed: 5, stop: duration}
"""


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return build_scenario(yaml.safe_load(SCENARIO), Path("small.yml"))


@pytest.fixture(scope="module")
def compiled(scenario: Scenario) -> CompiledScenario:
    return compile_scenario(scenario)


@pytest.fixture
def world(scenario: Scenario, compiled: CompiledScenario) -> LiveWorld:
    world = LiveWorld(scenario, compiled, 1, EventSink("small", compiled.fabric, lambda: 1000.0, None, Severity.INFO))
    world.make_engine()
    return world


def simulate(world: LiveWorld, seen: Seen, until_ps: int) -> None:
    for time_ps in range(world.engine.now_ps + 50 * PS_PER_US, until_ps + 1, 50 * PS_PER_US):
        world.engine.advance(time_ps)
        seen.sample(world.engine.snapshot(reset_watermarks=True))


def test_the_truth_is_the_engine_at_the_moment_of_the_scrape(world: LiveWorld) -> None:
    truth = Truth(world, LiveControl(world))
    truth.begin(1)
    world.engine.advance(PS_PER_MS)
    found = truth.read()
    assert isinstance(found, Observation)
    assert found.time_ps == PS_PER_MS
    assert np.array_equal(found.ports["rx_bytes"], world.engine.state.ports["rx_bytes"])


def test_a_watermark_is_the_highest_since_the_scrape_before_however_often_the_run_is_sampled(world: LiveWorld) -> None:
    truth = Truth(world, LiveControl(world))
    truth.begin(1)
    sampled = []
    for time_ps in range(50 * PS_PER_US, PS_PER_MS + 1, 50 * PS_PER_US):
        world.engine.advance(time_ps)
        sampled.append(world.engine.snapshot(reset_watermarks=True))
        truth.sample(sampled[-1])
    for table, fields in WATERMARKS.items():
        for field in fields:
            highest = np.max([getattr(now, table)[field] for now in sampled], axis=0)
            last = getattr(sampled[-1], table)[field]
            assert not np.array_equal(highest, last) or not highest.any(), f"{table}.{field} never fell"
    first, second = truth.read(), truth.read()
    for table, fields in WATERMARKS.items():
        for field in fields:
            highest = np.max([getattr(now, table)[field] for now in sampled], axis=0)
            assert np.array_equal(getattr(first, table)[field], highest), f"{table}.{field}"
            assert np.array_equal(getattr(second, table)[field], getattr(world.engine.snapshot(), table)[field])


def test_the_end_of_a_pass_leaves_its_watermarks_to_the_next_scrape(world: LiveWorld) -> None:
    truth = Truth(world, LiveControl(world))
    truth.begin(1)
    world.engine.advance(PS_PER_MS)
    last = truth.last()
    assert last.queues["watermark_bytes"].any()
    world.make_engine()
    truth.begin(2)
    assert np.array_equal(truth.read().queues["watermark_bytes"], last.queues["watermark_bytes"])


def test_every_watermark_that_a_sample_clears_is_kept_for_the_scrape(world: LiveWorld) -> None:
    state = world.engine.state
    world.engine.advance(PS_PER_MS)
    tables = ("ports", "queues", "pgs", "prios", "pools", "hosts", "switches")
    before = {name: getattr(state, name).copy() for name in tables if hasattr(state, name)}
    for rows in before.values():
        assert rows.dtype.names
    for name in before:
        for field in getattr(state, name).dtype.names:
            if "watermark" in field:
                getattr(state, name)[field] += 1_000_000
    reset_watermarks(state)
    cleared = {
        (name, field)
        for name, rows in before.items()
        for field in rows.dtype.names
        if "watermark" in field and not np.array_equal(getattr(state, name)[field], rows[field] + 1_000_000)
    }
    assert cleared == {(table, field) for table, fields in WATERMARKS.items() for field in fields}


def test_an_exporter_shows_what_its_last_poll_saw(world: LiveWorld, compiled: CompiledScenario) -> None:
    # Ports are polled every second of wall clock: every simulated millisecond at this dilation.
    seen = Seen(world, PROFILES["sonic"], compiled.fabric, 1000.0, 3)
    seen.begin(1)
    seen.sample(world.engine.snapshot(reset_watermarks=True))
    simulate(world, seen, 2 * PS_PER_MS)
    truth, shown = world.engine.snapshot(), seen.read()
    leaf = compiled.fabric.by_name["leaf1"].first_port
    assert 0 < int(shown.ports["tx_bytes"][leaf]) < int(truth.ports["tx_bytes"][leaf])
    assert shown.time_ps == truth.time_ps
    assert seen.last().ports["tx_bytes"][leaf] == truth.ports["tx_bytes"][leaf]


def test_what_was_shown_does_not_change_under_the_hands_of_who_reads_it(
    world: LiveWorld, compiled: CompiledScenario
) -> None:
    seen = Seen(world, PROFILES["hft"], compiled.fabric, 1000.0, 3)
    seen.begin(1)
    seen.sample(world.engine.snapshot(reset_watermarks=True))
    simulate(world, seen, PS_PER_MS)
    shown = seen.read()
    before = shown.ports["tx_bytes"].copy()
    simulate(world, seen, 3 * PS_PER_MS)
    assert np.array_equal(shown.ports["tx_bytes"], before)
    assert not np.array_equal(seen.read().ports["tx_bytes"], before)


def test_a_new_pass_is_polled_anew(world: LiveWorld, compiled: CompiledScenario) -> None:
    seen = Seen(world, PROFILES["hft"], compiled.fabric, 1000.0, 3)
    seen.begin(1)
    seen.sample(world.engine.snapshot(reset_watermarks=True))
    simulate(world, seen, 2 * PS_PER_MS)
    world.make_engine()
    seen.begin(2)
    seen.sample(world.engine.snapshot(reset_watermarks=True))
    assert int(seen.read().ports["tx_bytes"].sum()) == 0


def test_a_view_beside_the_truth_shows_what_it_shows_alone(world: LiveWorld, compiled: CompiledScenario) -> None:
    """What one view reads, watermarks included, takes nothing away from the other."""
    beside, alone = (Seen(world, PROFILES["hft"], compiled.fabric, 1000.0, 3) for _ in range(2))
    true = Truth(world, LiveControl(world))
    for it in (beside, alone, true):
        it.begin(1)
    for time_ps in range(PS_PER_MS // 2, 2 * PS_PER_MS + 1, PS_PER_MS // 2):
        world.engine.advance(time_ps)
        now = world.engine.snapshot(reset_watermarks=True)
        alone.sample(now)
        true.sample(now)
        true.read()
        beside.sample(now)
    one, other = beside.read(), alone.read()
    for table in ("ports", "queues", "pgs", "hosts"):
        assert np.array_equal(getattr(one, table), getattr(other, table)), table
    assert one.time_ps == true.read().time_ps
