"""Ranks on GPUs: policies, Slurm's files, and scores computed by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from small_jobs import job

from fabric.errors import InputErrors
from fabric.jobs.placement import nodes_of, place, place_file, place_slurm, placement_csv, score
from fabric.jobs.slurm import hostlist, parse_topology_conf, select
from fabric.jobs.volumes import stage_volumes
from fabric.topology.model import Fabric
from fabric.topology.registry import build_topology, parse_topology

RAIL = {
    "kind": "rail", "pods": 2, "nodes_per_pod": 4, "rails": 2, "spines": 2, "host_rate": "400G", "fabric_rate": "400G",
}  # fmt: skip
LEAVES = {
    "kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 4, "host_rate": "100G", "fabric_rate": "400G",
}  # fmt: skip
TREE = """
# two trees
SwitchName=s0 Nodes=n[0-3]   # a leaf
switchname=s1 NODES=n[4-6]
SwitchName=top Switches=s[0-1] LinkSpeed=7
SwitchName=other Nodes=m[01-03]
"""


def fabric(**changes: object) -> Fabric:
    return build_topology(parse_topology({**RAIL, **changes}))


def generator() -> np.random.Generator:
    return np.random.default_rng(1)


def text_of(error: pytest.ExceptionInfo[InputErrors]) -> str:
    return str(error.value)


def test_gpu_hosts_of_a_rail_fabric_form_nodes() -> None:
    nodes = nodes_of(fabric(), 2, "gpu")
    assert list(nodes) == [f"node{n}" for n in range(1, 9)]
    built = fabric()
    assert [built.nodes[slot.host].name for slot in nodes["node3"]] == ["node3-gpu1", "node3-gpu2"]
    assert [built.nodes[slot.leaf].name for slot in nodes["node5"]] == ["p2-rail1", "p2-rail2"]


def test_gpus_of_one_host_use_its_ports_in_turn() -> None:
    built = fabric(endpoints="node")
    slots = nodes_of(built, 4, "node")["node1"]
    assert [built.nodes[slot.leaf].name for slot in slots] == ["p1-rail1", "p1-rail2"] * 2


def test_hosts_of_other_names_are_grouped_in_their_order() -> None:
    built = build_topology(parse_topology(LEAVES))
    assert [slot.gpu for slot in nodes_of(built, 4, "gpu")["node2"]] == [0, 1, 2, 3]
    assert list(nodes_of(built, 1, "gpu"))[:2] == ["host1", "host2"]
    with pytest.raises(InputErrors, match="has 2 hosts"):
        nodes_of(built, 5, "gpu")


def test_packed_fills_leaves_and_spread_goes_round() -> None:
    nodes = nodes_of(fabric(), 2, "gpu")
    made = job(parallel__dp=8, gpus_per_node=2)
    packed, spread = (place(policy, nodes, made, generator()) for policy in ("packed", "spread"))
    assert [slot.node for slot in packed[::2]] == ["node1", "node2", "node3", "node4"]
    assert [slot.node for slot in spread[::2]] == ["node1", "node5", "node2", "node6"]


def test_packed_takes_the_group_that_fits_best() -> None:
    nodes = nodes_of(fabric(), 2, "gpu")
    made = job(parallel__dp=4, gpus_per_node=2)
    slots = place("packed", nodes, made, generator(), taken={"node5"})
    assert {slot.node for slot in slots} == {"node6", "node7"}


def test_random_depends_on_the_generator_alone() -> None:
    nodes = nodes_of(fabric(), 2, "gpu")
    made = job(parallel__dp=16, gpus_per_node=2)
    one, same, other = (place("random", nodes, made, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one == same != other
    assert Counter(one) == Counter(other)


def test_rails_are_needed_for_rail_aligned() -> None:
    made = job(parallel__dp=4, gpus_per_node=4)
    with pytest.raises(InputErrors, match="is on no rail"):
        place("rail-aligned", nodes_of(build_topology(parse_topology(LEAVES)), 4, "gpu"), made, generator())
    slots = place("rail-aligned", nodes_of(fabric(), 2, "gpu"), job(parallel__dp=4, gpus_per_node=2), generator())
    assert [slot.gpu for slot in slots] == [0, 1, 0, 1]


def test_too_few_nodes_are_a_problem() -> None:
    made = job(parallel__dp=32, gpus_per_node=2)
    with pytest.raises(InputErrors, match="32 GPUs need 16 nodes; 7 of 8 are free"):
        place("packed", nodes_of(fabric(), 2, "gpu"), made, generator(), taken={"node1"})


def test_a_placement_is_read_back_from_its_file() -> None:
    nodes = nodes_of(fabric(), 2, "gpu")
    made = job(parallel__dp=8, gpus_per_node=2)
    slots = place("random", nodes, made, generator())
    assert place_file(placement_csv(slots), nodes, made, "ranks.csv") == slots


def test_all_problems_of_a_placement_file_come_together() -> None:
    text = "rank,node,gpu\n0,node1,0\n0,node1,1\n1,node9,0\n1,node1,7\n1,node1,0\n9,node2,0\nx,node1,0\n"
    with pytest.raises(InputErrors) as caught:
        place_file(text, nodes_of(fabric(), 2, "gpu"), job(parallel__dp=2), "r.csv")
    assert [problem.path for problem in caught.value.problems] == [f"r.csv:{line}" for line in (3, 4, 5, 6, 7, 8)]
    with pytest.raises(InputErrors, match="1 ranks are not placed, the first is 1"):
        place_file("rank,node,gpu\n0,node1,0\n", nodes_of(fabric(), 2, "gpu"), job(parallel__dp=2), "r.csv")
    with pytest.raises(InputErrors, match="columns"):
        place_file("node,gpu\n", nodes_of(fabric(), 2, "gpu"), job(), "r.csv")


def test_edges_are_counted_where_they_end_and_bytes_go_over_uplinks() -> None:
    built = fabric()
    made = job(parallel__dp=8, parallel__tp=2, gpus_per_node=2, batch__micro_batches=1)
    slots = place("packed", nodes_of(built, 2, "gpu"), made, generator())
    found = score(built, slots, made)
    assert (found.nodes, found.leaves, found.pods) == (8, 4, 2)
    tensor, gradients = found.crossings["tp"], found.crossings["gradients"]
    assert (tensor.edges, tensor.in_node) == (16, 16)
    # Two rings of eight nodes, four in each pod: each leaves each pod once.
    assert (gradients.edges, gradients.in_leaf, gradients.between_pods) == (16, 12, 4)
    dp = next(volume for volume in stage_volumes(made, 0) if volume.kind == "dp")
    edge = dp.group_bytes * dp.calls / 8
    assert found.uplink_bytes == found.mean_uplink_bytes == edge / 2  # one edge a leaf, two uplinks
    assert found.uplink_seconds == pytest.approx(edge / 2 * 8 / 400e9)


def test_a_spread_placement_costs_more_uplink_than_a_packed_one() -> None:
    built = fabric()
    made = job(parallel__dp=4, parallel__tp=2, gpus_per_node=2)
    nodes = nodes_of(built, 2, "gpu")
    packed, spread = (score(built, place(policy, nodes, made, generator()), made) for policy in ("packed", "spread"))
    assert packed.uplink_bytes == 0 < spread.uplink_bytes


def test_pipelines_and_experts_have_edges_in_both_directions_and_pairs() -> None:
    built = fabric()
    nodes = nodes_of(built, 2, "gpu")
    pipe = job(parallel__pp=2, gpus_per_node=1)
    found = score(built, place("packed", nodes_of(built, 2, "gpu"), pipe, generator()), pipe)
    assert found.crossings["pp"].edges == 2
    experts = job(parallel__dp=4, parallel__ep=4, gpus_per_node=2, model__experts=4, model__experts_per_token=1)
    found = score(built, place("packed", nodes, experts, generator()), experts)
    assert (found.crossings["ep"].edges, found.crossings["ep"].in_node) == (12, 4)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("tux[0-3,12,18-20]", [f"tux{n}" for n in (0, 1, 2, 3, 12, 18, 19, 20)]),
        ("node[08-11]", ["node08", "node09", "node10", "node11"]),
        ("a,b[1-2],c", ["a", "b1", "b2", "c"]),
        ("r[1-2]n[01-02]x", ["r1n01x", "r1n02x", "r2n01x", "r2n02x"]),
        ("n[7]", ["n7"]),
    ],
)
def test_hostlists_have_ranges_padding_and_several_dimensions(text: str, names: list[str]) -> None:
    assert hostlist(text) == names


@pytest.mark.parametrize("text", ["n[1-", "n[2-1]", "n[a]", "n[]", "n[0-999999999]", "n[0-999]m[0-999]"])
def test_hostlists_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        hostlist(text)


def test_a_tree_has_keys_of_any_case_comments_and_several_trees() -> None:
    topology = parse_topology_conf(TREE, "topology.conf")
    assert [switch.name for switch in topology.switches] == ["s0", "s1", "top", "other"]
    assert topology.switches[2].switches == ("s0", "s1")
    assert topology.switches[3].nodes == ("m01", "m02", "m03")


FREE = {f"n{n}" for n in range(7)} | {"m01", "m02", "m03"}


@pytest.mark.parametrize(
    ("count", "free", "chosen"),
    [
        (3, FREE, ["n4", "n5", "n6"]),  # leaves fit equally low; s1 and other are fuller than s0
        (3, FREE - {"n4"}, ["m01", "m02", "m03"]),
        (4, FREE, ["n0", "n1", "n2", "n3"]),
        (5, FREE, ["n0", "n1", "n2", "n3", "n4"]),  # the emptiest leaf first, then the best fit
        (8, FREE, None),  # trees are not combined, though ten nodes are free
        (1, {"n0"}, ["n0"]),
    ],
)
def test_the_lowest_switch_that_fits_is_used(count: int, free: set[str], chosen: list[str] | None) -> None:
    assert select(parse_topology_conf(TREE, "t"), count, free) == chosen


def test_blocks_are_combined_in_aligned_powers_of_two() -> None:
    text = "BlockName=b1 Nodes=a[1-2]\nBlockName=b2 Nodes=b[1-2]\nBlockName=b3 Nodes=c[1-2]\nBlockName=b4 Nodes=d[1-2]"
    topology = parse_topology_conf(text + "\nBlockSizes=2,4", "t")
    every = {f"{block}{n}" for block in "abcd" for n in (1, 2)}
    assert select(topology, 2, every) == ["a1", "a2"]
    assert select(topology, 2, every - {"a1"}) == ["b1", "b2"]
    # One node of b1 and one of b2 are taken: the second pair of blocks has room.
    assert select(topology, 3, every - {"a1", "b1"}) == ["c1", "c2", "d1"]
    assert select(topology, 5, every) is None
    assert select(parse_topology_conf(text, "t"), 5, every) == ["a1", "a2", "b1", "b2", "c1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SwitchName=s0", "needs nodes or switches"),
        ("SwitchName=s0 Nodes=n1 Switches=s1", "needs nodes or switches"),
        ("SwitchName=s0 Nodes=n1 Color=red", "'color' is not a key"),
        ("nonsense", "not a list of Key=Value"),
        ("Nodes=n1", "neither a switch nor a block"),
        ("SwitchName=s0 Switches=s1", "has no line"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a", "cycle"),
        ("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2", "given twice"),
        ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1", "list each node once"),
        ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\nSwitchName=c Switches=a\nSwitchName=d Switches=a", "one above"),
        ("SwitchName=a Nodes=n[1", "closing bracket"),
        ("SwitchName=" + "x" * 65 + " Nodes=n1", "64 characters"),
        ("BlockName=a Nodes=n1\nSwitchName=b Nodes=n2", "switches and blocks"),
        ("BlockName=a Nodes=n1\nBlockSizes=2,6", "power of two"),
        ("BlockName=a Nodes=n1\nBlockSizes=0", "block sizes"),
        ("# empty", "neither switches nor blocks"),
    ],
)
def test_bad_lines_are_named(text: str, message: str) -> None:
    with pytest.raises(InputErrors) as caught:
        parse_topology_conf(text, "topology.conf")
    assert message in text_of(caught)
    assert "topology.conf" in text_of(caught)
    assert "hint" in text_of(caught)


def test_slurm_places_ranks_by_node_or_in_turn() -> None:
    nodes = nodes_of(fabric(), 2, "gpu")
    topology = parse_topology_conf("SwitchName=a Nodes=node[1-4]\nSwitchName=b Nodes=node[5-8]", "t")
    made = job(parallel__dp=4, gpus_per_node=2)
    block = place_slurm(topology, nodes, made, "t", taken={"node1"})
    assert [(slot.node, slot.gpu) for slot in block] == [("node2", 0), ("node2", 1), ("node3", 0), ("node3", 1)]
    cyclic = place_slurm(topology, nodes, made, "t", cyclic=True, taken={"node1"})
    assert [(slot.node, slot.gpu) for slot in cyclic] == [("node2", 0), ("node3", 0), ("node2", 1), ("node3", 1)]
    with pytest.raises(InputErrors, match="no connected part"):
        place_slurm(topology, nodes, job(parallel__dp=10, gpus_per_node=2), "t")
    with pytest.raises(InputErrors, match="no node 'x1'"):
        place_slurm(parse_topology_conf("SwitchName=a Nodes=x1", "t"), nodes, made, "t")
