"""Facts of the control plane at moments of a run: sessions end, prefixes go, addresses move; counters never fall."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.runs import simulate
from fabric.runs.rundir import RunDir
from fabric.runs.simulate import Options
from fabric.scenario.load import load_scenario
from telemetry.catalogue.control import BGP_STATES, EVPN_TYPES, ControlFacts
from telemetry.sources.control_history import ControlHistory
from telemetry.sources.recorded import store_of

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
MS = 10**9


def history(name: str) -> ControlHistory:
    compiled, _ = simulate.prepare(load_scenario(SCENARIOS / f"{name}.yml"))
    assert compiled.control is not None
    return ControlHistory(compiled.control)


def down(facts: ControlFacts) -> set[tuple[str, str]]:
    return {(it.device, it.peer) for it in facts.peers if it.state != "established"}


def test_a_dead_spine_loses_its_sessions_and_prefixes() -> None:
    it = history("bgp-spine-failure")
    before, after = it.at(0), it.at(50 * MS)
    assert down(before) == set()
    assert down(after) == {(f"leaf{n}", "spine1") for n in range(1, 5)} | {("spine1", f"leaf{n}") for n in range(1, 5)}
    assert {(it.device, it.peer): it.flaps for it in after.peers if it.flaps} == {
        (f"leaf{n}", "spine1"): 1 for n in range(1, 5)
    }
    gone = [it.accepted for it in after.prefixes if "spine1" in (it.device, it.peer)]
    assert set(gone) == {0}
    assert sum(it.accepted for it in after.prefixes) < sum(it.accepted for it in before.prefixes)


def test_rows_keep_their_places() -> None:
    it = history("bgp-spine-failure")
    before, after = it.at(0), it.at(50 * MS)
    assert [(peer.device, peer.peer) for peer in before.peers] == [(peer.device, peer.peer) for peer in after.peers]
    assert [(row.device, row.route_type) for row in before.evpn] == [(row.device, row.route_type) for row in after.evpn]
    assert {peer.state for peer in after.peers} <= set(BGP_STATES)
    assert {row.route_type for row in after.evpn} <= set(EVPN_TYPES)


def test_a_moment_without_a_change_costs_no_thought() -> None:
    it = history("bgp-spine-failure")
    assert it.at(60 * MS) is it.at(90 * MS)


def test_moves_are_counted_and_never_forgotten() -> None:
    it = history("mac-move")
    moves = [sum(row.moves for row in it.at(ms * MS).moves) for ms in range(0, 100, 5)]
    assert moves[0] == 0 < moves[-1]
    assert moves == sorted(moves)


@pytest.mark.parametrize("metric", ["fabric_bgp_peer_state", "fabric_bgp_prefixes", "fabric_evpn_routes"])
def test_a_recorded_run_has_the_metrics_of_its_control_plane(metric: str, tmp_path: Path) -> None:
    compiled, plan = simulate.prepare(load_scenario(SCENARIOS / "bgp-spine-failure.yml"), until_ps=10 * MS)
    simulate.simulate(compiled, plan, Options(tmp_path / "run"))
    found = store_of(RunDir.open(tmp_path / "run"), [metric]).series(metric)
    changed = {labels for labels, (_, value) in found.items() if value[0] != value[-1]}
    assert any(("device", "leaf1") in labels for labels in changed) == (metric != "fabric_evpn_routes")
    assert all(len(time_ns) == len(value) > 1 for time_ns, value in found.values())
