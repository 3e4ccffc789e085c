from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.errors import InputErrors
from fabric.topology.builders.assemble import assemble
from fabric.topology.model import Fabric, LinkSpec, NodeSpec, Role
from fabric.topology.registry import parse_topology
from fabric.topology.spec import CustomSpec
from tests.topology.conftest import SMALL, fabric_of

H1, H2, S1, S2 = (
    NodeSpec(name, role, tier)
    for name, role, tier in [("h1", Role.HOST, 0), ("h2", Role.HOST, 0), ("s1", Role.LEAF, 1), ("s2", Role.LEAF, 1)]
)


def link(a: str, b: str, rate: int = 10**11, delay: int = 1000, b_port: str = "") -> LinkSpec:
    return LinkSpec(a, b, rate, delay, b_port=b_port)


def refusal(nodes: list[NodeSpec], links: list[LinkSpec]) -> str:
    with pytest.raises(InputErrors) as caught:
        assemble("x", nodes, links)
    return str(caught.value)


def test_ids_are_rows_hosts_come_first_and_ports_of_a_node_are_contiguous(small: Fabric) -> None:
    assert [node.id for node in small.nodes] == list(range(len(small.nodes)))
    assert [port.id for port in small.ports] == list(range(len(small.ports)))
    assert [row.id for row in small.links] == list(range(len(small.links)))
    assert [node.is_host for node in small.nodes] == sorted((node.is_host for node in small.nodes), reverse=True)
    assert all(a.first_port + a.n_ports == b.first_port for a, b in pairwise(small.nodes))
    for port in small.ports:
        assert small.ports[port.peer].peer == port.id
        assert small.ports[port.peer].link == port.link
        assert port.id == small.nodes[port.node].first_port + port.index
    for row in small.links:
        assert small.ports[row.a].peer == row.b


def test_ports_of_a_node_follow_the_order_of_cables(small: Fabric) -> None:
    for node in small.nodes:
        links = [small.ports[port].link for port in node.ports]
        assert links == sorted(links)


@pytest.mark.parametrize(
    ("name", "hosts", "switches", "links"),
    [
        ("leaf-spine", 9, 5, 9 + 6),
        ("several links, breakout, mixed speeds", 8, 4, 16 + 8),
        ("clos3 planes", 8, 12, 8 + 8 + 8),
        ("clos3 full", 8, 11, 8 + 8 + 4 * 3 * 2),
        ("rail gpu", 24, 10, 24 + 16),
        ("rail only", 3, 4, 12),
        ("dual-tor", 6, 6, 12 + 8),
        ("dual-plane", 6, 8, 12 + 8),
    ],
)
def test_every_kind_has_the_parts_its_numbers_say(name: str, hosts: int, switches: int, links: int) -> None:
    fabric = fabric_of(**SMALL[name])
    assert (len(fabric.hosts), len(fabric.switches), len(fabric.links)) == (hosts, switches, links)


def test_mixed_host_speeds_go_round_under_each_leaf() -> None:
    fabric = fabric_of(**SMALL["several links, breakout, mixed speeds"])
    rates = [fabric.links[fabric.ports[host.first_port].link].rate_bps // 10**9 for host in fabric.hosts]
    assert rates == [25, 100] * 4


def test_breakout_ports_share_a_cage_and_the_next_speed_starts_a_new_one() -> None:
    fabric = fabric_of(**SMALL["several links, breakout, mixed speeds"])
    names = [fabric.ports[port].name for port in fabric.by_name["leaf1"].ports]
    assert names == [f"Ethernet{4 * cage}/{lane}" for cage in (0, 1) for lane in (1, 2, 3, 4)] + [
        "Ethernet8",
        "Ethernet12",
        "Ethernet16",
        "Ethernet20",
    ]


def test_cable_length_gives_five_nanoseconds_a_metre_and_a_delay_no_length(make: Callable[..., Fabric]) -> None:
    fabric = make(**SMALL["leaf-spine"], host_cable="2m", fabric_delay="1us")
    assert (fabric.links[0].length_mm, fabric.links[0].delay_ps) == (2000, 10_000)
    assert (fabric.links[-1].length_mm, fabric.links[-1].delay_ps) == (0, 1_000_000)


def test_rail_k_of_a_pod_holds_gpu_k_of_every_node_of_that_pod() -> None:
    fabric = fabric_of(**SMALL["rail gpu"])
    for leaf in (node for node in fabric.switches if node.role is Role.LEAF):
        pod, rail = leaf.name.split("-rail")
        hosts = [peer for _, peer in fabric.neighbours(leaf.id) if peer.is_host]
        assert {host.name.split("-gpu")[1] for host in hosts} == {rail}
        assert {host.group for host in hosts} == {pod}
        assert len(hosts) == 3


def test_planes_of_a_dual_plane_fabric_are_connected_only_by_hosts() -> None:
    fabric = fabric_of(**SMALL["dual-plane"])
    for row in fabric.links:
        a, b = fabric.node_of(row.a), fabric.node_of(row.b)
        if not a.is_host:
            assert b.group == ("plane1" if a.name.endswith("a") else "plane2")


def test_super_spine_planes_connect_to_one_spine_of_each_pod() -> None:
    fabric = fabric_of(**SMALL["clos3 planes"])
    for top in (node for node in fabric.switches if node.role is Role.SUPER_SPINE):
        spines = [peer.name for _, peer in fabric.neighbours(top.id)]
        assert [name.split("-")[0] for name in spines] == ["p1", "p2"]
        assert len({name.split("-")[1] for name in spines}) == 1


def test_the_last_matching_override_decides_field_by_field(make: Callable[..., Fabric]) -> None:
    fabric = make(
        **SMALL["leaf-spine"],
        link_overrides=[
            {"a": "spine*", "b": "leaf1", "rate": "100G", "cable": "1m"},
            {"a": "leaf1", "b": "spine2", "rate": "200G"},
        ],
    )
    found = {
        (fabric.node_of(row.a).name, fabric.node_of(row.b).name): (row.rate_bps // 10**9, row.length_mm)
        for row in fabric.links
    }
    assert found["leaf1", "spine1"] == (100, 1000)
    assert found["leaf1", "spine2"] == (200, 1000)
    assert found["leaf2", "spine1"] == (400, 30_000)


def test_an_override_that_matches_no_cable_is_refused(make: Callable[..., Fabric]) -> None:
    with pytest.raises(InputErrors, match="no cable joins 'leaf9' and 'spine1'"):
        make(**SMALL["leaf-spine"], link_overrides=[{"a": "leaf9", "b": "spine1", "rate": "1G"}])


def test_a_cable_without_length_is_refused(make: Callable[..., Fabric]) -> None:
    with pytest.raises(InputErrors, match="the delay is 0 ps"):
        make(**SMALL["leaf-spine"], host_cable="0m")


def test_all_problems_of_a_list_of_cables_are_reported_together() -> None:
    text = refusal(
        [H1, H2, H2, S1, S2],
        [
            link("h1", "s1"),
            link("h1", "h2"),
            link("s1", "s1"),
            link("h2", "s9"),
            link("h2", "s1", rate=0),
            link("h2", "s1", delay=0),
        ],
    )
    for part in (
        "'h2' names 2 nodes",
        "joins two hosts",
        "to itself",
        "no node 's9'",
        "rate is 0",
        "delay is 0",
        "'s2' has no cable",
    ):
        assert part in text


def test_hosts_that_only_other_hosts_connect_are_refused() -> None:
    both = NodeSpec("h3", Role.HOST, 0)
    text = refusal([H1, H2, both, S1, S2], [link("h1", "s1"), link("h2", "s2"), link("h3", "s1"), link("h3", "s2")])
    assert "h1 and h2 cannot reach each other" in text


def test_a_port_name_given_twice_is_refused() -> None:
    links = [link("h1", "s1", b_port="p"), link("h2", "s1", b_port="p")]
    assert "2 ports are named 'p'" in refusal([H1, H2, S1], links)


def test_a_fabric_without_hosts_is_refused() -> None:
    assert "there is no host" in refusal([S1, S2], [link("s1", "s2")])


def test_a_custom_list_builds_its_parallel_cables(make: Callable[..., Fabric]) -> None:
    fabric = make(
        kind="custom",
        nodes=[{"name": "h", "role": "host"}, {"name": "s", "role": "switch"}],
        links=[{"a": "h", "b": "s", "rate": "10G", "cable": "1m", "count": 3, "breakout": 4}],
    )
    assert [fabric.port_name(row.b) for row in fabric.links] == ["s:Ethernet0/1", "s:Ethernet0/2", "s:Ethernet0/3"]
    assert fabric.by_name["s"].tier == -1


@settings(max_examples=30, deadline=None)
@given(leaves=st.integers(1, 6), spines=st.integers(1, 5), hosts=st.integers(1, 5), pairs=st.integers(1, 3))
def test_a_leaf_spine_of_any_size_keeps_its_counts(leaves: int, spines: int, hosts: int, pairs: int) -> None:
    fabric = fabric_of(
        kind="leaf-spine",
        leaves=leaves,
        spines=spines,
        hosts_per_leaf=hosts,
        links_per_pair=pairs,
        host_rate="10G",
        fabric_rate="40G",
    )
    assert len(fabric.ports) == 2 * len(fabric.links) == 2 * leaves * (hosts + spines * pairs)
    assert fabric.graph().number_of_edges() == len(fabric.links)


@pytest.mark.parametrize("name", SMALL)
def test_the_number_of_cables_is_known_before_a_fabric_is_built(name: str) -> None:
    spec = parse_topology(SMALL[name])
    assert not isinstance(spec, CustomSpec)
    assert spec.n_cables == len(fabric_of(**SMALL[name]).links)
