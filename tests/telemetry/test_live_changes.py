"""Faults and configuration changes of a running scenario, on real engines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.dataplane.engine import edits as e
from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import Stop
from fabric.errors import InputErrors
from fabric.explain.eventlines import Severity
from fabric.faults.registry import FAULTS
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.inject import CONTROL_ONLY, LiveEmulator, fault_change, settings_after
from fabric.scenario.load import build_scenario, load_scenario
from fabric.scenario.schema.scenario import Scenario
from fabric.units import PS_PER_MS, PS_PER_US
from telemetry.live.changes import schemas
from telemetry.live.events import RECENT, EventSink
from telemetry.live.mailbox import Mailbox
from telemetry.live.pacing import Pacer
from telemetry.live.simulation import Observer, Program, Simulation
from telemetry.live.world import LiveWorld

SCENARIO = """\
name: small
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
switches: {asic: trident3}
workload:
  - {kind: incast, receiver: host1, senders: ["host2", "host3", "host4"], size: 2MB}
telemetry: {interval: 50us}
run: {duration: 2ms, seed: 3, stop: duration}
"""
US = PS_PER_US


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return build_scenario(yaml.safe_load(SCENARIO), Path("small.yml"))


@pytest.fixture(scope="module")
def compiled(scenario: Scenario) -> CompiledScenario:
    return compile_scenario(scenario)


@pytest.fixture
def world(scenario: Scenario, compiled: CompiledScenario) -> LiveWorld:
    return begun(scenario, compiled)


def begun(scenario: Scenario, compiled: CompiledScenario) -> LiveWorld:
    sink = EventSink("small", compiled.fabric, lambda: 1000.0, None, Severity.INFO)
    world = LiveWorld(scenario, compiled, 1, sink)
    world.make_engine()
    sink.begin(1)
    world.begin(1)
    return world


def simulate(world: LiveWorld, until_ps: int) -> None:
    while world.engine.now_ps < until_ps and world.engine.advance(until_ps) is not Stop.IDLE:
        pass
    world.events(world.engine.drain_events(), world.engine.now_ps)


def problems(raw: Mapping[str, Any], compiled: CompiledScenario, now_ps: int = 100 * US) -> list[tuple[str, str]]:
    with pytest.raises(InputErrors) as caught:
        fault_change(raw, now_ps, compiled, "live-1")
    assert all(problem.hint for problem in caught.value.problems)
    return [(problem.path, problem.text) for problem in caught.value.problems]


# ===== the engine =====


def test_a_live_engine_without_changes_simulates_what_the_engine_simulates(compiled: CompiledScenario) -> None:
    plain = Emulator(
        compiled.fabric,
        compiled.params,
        compiled.edits,
        record=compiled.record,
        reroute_delay_ps=compiled.reroute_delay_ps,
    )
    plain.advance(2 * PS_PER_MS)
    live = LiveEmulator(compiled)
    for bound in range(0, 2001, 7):
        live.advance(bound * US)
    live.advance(2 * PS_PER_MS)
    assert live.digest() == plain.digest()


def test_a_scheduled_change_is_the_one_that_a_scenario_would_have_made(compiled: CompiledScenario) -> None:
    link = compiled.fabric.links[-1].id
    down = [e.LinkState(300 * US, link, up=False), e.LinkState(700 * US, link, up=True)]
    plain = Emulator(
        compiled.fabric,
        compiled.params,
        [*compiled.edits, *down],
        record=compiled.record,
        reroute_delay_ps=compiled.reroute_delay_ps,
    )
    plain.advance(2 * PS_PER_MS)
    live = LiveEmulator(compiled)
    live.advance(300 * US)
    live.schedule(down)
    live.advance(500 * US)
    live.advance(2 * PS_PER_MS)
    assert live.digest() == plain.digest()
    untouched = LiveEmulator(compiled)
    untouched.advance(2 * PS_PER_MS)
    assert untouched.digest() != plain.digest()


def test_settings_follow_every_edit_that_sets_something(compiled: CompiledScenario) -> None:
    fabric, params = compiled.fabric, compiled.params
    leaf = fabric.by_name["leaf1"]
    port = leaf.first_port
    lossless = next(number for number, group in enumerate(params.ports[port].pgs) if group.lossless)
    queue = next(number for number, it in enumerate(params.ports[port].queues) if it.ecn is not None)
    changed = settings_after(
        fabric,
        params,
        [
            e.QueueEcn(1, port, queue, None),
            e.FlowControlClasses(2, port, 0),
            e.HostDrain(3, fabric.by_name["host1"].id, 10**9),
            e.PgThreshold(4, port, lossless, params.ports[port].pgs[0]),
            e.LinkErrors(5, fabric.ports[port].link, 1e-6),
            e.WatchdogSet(6, leaf.id, None),
            e.LinkState(7, fabric.ports[port].link, up=False),
        ],
    )
    assert changed.ports[port].queues[queue].ecn is None
    assert changed.ports[port].flow_control.classes == 0
    assert changed.ports[port].pgs[lossless] == params.ports[port].pgs[0]
    assert changed.ports[port].bit_error_ratio == changed.ports[fabric.ports[port].peer].bit_error_ratio == 1e-6
    assert changed.hosts[fabric.by_name["host1"].id].drain_bps == 10**9
    assert changed.switches[leaf.id].watchdog is None
    assert params.ports[port].flow_control.classes != 0  # the scenario's own settings stay as they are


# ===== faults =====


def test_a_fault_begins_now_where_it_does_not_say_when(compiled: CompiledScenario) -> None:
    raw = {"kind": "link-down", "link": "leaf1--spine1", "until": "+250us"}
    change = fault_change(raw, 100 * US, compiled, "live-1")
    assert [(edit.time_ps, edit.up) for edit in change.edits if isinstance(edit, e.LinkState)] == [
        (100 * US, False),
        (350 * US, True),
    ]
    assert change.truth is not None
    assert (change.truth["name"], change.truth["start_ns"], change.truth["end_ns"]) == ("live-1", 100_000, 350_000)


def test_a_fault_may_be_dated_as_in_a_scenario(compiled: CompiledScenario) -> None:
    change = fault_change(
        {"kind": "slow-receiver", "hosts": ["host1"], "drain": "10G", "at": "1ms", "name": "sick"},
        100 * US,
        compiled,
        "live-1",
    )
    assert change.start_ps == PS_PER_MS
    assert change.truth is not None
    assert change.truth["name"] == "sick"


@pytest.mark.parametrize(
    ("raw", "path", "text"),
    [
        ({}, "fault.kind", "is missing"),
        ({"kind": "link-dwn"}, "fault.kind", "'link-dwn' is not a known kind"),
        ({"kind": "link-down"}, "fault.link", "is missing"),
        ({"kind": "link-down", "link": "leaf9"}, "fault.link", "'leaf9'"),
        ({"kind": "link-down", "link": "leaf1--spine1", "at": "50us"}, "fault.at", "is past"),
        ({"kind": "link-down", "link": "leaf1--spine1", "at": "2ms"}, "fault.at", "after the end of the pass"),
        ({"kind": "link-down", "link": "leaf1--spine1", "at": "+5"}, "fault.at", "'5'"),
        ({"kind": "link-down", "link": "leaf1--spine1", "at": 5}, "fault.at", "5"),
        ({"kind": "link-down", "link": "leaf1--spine1", "until": "+0us"}, "fault.until", "is not after at"),
        ({"kind": "link-down", "link": "leaf1--spine1", "for": "2ms"}, "fault.for", "unknown field"),
        ({"kind": "pause-storm", "hosts": ["host9"], "duration": "1ms"}, "fault.hosts", "host9"),
        ({"kind": "drain", "switch": "leaf1"}, "fault.kind", "no control plane"),
        ({"kind": "link-rate", "link": "leaf1--spine1", "rate": "400G"}, "fault.rate", "no degradation"),
    ],
)
def test_what_is_wrong_with_a_fault_is_said_with_its_place(
    compiled: CompiledScenario, raw: dict[str, Any], path: str, text: str
) -> None:
    found = problems(raw, compiled)
    assert any(where == path and text in what for where, what in found), found


def test_more_link_rates_than_the_engine_holds_are_refused_before_they_break_the_run(world: LiveWorld) -> None:
    for number in range(world._compiled.params.spare_rate_rows):
        world.inject({"kind": "link-rate", "link": "leaf1--spine1", "rate": f"{10 + number}G"}, 100 * US)
    with pytest.raises(InputErrors, match="link rate number 17"):
        world.inject({"kind": "link-rate", "link": "leaf1--spine1", "rate": "9G"}, 100 * US)
    world.inject({"kind": "link-rate", "link": "leaf1--spine1", "rate": "10G"}, 100 * US)
    simulate(world, 2 * PS_PER_MS)


def test_a_drift_ends_with_the_values_that_held_when_it_began(world: LiveWorld, compiled: CompiledScenario) -> None:
    world.configure({"kind": "thresholds", "ports": "leaf1", "dynamic_th": -5}, 100 * US)
    change = fault_change(
        {"kind": "config-drift", "ports": "leaf1", "dynamic_th": -7, "until": "+1ms"},
        200 * US,
        world._now(200 * US),
        "live-2",
    )
    restored = [
        edit.pg_params.dynamic_th
        for edit in change.edits
        if isinstance(edit, e.PgThreshold) and edit.time_ps > 200 * US
    ]
    assert set(restored) == {-5}


# ===== changes =====


@pytest.mark.parametrize(
    "raw",
    [
        {"kind": "shut", "link": "leaf1--spine1"},
        {"kind": "no-shut", "link": "leaf1--spine1"},
        {"kind": "watchdog", "switches": ["leaf*"], "poll": "100us", "detection": "200us"},
        {"kind": "watchdog-off", "switches": ["leaf1"]},
        {"kind": "ecn", "ports": "leaf1", "kmin": "5KB", "kmax": "200KB", "pmax": 0.1},
        {"kind": "ecn-off", "ports": "leaf1"},
        {"kind": "thresholds", "ports": "leaf1", "headroom": "40KiB"},
        {"kind": "pfc", "ports": "leaf1", "priorities": []},
        {"kind": "repair-host", "hosts": ["host1"]},
    ],
)
def test_every_change_reaches_the_engine(world: LiveWorld, raw: dict[str, Any]) -> None:
    simulate(world, 100 * US)
    answer = world.configure(raw, world.engine.now_ps)
    assert answer["edits"] > 0
    assert answer["at_seconds"] == pytest.approx(100e-6)
    simulate(world, PS_PER_MS)
    assert not [edit for edit in world.engine._edits[world.engine._applied :] if edit.time_ps <= PS_PER_MS]


def test_what_was_changed_can_be_changed_back(world: LiveWorld) -> None:
    before = world._now(0).params
    for raw in (
        {"kind": "thresholds", "ports": "leaf1", "dynamic_th": -5},
        {"kind": "pfc", "ports": "leaf1", "priorities": []},
        {"kind": "ecn-off", "ports": "leaf1"},
    ):
        world.configure(raw, 100 * US)
    port = world._compiled.fabric.by_name["leaf1"].first_port
    lossless = [group.dynamic_th for group in before.ports[port].pgs if group.lossless]
    classes = [c for c in range(8) if before.ports[port].flow_control.classes >> c & 1]
    curve = next(queue.ecn for queue in before.ports[port].queues if queue.ecn is not None)
    world.configure({"kind": "thresholds", "ports": "leaf1", "dynamic_th": lossless[0]}, 200 * US)
    world.configure({"kind": "pfc", "ports": "leaf1", "priorities": classes}, 200 * US)
    world.configure(
        {
            "kind": "ecn",
            "ports": "leaf1",
            "kmin": f"{curve.kmin_bytes}B",
            "kmax": f"{curve.kmax_bytes}B",
            "pmax": curve.pmax_ratio,
        },
        200 * US,
    )
    assert world._now(200 * US).params.ports[port] == before.ports[port]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ({"kind": "shut", "link": "leaf9"}, "change.link"),
        ({"kind": "thresholds", "ports": "leaf1"}, "neither"),
        ({"kind": "pfc", "ports": "leaf1", "priorities": [8]}, "change.pfc.priorities"),
        ({"kind": "shutt"}, "change"),
        ({"kind": "reset-nic", "hosts": ["host1"]}, "does not storm"),
        ({"kind": "ecn-off", "ports": "host1"}, "no queue"),
        ({"kind": "shut", "link": "leaf1--spine1", "at": "1ms"}, "unknown field"),
    ],
)
def test_what_is_wrong_with_a_change_is_said(world: LiveWorld, raw: dict[str, Any], text: str) -> None:
    with pytest.raises(InputErrors) as caught:
        world.configure(raw, 100 * US)
    assert text.replace("change.pfc.priorities", "priorities") in str(caught.value)
    assert not world.changes


def test_a_storm_that_was_injected_can_be_ended_by_a_reset(world: LiveWorld) -> None:
    world.inject({"kind": "pause-storm", "hosts": ["host1"], "duration": "1ms"}, 100 * US)
    simulate(world, 300 * US)
    assert world.incidents()[0]["cause"] == "broken NIC"
    world.configure({"kind": "reset-nic", "hosts": ["host1"]}, 300 * US)
    simulate(world, 2 * PS_PER_MS)
    world._incidents_due_s = 0.0
    storm = next(it for it in world.incidents() if it["cause"] == "broken NIC")
    assert storm["origin"] == "host1:eth0"
    assert storm["until_seconds"] < 1.1e-3
    assert [record["kind"] for record in world.truth] == ["pause-storm"]


def test_a_new_pass_knows_nothing_of_what_was_done_in_the_one_before(world: LiveWorld) -> None:
    world.inject({"kind": "pause-storm", "hosts": ["host1"], "duration": "1ms"}, 100 * US)
    simulate(world, 300 * US)
    assert world.incidents()
    world.make_engine()
    world.begin(2)
    assert not world.incidents()
    assert not world.changes
    assert not world.truth


ROUTED = SCENARIO.replace("duration: 2ms", "duration: 12ms") + "routing: bgp\nbgp: {update_delay: 500us}\n"


@pytest.fixture
def routed(tmp_path: Path) -> LiveWorld:
    path = tmp_path / "routed.yml"
    path.write_text(ROUTED, encoding="utf-8")
    loaded = load_scenario(path, [])
    return begun(loaded, compile_scenario(loaded))


def test_routers_notice_a_cable_that_goes_down_now_as_if_the_scenario_had_said_so(
    routed: LiveWorld, tmp_path: Path
) -> None:
    simulate(routed, PS_PER_MS)
    routed.inject({"kind": "link-down", "link": "leaf1--spine1", "until": "+4ms"}, routed.engine.now_ps)
    simulate(routed, 12 * PS_PER_MS)
    path = tmp_path / "given.yml"
    path.write_text(ROUTED + "faults: [{kind: link-down, link: leaf1--spine1, at: 1ms, until: 5ms}]\n")
    compiled_scenario = compile_scenario(load_scenario(path, []))
    plain = LiveEmulator(compiled_scenario)
    plain.advance(12 * PS_PER_MS)
    assert routed.engine.digest() == plain.digest()
    assert routed.control is not None
    assert len(routed.control.events) == 2


def test_a_switch_is_drained_while_the_fabric_runs_and_a_second_fault_keeps_the_first(routed: LiveWorld) -> None:
    simulate(routed, PS_PER_MS)
    routed.inject({"kind": "drain", "switch": "spine1"}, routed.engine.now_ps)
    routed.configure({"kind": "ecn-off", "ports": "leaf1"}, routed.engine.now_ps)
    simulate(routed, 3 * PS_PER_MS)
    routed.inject({"kind": "link-down", "link": "leaf1--spine2"}, routed.engine.now_ps)
    assert [it.kind for it in routed.changes] == ["drain", "ecn-off", "link-down"]
    assert any(isinstance(edit, e.QueueEcn) for edit in routed._edits)
    simulate(routed, 12 * PS_PER_MS)
    assert [record["kind"] for record in routed.truth] == ["drain", "link-down"]


def test_a_new_pass_has_the_routes_of_the_scenario(routed: LiveWorld) -> None:
    before = routed.control
    routed.inject({"kind": "link-down", "link": "leaf1--spine1"}, PS_PER_MS)
    assert routed.control is not before
    routed.make_engine()
    routed.begin(2)
    assert routed.control is before


def test_a_cable_is_not_shut_behind_the_routers_backs(routed: LiveWorld) -> None:
    with pytest.raises(InputErrors, match="link-down"):
        routed.configure({"kind": "shut", "link": "leaf1--spine1"}, 100 * US)
    assert not routed.changes


# ===== events =====


def test_every_event_line_has_its_place_and_what_was_done_is_among_them(
    scenario: Scenario, compiled: CompiledScenario
) -> None:
    out = StringIO()
    sink = EventSink("small", compiled.fabric, lambda: 1000.0, out, Severity.INFO)
    world = LiveWorld(scenario, compiled, 1, sink)
    world.make_engine()
    sink.begin(1)
    world.begin(1)
    world.inject({"kind": "pause-storm", "hosts": ["host1"], "duration": "500us"}, 50 * US)
    while world.engine.now_ps < PS_PER_MS:
        world.engine.advance(world.engine.now_ps + 50 * US)
        sink.events(world.engine.drain_events(), world.engine.now_ps)
    sink.end("duration", world.engine.snapshot())
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    times = [line["sim_time_ns"] for line in lines if line["kind"] != "control"]
    assert times == sorted(times)
    assert {line["severity"] for line in lines} <= {"info", "warning", "error", "critical"}
    assert next(line for line in lines if line["message"] == "fault injected")["facts"]["kind"] == "pause-storm"
    paused = next(line for line in lines if line["kind"] == "paused")
    assert (paused["device"], paused["port"], paused["priority"]) == ("leaf1", "Ethernet0", 3)
    shown = sink.recent(0, 10_000)
    assert [line["sequence"] for line in shown] == sorted(line["sequence"] for line in shown)
    assert sink.recent(shown[-2]["sequence"], 10) == shown[-1:]


@pytest.mark.parametrize(("lost", "words"), [(True, "all messages done or failed"), (False, "all messages done")])
def test_a_pass_whose_messages_failed_does_not_say_that_all_are_done(
    scenario: Scenario, lost: bool, words: str
) -> None:
    raw = scenario.model_dump(mode="json", exclude_none=True)
    raw["run"] = {"duration": "20ms", "seed": 1}
    if lost:
        raw["faults"] = [{"kind": "drop-every", "port": "host1:*", "every": 1, "at": "1us"}]
        raw["transport"] = {"retransmit_timeout": "20us", "retries": 1}
    else:
        raw["faults"] = []
    compiled = compile_scenario(Scenario.model_validate(raw))
    out = StringIO()
    sink = EventSink("small", compiled.fabric, lambda: 1.0, out, Severity.INFO)
    world = LiveWorld(scenario, compiled, 1, sink)

    class Stopper(Observer):
        def end(self, reason: str, now: Snapshot) -> None:
            simulation.stop()

    simulation = Simulation(
        Program(compiled.duration_ps, compiled.sampling_ps, stop_when_done=True, loop=False),
        world.make_engine,
        Pacer(1),
        Mailbox(),
        [world, sink, Stopper()],
    )
    simulation.simulate()
    [ends] = [line for line in map(json.loads, out.getvalue().splitlines()) if line["message"] == "pass ends"]
    assert ends["facts"]["reason"] == words


def test_only_the_newest_lines_are_kept_and_they_are_numbered_without_a_gap(compiled: CompiledScenario) -> None:
    sink = EventSink("small", compiled.fabric, lambda: 1000.0, None, Severity.INFO)
    for number in range(3 * RECENT):
        sink.note(Severity.INFO, "noted", number, {"number": number})
    shown = sink.recent(0, 10 * RECENT)
    assert [line["sequence"] for line in shown] == list(range(2 * RECENT + 1, 3 * RECENT + 1))
    assert [line["facts"]["number"] for line in shown] == list(range(2 * RECENT, 3 * RECENT))
    assert sink.recent(3 * RECENT, 5) == []
    assert sink.recent(0, 5) == shown[-5:]


def test_the_schemas_refer_to_nothing_that_is_not_there() -> None:
    made = schemas(routed=True)
    text = json.dumps([made.fault, made.change, made.parts])
    wanted = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert wanted == set(made.parts)
    assert "at" not in made.parts["LinkDownSpec"]["required"]


def schema_kinds(schema: Mapping[str, Any]) -> set[str]:
    return set(schema["discriminator"]["mapping"])


def test_the_schemas_name_every_kind() -> None:
    made = schemas(routed=False)
    assert schema_kinds(schemas(routed=True).fault) == set(FAULTS)
    assert schema_kinds(made.fault) == set(FAULTS) - CONTROL_ONLY
    assert len(made.fault["oneOf"]) == len(FAULTS) - len(CONTROL_ONLY)
    assert {
        "shut",
        "no-shut",
        "reset-nic",
        "ecn",
        "ecn-off",
        "thresholds",
        "pfc",
        "watchdog",
        "watchdog-off",
    } <= schema_kinds(made.change)
