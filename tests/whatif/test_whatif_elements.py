"""What can fail, what is equal by symmetry, and what its loss leaves of the paths."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from fabric.errors import InputErrors, Problem
from fabric.scenario.compile.scenario import place as placed_scenario
from fabric.scenario.load import build_scenario
from fabric.topology.model import Fabric
from fabric.topology.registry import build_topology, parse_topology
from fabric.topology.risk_groups import risk_groups
from fabric.whatif.elements import Element, ElementKind, elements, pairs
from fabric.whatif.redundancy import Redundancy
from fabric.whatif.study import place
from fabric.whatif.symmetry import grouped
from tests.whatif.whatif_small import SMALL, question


def fabric_of(**fields: Any) -> Fabric:  # noqa: ANN401  fields of a topology
    return build_topology(parse_topology({**SMALL["topology"], **fields}))


THREE_TIERS = {
    "kind": "clos3",
    "pods": 2,
    "leaves_per_pod": 2,
    "spines_per_pod": 2,
    "super_spines": 4,
    "hosts_per_leaf": 1,
    "host_rate": "100G",
    "fabric_rate": "100G",
}


def three_tiers() -> Fabric:
    return build_topology(parse_topology(THREE_TIERS))


def named(fabric: Fabric, name: str, kind: str) -> Element:
    return next(it for it in elements(fabric) if it.name == name and it.kind == kind)


def test_every_cable_optic_switch_pod_and_plane_is_an_element() -> None:
    kinds = Counter(it.kind.value for it in elements(three_tiers()))
    assert kinds == {"link": 20, "optic": 20, "leaf": 4, "spine": 4, "super-spine": 4, "pod": 2, "plane": 2}


def test_an_optic_of_a_breakout_cage_takes_all_its_cables() -> None:
    fabric = fabric_of(fabric_breakout=2, links_per_pair=2)
    cages = [it for it in elements(fabric) if it.kind is ElementKind.OPTIC and "Ethernet" in it.name]
    assert {len(it.links) for it in cages} == {2}
    # Both ends of the two cables of a pair share a cage, so the two modules are one case.
    assert len(cages) == 4


def test_scale_up_links_are_no_elements() -> None:
    fabric = fabric_of(hosts_per_leaf=2, gpus_per_server=2, scale_up={"profile": "h100-hgx"})
    names = {it.name for it in elements(fabric)}
    assert not any("server" in name for name in names)


def test_cables_that_end_at_a_switch_of_a_group_are_not_cut_twice() -> None:
    problems: list[Problem] = []
    fabric = fabric_of()
    found = risk_groups(fabric, {"a": ["spine1", "leaf*--spine*"]}, "risk_groups", problems)
    assert problems == []
    assert [fabric.node_of(fabric.links[link].b).name for link in found[0].links] == ["spine2", "spine2"]


def test_a_name_of_a_risk_group_that_fits_nothing_stops_any_run() -> None:
    raw = deepcopy(SMALL)
    raw["run"].pop("reroute_delay")
    raw["risk_groups"] = {"a": ["spine9", "leaf1--leaf2"]}
    with pytest.raises(InputErrors) as caught:
        placed_scenario(build_scenario(raw, Path("small.yml")))
    text = str(caught.value)
    assert "small.yml: risk_groups.a[0]" in text
    assert "risk_groups.a[1]" in text


def test_equal_elements_are_grouped_and_the_busiest_stands_for_them() -> None:
    fabric = three_tiers()
    every = [it for it in elements(fabric) if it.kind in {"link", "spine"}]
    busy = named(fabric, "p2-leaf2--p2-spine1", "link")
    groups = grouped(fabric, every, {}, {busy.links[0]: 5})
    assert [len(it.members) for it in groups] == [4, 8, 8, 4]  # host, leaf and core cables, spines
    assert groups[1].representative == busy


def test_hosts_with_another_part_in_the_workload_split_a_group() -> None:
    fabric = fabric_of()
    leaves = [it for it in elements(fabric) if it.kind == "leaf"]
    assert len(grouped(fabric, leaves, {}, {})) == 1
    assert len(grouped(fabric, leaves, {0: "incast dst"}, {})) == 2


def test_a_cable_of_another_rate_is_not_equal() -> None:
    fabric = fabric_of(link_overrides=[{"a": "leaf1", "b": "spine1", "rate": "50G"}])
    spines = [it for it in elements(fabric) if it.kind == "spine"]
    assert len(grouped(fabric, spines, {}, {})) == 2


def test_double_failures_are_named_once_and_never_an_element_with_itself() -> None:
    problems: list[Problem] = []
    every = elements(fabric_of())
    found = pairs(every, ["spine*,spine*", "spine2,spine1"], problems)
    assert [(a.name, b.name) for a, b in found] == [("spine1", "spine2")]
    pairs(every, ["spine1", "spine1,spin2"], problems)
    assert [it.text for it in problems] == [
        "'spine1' does not name two elements",
        "nothing that can fail is called 'spin2'",
    ]


def test_a_leaf_cuts_its_hosts_and_a_spine_halves_the_paths() -> None:
    fabric = fabric_of()
    redundancy = Redundancy(fabric)
    leaf, spine = redundancy.loss(named(fabric, "leaf1", "leaf")), redundancy.loss(named(fabric, "spine1", "spine"))
    assert (leaf.hosts_cut, leaf.pairs_cut, leaf.paths_left_ratio) == (2, 0, 1.0)
    assert (spine.hosts_cut, spine.pairs_cut, spine.pairs_longer, spine.paths_left_ratio) == (0, 0, 0, 0.5)


def test_paths_that_share_a_risk_group_are_named() -> None:
    fabric = fabric_of()
    group = risk_groups(fabric, SMALL["risk_groups"], "", [])[0]
    loss = Redundancy(fabric).loss(Element(ElementKind.GROUP, group.name, group.switches, group.links))
    assert loss.shared == ("leaf1 to leaf2",)
    assert (loss.pairs_cut, loss.hosts_cut) == (1, 2)


def test_both_switches_of_a_dual_homed_host_in_one_group_are_named() -> None:
    spec = {
        "kind": "dual-tor",
        "racks": 2,
        "hosts_per_rack": 2,
        "spines": 2,
        "host_rate": "100G",
        "fabric_rate": "100G",
    }
    fabric = build_topology(parse_topology(spec))
    rack = next(it for it in elements(fabric) if it.kind == "pod")
    loss = Redundancy(fabric).loss(rack)
    assert loss.homes_lost == ("host1", "host2")
    tor = next(it for it in elements(fabric) if it.kind == "leaf")
    assert Redundancy(fabric).loss(tor).homes_lost == ()


def test_a_valley_is_a_longer_path() -> None:
    # Without plane 1 and the direct paths of leaf 1, only a way over another leaf is left in the pod's second plane.
    fabric = three_tiers()
    a, b = named(fabric, "p1-leaf1--p1-spine1", "link"), named(fabric, "p1-leaf2--p1-spine2", "link")
    loss = Redundancy(fabric).loss(Element(ElementKind.GROUP, "both", (), (*a.links, *b.links)))
    assert loss.pairs_longer == 1
    assert loss.shared == ("p1-leaf1 to p1-leaf2",)


def test_a_question_with_several_mistakes_names_them_all() -> None:
    asked = question(only=("spine9",), drain=("spine1",), grow=("pods", "topology.spines=0"), double=("x,y",))
    with pytest.raises(InputErrors) as caught:
        place(asked)
    text = str(caught.value)
    for told in (
        "--only: nothing that can fail has such a name",
        "--drain spine1: switches are drained by BGP",
        "--grow pods: 'pods' is no growth",
        "topology.spines: 0 is",
        "nothing that can fail is called 'x'",
    ):
        assert told in text
