"""Storage nodes on a fabric's spines or behind a separate network, and the ports that packets take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from fabric.errors import InputErrors
from fabric.runs.topology_file import fabric_from_json, fabric_to_json
from fabric.topology.builders.custom import READERS
from fabric.topology.distances import links_between
from fabric.topology.formats.export import WRITERS
from fabric.topology.model import Fabric
from fabric.topology.paths import equal_cost_ports
from fabric.topology.registry import build_topology, parse_topology
from fabric.workload.qps import QpRules, assign

LEAVES: Final = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "host_rate": "100G",
                 "fabric_rate": "100G"}  # fmt: skip
RAIL: Final = {"kind": "rail", "pods": 2, "nodes_per_pod": 2, "rails": 2, "spines": 2, "host_rate": "100G",
               "fabric_rate": "100G"}  # fmt: skip
SHARED: Final = {"nodes": 3, "rate": "200G", "leaves": 2}
SEPARATE: Final = {"nodes": 3, "rate": "200G", "network": "separate", "host_rate": "25G", "leaves": 2, "spines": 1}


def built(topology: dict[str, Any], storage: dict[str, Any], **more: Any) -> Fabric:  # noqa: ANN401
    return build_topology(parse_topology({**topology, **more, "storage": storage}))


@pytest.mark.parametrize("storage", [SHARED, SEPARATE])
@pytest.mark.parametrize(
    "topology",
    [LEAVES, {**LEAVES, "scale_up": {}, "gpus_per_server": 2}, RAIL, {**RAIL, "scale_up": {}},
     {**RAIL, "endpoints": "node"}],
)  # fmt: skip
def test_the_shape_says_what_is_built(topology: dict[str, Any], storage: dict[str, Any]) -> None:
    shape, fabric = parse_topology({**topology, "storage": storage}).shape, built(topology, storage)
    assert (shape.hosts, shape.switches, shape.cables) == (len(fabric.hosts), len(fabric.switches), len(fabric.links))
    assert shape.classes == len(equal_cost_ports(fabric).attachments)
    assert [node.name for node in fabric.storage_nodes] == ["storage1", "storage2", "storage3"]


def peers(fabric: Fabric, ports: range) -> list[str]:
    return [fabric.peer_of(port).name for port in ports]


def test_a_host_reaches_gpus_by_the_first_network_and_storage_by_the_other() -> None:
    fabric = built({**LEAVES, "scale_up": {}, "gpus_per_server": 2}, SEPARATE)
    assert fabric.networks == ("", "storage")
    host, far, near = (fabric.by_name[name].id for name in ("host1", "host8", "host2"))
    disk = fabric.by_name["storage1"].id
    assert peers(fabric, fabric.ports_towards(host, far)) == ["leaf1"]
    assert peers(fabric, fabric.ports_towards(host, near)) == ["server1-nvswitch"]
    assert peers(fabric, fabric.ports_towards(host, disk)) == ["storage-leaf1"]
    assert peers(fabric, fabric.ports_towards(disk, host)) == ["storage-leaf1"]
    shared = built(LEAVES, SHARED)
    assert shared.networks == ("",)
    assert peers(shared, shared.ports_towards(0, shared.by_name["storage1"].id)) == ["leaf1"]


def test_queue_pairs_keep_to_the_network_that_both_ends_are_on() -> None:
    fabric = built(LEAVES, SEPARATE, links_per_host=2)
    disk = fabric.by_name["storage2"].id
    src, dst = np.array([0, 0, 0, 0, 0]), np.array([7, 7, 7, disk, disk])
    _, pairs = assign(fabric, 1, src, dst, np.zeros(5, np.int64), QpRules())
    used = [fabric.peer_of(int(port)).name for port in pairs.port]
    assert used == ["leaf1", "leaf1", "leaf1", "storage-leaf1", "storage-leaf1"]
    assert len(set(pairs.port[:3].tolist())) == 2  # both cables to the leaf in turn
    assert links_between(fabric, src, dst) == pytest.approx((3 * 4 + 2 * 4) / 5)  # storage2 is on the other leaf


@pytest.mark.parametrize("kind", READERS)
def test_networks_survive_files(kind: str, tmp_path: Path) -> None:
    fabric = built(LEAVES, SEPARATE)
    again = fabric_from_json(json.loads(json.dumps(fabric_to_json(fabric))))
    assert again.networks == fabric.networks
    ending = {"graphml": ".graphml", "node-link": ".json", "containerlab": ".yml"}[kind]
    (tmp_path / f"f{ending}").write_text(WRITERS[kind](fabric))
    read = build_topology(parse_topology({"kind": "custom", "file": f"f{ending}", "default_delay": "1us",
                                          "default_rate": "1G"}), tmp_path)  # fmt: skip
    assert {node.name: node.network for node in read.nodes} == {node.name: node.network for node in fabric.nodes}
    assert {node.name for node in read.storage_nodes} == {"storage1", "storage2", "storage3"}


def test_hosts_of_two_listed_networks_choose_by_the_order_of_the_switches() -> None:
    nodes = [{"name": name, "role": "host"} for name in ("a", "b")]
    nodes += [{"name": "s1", "role": "leaf", "network": "front"}, {"name": "s2", "role": "leaf"}]
    links = [{"a": host, "b": leaf, "rate": "10G", "cable": "1m"} for leaf in ("s2", "s1") for host in ("a", "b")]
    fabric = build_topology(parse_topology({"kind": "custom", "nodes": nodes, "links": links}))
    assert fabric.networks == ("front", "")
    assert peers(fabric, fabric.ports_towards(0, 1)) == ["s1"]


@pytest.mark.parametrize(
    ("topology", "storage", "message"),
    [
        (LEAVES, {**SHARED, "host_rate": "25G"}, "host_rate has no effect with network: shared"),
        (LEAVES, {**SHARED, "spines": 1}, "spines has no effect with network: shared"),
        (LEAVES, {"nodes": 1, "rate": "1G", "leaves": 2}, "leaves: 2 are more than nodes: 1"),
        (LEAVES, {"nodes": 1, "rate": "1G", "network": "separate"}, "host_rate is missing"),
        (LEAVES, {**SEPARATE, "spines": 0}, "are unconnected without spines"),
        (LEAVES, {**SEPARATE, "leaves": 1}, "spines has no effect with leaves: 1"),
        ({**RAIL, "pods": 1, "spines": 0, "endpoints": "node"}, SHARED, "shared needs spines"),
    ],
)
def test_contradictions_are_named(topology: dict[str, Any], storage: dict[str, Any], message: str) -> None:
    with pytest.raises(InputErrors) as caught:
        parse_topology({**topology, "storage": storage})
    assert message in "\n".join(f"{it.path}: {it.text}; {it.hint}" for it in caught.value.problems)
