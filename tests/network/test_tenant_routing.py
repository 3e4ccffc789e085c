"""Routing between subnets of tenants in the control plane: egress VTEPs and their changes (RFC 9135, 9136)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fabric.controlplane.bgp.policy import Policy
from fabric.controlplane.evpn.evpn_nlri import EVPN, Payload, key_of
from fabric.controlplane.evpn.isolation import check_isolation
from fabric.controlplane.network import events as e
from fabric.controlplane.network.config import ControlConfig, Design
from fabric.controlplane.network.fabric_plan import plan_of
from fabric.controlplane.network.plan import ControlPlan, RoutedHosts, Tenant
from fabric.controlplane.network.run import ControlRun, run_control
from fabric.controlplane.network.tenant_rows import tenant_rows, vtep_rows
from fabric.controlplane.network.tenants import reach_within
from fabric.show.ip_route import ip_route_vrf
from fabric.topology.addressing import addressing
from tests.network.worlds import MS, fabric_of

LEAVES = 4
SLOW = ControlConfig()
IBGP = ControlConfig(design=Design.IBGP_RR)


def plan(config: ControlConfig = SLOW) -> ControlPlan:
    """Three hosts a leaf on four leaves: tenant blue has subnet A on leaf1 and leaf2, B on leaf2 and leaf3, and hosts
    on routed ports of leaf4; tenant red has the rest.
    """
    fabric = fabric_of(leaves=LEAVES, hosts_per_leaf=3)
    segments = [
        Tenant("blue", 101, (0, 3), segment="a", gateway="10.64.0.1/23", l3_vni=900),
        Tenant("blue", 102, (4, 7), segment="b", gateway="10.64.2.254/24", l3_vni=900),
        Tenant("red", 103, (1, 2, 5, 6, 8, 11)),
    ]
    addresses = addressing(fabric)
    host_ip = addresses.host_ip.copy()
    host_ip[4], host_ip[7] = (10 << 24 | 64 << 16 | 2 << 8 | 5), (10 << 24 | 64 << 16 | 2 << 8 | 7)
    return plan_of(fabric, replace(addresses, host_ip=host_ip), config, segments, [RoutedHosts("blue", 900, (9, 10))])


def run(events: Sequence[e.ControlEvent] = (), config: ControlConfig = SLOW, until_ms: int = 2_000) -> ControlRun:
    return run_control(plan(config), config, events, until_ms * MS)


def egresses(found: ControlRun, leaf: int, until_ms: float = 1e9) -> dict[int, tuple[int, ...]]:
    """Host -> leaves (numbers from 1) to which a leaf routes its packets."""
    rows = [router.row for router in found.plan.routers]
    mine = next(router.row for router in found.plan.routers if router.name == f"leaf{leaf}")
    number = {
        router.row: int(router.name.removeprefix("leaf"))
        for router in found.plan.routers
        if router.name.startswith("leaf")
    }
    assert rows == sorted(rows)
    now = dict(found.egresses_at_start[mine])
    now |= {
        change.host: change.vteps
        for change in found.egresses
        if change.router == mine and change.time_ns <= until_ms * MS
    }
    return {host: tuple(number[row] for row in vteps) for host, vteps in sorted(now.items())}


@pytest.mark.parametrize("config", [SLOW, IBGP], ids=["ebgp", "ibgp-rr"])
def test_every_leaf_of_a_tenant_routes_to_every_host_of_it(config: ControlConfig) -> None:
    found = run(config=config, until_ms=1)
    at = {0: (1,), 3: (2,), 4: (2,), 7: (3,), 9: (4,), 10: (4,)}
    assert [egresses(found, leaf) for leaf in (1, 2, 3, 4)] == [at] * LEAVES
    assert all(
        not vteps
        for router, vteps in zip(found.plan.routers, found.egresses_at_start, strict=True)
        if router.name.startswith("spine")
    )


def test_a_leaf_has_a_gateway_for_the_segments_of_its_hosts_and_prefixes_for_its_routed_ports() -> None:
    routers = plan().by_name
    assert [(it.vni, it.gateway) for it in routers["leaf2"].vnis] == [
        (101, "10.64.0.1/23"),
        (102, "10.64.2.254/24"),
        (103, ""),
    ]
    assert [(vrf.name, vrf.l3_vni, vrf.prefixes) for vrf in routers["leaf4"].vrfs] == [("blue", 900, ("10.64.3.0/24",))]
    assert routers["leaf1"].vrfs[0].prefixes == ()
    assert routers["spine1"].vrfs == ()
    assert len({router.mac for router in routers.values()}) == len(routers)


def test_routes_carry_both_labels_the_router_mac_and_the_l3_target() -> None:
    network = run(until_ms=1).at(0)
    speaker = next(it for it in network.switches if it.router.name == "leaf1").speaker
    seen = {}
    for keys, selection in speaker.loc_rib(EVPN):
        for raw in keys:
            seen[key_of(raw).text] = (selection.best.payload, len(selection.best.attributes.ext_communities))
    assert seen["[2]:[0]:[48]:[02:00:00:04:00:00]:[32]:[10.64.2.5]"] == (Payload((102, 900)), 4)
    assert seen["[2]:[0]:[48]:[02:00:00:04:00:00]"] == (Payload((102,)), 2)
    assert seen["[5]:[0]:[24]:[10.64.3.0]"] == (Payload((900,)), 3)
    assert not any("10.64.3.2]" in text for text in seen)  # hosts on routed ports have no Type-2 route


def test_tenants_are_proved_apart_and_reach_all_of_their_own() -> None:
    network = run(until_ms=1).at(0)
    found = check_isolation([switch.vtep for switch in network.switches if switch.vtep is not None])
    assert found.proved
    assert found.domains == ("blue", "red")
    assert [(it.switch, it.hosts, it.missing) for it in reach_within(network.switches)] == [
        (f"leaf{leaf}", 6, ()) for leaf in (1, 2, 3, 4)
    ]


def test_a_host_that_leaves_is_sought_where_its_subnet_is_and_found_again_when_it_is_back() -> None:
    mac, leaf2 = "02:00:00:04:00:00", plan().by_name["leaf2"].row
    found = run(
        [
            e.HostGone(100 * MS, mac, 102, leaf2),
            e.HostSeen(1_000 * MS, mac, "10.64.2.5", 102, leaf2, "Ethernet4", data_port=0),
        ]
    )
    # leaf1 has no gateway of that subnet: it sends to those that announce the prefix. These would ask by ARP: nowhere.
    assert egresses(found, 1, 900)[4] == (2, 3)
    assert egresses(found, 4, 900)[4] == (2, 3)
    assert egresses(found, 2, 900)[4] == egresses(found, 3, 900)[4] == ()
    assert egresses(found, 1)[4] == egresses(found, 3)[4] == (2,)


def test_a_host_that_moves_is_routed_to_its_new_leaf_after_bgp_and_the_tables_have_had_their_time() -> None:
    leaf3 = plan().by_name["leaf3"].row
    found = run(
        [
            e.HostSeen(100 * MS, "02:00:00:04:00:00", "10.64.2.5", 102, leaf3, "Ethernet9", arp=True),
            e.HostSeen(600 * MS, "02:00:00:04:00:00", "10.64.2.5", 102, leaf3, "Ethernet9", arp=True),
        ]
    )
    assert egresses(found, 1)[4] == egresses(found, 2)[4] == egresses(found, 3)[4] == (3,)
    moments = {
        change.router: change.time_ns for change in found.egresses if change.host == 4 and change.vteps == (leaf3,)
    }
    config, leaf1 = found.config, found.plan.by_name["leaf1"].row
    assert moments[leaf3] < moments[leaf1]
    assert moments[leaf1] - moments[leaf3] >= 2 * config.update_delay_ns + config.fib_delay_ns


def test_a_leaf_that_crashes_takes_its_prefixes_with_it_and_brings_them_back() -> None:
    leaf4 = plan().by_name["leaf4"].row
    found = run([e.RouterCrash(100 * MS, leaf4, carrier=False), e.RouterBoot(1_000 * MS, leaf4)], until_ms=8_000)
    assert egresses(found, 1, 900)[9] == egresses(found, 4, 900)[9] == ()
    assert egresses(found, 4, 900)[0] == ()
    assert egresses(found, 1) == egresses(found, 4) == {0: (1,), 3: (2,), 4: (2,), 7: (3,), 9: (4,), 10: (4,)}
    [crash, boot] = found.convergence
    assert crash.convergence_ns is not None
    assert boot.convergence_ns is not None
    assert crash.fib_changes > 0


def port_down(node: int, at_ms: int) -> e.HostPortDown:
    """A routed port of leaf4 loses carrier."""
    return e.HostPortDown(at_ms * MS, plan().by_name["leaf4"].row, _port(node))


def port_up(node: int, at_ms: int) -> e.HostPortUp:
    """The port has carrier again."""
    return e.HostPortUp(at_ms * MS, plan().by_name["leaf4"].row, _port(node))


def _port(node: int) -> int:
    return next(it.port for it in plan().routed if it.node == node)


def test_the_subnet_of_routed_ports_goes_with_the_last_of_them_and_comes_back_with_the_first() -> None:
    found = run([port_down(9, 100), port_down(10, 400), port_up(10, 1_000)])
    here = {9: (4,), 10: (4,)}
    for leaf in (1, 2, 3):
        # One port is left in the subnet: others cannot know which. Then the prefix is gone, and then it is back.
        assert {host: egresses(found, leaf, 300)[host] for host in here} == here
        assert {host: egresses(found, leaf, 900)[host] for host in here} == {9: (), 10: ()}
        assert {host: egresses(found, leaf)[host] for host in here} == here
    assert (egresses(found, 4, 300)[9], egresses(found, 4, 300)[10]) == ((), (4,))  # it knows its own ports
    assert (egresses(found, 4)[9], egresses(found, 4)[10]) == ((), (4,))
    [first, last, back] = found.convergence
    assert (first.updates, first.routers) == (0, {plan().by_name["leaf4"].row})
    for event in (last, back):
        assert event.updates > 0
        assert {plan().by_name[f"leaf{leaf}"].row for leaf in (1, 2, 3)} < event.routers
    # Carrier, one hop to the spine, one to the leaf, and tables: never sooner than the delays of all of them.
    config = found.config
    assert last.convergence_ns is not None
    assert last.convergence_ns >= config.carrier_delay_ns + 2 * config.update_delay_ns + config.fib_delay_ns


def test_both_routed_ports_dark_at_once_take_the_subnet_along_although_each_alone_would_not() -> None:
    late = replace(SLOW, prune_delay_ns=2 * SLOW.carrier_delay_ns)
    for config in (SLOW, late):
        found = run([port_down(9, 100), port_down(10, 100)], config=config)
        assert egresses(found, 1)[9] == egresses(found, 1)[10] == egresses(found, 4)[9] == egresses(found, 4)[10] == ()


def test_a_flap_too_short_for_the_daemon_withdraws_nothing() -> None:
    found = run(
        [
            port_down(9, 100),
            port_down(10, 100),
            e.HostPortUp(100 * MS + SLOW.carrier_delay_ns // 2, plan().by_name["leaf4"].row, _port(10)),
        ]
    )
    assert sum(event.updates for event in found.convergence) == 0
    assert egresses(found, 1)[10] == (4,)


@pytest.mark.parametrize("crash", [e.RouterCrash, e.DaemonCrash])
def test_a_leaf_that_starts_with_dark_routed_ports_announces_them_when_there_is_light(crash: type) -> None:
    leaf4 = plan().by_name["leaf4"].row
    down, start = (
        (e.RouterCrash(100 * MS, leaf4, carrier=False), e.RouterBoot(1_000 * MS, leaf4))
        if crash is e.RouterCrash
        else (e.DaemonCrash(100 * MS, leaf4), e.DaemonStart(1_000 * MS, leaf4))
    )
    found = run([down, port_down(9, 200), port_down(10, 200), start, port_up(9, 7_000)], until_ms=9_000)
    assert egresses(found, 1, 6_900)[9] == egresses(found, 1, 6_900)[10] == ()
    assert egresses(found, 4, 6_900)[9] == egresses(found, 4, 6_900)[10] == ()
    assert egresses(found, 4, 6_900)[0] == (1,)
    assert egresses(found, 1)[9] == egresses(found, 1)[10] == (4,)
    assert (egresses(found, 4)[9], egresses(found, 4)[10]) == ((4,), ())


def test_views_show_the_subnet_of_routed_ports_while_one_has_light() -> None:
    found = run([port_down(9, 100), port_down(10, 400)])
    shown = {}
    for at_ms in (50, 300, 900):
        network = found.at(at_ms * MS)
        table = ip_route_vrf(network, next(it for it in network.switches if it.router.name == "leaf4"), "blue")
        shown[at_ms] = [hop["interfaceName"] for route in table.get("10.64.3.0/24", ()) for hop in route["nexthops"]]
    assert [len(shown[at_ms]) for at_ms in (50, 300, 900)] == [2, 1, 0]
    missing = {it.switch: it.missing for it in reach_within(found.at(900 * MS).switches)}
    assert missing == {f"leaf{leaf}": ("host10", "host11") for leaf in (1, 2, 3, 4)}


def test_a_type_5_route_held_back_by_a_route_map_is_no_route_for_anybody() -> None:
    leaf4 = plan().by_name["leaf4"].row
    found = run([e.SetPolicy(100 * MS, leaf4, None, "export", Policy(default_accept=False))])
    assert egresses(found, 1)[9] == egresses(found, 2)[10] == ()
    assert egresses(found, 4)[9] == (4,)
    gone = [change for change in found.egresses if change.host == 9 and not change.vteps]
    assert {change.router for change in gone} == {found.plan.by_name[f"leaf{leaf}"].row for leaf in (1, 2, 3)}


def test_a_dead_daemon_leaves_the_ways_as_they_were_at_its_own_leaf() -> None:
    leaf1 = plan().by_name["leaf1"].row
    found = run(
        [e.DaemonCrash(100 * MS, leaf1), e.HostGone(200 * MS, "02:00:00:04:00:00", 102, plan().by_name["leaf2"].row)]
    )
    assert egresses(found, 1)[4] == (2,)
    assert egresses(found, 4)[4] == (2, 3)


def test_rows_for_the_data_plane_begin_with_all_of_time_0_and_routes_lead_to_every_vtep() -> None:
    found = run([e.RouterCrash(100 * MS, plan().by_name["leaf4"].row, carrier=False)])
    rows = list(tenant_rows(found))
    assert [row.time_ns for row in rows] == sorted(row.time_ns for row in rows)
    assert sum(row.time_ns == 0 for row in rows) == 4 * 6
    tunnels = {(row.switch, row.leaf) for row in vtep_rows(found) if row.time_ns == 0 and row.ports}
    leaves = [found.plan.by_name[f"leaf{leaf}"].node for leaf in (1, 2, 3, 4)]
    spines = [found.plan.by_name[f"spine{spine}"].node for spine in (1, 2)]
    assert tunnels == {(here, there) for here in (*leaves, *spines) for there in leaves if here != there}


def test_without_tenants_that_route_there_are_no_ways() -> None:
    fabric = fabric_of()
    flat = plan_of(fabric, addressing(fabric), SLOW, [Tenant("all", 10_000, tuple(host.id for host in fabric.hosts))])
    found = run_control(flat, SLOW, [], MS)
    assert list(tenant_rows(found)) == list(vtep_rows(found)) == []
    leaves = {router.node for router in flat.routers if router.vnis}
    to_all = {(row.switch, row.leaf) for row in vtep_rows(found, floods=True) if row.ports}
    assert to_all == {(router.node, leaf) for router in flat.routers for leaf in leaves if router.node != leaf}
    assert found.egresses == ()
