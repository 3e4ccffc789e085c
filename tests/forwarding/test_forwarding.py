"""Forwarding tables of any moment, without a run: equal to those of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabric.controlplane.network.network import Network
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.types import State
from fabric.forwarding import walk as walks
from fabric.forwarding.tables import Cause, changes, forwarding_at
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario, load_scenario
from fabric.show.subject import load_subject

US = 10**6


def compiled(*faults: dict[str, Any]) -> CompiledScenario:
    raw: dict[str, Any] = {
        "name": "f",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 3,
            "spines": 2,
            "hosts_per_leaf": 2,
            "host_rate": "100G",
            "fabric_rate": "100G",
        },
        "workload": [{"kind": "permutation", "size": "4KB"}],
        "run": {"duration": "1ms", "stop": "duration"},
        "faults": list(faults),
    }
    if any(fault["kind"] == "link-down" for fault in faults):
        raw["run"]["reroute_delay"] = "5us"
    return compile_scenario(build_scenario(raw, Path("f.yml")))


FAULTS = [
    {"kind": "link-down", "link": "leaf1--spine1", "at": "10us", "until": "40us"},
    {"kind": "route", "switches": ["leaf2"], "hosts": ["host1"], "via": ["spine2"], "at": "20us", "until": "60us"},
    {"kind": "route", "switches": ["leaf3"], "hosts": ["host1", "host2"], "via": [], "at": "25us", "until": "30us"},
]


def losses_at(state: State, port: int) -> list[Any]:
    """Rows of State.losses of a port."""
    found, at = [], int(state.ports[port]["first_loss"])
    while at:
        found.append(state.losses[at])
        at = int(state.losses[at]["next"])
    return found


def members(tables: walks.Tables) -> list[list[tuple[int, ...]]]:
    return [[tables.members(switch, host) for host in range(tables.n_hosts)] for switch in range(len(tables.fib))]


@pytest.mark.parametrize("at_us", [0, 9, 10, 14, 15, 20, 25, 29, 30, 44, 45, 46, 60, 90])
def test_tables_are_those_of_the_engine_at_any_moment(at_us: int) -> None:
    case = compiled(*FAULTS)
    engine = Emulator(case.fabric, case.params, case.edits, reroute_delay_ps=case.reroute_delay_ps)
    engine.advance(at_us * US + 1)
    timeline = changes(case.edits, case.fabric, case.params, case.reroute_delay_ps)
    ours = forwarding_at(case.fabric, case.params, timeline, at_us * US)
    assert members(ours.tables) == members(walks.Tables.of(engine.state))
    assert ours.down == frozenset(np.flatnonzero(engine.state.ports["up"] == 0).tolist())
    for table in ("ports", "switches", "addresses"):
        mine, its = getattr(ours.tables.state, table), getattr(engine.state, table)
        for name in ("peer_node", "hash_algorithm", "hash_seed", "load_balance", "is_vtep", "ip", "leaf", "vni"):
            assert name not in mine.dtype.names or np.array_equal(mine[name], its[name]), (table, name)


def test_a_route_has_its_cause_and_its_date() -> None:
    case = compiled(*FAULTS)
    node = case.fabric.by_name
    timeline = changes(case.edits, case.fabric, case.params, case.reroute_delay_ps)

    def written(switch: str, host: str, at_us: int) -> tuple[Cause, int]:
        at = forwarding_at(case.fabric, case.params, timeline, at_us * US)
        return at.written(node[switch].id, node[host].id)

    assert written("leaf2", "host1", 5) == (Cause.SHORTEST_PATH, 0)
    assert written("leaf2", "host1", 16) == (Cause.SHORTEST_PATH, 15 * US)
    assert written("leaf2", "host1", 20) == (Cause.EDIT, 20 * US)
    assert written("leaf2", "host1", 50) == (Cause.EDIT, 20 * US)  # paths were computed again at 45 us
    assert written("leaf2", "host1", 60) == (Cause.SHORTEST_PATH, 60 * US)
    assert written("leaf3", "host5", 90) == (Cause.SHORTEST_PATH, 0)


def test_hosts_of_one_class_share_every_route_but_the_last_hop() -> None:
    case = compiled()
    at = forwarding_at(case.fabric, case.params, (), 0)
    assert sorted(len(hosts) for hosts in at.classes().values()) == [2, 2, 2]
    edited = compiled(FAULTS[1])
    later = forwarding_at(edited.fabric, edited.params, changes(edited.edits, edited.fabric, edited.params, 0), 30 * US)
    assert sorted(len(hosts) for hosts in later.classes().values()) == [1, 1, 2, 2]


@pytest.mark.parametrize("at_us", [0, 999, 1000, 3000, 4600, 4860, 4870, 5300, 9000])
def test_tables_of_a_control_plane_are_those_of_the_engine_at_any_moment(at_us: int) -> None:
    path = Path(__file__).parents[2] / "scenarios" / "bgp-spine-failure.yml"
    case = compile_scenario(load_scenario(path, ["workload[0].size=4KB", "run.stop=duration"]))
    engine = Emulator(case.fabric, case.params, case.edits, reroute_delay_ps=case.reroute_delay_ps)
    engine.advance(at_us * US + 1)
    ours = load_subject(path, ["workload[0].size=4KB", "run.stop=duration"]).at(at_us * US)
    assert members(ours.tables) == members(walks.Tables.of(engine.state))
    lost = [any(loss["every"] == 1 for loss in losses_at(engine.state, port.id)) for port in case.fabric.ports]
    assert ours.silent == frozenset(int(port) for port in engine.state.ports["peer"][lost])
    assert set(ours.cause.reshape(-1).tolist()) == {int(Cause.CONTROL_PLANE)}


def test_a_static_route_is_distinguished_from_those_of_a_control_plane_until_its_repair() -> None:
    path = Path(__file__).parents[2] / "scenarios" / "bgp-spine-failure.yml"
    fault = "{kind: route, switches: [leaf2], hosts: [host1], via: [spine2], at: 1ms, until: 2ms}"
    subject = load_subject(path, [f"faults=[{fault}]", "expectations=[]"])
    node = subject.fabric.by_name
    causes = {at_us: subject.at(at_us * US).written(node["leaf2"].id, node["host1"].id)[0] for at_us in (0, 1500, 2000)}
    assert causes == {0: Cause.CONTROL_PLANE, 1500: Cause.EDIT, 2000: Cause.CONTROL_PLANE}


def test_a_table_of_a_moment_runs_the_control_plane_once(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []
    converge = Network.converge
    monkeypatch.setattr(Network, "converge", lambda network: (starts.append(network), converge(network))[1])
    subject = load_subject(Path(__file__).parents[2] / "scenarios" / "bgp-drain.yml")
    assert subject.fabric.switches
    assert not starts
    network = subject.network(2_000 * US)
    assert starts == [network]
