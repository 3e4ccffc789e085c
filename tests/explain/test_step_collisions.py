"""A step that waits for flows which the ECMP hash put on one link, and one whose messages vanish in a black hole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.api.hooks import hooks_of
from fabric.explain.balance import Balance, members
from fabric.explain.evidence import Evidence
from fabric.explain.step import Step, by_cause
from fabric.explain.variations import suggested
from fabric.runs import simulate
from fabric.runs.rundir import RunDir
from fabric.scenario.load import build_scenario

HOSTS = 8
"""Of each of two leaves."""


def simulated(folder: Path, **sections: Any) -> Evidence:  # noqa: ANN401  sections of a scenario
    """Every host of the first leaf sends 400 kB to one of the second, over as many uplinks of the hosts' speed."""
    ranks = [f"rank {rank} {{\ns: send 400000b to {rank + HOSTS} tag 0\n}}" for rank in range(HOSTS)]
    ranks += [f"rank {rank + HOSTS} {{\nr: recv 400000b from {rank} tag 0\n}}" for rank in range(HOSTS)]
    (folder / "pairs.goal").write_text("\n".join([f"num_ranks {2 * HOSTS}", *ranks]))
    raw = {
        "name": "pairs",
        "topology": {
            "kind": "leaf-spine", "leaves": 2, "spines": HOSTS, "hosts_per_leaf": HOSTS, "host_rate": "100G",
            "fabric_rate": "100G",
        },
        "transport": {"cc": "none"},
        "workload": [{"kind": "trace", "file": "pairs.goal"}],
        "telemetry": {"interval": "5us"},
        "run": {"duration": "10ms"},
        **sections,
    }  # fmt: skip
    (folder / "scenario.yml").write_text(json.dumps(raw))
    compiled, plan = simulate.prepare(build_scenario(raw, folder / "scenario.yml"))
    simulate.simulate(compiled, plan, simulate.Options(folder / "run"), hooks_of())
    return Evidence(RunDir.open(folder / "run"))


def causes(evidence: Evidence) -> list[tuple[str, int]]:
    step = Step(evidence)
    return by_cause(step.lines(step.path(step.choose(None, None, None))))


@pytest.fixture(scope="module")
def collided(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    return simulated(tmp_path_factory.mktemp("collided"))


def test_waiting_behind_another_flow_of_the_hash_is_a_collision(collided: Evidence) -> None:
    found = causes(collided)
    cause, time_ns = next(it for it in found if it[0].startswith("ECMP collision at "))
    assert cause.startswith("ECMP collision at leaf1:")
    assert time_ns > 0.3 * sum(it for _, it in found)
    assert suggested(found, [], 3)[0] == "collisions"


def test_only_links_with_more_than_their_share_collide(collided: Evidence) -> None:
    balance, fabric = Balance(collided), collided.fabric
    [own] = [it for it in members(collided).values() if fabric.node_of(next(iter(it))).name == "leaf1"]
    flows = {port: round(int(values[-1]) / 400_000) for port, (_, values) in own.items()}
    assert sum(flows.values()) == HOSTS
    assert max(flows.values()) > 1
    assert {port: balance.collides(port, 0, 40_000) for port in flows} == {
        port: count > 1 for port, count in flows.items()
    }
    assert not balance.collides(int(fabric.by_name["host1"].first_port), 0, collided.end_ns)


def test_a_receiver_of_several_is_no_collision(tmp_path: Path) -> None:
    """The queue before a host is deepest, and no other link could have taken it."""
    ranks = [f"rank {rank} {{\ns: send 200000b to 0 tag {rank}\n}}" for rank in range(1, 5)]
    lines = "\n".join(f"r{rank}: recv 200000b from {rank} tag {rank}" for rank in range(1, 5))
    (tmp_path / "incast.goal").write_text("\n".join(["num_ranks 5", f"rank 0 {{\n{lines}\n}}", *ranks]))
    found = causes(simulated(tmp_path, workload=[{"kind": "trace", "file": "incast.goal"}]))
    assert not [cause for cause, _ in found if cause.startswith("ECMP collision")]


def test_packets_without_a_route_are_lost_in_a_black_hole(tmp_path: Path) -> None:
    hole = {"kind": "route", "switches": ["leaf1"], "hosts": ["host9"], "via": [], "at": "5us", "until": "30us"}
    transport = {"cc": "none", "retransmit_timeout": "50us"}
    found = causes(simulated(tmp_path, transport=transport, faults=[hole]))
    cause, time_ns = next(it for it in found if "black hole" in it[0])
    assert cause == "packets lost at leaf1 (no_route, a black hole)"
    assert time_ns >= 25_000
    assert "losses" in suggested(found, [], 3)
