from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.topology.analysis import analyse
from fabric.topology.flow import _max_flow, _switch_capacity
from fabric.topology.lint import findings
from fabric.topology.model import Fabric
from fabric.topology.paths import equal_cost_ports
from tests.topology.conftest import SMALL, fabric_of

N = [{"name": f"h{i}", "role": "host"} for i in range(1, 5)]
N += [{"name": f"s{i}", "role": "switch"} for i in range(1, 6)]


def cable(a: str, b: str, rate: str = "100G") -> dict[str, str]:
    return {"a": a, "b": b, "rate": rate, "cable": "1m"}


def plain_max_flow(fabric: Fabric, left: set[int]) -> int:
    """The same flow with every host as a node, nothing merged."""
    graph = nx.DiGraph()
    for link in fabric.links:
        a, b = fabric.node_of(link.a), fabric.node_of(link.b)
        for x, y in ((a, b), (b, a)):
            if not (x.is_host and x.id not in left) and not (y.is_host and y.id in left):
                old = graph.get_edge_data(x.id, y.id, {"capacity": 0})["capacity"]
                graph.add_edge(x.id, y.id, capacity=old + link.rate_bps)
    for host in fabric.hosts:
        graph.add_edge(*(("s", host.id) if host.id in left else (host.id, "t")))
    return nx.maximum_flow_value(graph, "s", "t")


@given(data=st.data(), kind=st.sampled_from(sorted(SMALL)))
def test_merging_twins_does_not_change_the_flow_between_any_two_halves(data: st.DataObject, kind: str) -> None:
    fabric = fabric_of(**SMALL[kind])
    hosts = [host.id for host in fabric.hosts]
    left = set(data.draw(st.permutations(hosts))[: len(hosts) // 2])
    assert _max_flow(fabric, _switch_capacity(fabric), left) == plain_max_flow(fabric, left)


@pytest.mark.parametrize(
    ("leaves", "spines", "hosts", "rate"), [(2, 2, 2, "100G"), (4, 1, 2, "100G"), (4, 2, 2, "25G")]
)
def test_bisection_of_a_uniform_leaf_spine_is_the_least_over_all_halvings(
    leaves: int, spines: int, hosts: int, rate: str
) -> None:
    fabric = fabric_of(
        kind="leaf-spine", leaves=leaves, spines=spines, hosts_per_leaf=hosts, host_rate="100G", fabric_rate=rate
    )
    ids = [host.id for host in fabric.hosts]
    least = min(plain_max_flow(fabric, set(left)) for left in combinations(ids, len(ids) // 2))
    bisection = analyse(fabric).bisection
    assert bisection.exact
    assert bisection.rate_bps == least


def test_bisection_of_an_irregular_fabric_is_called_a_bound() -> None:
    assert not analyse(fabric_of(**SMALL["clos3 planes"])).bisection.exact
    uneven = fabric_of(**SMALL["leaf-spine"], link_overrides=[{"a": "leaf1", "b": "spine1", "rate": "100G"}])
    assert not analyse(uneven).bisection.exact


def test_oversubscription_is_hosts_over_uplinks_and_rises_with_a_lost_cable_or_spine() -> None:
    fabric = fabric_of(
        kind="leaf-spine", leaves=2, spines=4, hosts_per_leaf=32, host_rate="100G", fabric_rate="400G", links_per_pair=2
    )
    (tier,) = analyse(fabric).tiers
    assert (tier.ratio, tier.ratio_link_lost, tier.ratio_switch_lost) == (1.0, 3200 / 2800, 3200 / 2400)


def test_the_worst_leaf_decides_the_value_of_its_tier() -> None:
    fabric = fabric_of(**SMALL["leaf-spine"], link_overrides=[{"a": "leaf2", "b": "spine*", "rate": "100G"}])
    (tier,) = analyse(fabric).tiers
    assert (tier.worst, tier.ratio) == ("leaf2", 1.5)


def test_a_single_spine_leaves_no_way_up_when_it_is_lost() -> None:
    fabric = fabric_of(kind="leaf-spine", leaves=2, spines=1, hosts_per_leaf=1, host_rate="1G", fabric_rate="1G")
    result = analyse(fabric)
    assert result.tiers[0].ratio_switch_lost is None
    assert {point.what for point in result.failure_points if not point.own_hosts_only} == {
        "spine1",
        "leaf1:Ethernet4 - spine1:Ethernet0",
        "leaf2:Ethernet4 - spine1:Ethernet4",
    }


@pytest.mark.parametrize(
    ("name", "hops", "paths"),
    [
        ("leaf-spine", [2, 4], [1, 2]),
        ("clos3 planes", [2, 4, 6], [1, 2, 4]),
        ("clos3 full", [2, 4, 6], [1, 2, 48]),
        ("several links, breakout, mixed speeds", [2, 4], [1, 2 * 2 * 2]),
        ("rail only", [2], [4]),
        ("dual-tor", [2, 4], [2, 2 * 2 * 2]),
        ("dual-plane", [2, 4], [2, 4]),
    ],
)
def test_hops_and_path_counts_are_those_of_the_shape(name: str, hops: list[int], paths: list[int]) -> None:
    fabric = fabric_of(**SMALL[name])
    result = analyse(fabric)
    assert [pair.hops for pair in result.pairs] == hops
    assert [pair.max_paths for pair in result.pairs] == paths == [pair.min_paths for pair in result.pairs]
    assert result.diameter_hops == hops[-1]
    assert sum(pair.n_pairs for pair in result.pairs) == len(fabric.hosts) * (len(fabric.hosts) - 1)


def cut_by(fabric: Fabric, lost_ports: Iterable[int]) -> bool:
    table = equal_cost_ports(fabric, frozenset(lost_ports))
    return any(not table.ports_to(a.id, b.id) for a in fabric.hosts for b in fabric.hosts if a.id != b.id)


def test_failure_points_are_exactly_the_switches_and_cables_whose_loss_separates_hosts(small: Fabric) -> None:
    switches = {switch.name for switch in small.switches if cut_by(small, switch.ports)}
    cables = {
        f"{small.port_name(link.a)} - {small.port_name(link.b)}"
        for link in small.links
        if not small.node_of(link.a).is_host and cut_by(small, {link.a})
    }
    assert {point.what for point in analyse(small).failure_points} == switches | cables


def test_failure_points_of_a_chain_with_a_tail_are_found() -> None:
    fabric = fabric_of(
        kind="custom",
        nodes=N,
        links=[
            cable("s1", "s2"),
            cable("s2", "s3"),
            cable("s3", "s1"),
            cable("s3", "s4"),
            cable("s4", "s5"),
            cable("h1", "s1"),
            cable("h1", "s2"),
            cable("h2", "s2"),
            cable("h2", "s1"),
            cable("h3", "s5"),
            cable("h4", "s5"),
        ],
    )
    found = {point.what: (point.hosts_cut, point.own_hosts_only) for point in analyse(fabric).failure_points}
    assert found["s4"] == (2, False)
    assert found["s5"] == (2, True)
    assert found["s3:Ethernet8 - s4:Ethernet0"] == (2, False)
    assert "s1" not in found


def test_a_single_host_has_no_bisection_and_no_distance() -> None:
    fabric = fabric_of(kind="leaf-spine", leaves=1, spines=1, hosts_per_leaf=1, host_rate="1G", fabric_rate="1G")
    result = analyse(fabric)
    assert result.bisection is None
    assert (result.diameter_hops, result.pairs) == (0, ())


def rules(fabric: Fabric, **options: float) -> set[tuple[str, str]]:
    return {(item.rule, item.severity) for item in findings(fabric, analyse(fabric), **options)}


def test_a_non_blocking_leaf_spine_has_notes_only() -> None:
    fabric = fabric_of(kind="leaf-spine", leaves=2, spines=2, hosts_per_leaf=4, host_rate="100G", fabric_rate="200G")
    assert {severity for _, severity in rules(fabric)} == {"note"}


def test_a_dual_plane_fabric_has_no_findings_at_all() -> None:
    assert rules(fabric_of(**SMALL["dual-plane"])) == set()


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"hosts_per_leaf": 16}, "oversubscription"),
        ({"spines": 1}, "failure-point"),
        ({"link_overrides": [{"a": "leaf1", "b": "spine1", "rate": "200G"}]}, "speed-mismatch"),
        ({"host_rate": "800G", "hosts_per_leaf": 1}, "speed-mismatch"),
        ({"leaves": 1}, "dead-end"),
    ],
)
def test_every_weakness_is_a_warning_of_one_rule(changes: dict[str, Any], rule: str) -> None:
    assert (rule, "warning") in rules(fabric_of(**{**SMALL["leaf-spine"], **changes}))


def test_uneven_uplinks_are_found() -> None:
    fabric = fabric_of(
        kind="custom",
        nodes=[
            {"name": "h", "role": "host"},
            {"name": "l", "role": "leaf"},
            {"name": "a", "role": "spine"},
            {"name": "b", "role": "spine"},
            {"name": "m", "role": "leaf"},
            {"name": "g", "role": "host"},
        ],
        links=[
            cable("h", "l"),
            {**cable("l", "a"), "count": 2},
            cable("l", "b"),
            cable("m", "a"),
            cable("m", "b"),
            cable("g", "m"),
        ],
    )
    assert ("uneven-uplinks", "warning") in rules(fabric)


def test_an_accepted_ratio_is_no_finding() -> None:
    fabric = fabric_of(**{**SMALL["leaf-spine"], "hosts_per_leaf": 16})
    assert ("oversubscription", "warning") not in rules(fabric, max_oversubscription=2.0)
