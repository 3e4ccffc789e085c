from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest
import yaml

from fabric.errors import InputErrors
from fabric.topology.builders.custom import READERS
from fabric.topology.formats import files
from fabric.topology.formats.export import WRITERS
from fabric.topology.model import Fabric, Role
from fabric.topology.registry import build_topology, parse_topology
from tests.topology.conftest import SMALL, fabric_of

ENDINGS = {"graphml": ".graphml", "node-link": ".json", "containerlab": ".clab.yml"}

CLAB = """
name: lab
topology:
  defaults: {kind: linux}
  kinds: {linux: {image: "alpine:3"}, arista_ceos: {image: "ceos:4.32"}}
  nodes:
    spine: {kind: nokia_srlinux, group: spine}
    leaf1: {kind: arista_ceos}
    leaf2: {image: quay.io/frrouting/frr:10, labels: {fabric-role: leaf}}
    h1:
    h2: {kind: linux}
  links:
    - endpoints: ["leaf1:eth1", "spine:e1-1"]
      vars: {rate: 400G, cable: 30m}
    - type: veth
      endpoints: [{node: leaf2, interface: eth1}, {node: spine, interface: e1-2}]
    - endpoints: ["h1:eth1", "leaf1:eth2"]
    - endpoints: ["h2:eth1", "leaf2:eth2"]
"""


def read(path: Path, **more: str) -> Fabric:
    return build_topology(parse_topology({"kind": "custom", "file": path.name, **more}), path.parent)


def refusal(path: Path, **more: str) -> str:
    with pytest.raises(InputErrors) as caught:
        read(path, **more)
    return str(caught.value)


@pytest.mark.parametrize("kind", READERS)
def test_a_fabric_written_and_read_again_is_the_same_fabric(kind: str, small: Fabric, tmp_path: Path) -> None:
    path = tmp_path / f"fabric{ENDINGS[kind]}"
    path.write_text(WRITERS[kind](small))
    assert read(path) == small


def test_a_file_is_found_beside_the_scenario_that_names_it(leaf_spine: Fabric, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "x.json").write_text(WRITERS["node-link"](leaf_spine))
    assert build_topology(parse_topology({"kind": "custom", "file": "sub/x.json"}), tmp_path) == leaf_spine


def test_a_foreign_graph_without_roles_takes_its_leaves_for_hosts(tmp_path: Path) -> None:
    graph = nx.balanced_tree(2, 2)
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(nx.node_link_data(graph, edges="links")))
    fabric = read(path, default_rate="10G", default_cable="2m")
    assert {host.name for host in fabric.hosts} == {"3", "4", "5", "6"}
    assert {link.delay_ps for link in fabric.links} == {10_000}


def test_containerlab_kinds_images_and_labels_decide_the_roles(tmp_path: Path) -> None:
    path = tmp_path / "lab.yml"
    path.write_text(CLAB)
    fabric = read(path, default_rate="100G", default_delay="15ns")
    assert {node.name: node.role for node in fabric.nodes} == {
        "h1": Role.HOST,
        "h2": Role.HOST,
        "spine": Role.SPINE,
        "leaf1": Role.SWITCH,
        "leaf2": Role.LEAF,
    }
    assert fabric.name == "lab"
    assert fabric.port_name(fabric.links[1].b) == "spine:e1-2"
    assert [(link.rate_bps // 10**9, link.delay_ps) for link in fabric.links] == [
        (400, 150_000),
        (100, 15_000),
        (100, 15_000),
        (100, 15_000),
    ]


def test_every_cable_without_a_rate_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lab.yml"
    path.write_text(CLAB)
    text = refusal(path, default_delay="15ns")
    assert text.count("has no rate") == 3
    assert "topology.links[1] leaf2 - spine" in text


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.yml", "a: [", "correct the YAML"),
        ("a.yml", "a: 1\na: 2", "key 'a' is given twice"),
        ("a.yml", "!!python/object/apply:os.system ['true']", "determine a constructor"),
        ("a.yml", "- 1", "no mapping of nodes"),
        ("a.yml", "topology: {nodes: {h: {}}}", "has no kind"),
        ("a.yml", "topology: {nodes: {h: {kind: linux}}, links: [{type: veth}]}", "does not join two interfaces"),
        ("a.json", "{", "correct the JSON"),
        ("a.json", "[]", "no list of nodes"),
        ("a.json", '{"nodes": []}', "list of edges"),
        ("a.json", '{"nodes": [{}], "edges": [{"source": "a"}]}', "edges[0]"),
        ("a.json", '{"directed": true, "nodes": [], "edges": []}', "directed"),
        ("a.json", '{"nodes": [{"id": "a", "role": "hst"}], "edges": []}', "role 'hst' is unknown"),
        ("a.json", '{"nodes": [{"id": "a b"}], "edges": []}', "is not a name"),
        ("a.json", '{"nodes": [{"id": "a", "role": "host"}, {"id": "b"}], "edges": []}', "has no role"),
        ("a.json", '{"nodes": [{"id": "a"}], "edges": [{"source": "a", "target": "b", "rate": 5}]}', "5 has no unit"),
        (
            "a.json",
            '{"nodes": [{"id": "a"}], "edges": [{"source": "a", "target": "b", "rate_bps": -1}]}',
            "rate_bps is -1",
        ),
        (
            "a.json",
            '{"nodes": [{"id": "a"}], "edges": [{"source": "a", "target": "b", "rate_bps": 1, "rate": "1G"}]}',
            "both given",
        ),
        ("a.graphml", "<graphml", "not GraphML"),
        ("a.graphml", "<!DOCTYPE x><graphml/>", "document type"),
        ("a.toml", "", "the ending of 'a.toml' names no format"),
    ],
)
def test_a_bad_file_is_refused_with_the_reason(name: str, content: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    assert expected in refusal(tmp_path / name)


def test_a_missing_file_a_directory_and_a_binary_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "d.json").mkdir()
    (tmp_path / "b.json").write_bytes(b"\xff\xfe\x00")
    assert "No such file" in refusal(tmp_path / "x.json")
    assert "is a directory" in refusal(tmp_path / "d.json")
    assert "not UTF-8" in refusal(tmp_path / "b.json")


def test_a_file_over_the_limit_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 10)
    (tmp_path / "a.json").write_text('{"nodes": []}')
    assert "is larger than 10B" in refusal(tmp_path / "a.json")


def test_yaml_merges_that_multiply_are_stopped(tmp_path: Path) -> None:
    lines = ["a0: &a0 {" + ", ".join(f"k{i}: 1" for i in range(50)) + "}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12)]
    (tmp_path / "a.yml").write_text("\n".join(lines))
    assert f"line 5, column 5: merges more than {files.MAX_MERGED} keys" in refusal(tmp_path / "a.yml")


def test_a_mapping_may_merge_as_many_keys_as_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_MERGED", 6)
    text = "a: &a {k1: 1, k2: 2, k3: 3}\nb: {<<: [*a, *a], k4: 4}\n"
    assert files.parse_yaml(text, Path("f.yml")) == {
        "a": {"k1": 1, "k2": 2, "k3": 3},
        "b": {"k1": 1, "k2": 2, "k3": 3, "k4": 4},
    }
    with pytest.raises(InputErrors, match="line 2, column 4: merges more than 6 keys"):
        files.parse_yaml(text.replace("*a, *a", "*a, *a, *a"), Path("f.yml"))


@pytest.mark.parametrize("text", ["[" * 1001, "[" * 100_000, "{a: " * 5000])
def test_nesting_is_refused_in_the_same_words_by_every_libyaml(text: str) -> None:
    with pytest.raises(InputErrors, match="line 1: nested more than 40 levels deep"):
        files.parse_yaml(text, Path("f.yml"))


def test_netlab_gets_kilobits_as_numbers_and_a_name_limit_that_fits() -> None:
    fabric = fabric_of(**SMALL["clos3 planes"])
    document = yaml.safe_load(WRITERS["netlab"](fabric))
    assert document["links"][0]["bandwidth"] == 100_000_000
    assert document["nodes"]["p1-leaf1"]["bgp"]["as"] == 65101
    assert document["nodes"]["host1"]["device"] == "linux"
    assert "const" not in document["defaults"]
    long = fabric_of(
        kind="custom",
        nodes=[{"name": "h", "role": "host"}, {"name": "a-switch-in-room-12", "role": "leaf"}],
        links=[{"a": "h", "b": "a-switch-in-room-12", "rate": "1G", "cable": "1m"}],
    )
    assert yaml.safe_load(WRITERS["netlab"](long))["defaults"]["const"]["MAX_NODE_ID_LENGTH"] == 19
