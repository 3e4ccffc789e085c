"""`routing: bgp` in scenarios: edits at their times, static routes that stay, results that survive a restart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.engine.edits import DropEvery, FibRoute, LinkState
from fabric.dataplane.state.codes import INFINITY_PS
from fabric.explain.evidence import Evidence
from fabric.explain.report import compose
from fabric.faults.control_spec import NEEDS_BGP
from fabric.forwarding.tables import Cause, changes, forwarding_at
from fabric.render.document import Table
from fabric.runs import simulate
from fabric.runs.rundir import RunDir
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario, load_scenario

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
MS = 10**9
FAST = {
    "update_delay": "100us",
    "fib_delay": "50us",
    "carrier_delay": "50us",
    "prune_delay": "20us",
    "learn_delay": "50us",
}
CASES: dict[str, dict[str, Any]] = {
    "bgp-crash": {"switch": "spine1", "at": "1ms", "until": "3ms"},
    "drain": {"switch": "spine1", "at": "1ms", "until": "3ms"},
    "wrong-asn": {"switch": "leaf1", "asn": 64999, "at": "1ms", "until": "3ms"},
    "route-policy": {
        "switch": "leaf1",
        "neighbour": "spine1",
        "direction": "import",
        "rules": [{"accept": False}],
        "at": "1ms",
        "until": "3ms",
    },
    "mac-move": {"host": "host1", "to": "leaf2", "at": "1ms"},
    "host-leave": {"hosts": ["host1"], "at": "1ms", "until": "3ms"},
    "endpoint-churn": {"at": "1ms", "until": "9ms", "per_minute": 600_000},
}


def compiled(*faults: dict[str, Any], **changes: object) -> CompiledScenario:
    raw = {
        "name": "routed",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 2,
            "spines": 2,
            "hosts_per_leaf": 2,
            "host_rate": "100G",
            "fabric_rate": "100G",
        },
        "routing": "bgp",
        "bgp": FAST,
        "vxlan": {},
        "workload": [{"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "1MB"}],
        "faults": list(faults),
        "run": {"duration": "10ms"},
        **changes,
    }
    return compile_scenario(build_scenario(raw, Path("routed.yml")))


def routes(result: CompiledScenario) -> list[tuple[float, str, str, list[str]]]:
    """(ms, switch, host, neighbours) of every change of a route."""
    fabric = result.fabric
    return [
        (
            edit.time_ps / MS,
            fabric.nodes[edit.switch].name,
            fabric.nodes[edit.host].name,
            sorted(fabric.peer_of(port).name for port in edit.ports),
        )
        for edit in result.edits
        if isinstance(edit, FibRoute)
    ]


def used(result: CompiledScenario, switch: str, host: str, *at_ms: float) -> list[list[str]]:
    """Neighbours that a switch sends to at these moments, and the engine agrees."""
    fabric, found = result.fabric, []
    timeline = changes(result.edits, fabric, result.params, None)
    engine = Emulator(fabric, result.params, result.edits, reroute_delay_ps=result.reroute_delay_ps)
    row, column = fabric.by_name[switch].id, fabric.by_name[host].id
    for moment in at_ms:
        at = forwarding_at(fabric, result.params, timeline, round(moment * MS), Cause.CONTROL_PLANE)
        found.append(sorted(fabric.peer_of(port).name for port in at.next_ports(row, column)))
        engine.advance(round(moment * MS) + 1)
        assert sorted(fabric.peer_of(port).name for port in installed(engine, row, column)) == found[-1]
    return found


def installed(engine: Emulator, switch: int, host: int) -> list[int]:
    """Ports of the engine's route."""
    state, n_hosts = engine.state, len(engine.fabric.hosts)
    group = int(state.fib[(switch - n_hosts) * n_hosts + host])
    if group == 0:
        return []
    first, count = int(state.groups[group - 1]["first"]), int(state.groups[group - 1]["count"])
    return [int(port) for port in state.members["port"][first : first + count]]


def test_every_kind_of_fault_about_routing_has_a_case_here() -> None:
    assert set(CASES) == NEEDS_BGP


@pytest.mark.parametrize("kind", CASES)
def test_a_fault_of_routing_changes_routes_and_leaves_a_truth_record(kind: str) -> None:
    result = compiled({"kind": kind, **CASES[kind]})
    [record] = json.loads(json.dumps(list(result.truth)))
    assert (record["kind"], record["start_ns"]) == (kind, 10**6)
    assert record["expect"]
    assert result.control is not None
    assert result.control.convergence
    assert [edit.time_ps for edit in result.edits] == sorted(edit.time_ps for edit in result.edits)
    # Churned endpoints are not hosts of the engine; their events change no row.
    assert bool(routes(result)) == (kind != "endpoint-churn")


def test_a_healthy_fabric_needs_no_edit_and_no_shortest_path_is_ever_computed_again() -> None:
    result = compiled()
    assert result.edits == ()
    assert result.reroute_delay_ps >= INFINITY_PS


def test_a_lost_cable_is_pruned_where_light_is_lost_and_withdrawn_elsewhere_a_hop_later() -> None:
    found = routes(compiled({"kind": "link-down", "link": "leaf1--spine1", "at": "1ms"}))
    assert {(ms, switch) for ms, switch, _, _ in found} >= {(1.02, "leaf1"), (1.02, "spine1")}
    remote = [(ms, to) for ms, switch, host, to in found if switch == "leaf2" and host == "host1"]
    assert [to for _, to in remote] == [["spine2"]]
    assert remote[0][0] == pytest.approx(1 + 0.05 + 0.1 + 0.1 + 0.05, abs=0.001)


def test_a_static_route_stands_against_bgp_and_its_repair_brings_what_bgp_has_by_then() -> None:
    static = {
        "kind": "route",
        "switches": ["leaf2"],
        "hosts": ["host1"],
        "via": ["spine1"],
        "at": "1ms",
        "until": "5ms",
    }
    lost = {"kind": "link-down", "link": "leaf1--spine1", "at": "2ms"}
    result = compiled(static, lost)
    assert used(result, "leaf2", "host1", 0, 1, 4, 5) == [["spine1", "spine2"], ["spine1"], ["spine1"], ["spine2"]]
    assert used(result, "leaf2", "host2", 1, 4) == [["spine1", "spine2"], ["spine2"]]


def test_a_static_route_is_withdrawn_when_its_port_is_pruned_and_back_with_the_light() -> None:
    static = {
        "kind": "route",
        "switches": ["leaf1"],
        "hosts": ["host3"],
        "via": ["spine1"],
        "at": "1ms",
        "until": "6ms",
    }
    lost = {"kind": "link-down", "link": "leaf1--spine1", "at": "2ms", "until": "4ms"}
    result = compiled(static, lost)
    pruned = 2 + 0.02  # prune_delay
    assert used(result, "leaf1", "host3", 1, pruned - 0.001, pruned, 4, 6) == [
        ["spine1"],
        ["spine1"],
        ["spine2"],
        ["spine1"],
        ["spine2"],
    ]  # BGP at 6 ms: its session is not up again


def test_a_hung_switch_loses_frames_and_keeps_its_links() -> None:
    result = compiled({"kind": "switch-crash", "switch": "spine1", "at": "1ms", "carrier": "kept"})
    assert not any(isinstance(edit, LinkState) for edit in result.edits)
    spine = result.fabric.by_name["spine1"]
    assert {edit.port for edit in result.edits if isinstance(edit, DropEvery)} == set(spine.ports)


def test_churn_of_other_endpoints_changes_no_hosts_routes() -> None:
    churn = {"kind": "endpoint-churn", **CASES["endpoint-churn"]}
    lost = {"kind": "link-down", "link": "leaf1--spine1", "at": "2ms"}
    assert [it[1:] for it in routes(compiled(lost, churn))] == [it[1:] for it in routes(compiled(lost))]


def test_thousands_of_endpoints_a_minute_come_and_go() -> None:
    result = compiled({"kind": "endpoint-churn", **CASES["endpoint-churn"]})
    assert result.control is not None
    [churn] = result.control.convergence
    assert 50 <= churn.times <= 110  # 600,000 a minute for 8 ms: 80
    assert churn.updates > 100
    assert churn.convergence_ns is not None
    assert churn.convergence_ns < 3 * 100_000 + 50_000 + 1_000  # learning, and three hops of update_delay


def test_churn_takes_nothing_from_the_record_of_another_event() -> None:
    churn = {"kind": "endpoint-churn", **CASES["endpoint-churn"]}
    lost = {"kind": "link-down", "link": "leaf1--spine1", "at": "2ms"}
    alone, both = compiled(lost).control, compiled(lost, churn).control
    assert alone is not None
    assert both is not None
    [mine] = alone.convergence
    [other] = [record for record in both.convergence if not record.is_churn]
    assert (mine.fib_changes, mine.sessions_lost, mine.routers) == (
        other.fib_changes,
        other.sessions_lost,
        other.routers,
    )


def test_a_run_that_is_saved_and_restored_in_the_middle_ends_with_the_same_digest(tmp_path: Path) -> None:
    def scenario() -> CompiledScenario:
        return compiled(
            {"kind": "link-down", "link": "leaf1--spine1", "at": "100us", "until": "200us"},
            {"kind": "mac-move", "host": "host2", "to": "leaf2", "at": "150us"},
        )

    def engine(result: CompiledScenario) -> Emulator:
        return Emulator(result.fabric, result.params, result.edits, reroute_delay_ps=result.reroute_delay_ps)

    whole, first = scenario(), scenario()
    straight = engine(whole)
    straight.advance(2 * MS)
    broken = engine(first)
    broken.advance(MS // 5)
    broken.save(tmp_path / "state")
    second = scenario()
    resumed = Emulator.restore(
        second.fabric, second.params, second.edits, tmp_path / "state", reroute_delay_ps=second.reroute_delay_ps
    )
    resumed.advance(2 * MS)
    assert resumed.digest() == straight.digest()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [path.name for path in sorted(SCENARIOS.glob("bgp-*.yml"))]
    + ["mac-move.yml", "tenant-leaf-crash.yml", "tenant-routing.yml"],
)
def test_a_scenario_with_bgp_meets_its_expectations_and_tells_what_routing_did(name: str, tmp_path: Path) -> None:
    scenario = load_scenario(SCENARIOS / name)
    prepared, plan = simulate.prepare(scenario)
    outcome = simulate.simulate(prepared, plan, simulate.Options(tmp_path / "run"))
    summary = RunDir.open(tmp_path / "run").summary
    assert outcome.exit_code == 0, summary["expectations"]
    rows = summary["routing"]["events"]
    assert len(rows) == summary["metrics"]["convergence.events"] > 0
    assert any(row["convergence_ns"] for row in rows)
    texts = [it["text"] for it in summary["verdict"]]
    assert any(text.startswith(rows[0]["event"]) for text in texts)
    page = compose(Evidence(RunDir.open(tmp_path / "run")))
    [section] = [it for it in page.sections if it.key == "routing"]
    [table] = [block for block in section.blocks if isinstance(block, Table)]
    assert [line[0] for line in table.rows] == [line["event"] for line in rows]


def test_without_a_control_plane_the_summary_has_no_routing(tmp_path: Path) -> None:
    result, plan = simulate.prepare(load_scenario(SCENARIOS / "incast.yml"), until_ps=MS // 100)
    simulate.simulate(result, plan, simulate.Options(tmp_path / "run"))
    summary = RunDir.open(tmp_path / "run").summary
    assert summary["routing"] is None
    assert summary["metrics"]["convergence.max_ns"] is None


def test_a_second_wrong_route_is_no_repair_of_the_first() -> None:
    static = {"kind": "route", "switches": ["leaf2"], "hosts": ["host1"]}
    result = compiled(
        {**static, "via": ["spine1"], "at": "1ms", "until": "5ms", "name": "one"},
        {**static, "via": [], "at": "2ms", "until": "6ms", "name": "two"},
        {"kind": "link-down", "link": "leaf1--spine1", "at": "3ms"},
    )
    assert used(result, "leaf2", "host1", 1, 2, 4, 5, 6) == [["spine1"], [], [], [], ["spine2"]]


def test_the_first_of_two_static_routes_is_used_again_when_the_second_ends() -> None:
    static = {"kind": "route", "switches": ["leaf2"], "hosts": ["host1"]}
    result = compiled(
        {**static, "via": ["spine1"], "at": "1ms"}, {**static, "via": ["spine2"], "at": "2ms", "until": "4ms"}
    )
    assert used(result, "leaf2", "host1", 1, 2, 4) == [["spine1"], ["spine2"], ["spine1"]]
