"""The layers of the fabric map, their values, and what the map opens on."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from fabric.cli.main import main
from fabric.explain import layers
from fabric.explain.evidence import Evidence
from fabric.explain.fabric_map import KEY, Focus, fabric_map
from fabric.render.document import Answer, Layer, LayeredMap, Status
from fabric.render.layered import value_at
from fabric.runs.rundir import RunDir
from telemetry.sources.focus import focus_of


@pytest.fixture(scope="module")
def storm(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """The NIC of host1 pauses from 1 ms on, while everybody sends to it; a cable becomes slower at 2 ms."""
    folder = tmp_path_factory.mktemp("layers")
    data = {
        "name": "layers",
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2,
                     "host_rate": "100G", "fabric_rate": "100G"},
        "switches": {"asic": "trident3"},
        "transport": {"qp": {"per": "pair"}, "window": "1MB", "retransmit_timeout": "off"},
        "workload": [
            {"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "32KB", "repeat": 40, "interval": "80us"}
        ],
        "faults": [
            {"name": "nic", "kind": "pause-storm", "hosts": ["host1"], "at": "1ms", "duration": "9ms"},
            {"name": "lanes", "kind": "link-rate", "link": "leaf2--spine2", "rate": "25G", "at": "2ms"},
        ],
        "telemetry": {"interval": "250us", "events": []},
        "run": {"duration": "4ms", "stop": "duration"},
    }  # fmt: skip
    (folder / "scenario.yml").write_text(yaml.safe_dump(data), encoding="utf-8")
    assert main(["run", str(folder / "scenario.yml"), "--out", str(folder / "run"), "--quiet"]) in (0, 1)
    return Evidence(RunDir.open(folder / "run"))


def layer(found: LayeredMap, key: str) -> Layer:
    return next(it for it in found.panes[0].layers if it.key == key)


def test_the_map_opens_on_the_first_root_with_its_place_and_victims(storm: Evidence) -> None:
    focus = focus_of(storm)
    found = fabric_map(storm, focus)
    pane = found.panes[0]
    names = [node.name for node in pane.base.nodes]
    facts = {fact.key: fact.value for fact in focus.answer.facts}
    assert facts["kind"] == "broken-nic"
    assert facts["began_ns"] == 1_000_000
    assert facts["act"] == "shut the port of the host"
    assert [names[node] for node in pane.roots] == ["host1"]
    assert [pane.ports[end] for end in pane.root_ends] == ["eth0"]
    assert {names[node] for node in pane.victims} >= {"host3", "host4"}
    assert found.panes[0].layers[found.layer].key == layers.PAUSES
    assert found.edges_ns[found.interval] == 1_000_000
    assert focus.answer.target == KEY


def test_values_are_those_of_the_runs_tables(storm: Evidence) -> None:
    found = fabric_map(storm)
    fabric = storm.fabric
    leaf_port = next(port for port in fabric.ports if fabric.peer_of(port.id).name == "host1")
    link = fabric.links[leaf_port.link]
    end = 2 * int(link.id) + (leaf_port.id == link.b)
    shares = [value_at(layer(found, layers.PAUSES), end, k) for k in range(len(found.edges_ns) - 1)]
    assert shares[:4] == [0, 0, 0, 0]
    paused_ns = sum(np.array(shares) * np.diff(found.edges_ns))
    assert paused_ns == pytest.approx(storm.counter("pfc_rx_paused_ns")[int(leaf_port.id), 3], rel=0.01)
    slower = layer(found, layers.LINKS).values
    assert sorted({end // 2 for end in slower}) == [
        int(it.id) for it in fabric.links
        if {fabric.node_of(it.a).name, fabric.node_of(it.b).name} == {"leaf2", "spine2"}
    ]  # fmt: skip
    assert all(changes == ((8, 0.75),) for changes in slower.values())
    depth = layer(found, layers.QUEUE)
    highest = max(value for changes in depth.values.values() for _, value in changes)
    assert highest == pytest.approx(max(storm.counter("queue_peak_bytes").values()), rel=0.01)


def test_a_layer_without_values_says_why(storm: Evidence) -> None:
    for it in fabric_map(storm).panes[0].layers:
        assert it.empty
    holes = layer(fabric_map(storm), layers.HOLES)
    assert not holes.values
    assert "black hole" in holes.empty


def test_no_job_no_layer_of_its_phases_and_many_changes_make_longer_intervals(
    storm: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = fabric_map(storm)
    assert layers.JOB not in {it.key for it in found.panes[0].layers}
    monkeypatch.setattr(layers, "MAX_CHANGES", 60)
    fewer = fabric_map(storm)
    assert 2 < len(fewer.edges_ns) < len(found.edges_ns)
    assert fewer.edges_ns[-1] == found.edges_ns[-1]


def test_without_a_root_the_map_opens_where_a_layer_is_highest(storm: Evidence) -> None:
    found = fabric_map(storm, Focus(Answer(Status.GOOD, "None.")))
    shown = found.panes[0].layers[found.layer]
    assert max(value_at(shown, end, found.interval) for end in shown.values) > shown.limits[2]


def test_the_edges_cover_a_run_that_no_interval_divides() -> None:
    edges = layers.equal_edges(1000, 3500)
    assert edges.tolist() == [0, 1000, 2000, 3000, 3500]
    assert len(layers.equal_edges(1000, 10_000_000)) <= layers.MAX_INTERVALS + 1
    assert layers.equal_edges(1000, 0).tolist() == [0, 1]


def test_changes_keep_three_digits() -> None:
    assert layers.changes_of(np.array([0.0, 123456.0, 123456.4, 0.0, 1e-9])) == ((1, 123000.0), (3, 0.0))
