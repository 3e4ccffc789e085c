"""Effects of dated events: convergence times against recorded FRR, black holes, drains, mistakes, moves, churn."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fabric.controlplane.bgp.policy import DENY_ALL
from fabric.controlplane.evpn.evpn_nlri import EVPN, key_of
from fabric.controlplane.network import events as e
from fabric.controlplane.network.config import Bfd, ControlConfig, Design
from fabric.controlplane.network.pending import FIB
from fabric.controlplane.network.record import Convergence
from fabric.controlplane.network.rows import flood_rows, known_rows
from fabric.controlplane.network.run import ControlRun
from fabric.show.evpn import arp_cache, evpn_mac
from tests.network.worlds import MS, World, world
from tests.recordings import FRR

S = 1000 * MS


def recorded(name: str, case: str) -> dict[str, Any]:
    file = FRR / f"conv-2x2-{name}.json"
    return dict(json.loads(file.read_text())["cases"][case])


def first_reroute_ns(here: World, run: ControlRun, node: str, towards: str, *, after_ns: int = 2 * MS) -> int:
    """Time at which BGP, not the port's loss of carrier, changed a switch's route to another's loopback."""
    return next(
        change.time_ns
        for change in run.routes
        if change.router == here.row(node) and change.key == here.loopback(towards) and change.time_ns > after_ns
    )


def only(run: ControlRun) -> Convergence:
    [found] = run.convergence
    return found


def test_a_lost_cable_is_routed_round_when_frr_does() -> None:
    case = recorded("none", "link_admin_down")
    carrier_s = case["leaf1"]["carrier_event_s"]
    here = world()
    run = here.run([e.CableDown(0, here.cable("leaf1", "spine1"))])
    remote_s = first_reroute_ns(here, run, "leaf2", "leaf1") / S
    assert remote_s == pytest.approx(case["leaf2"]["ecmp_shrink_to_remote_leaf_s"] - carrier_s, rel=0.1)
    local_s = first_reroute_ns(here, run, "leaf1", "spine1", after_ns=0) / S
    assert local_s < case["leaf1"]["ecmp_shrink_to_remote_leaf_s"]
    assert only(run).sessions_lost == 2


def test_the_adjacent_leaf_withdraws_one_hop_earlier_than_the_remote_one() -> None:
    case = recorded("none", "link_admin_down")
    here = world()
    network = here.network([e.CableDown(0, here.cable("leaf1", "spine1"))])
    seen: dict[str, int] = {}
    for step in range(200):
        network.advance(step * MS)
        for leaf, other in (("leaf1", "leaf2"), ("leaf2", "leaf1")):
            if len(here.as_paths(network, leaf, other)) == 1:
                seen.setdefault(leaf, step)
    hop_ms = 1000 * (case["leaf2"]["ecmp_shrink_to_remote_leaf_s"] - case["leaf1"]["ecmp_shrink_to_remote_leaf_s"])
    assert seen["leaf2"] - seen["leaf1"] == pytest.approx(hop_ms, abs=2)


def test_a_cable_that_comes_back_is_used_again_when_frr_would() -> None:
    case = recorded("none", "link_admin_down")
    here = world()
    cable = here.cable("leaf1", "spine1")
    run = here.run([e.CableDown(0, cable), e.CableUp(S, cable)], until_ms=5_000)
    assert run.convergence[1].convergence_ns is not None
    assert 0.85 < run.convergence[1].convergence_ns / S / case["restore_to_full_ecmp_s"] < 1.4
    assert here.via(run.at(5 * S), "leaf2", "leaf1") == ["spine1", "spine2"]


@pytest.mark.parametrize(
    ("name", "bfd", "least_s", "most_s"),
    [("none", None, 6.0, 9.2), ("bfd", Bfd(), 0.6, 1.05), ("bfd100", Bfd(100 * MS, 3), 0.2, 0.45)],
)
def test_a_silent_cable_is_found_by_hold_timer_or_bfd_as_soon_as_frr_finds_it(
    name: str, bfd: Bfd | None, least_s: float, most_s: float
) -> None:
    theirs = recorded(name, "silent_link")["leaf1"]["ecmp_shrink_to_remote_leaf_s"]
    here = world(config=ControlConfig(bfd=bfd))
    run = here.run([e.CableSilent(0, here.cable("leaf1", "spine1"))], until_ms=20_000)
    assert least_s <= theirs <= most_s
    assert least_s <= first_reroute_ns(here, run, "leaf1", "leaf2") / S <= most_s


def test_a_silence_shorter_than_the_hold_time_changes_nothing() -> None:
    here = world()
    cable = here.cable("leaf1", "spine1")
    run = here.run([e.CableSilent(0, cable), e.CableSilenceEnded(4 * S, cable)], until_ms=30_000)
    assert run.routes == ()
    assert run.sessions == ()


def test_after_a_long_silence_the_sessions_and_routes_are_back() -> None:
    here = world()
    cable = here.cable("leaf1", "spine1")
    run = here.run([e.CableSilent(0, cable), e.CableSilenceEnded(15 * S, cable)], until_ms=40_000)
    assert {change.peer for change in run.sessions if change.up} == {
        name for switch in ("leaf1", "spine1") for name in [session_name(here, switch, cable)]
    }
    assert here.via(run.at(40 * S), "leaf2", "leaf1") == ["spine1", "spine2"]


def session_name(here: World, node: str, cable: int) -> str:
    network = here.network()
    return next(
        name for name, (transport, _) in network.switches[here.row(node)].links.items() if transport.cable == cable
    )


@pytest.mark.parametrize("carrier", [False, True], ids=["dark", "hung"])
def test_a_crashed_spine_is_left_out_and_taken_back_when_it_boots(carrier: bool) -> None:
    here = world(leaves=3)
    spine = here.row("spine1")
    run = here.run([e.RouterCrash(0, spine, carrier), e.RouterBoot(20 * S, spine)], until_ms=60_000)
    assert here.via(run.at(19 * S), "leaf1", "leaf3") == ["spine2"]
    assert here.via(run.at(60 * S), "leaf1", "leaf3") == ["spine1", "spine2"]
    assert here.via(run.at(60 * S), "spine1", "leaf3") == ["leaf3"]


def test_a_dead_daemon_leaves_forwarding_and_loses_its_neighbours() -> None:
    here = world(leaves=3)
    spine = here.row("spine1")
    network = here.network([e.DaemonCrash(0, spine)], until_ms=2_000)
    assert here.via(network, "spine1", "leaf2") == ["leaf2"]
    assert here.via(network, "leaf1", "leaf2") == ["spine2"]
    network.schedule([e.DaemonStart(3 * S, spine)])
    network.advance(10 * S)
    assert here.via(network, "leaf1", "leaf2") == ["spine1", "spine2"]
    assert here.via(network, "spine1", "leaf2") == ["leaf2"]


@pytest.mark.parametrize("design", Design)
def test_a_drained_spine_carries_nothing_and_no_row_is_ever_empty(design: Design) -> None:
    here = world(config=ControlConfig(design=design), leaves=3)
    spine = here.row("spine1")
    run = here.run([e.Drain(0, spine, on=True), e.Shutdown(2 * S, spine)], until_ms=5_000)
    spines = {here.fabric.by_name["spine1"].id}
    _, changes = here.rows(run)
    leaves = [change for change in changes if change.switch not in spines]
    assert leaves
    assert all(change.ports for change in leaves)
    assert max(change.time_ns for change in leaves) < S  # all of it before the sessions closed
    assert here.via(run.at(S), "leaf1", "leaf2") == ["spine2"]


def test_a_drain_that_ends_gives_the_spine_its_share_back() -> None:
    here = world()
    spine = here.row("spine1")
    network = here.network([e.Drain(0, spine, on=True), e.Drain(S, spine, on=False)], until_ms=2_000)
    assert here.via(network, "leaf1", "leaf2") == ["spine1", "spine2"]


def test_a_switch_with_a_wrong_as_number_has_no_session_until_it_has_its_own_again() -> None:
    here = world()
    leaf = here.row("leaf1")
    run = here.run([e.Reconfigure(0, leaf, 64_999), e.Reconfigure(30 * S, leaf, None)], until_ms=60_000)
    assert here.via(run.at(29 * S), "leaf2", "leaf1") == []
    assert not any(change.up for change in run.sessions if change.time_ns < 30 * S)
    assert here.via(run.at(60 * S), "leaf2", "leaf1") == ["spine1", "spine2"]


def test_a_policy_that_denies_takes_a_neighbours_routes_and_gives_them_back() -> None:
    here = world()
    leaf, spine = here.row("leaf1"), here.row("spine1")
    from fabric.controlplane.bgp.policy import ACCEPT_ALL

    network = here.network([e.SetPolicy(0, leaf, spine, "import", DENY_ALL)], until_ms=1_000)
    assert here.via(network, "leaf1", "leaf2") == ["spine2"]
    assert here.via(network, "leaf2", "leaf1") == ["spine1", "spine2"]
    network.schedule(
        [e.SetPolicy(2 * S, leaf, spine, "import", ACCEPT_ALL), e.SetPolicy(4 * S, leaf, None, "export", DENY_ALL)]
    )
    network.advance(3 * S)
    assert here.via(network, "leaf1", "leaf2") == ["spine1", "spine2"]
    network.advance(6 * S)
    assert here.via(network, "leaf2", "leaf1") == []


def moved(here: World, at_ms: int, arps: int) -> list[e.ControlEvent]:
    host = next(it for it in here.plan.endpoints if it.name == "host1")
    return [
        e.HostSeen(at_ms * MS + turn * S, host.mac, host.ip, host.vni, here.row("leaf2"), "m1") for turn in range(arps)
    ]


def test_a_moved_mac_counts_up_on_both_sides() -> None:
    here = world()
    network = here.network(moved(here, 0, 3), until_ms=5_000)
    host = next(it for it in here.plan.endpoints if it.name == "host1")
    old, new = (
        evpn_mac(network.switches[here.row(leaf)].vtep)["10000"]["macs"][host.mac] for leaf in ("leaf1", "leaf2")
    )
    assert (new["type"], new["localSequence"]) == ("local", 1)
    assert (old["type"], old["remoteSequence"]) == ("remote", 1)
    spine = network.switches[here.row("spine1")]
    assert spine.locations()[host.vni, host.mac][0] == here.row("leaf2")
    selected = [key_of(key) for keys, _ in spine.speaker.loc_rib(EVPN) for key in keys]
    assert {key.ip for key in selected if key.mac == host.mac} == {"", host.ip}


def test_one_gratuitous_arp_moves_the_mac_and_loses_the_binding() -> None:
    here = world()
    network = here.network(moved(here, 0, 1), until_ms=5_000)
    host = next(it for it in here.plan.endpoints if it.name == "host1")
    assert host.ip not in arp_cache(network.switches[here.row("leaf2")].vtep)["10000"]


def test_old_and_new_leaf_agree_about_a_move_within_three_hops() -> None:
    here = world()
    run = here.run(moved(here, 0, 3), until_ms=5_000)
    config = here.config
    first = run.convergence[0]
    assert first.convergence_ns is not None
    assert config.learn_delay_ns + 2 * config.update_delay_ns <= first.convergence_ns
    assert first.convergence_ns <= config.learn_delay_ns + 3 * config.update_delay_ns + MS


def test_a_bond_fails_over_to_its_other_leaf() -> None:
    here = world("dual-tor", racks=2, hosts_per_rack=2, spines=2)
    host = here.plan.endpoints[0]
    (first, _, port), (second, _, _) = host.attachments
    link = here.fabric.ports[port].link
    assert link >= 0
    run = here.run([e.HostPortDown(0, first, port)], until_ms=3_000)
    before, after = run.at(0), run.at(3 * S)
    for network, leaf in ((before, first), (after, second)):
        assert all(switch.locations()[host.vni, host.mac][0] == leaf for switch in network.switches)


def test_a_tor_without_a_hosts_cable_takes_its_host_route_back() -> None:
    here = world("dual-tor", overlay=False, racks=2, hosts_per_rack=2, spines=2)
    host = here.fabric.hosts[0]
    tor = here.fabric.peer_of(host.first_port)
    port = here.fabric.ports[host.first_port].peer
    run = here.run([e.HostPortDown(0, here.row(tor.name), port)], until_ms=3_000)
    start, changes = here.rows(run)
    rows = dict(start)
    rows.update({(change.switch, change.host): change.ports for change in changes})
    assert start[tor.id, host.id] == (port,)
    assert {here.fabric.peer_of(out).name for out in rows[tor.id, host.id]} == {"spine1", "spine2"}
    spine = here.fabric.by_name["spine1"].id
    assert tor.id in {here.fabric.peer_of(out).id for out in start[spine, host.id]}
    assert tor.id not in {here.fabric.peer_of(out).id for out in rows[spine, host.id]}


def test_the_same_seed_gives_the_same_run_and_another_one_other_moments() -> None:
    here = world()
    events = [e.CableDown(0, 0), e.CableUp(S, 0), *moved(here, 2_000, 3)]
    one, again, other = (here.run(events, until_ms=8_000, seed=seed) for seed in (1, 1, 2))
    assert (one.routes, one.locations, one.sessions, one.convergence) == (
        again.routes,
        again.locations,
        again.sessions,
        again.convergence,
    )
    assert [change.time_ns for change in one.routes] != [change.time_ns for change in other.routes]


def test_a_view_at_a_moment_is_what_the_changes_until_then_add_up_to() -> None:
    here = world(leaves=3)
    run = here.run([e.CableDown(0, here.cable("leaf1", "spine1")), *moved(here, 300, 3)], until_ms=4_000)
    for moment in (0, 30 * MS, 200 * MS, 400 * MS, 4 * S):
        network = run.at(moment)
        for router in here.plan.routers:
            routes, places = dict(run.routes_at_start[router.row]), dict(run.locations_at_start[router.row])
            routes.update({it.key: it.ports for it in run.routes if it.router == router.row and it.time_ns < moment})
            for it in run.locations:
                if it.router == router.row and it.time_ns < moment:
                    places.pop((it.vni, it.mac), None)
                    if it.vtep is not None:
                        places[it.vni, it.mac] = (it.vtep, it.port)
            switch = network.switches[router.row]
            assert {key: ports for key, ports in routes.items() if ports} == {
                key: ports for key, ports in switch.routes().items() if ports
            }
            assert places == switch.locations()


def test_a_host_whose_cable_comes_back_is_heard_again() -> None:
    here = world()
    host = here.plan.endpoints[0]
    [(leaf, _, port)] = host.attachments
    run = here.run([e.HostPortDown(0, leaf, port), e.HostPortUp(S, leaf, port)], until_ms=3_000)
    assert (host.vni, host.mac) not in run.at(S).switches[here.row("leaf2")].locations()
    assert all(switch.locations()[host.vni, host.mac][0] == leaf for switch in run.at(3 * S).switches)


def test_a_crashed_leaf_takes_its_hosts_away_and_brings_them_back() -> None:
    here = world(leaves=3)
    leaf = here.row("leaf1")
    run = here.run([e.RouterCrash(0, leaf, carrier=False), e.RouterBoot(S, leaf)], until_ms=6_000)
    mine = {(it.vni, it.mac) for it in here.plan.endpoints if it.attachments[0][0] == leaf}
    away, back = (run.at(moment).switches[here.row("leaf3")].locations() for moment in (S, 6 * S))
    assert not mine & set(away)
    assert mine <= set(back)


def test_flood_lists_and_arp_knowledge_follow_the_routes() -> None:
    here = world(leaves=3)
    leaf, host = here.row("leaf1"), here.plan.endpoints[0]
    run = here.run([e.HostGone(MS, host.mac, host.vni, leaf), e.RouterCrash(S, leaf, carrier=False)], until_ms=3_000)
    node = {name: here.fabric.by_name[name].id for name in ("leaf1", "leaf2", "leaf3")}
    floods = {(row.switch, row.vni): row.vteps for row in flood_rows(run) if row.time_ns == 0}
    assert floods[node["leaf2"], host.vni] == (node["leaf1"], node["leaf3"])
    later = {(row.switch, row.vni): row.vteps for row in flood_rows(run)}
    assert later[node["leaf2"], host.vni] == (node["leaf3"],)
    at_start = {(row.switch, row.host) for row in known_rows(run) if row.time_ns == 0}
    assert at_start == {(node[name], it.id) for name in node for it in here.fabric.hosts}
    gone = [row for row in known_rows(run) if row.host == host.node and 0 < row.time_ns < S]
    assert [row.known for row in gone] == [False, False, False]
    assert {row.switch for row in gone} == set(node.values())
    assert gone[0].switch == node["leaf1"]


def flap(here: World, lasts_ns: int, until_ms: int = 20) -> ControlRun:
    cable = here.cable("leaf1", "spine1")
    return here.run([e.CableDown(0, cable), e.CableUp(lasts_ns, cable)], until_ms=until_ms)


def test_routes_that_a_stopped_daemon_would_have_installed_wait_for_no_timer() -> None:
    here = world(config=ControlConfig(fib_delay_ns=500 * MS))
    leaf, others = here.row("leaf1"), {here.row("leaf2"), here.row("spine1")}  # the spine withdraws its route to leaf2
    down = e.CableDown(0, here.cable("leaf1", "spine1"))
    for events, waiting in (([down], {leaf} | others), ([down, e.DaemonCrash(100 * MS, leaf)], others)):
        run = here.run(events, until_ms=150)
        assert {it.router for it in run.pending if it.setting == FIB and it.cause == 1} == waiting


def test_a_flap_too_short_for_the_daemon_costs_no_session() -> None:
    here = world()
    run = flap(here, here.config.interface_event_ns)
    assert run.sessions == ()
    assert [
        (it.time_ns, len(it.ports))
        for it in run.routes
        if it.router == here.row("leaf1") and it.key == here.loopback("leaf2")
    ] == [(MS, 1), (2 * MS, 2)]  # hardware still noticed it


def test_a_flap_that_the_daemon_has_read_ends_the_session_although_it_is_over_before_the_routes_go() -> None:
    """Fast external failover: bgpd ends the session in the interface event, and clears its routes 10 ms later."""
    here = world()
    for lasts_ns in (here.config.interface_event_ns + 1, 10 * MS):
        run = flap(here, lasts_ns, until_ms=13)
        assert [(it.time_ns, it.up, it.reason) for it in run.sessions] == [(12 * MS, False, "Interface down")] * 2
    run = flap(here, 10 * MS, until_ms=5_000)
    assert [it.up for it in run.sessions] == [False, False, True, True]
    assert here.via(run.at(5 * S), "leaf2", "leaf1") == ["spine1", "spine2"]


@pytest.mark.parametrize(("carrier_ms", "event_ms"), [(0.5, 0.5), (2, 2), (5, 2), (12, 2), (13, 3), (100, 90)])
def test_the_interface_event_is_the_part_of_the_carrier_delay_before_routes_are_cleared(
    carrier_ms: float, event_ms: float
) -> None:
    assert ControlConfig(carrier_delay_ns=int(carrier_ms * MS)).interface_event_ns == event_ms * MS


def test_bfd_ends_a_session_over_a_dark_cable_before_a_slower_daemon_does() -> None:
    here = world(config=ControlConfig(bfd=Bfd(MS, 3)))
    run = here.run([e.CableDown(0, here.cable("leaf1", "spine1"))], until_ms=20)
    assert [(it.up, it.reason) for it in run.sessions] == [(False, "BFD down received")] * 2
    assert all(2 * MS <= it.time_ns <= 3 * MS for it in run.sessions)
    here = world(config=ControlConfig(bfd=Bfd(100 * MS, 3)))
    run = here.run([e.CableDown(0, here.cable("leaf1", "spine1"))], until_ms=500)
    assert [(it.time_ns, it.reason) for it in run.sessions] == [(12 * MS, "Interface down")] * 2


def test_bfd_does_not_count_an_earlier_loss_of_a_cable() -> None:
    here = world(config=ControlConfig(bfd=Bfd(MS, 3), carrier_delay_ns=20 * MS))
    cable = here.cable("leaf1", "spine1")
    events = [e.CableDown(0, cable), e.CableUp(MS, cable), e.CableDown(1_900_000, cable), e.CableUp(3_800_000, cable)]
    assert here.run(events, until_ms=20).sessions == ()


@pytest.mark.parametrize("carrier", [False, True], ids=["dark", "hung"])
def test_neighbours_with_bfd_lose_a_switch_that_boots_within_the_detection_time(carrier: bool) -> None:
    here = world(config=ControlConfig(bfd=Bfd(MS, 3)), leaves=3)
    spine = here.row("spine1")
    run = here.run([e.RouterCrash(0, spine, carrier), e.RouterBoot(MS, spine)], until_ms=20)
    assert [(it.up, it.reason) for it in run.sessions] == [(False, "BFD down received")] * 3
    assert all(2 * MS <= it.time_ns <= 3 * MS for it in run.sessions)


@pytest.mark.parametrize("bfd", [None, Bfd(MS, 3)], ids=["alone", "bfd"])
def test_leaves_do_not_send_to_a_spine_that_booted_before_they_had_cleared_its_routes(bfd: Bfd | None) -> None:
    here = world(config=ControlConfig(bfd=bfd, update_delay_ns=MS, fib_delay_ns=MS // 2), leaves=3)
    spine = here.row("spine1")
    run = here.run([e.RouterCrash(0, spine, carrier=False), e.RouterBoot(7 * MS, spine)], until_ms=5_000)
    assert here.via(run.at(14 * MS), "leaf1", "leaf3") == ["spine2"]
    assert here.via(run.at(S), "leaf1", "leaf3") == ["spine2"]
    assert here.via(run.at(5 * S), "leaf1", "leaf3") == ["spine1", "spine2"]


def test_a_daemon_that_connected_again_keeps_its_session_when_the_old_ones_routes_go() -> None:
    quick = ControlConfig(start_delay_ns=0, boot_spread_ns=0, dial_jitter_ns=0)
    here = world(config=quick)
    spine = here.row("spine1")
    run = here.run([e.RouterCrash(0, spine, carrier=False), e.RouterBoot(4 * MS, spine)], until_ms=30)
    last = {(it.router, it.peer): (it.up, it.time_ns) for it in run.sessions}
    assert len(last) == 4
    assert all(up and at_ns < 12 * MS for up, at_ns in last.values())


@pytest.mark.parametrize(("start_ms", "back"), [(1000, False), (1, True)])
def test_sessions_of_a_dead_daemon_are_back_when_its_start_delay_has_passed(start_ms: int, back: bool) -> None:
    """BGP_INIT_START_TIMER: FRR connects a second after its start."""
    here = world(config=ControlConfig(start_delay_ns=start_ms * MS, boot_spread_ns=0))
    spine = here.row("spine1")
    run = here.run([e.DaemonCrash(0, spine), e.DaemonStart(7 * MS, spine)], until_ms=27)
    assert any(it.up for it in run.sessions) == back


def test_an_advertisement_interval_delays_the_second_change_and_not_the_first() -> None:
    def remote_ns(mrai_ns: int) -> list[int]:
        here = world(config=ControlConfig(mrai_ns=mrai_ns), leaves=3)
        first, second = here.cable("leaf1", "spine1"), here.cable("leaf2", "spine1")
        run = here.run([e.CableDown(20 * S, first), e.CableDown(20 * S + 200 * MS, second)], until_ms=40_000)
        return [
            next(it.time_ns for it in run.routes if it.router == here.row("leaf3") and it.key == here.loopback(leaf))
            - 20 * S
            for leaf in ("leaf1", "leaf2")
        ]

    fast, slow = remote_ns(0), remote_ns(2 * S)
    assert slow[0] == fast[0]
    assert slow[1] >= slow[0] + 2 * S - 100 * MS > fast[1]


def test_a_mac_that_jumps_to_and_fro_raises_an_alarm_at_frrs_count() -> None:
    here = world()
    host = here.plan.endpoints[0]
    events = [
        e.HostSeen(turn * S, host.mac, host.ip, host.vni, here.row(leaf), port)
        for turn, (leaf, port) in enumerate([("leaf2", "m1"), ("leaf1", host.attachments[0][1])] * 4)
    ]
    run = here.run(events, until_ms=10_000)
    assert {(alarm.vni, alarm.mac) for alarm in run.alarms} == {(host.vni, host.mac)}
    assert all("5 times" in alarm.text for alarm in run.alarms)
    assert len({alarm.router for alarm in run.alarms}) == len(run.alarms)
