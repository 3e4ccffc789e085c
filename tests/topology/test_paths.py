from __future__ import annotations

from itertools import permutations

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fabric.topology.model import Fabric
from fabric.topology.paths import DELIVER, UNREACHABLE, equal_cost_ports
from tests.topology.conftest import SMALL, fabric_of


def hop_by_networkx(fabric: Fabric, node: int, host: int, down: frozenset[int]) -> tuple[int, ...]:
    """Egress ports of a switch or host towards a host, by shortest paths in a graph where other hosts are absent."""
    graph = nx.Graph()
    graph.add_nodes_from([node, host, *(switch.id for switch in fabric.switches)])
    for link in fabric.links:
        a, b = fabric.ports[link.a].node, fabric.ports[link.b].node
        if link.a not in down and link.b not in down and a in graph and b in graph:
            graph.add_edge(a, b)
    distance = nx.single_source_shortest_path_length(graph, host)
    return tuple(
        port
        for port in fabric.nodes[node].ports
        if port not in down
        and fabric.ports[port].peer not in down
        and distance.get(fabric.peer_of(port).id, 10**9) == distance.get(node, -1) - 1
    )


def assert_agrees_with_networkx(fabric: Fabric, down: frozenset[int] = frozenset()) -> None:
    table = equal_cost_ports(fabric, down)
    for host in fabric.hosts:
        for node in fabric.nodes:
            if node.id != host.id:
                assert table.ports_to(node.id, host.id) == hop_by_networkx(fabric, node.id, host.id, down), (
                    node.name,
                    host.name,
                )


def test_next_hops_are_those_of_networkx_on_every_kind_of_fabric(small: Fabric) -> None:
    assert_agrees_with_networkx(small)


@given(data=st.data(), kind=st.sampled_from(sorted(SMALL)))
def test_next_hops_are_those_of_networkx_with_any_ports_down(data: st.DataObject, kind: str) -> None:
    fabric = fabric_of(**SMALL[kind])
    down = data.draw(st.frozensets(st.integers(0, len(fabric.ports) - 1), max_size=12))
    assert_agrees_with_networkx(fabric, down)


def test_every_packet_that_follows_the_table_arrives_in_the_stated_number_of_hops(small: Fabric) -> None:
    table = equal_cost_ports(small)
    for source, target in permutations(small.hosts, 2):
        expected = table.distance[source.id, table.class_of_host[target.id]] + 2
        frontier, hops = {source.id}, 0
        while frontier != {target.id}:
            ports = [port for node in frontier for port in table.ports_to(node, target.id)]
            assert ports
            frontier, hops = {small.peer_of(port).id for port in ports}, hops + 1
        assert hops == expected


def test_members_ascend_and_equal_groups_are_stored_once(small: Fabric) -> None:
    table = equal_cost_ports(small)
    assert all(list(group) == sorted(group) for group in table.groups)
    assert len(set(table.groups)) == len(table.groups)


def test_a_leaf_delivers_to_its_own_hosts_and_spreads_the_rest_over_all_uplinks(leaf_spine: Fabric) -> None:
    table = equal_cost_ports(leaf_spine)
    leaf1, leaf2 = (leaf_spine.by_name[name] for name in ("leaf1", "leaf2"))
    near, far = leaf_spine.by_name["host1"], leaf_spine.by_name["host4"]
    assert table.group_of[leaf1.id, table.class_of_host[near.id]] == DELIVER
    assert table.members(leaf1.id, table.class_of_host[near.id]) == ()
    assert [leaf_spine.peer_of(port).name for port in table.ports_to(leaf1.id, far.id)] == ["spine1", "spine2"]
    assert [leaf_spine.peer_of(port).name for port in table.ports_to(leaf2.id, far.id)] == ["host4"]


def test_a_dual_homed_host_uses_both_ports_and_one_when_a_tor_is_lost() -> None:
    fabric = fabric_of(**SMALL["dual-tor"])
    host, other = fabric.by_name["host1"], fabric.by_name["host4"]
    assert equal_cost_ports(fabric).ports_to(host.id, other.id) == tuple(host.ports)
    lost = frozenset(fabric.by_name["tor1a"].ports)
    table = equal_cost_ports(fabric, lost)
    assert table.ports_to(host.id, other.id) == (host.ports[1],)
    assert [fabric.peer_of(port).name for port in table.ports_to(fabric.by_name["spine1"].id, host.id)] == ["tor1b"]


def test_the_class_of_an_untouched_host_keeps_its_number_when_ports_go_down() -> None:
    fabric = fabric_of(**SMALL["dual-tor"])
    before = equal_cost_ports(fabric)
    host = fabric.by_name["host2"]
    after = equal_cost_ports(fabric, frozenset({host.first_port}))
    same = np.arange(len(fabric.nodes)) != host.id
    assert (before.class_of_host[same] == after.class_of_host[same]).all()
    assert after.class_of_host[host.id] == len(before.attachments)


def test_a_host_without_cable_is_unreachable_and_reaches_nothing(leaf_spine: Fabric) -> None:
    host, other = leaf_spine.by_name["host1"], leaf_spine.by_name["host9"]
    table = equal_cost_ports(leaf_spine, frozenset({host.first_port}))
    assert table.ports_to(other.id, host.id) == table.ports_to(host.id, other.id) == ()
    assert table.group_of[leaf_spine.by_name["spine1"].id, table.class_of_host[host.id]] == UNREACHABLE


def test_a_table_of_four_thousand_hosts_grows_with_racks_not_with_hosts() -> None:
    fabric = fabric_of(
        kind="leaf-spine", leaves=256, spines=64, hosts_per_leaf=16, host_rate="100G", fabric_rate="100G"
    )
    table = equal_cost_ports(fabric)
    assert table.group_of.shape == (4096 + 320, 256)
    assert len(table.groups) == 4096 + 256 + 64 * 256  # a host's port, a leaf's uplinks, a spine's port per leaf
