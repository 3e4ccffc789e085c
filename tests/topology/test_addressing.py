from __future__ import annotations

import ipaddress
from collections.abc import Callable
from itertools import pairwise

import networkx as nx
import pytest

from fabric.topology.addressing import addressing, ipv4_text, mac_text
from fabric.topology.model import Fabric, Role
from tests.topology.conftest import SMALL, fabric_of


def test_no_two_addresses_are_alike(small: Fabric) -> None:
    plan = addressing(small)
    loopbacks = [int(plan.loopback[node.id]) for node in small.switches]
    host_ports = [int(plan.port_ip[port]) for host in small.hosts for port in host.ports]
    between = [int(plan.port_ip[port.id]) for port in small.ports if plan.port_prefix_len[port.id] == 31]
    gateways = [network + 1 for network, _ in plan.subnet.values()]
    everything = loopbacks + host_ports + between + gateways
    assert 0 not in everything
    assert len(set(everything)) == len(everything)
    macs = [*plan.mac.tolist(), *plan.port_mac.tolist()]
    assert len(set(macs)) == len(macs)


def test_both_ends_of_a_cable_are_in_one_network(small: Fabric) -> None:
    plan = addressing(small)
    for link in small.links:
        networks = {
            ipaddress.ip_network(f"{ipv4_text(plan.port_ip[end])}/{plan.port_prefix_len[end]}", strict=False)
            for end in (link.a, link.b)
        }
        assert len(networks) == 1
        network = networks.pop()
        assert ipaddress.ip_address(int(plan.port_ip[link.a])) in network
        if network.prefixlen != 31:
            assert network.broadcast_address not in {
                ipaddress.ip_address(int(plan.port_ip[end])) for end in (link.a, link.b)
            }


def test_host_subnets_do_not_overlap_and_hold_all_hosts_of_a_large_leaf(make: Callable[..., Fabric]) -> None:
    plan = addressing(make(**{**SMALL["leaf-spine"], "hosts_per_leaf": 254}))
    networks = sorted(ipaddress.ip_network((network, length)) for network, length in plan.subnet.values())
    assert all(a.broadcast_address < b.network_address for a, b in pairwise(networks))
    assert {network.prefixlen for network in networks} == {23}


def test_macs_are_locally_administered_and_unicast(small: Fabric) -> None:
    for mac in addressing(small).mac.tolist():
        assert mac >> 40 & 0b11 == 0b10


def test_hosts_have_no_as_and_spines_of_a_leaf_spine_share_one(leaf_spine: Fabric) -> None:
    asn = addressing(leaf_spine).asn
    assert {int(asn[host.id]) for host in leaf_spine.hosts} == {0}
    assert [int(asn[leaf_spine.by_name[name].id]) for name in ("spine1", "spine2", "leaf1", "leaf2", "leaf3")] == [
        65000,
        65000,
        65101,
        65102,
        65103,
    ]


@pytest.mark.parametrize("name", ["leaf-spine", "clos3 planes", "clos3 full", "dual-plane"])
def test_no_shortest_path_contains_an_as_twice_rfc7938_5_2_1(name: str) -> None:
    fabric = fabric_of(**SMALL[name])
    asn = addressing(fabric).asn
    graph = nx.Graph(fabric.graph().subgraph([node.name for node in fabric.switches]))
    leaves = [node.name for node in fabric.switches if node.role is Role.LEAF]
    for a in leaves:
        for b in leaves:
            if a != b and nx.has_path(graph, a, b):
                for path in nx.all_shortest_paths(graph, a, b):
                    numbers = [int(asn[fabric.by_name[hop].id]) for hop in path]
                    assert len(set(numbers)) == len(numbers)


def test_spines_of_one_pod_share_an_as_and_pods_differ() -> None:
    fabric = fabric_of(**SMALL["clos3 planes"])
    asn = addressing(fabric).asn
    found = {node.name: int(asn[node.id]) for node in fabric.switches if node.role is Role.SPINE}
    assert found == {"p1-spine1": 65001, "p1-spine2": 65001, "p2-spine1": 65002, "p2-spine2": 65002}


@pytest.mark.parametrize(("leaves", "first"), [(434, 65101), (435, 4_200_010_001)])
def test_four_byte_as_numbers_begin_where_two_bytes_are_not_enough(leaves: int, first: int) -> None:
    fabric = fabric_of(kind="leaf-spine", leaves=leaves, spines=1, hosts_per_leaf=1, host_rate="1G", fabric_rate="1G")
    asn = addressing(fabric).asn
    assert int(asn[fabric.by_name["leaf1"].id]) == first
    assert len({int(asn[node.id]) for node in fabric.switches}) == leaves + 1


def test_addresses_read_as_people_write_them() -> None:
    assert ipv4_text(0x0A400002) == "10.64.0.2"
    assert mac_text(0x0200_0001_0000) == "02:00:00:01:00:00"
