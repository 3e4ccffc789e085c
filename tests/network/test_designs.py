"""Propagation of routes: eBGP with shared and distinct spine ASes, reflectors, three tiers, many attachments."""

from __future__ import annotations

from ipaddress import IPv6Address

import pytest

from fabric.controlplane.bgp.afi import IPV4_UNICAST
from fabric.controlplane.bgp.decision import Reason
from fabric.controlplane.evpn.evpn_nlri import EVPN
from fabric.controlplane.network import events as e
from fabric.controlplane.network.config import ControlConfig, Design, SpineAsn
from fabric.controlplane.network.network import Network
from fabric.show.ip_route import ip_route
from fabric.topology.paths import equal_cost_ports
from tests.network.worlds import World, world

DISTINCT = ControlConfig(spine_asn=SpineAsn.DISTINCT)
REFLECTORS = ControlConfig(design=Design.IBGP_RR)
UNNUMBERED = ControlConfig(unnumbered=True)
MS = 1_000_000


def test_a_shared_spine_as_leaves_no_valley() -> None:
    here = world(leaves=4, spines=2)
    network = here.network()
    assert here.via(network, "spine1", "spine2") == []
    assert here.via(network, "leaf1", "spine2") == ["spine2"]
    assert here.via(network, "leaf1", "leaf4") == ["spine1", "spine2"]


def test_a_spine_that_lost_its_cable_to_a_leaf_has_no_other_way_to_it() -> None:
    here = world(leaves=4, spines=2)
    network = here.network([e.CableDown(0, here.cable("spine1", "leaf1"))], until_ms=1_000)
    assert here.via(network, "spine1", "leaf1") == []
    assert here.via(network, "leaf4", "leaf1") == ["spine2"]
    assert here.via(network, "leaf1", "leaf4") == ["spine2"]


def test_spines_of_their_own_as_reach_each_other_through_every_leaf() -> None:
    here = world(config=DISTINCT, leaves=4, spines=2)
    network = here.network()
    asn = {router.name: router.asn for router in here.plan.routers}
    assert here.via(network, "spine1", "spine2") == ["leaf1", "leaf2", "leaf3", "leaf4"]
    assert here.as_paths(network, "spine1", "spine2") == sorted(
        f"{asn[f'leaf{leaf}']} {asn['spine2']}" for leaf in range(1, 5)
    )


@pytest.mark.parametrize(("relax", "paths"), [(True, 2), (False, 1)])
def test_paths_through_two_ases_share_load_only_when_relaxed(relax: bool, paths: int) -> None:
    here = world(config=ControlConfig(spine_asn=SpineAsn.DISTINCT, multipath_relax=relax))
    assert len(here.via(here.network(), "leaf1", "leaf2")) == paths


def test_what_a_cold_start_selects_first_router_ids_decide_as_recorded_from_frr() -> None:
    here = world(config=DISTINCT, leaves=3, spines=2)
    for seed in (1, 2, 3):
        network = Network(here.plan, DISTINCT, seed)
        network.converge()
        for switch in network.switches:
            for family in (IPV4_UNICAST, EVPN):
                decided = {
                    switch.speaker.explain(family, key).reason
                    for keys, _ in switch.speaker.loc_rib(family)
                    for key in keys
                }
                assert Reason.OLDER not in decided, (seed, switch.router.name)


def test_unnumbered_cables_have_no_subnet_to_be_connected_to() -> None:
    for config, subnets in ((UNNUMBERED, 0), (ControlConfig(), 2)):
        here = world(config=config, leaves=2, spines=2)
        network = here.network()
        table = ip_route(network, network.switches[here.row("leaf1")])
        assert sum(prefix.endswith("/31") for prefix in table) == subnets


def test_no_more_paths_are_used_than_configured() -> None:
    here = world(config=ControlConfig(max_paths=3), spines=4)
    assert len(here.via(here.network(), "leaf1", "leaf2")) == 3


def test_parallel_cables_are_sessions_of_their_own() -> None:
    here = world(links_per_pair=2)
    assert len(here.plan.cables) == 8
    assert here.via(here.network(), "leaf1", "leaf2") == ["spine1", "spine1", "spine2", "spine2"]


@pytest.mark.parametrize(
    "config", [ControlConfig(), DISTINCT, REFLECTORS, UNNUMBERED], ids=["ebgp", "distinct", "ibgp-rr", "unnumbered"]
)
@pytest.mark.parametrize("overlay", [True, False], ids=["evpn", "routed"])
@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        ("leaf-spine", {"leaves": 4, "spines": 3, "links_per_pair": 2}),
        ("clos3", {"pods": 2, "leaves_per_pod": 2, "spines_per_pod": 2, "super_spines": 4, "hosts_per_leaf": 2}),
        (
            "clos3",
            {
                "pods": 2,
                "leaves_per_pod": 2,
                "spines_per_pod": 2,
                "super_spines": 2,
                "hosts_per_leaf": 1,
                "core": "full",
            },
        ),
        ("rail", {"pods": 2, "nodes_per_pod": 2, "rails": 2, "spines": 2}),
    ],
    ids=["leaf-spine", "planes", "full", "rail"],
)
def test_a_healthy_fabric_forwards_by_all_shortest_paths(
    kind: str, numbers: dict[str, object], overlay: bool, config: ControlConfig
) -> None:
    here = world(kind, config, overlay=overlay, **numbers)
    start, changes = here.rows(here.run(until_ms=100))
    assert changes == []
    shortest = equal_cost_ports(here.fabric)
    wrong = {
        (here.fabric.nodes[switch].name, here.fabric.nodes[host].name): ports
        for (switch, host), ports in start.items()
        if ports != tuple(shortest.ports_to(switch, host))
    }
    assert not wrong
    assert len(start) == len(here.fabric.switches) * len(here.fabric.hosts)


@pytest.mark.parametrize("planes", [1, 2])
def test_hosts_on_two_tors_are_announced_by_both(planes: int) -> None:
    here = world("dual-tor", overlay=False, racks=2, hosts_per_rack=2, spines=2, planes=planes)
    start, _ = here.rows(here.run(until_ms=100))
    shortest = equal_cost_ports(here.fabric)
    assert start == {(switch, host): tuple(shortest.ports_to(switch, host)) for switch, host in start}


def test_a_reflected_route_says_who_announced_it_and_through_which_clusters() -> None:
    from fabric.controlplane.bgp.afi import IPV4_UNICAST

    here = world(config=REFLECTORS)
    network = here.network()
    selection = network.switches[here.row("leaf1")].speaker.selection(IPV4_UNICAST, here.loopback("leaf2"))
    assert selection is not None
    assert {path.attributes.originator_id for path in selection.multipath} == {here.plan.by_name["leaf2"].router_id}
    assert sorted(path.attributes.cluster_list for path in selection.multipath) == sorted(
        (here.plan.by_name[spine].router_id,) for spine in ("spine1", "spine2")
    )


def _ports(here: World, node: str) -> set[int]:
    return set(here.fabric.by_name[node].ports)


def test_every_switch_has_addresses_of_its_own_cables_only() -> None:
    here = world(leaves=3, spines=2)
    for interface in here.plan.interfaces:
        assert interface.port in _ports(here, here.plan.routers[interface.router].name)


def test_unnumbered_sessions_have_the_link_local_addresses_that_a_kernel_makes_of_their_macs() -> None:
    here = world(config=UNNUMBERED)
    peer = here.network().switches[here.row("leaf1")].speaker.config.neighbors[0]
    interface = here.plan.interfaces[here.plan.by_name["leaf1"].interfaces[0]]
    assert interface.mac.startswith("02:00:")
    first, rest = interface.mac.split(":")[:3], interface.mac.split(":")[3:]
    eui = "".join(["00", *first[1:], "ff", "fe", *rest])
    assert peer.local_address == str(IPv6Address(bytes.fromhex("fe80" + "00" * 6 + eui)))
    assert peer.name == interface.name
