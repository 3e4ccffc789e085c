"""Slurm's topology.yaml, and plugins whose files are not read."""

from __future__ import annotations

import pytest

from fabric.errors import InputErrors
from fabric.jobs.placement import read_slurm_topology
from fabric.jobs.slurm import parse_topology_conf, select

TREE = """---
- topology: other
  flat: true
- topology: main
  cluster_default: true
  tree:
    switches:
      - switch: top
        children: s[1-2]
      - switch: s1
        nodes: node[01-02]
      - switch: s2
        nodes: node[03-04]
"""
BLOCK = """- topology: blocks
  block:
    block_sizes: [2, 4]
    blocks:
      - {block: b1, nodes: "a[1-2]"}
      - {block: b2, nodes: "b[1-2]"}
"""


def test_the_default_topology_is_that_of_the_same_lines_in_topology_conf() -> None:
    lines = "SwitchName=top Switches=s[1-2]\nSwitchName=s1 Nodes=node[01-02]\nSwitchName=s2 Nodes=node[03-04]\n"
    assert read_slurm_topology(TREE, "topology.yaml") == parse_topology_conf(lines, "topology.conf")
    assert read_slurm_topology(BLOCK, "t.yml") == parse_topology_conf(
        "BlockName=b1 Nodes=a[1-2]\nBlockName=b2 Nodes=b[1-2]\nBlockSizes=2,4", "t"
    )


def test_a_flat_topology_takes_any_free_nodes_in_order() -> None:
    flat = read_slurm_topology("- topology: t\n  flat: true\n", "topology.yaml")
    assert select(flat, 2, ["n3", "n1", "n2"]) == ["n3", "n1"]
    assert select(flat, 4, ["n3", "n1", "n2"]) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("topology: t", "not a list of topologies"),
        ("- topology: t\n  ring: {}\n", "defines ring"),
        ("- topology: t\n  torus3d: {}\n", "defines torus3d"),
        ("- topology: t\n", "defines nothing"),
        ("- topology: t\n  flat: true\n  tree: {switches: []}\n", "defines flat and tree"),
        ("- topology: a\n  flat: true\n- topology: b\n  flat: true\n", "none of its 2 topologies is the default"),
        ("- topology: t\n  tree: {switches: [{switch: a, node: n1}]}\n", "no such field"),
        ("- topology: t\n  tree: {switches: [{switch: a, nodes: 'n[1'}]}\n", "closing bracket"),
        ("- topology: t\n  tree: {switches: [{switch: a}]}\n", "needs nodes or switches"),
        ("- topology: t\n  tree: {switches: [{switch: a, children: b}]}\n", "has no line"),
        ("- topology: t\n  block: {blocks: [{block: a, nodes: n1}], block_sizes: [0]}\n", "block sizes"),
        ("- topology: t\n  tree: 3\n", "is no mapping"),
        ("- [", "topology.yaml:"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(InputErrors) as caught:
        read_slurm_topology(text, "topology.yaml")
    told = "\n".join(f"{it.path}: {it.text}; {it.hint}" for it in caught.value.problems)
    assert message in told
    assert "topology.yaml" in told


def test_rings_of_topology_conf_are_refused_by_the_name_of_their_plugin() -> None:
    with pytest.raises(InputErrors, match="topology/ring"):
        parse_topology_conf("RingName=r1 Nodes=n[1-4]\n", "topology.conf")
