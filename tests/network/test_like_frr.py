"""Behaviour of FRR 8.4 observed in namespaces: sessions, moves, drains. tests/lab compares some of it with real FRR."""

from __future__ import annotations

import json

import pytest

from fabric.controlplane.bgp.afi import IPV4_UNICAST
from fabric.controlplane.evpn.evpn_nlri import EVPN
from fabric.controlplane.evpn.mac import MacKind
from fabric.controlplane.network import events as e
from fabric.controlplane.network.config import Bfd, ControlConfig, Design
from fabric.show import bgp as frr_bgp
from fabric.wire.iana import Community
from tests.network.test_events import FRR
from tests.network.worlds import MS, World, world

S = 1000 * MS


def states(here: World, node: str, at_ns: int, events: list[e.ControlEvent]) -> dict[str, str]:
    """State of every neighbour of a switch in `show bgp summary`, by the neighbour's name."""
    network = here.network(events, until_ms=at_ns / MS)
    switch = network.switches[here.row(node)]
    peers = frr_bgp.summary(switch.speaker, network.now_ns)["ipv4Unicast"]["peers"]
    names = {switch.name_of(here.plan.interfaces[row]): here.plan.peer(row).name for row in switch.router.interfaces}
    return {names[address]: peer["state"] for address, peer in peers.items()}


def last_reset(here: World, node: str, at_ns: int, events: list[e.ControlEvent], towards: str) -> tuple[str, int]:
    network = here.network(events, until_ms=at_ns / MS)
    switch = network.switches[here.row(node)]
    [name] = [
        switch.name_of(here.plan.interfaces[row])
        for row in switch.router.interfaces
        if here.plan.peer(row).name == towards
    ]
    found = frr_bgp.neighbors(switch.speaker, network.now_ns)[name]
    return found["lastResetDueTo"], found["lastResetCode"]


# -- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("at_ms", "state"), [(10, "Established"), (300, "Idle"), (1500, "Active"), (25_000, "Active")])
def test_a_session_without_a_link_is_idle_for_a_second_and_active_then(at_ms: int, state: str) -> None:
    here = world()
    lost = [e.CableDown(0, here.cable("leaf1", "spine1"))]
    assert states(here, "leaf1", at_ms * MS, lost) == {"spine1": state, "spine2": "Established"}


def test_who_waits_for_a_link_says_so_as_frr_does() -> None:
    here = world()
    lost: list[e.ControlEvent] = [e.CableDown(0, here.cable("leaf1", "spine1"))]
    assert last_reset(here, "leaf1", 5 * S, lost, "spine1") == ("Waiting for NHT", 27)
    here = world(config=ControlConfig(unnumbered=True))
    assert last_reset(here, "leaf1", 5 * S, lost, "spine1") == ("Waiting for NHT", 27)
    assert states(here, "leaf1", 5 * S, lost)["spine1"] == "Idle"  # no address, so not even an attempt


def test_a_shutdown_is_idle_admin_at_one_end_and_active_at_the_other() -> None:
    here = world()
    shut: list[e.ControlEvent] = [e.Shutdown(0, here.row("spine2"))]
    assert set(states(here, "spine2", 5 * S, shut).values()) == {"Idle (Admin)"}
    assert states(here, "leaf1", 5 * S, shut) == {"spine1": "Established", "spine2": "Active"}
    assert last_reset(here, "spine2", 5 * S, shut, "leaf1") == ("Admin. shutdown", 11)
    assert last_reset(here, "leaf1", 5 * S, shut, "spine2") == ("BGP Notification received", 13)
    # and a cable that comes back opens nothing
    cable = here.cable("leaf1", "spine2")
    flap = [*shut, e.CableDown(2 * S, cable), e.CableUp(4 * S, cable)]
    assert states(here, "leaf1", 9 * S, flap)["spine2"] != "Established"


def test_a_session_that_bfd_ended_is_tried_again_and_comes_back_with_the_frames() -> None:
    here = world(config=ControlConfig(bfd=Bfd()))
    cable = here.cable("leaf1", "spine1")
    silent: list[e.ControlEvent] = [e.CableSilent(0, cable), e.CableSilenceEnded(6 * S, cable)]
    assert states(here, "leaf1", 4 * S, silent)["spine1"] == "Connect"
    assert states(here, "leaf1", 20 * S, silent)["spine1"] == "Established"


def test_a_daemon_that_starts_beside_a_dark_cable_does_not_dial() -> None:
    here = world()
    row = here.row("leaf1")
    events = [e.CableDown(0, here.cable("leaf1", "spine1")), e.DaemonCrash(S, row), e.DaemonStart(2 * S, row)]
    assert states(here, "leaf1", 5 * S, events) == {"spine1": "Active", "spine2": "Established"}
    assert last_reset(here, "leaf1", 5 * S, events, "spine1") == ("Waiting for NHT", 27)


def test_an_internal_neighbour_that_boots_within_the_hold_time_is_taken_back() -> None:
    here = world(config=ControlConfig(design=Design.IBGP_RR), leaves=3)
    spine = here.row("spine1")
    run = here.run([e.RouterCrash(0, spine, carrier=False), e.RouterBoot(4 * S, spine)], until_ms=30_000)
    assert here.via(run.at(3 * S), "leaf1", "leaf3") == ["spine2"]
    assert here.via(run.at(30 * S), "leaf1", "leaf3") == ["spine1", "spine2"]


# -- iBGP over a cable without carrier ---------------------------------------------------------------------------------


def test_an_internal_session_outlives_its_cable_and_its_next_hops_do_not() -> None:
    here = world(config=ControlConfig(design=Design.IBGP_RR))
    lost: list[e.ControlEvent] = [e.CableDown(0, here.cable("leaf1", "spine1"))]
    assert states(here, "leaf1", 3 * S, lost)["spine1"] == "Established"
    assert last_reset(here, "leaf1", 3 * S, lost, "spine1") == ("Waiting for NHT", 27)
    network = here.network(lost, until_ms=3_000)
    assert here.via(network, "leaf1", "leaf2") == ["spine2"]
    speaker = network.switches[here.row("leaf1")].speaker
    assert len(speaker.candidates(IPV4_UNICAST, here.loopback("leaf2"))) == 2  # one cannot be reached
    run = here.run(lost, until_ms=20_000)
    downs = [change.time_ns for change in run.sessions if not change.up]
    assert len(downs) == 2
    assert all(5 * S < at_ns < 9.1 * S for at_ns in downs)
    reroutes = [change.time_ns for change in run.routes if change.router == here.row("leaf2")]
    assert max(reroutes) < 130 * MS  # by next hop tracking, not by the timer
    assert states(here, "leaf1", 20 * S, lost)["spine1"] == "Active"


def test_an_internal_session_over_a_short_flap_is_never_lost() -> None:
    here = world(config=ControlConfig(design=Design.IBGP_RR))
    cable = here.cable("leaf1", "spine1")
    run = here.run([e.CableDown(0, cable), e.CableUp(3 * S, cable)], until_ms=30_000)
    assert run.sessions == ()
    assert here.via(run.at(10 * S), "leaf1", "leaf2") == ["spine1", "spine2"]


@pytest.mark.parametrize(
    "config",
    [ControlConfig(design=Design.IBGP_RR, unnumbered=True), ControlConfig(), ControlConfig(unnumbered=True)],
    ids=["internal by interface", "external", "external by interface"],
)
def test_other_sessions_end_with_their_cable(config: ControlConfig) -> None:
    here = world(config=config)
    run = here.run([e.CableDown(0, here.cable("leaf1", "spine1"))])
    assert [change.time_ns for change in run.sessions] == [config.carrier_delay_ns] * 2


def test_bfd_ends_an_internal_session_over_a_dark_cable_before_the_hold_timer() -> None:
    here = world(config=ControlConfig(design=Design.IBGP_RR, bfd=Bfd()))
    run = here.run([e.CableDown(0, here.cable("leaf1", "spine1"))], until_ms=5_000)
    assert [600 * MS <= change.time_ns <= 900 * MS for change in run.sessions if not change.up] == [True, True]


# -- moves -------------------------------------------------------------------------------------------------------------


def test_the_old_leaf_hears_of_a_move_when_frr_does() -> None:
    file = FRR / "2x2" / "run-report.json"
    report = json.loads(file.read_text())
    theirs = [
        report[move]["events"][old][0][0] - report[move]["events"][new][0][0]
        for move, old, new in (("move1", "leaf1", "leaf2"), ("move2", "leaf2", "leaf1"))
    ]
    here = world()
    guest = here.plan.endpoints[0]
    run = here.run([e.HostSeen(0, guest.mac, guest.ip, guest.vni, here.row("leaf2"), "m1")])
    at = {change.router: change.time_ns for change in run.locations if change.mac == guest.mac}
    later_s = (at[here.row("leaf1")] - at[here.row("leaf2")]) / S
    assert [later_s, later_s] == pytest.approx(theirs, rel=0.1)


def test_a_leaf_believes_what_it_heard_before_it_announces_anything_from_it() -> None:
    """One update delay earlier: FRR imports on arrival, and runs the decision process later."""
    here = world()
    guest = here.plan.endpoints[0]
    network = here.network([e.HostSeen(0, guest.mac, guest.ip, guest.vni, here.row("leaf2"), "m1")], until_ms=117)
    leaf1 = network.switches[here.row("leaf1")]
    assert leaf1.vtep is not None
    assert leaf1.vtep.vnis[guest.vni].macs[guest.mac].kind is MacKind.REMOTE
    own = [
        path
        for keys, selection in leaf1.speaker.loc_rib(EVPN)
        for path in (selection.best,)
        if path.source.local and any(guest.mac in str(getattr(key, "mac", "")) for key in keys)
    ]
    assert own  # its own route is still the selected one


def test_a_host_that_moved_twice_left_and_came_back_is_unknown_where_its_old_number_is_remembered() -> None:
    here = world(leaves=3)
    guest = here.plan.endpoints[0]

    def seen(at_s: int, leaf: str, port: str) -> list[e.ControlEvent]:
        return [
            e.HostSeen((at_s + more) * S, guest.mac, guest.ip, guest.vni, here.row(leaf), port) for more in (0, 1, 3)
        ]

    network = here.network(
        [
            *seen(1, "leaf2", "m1"),
            *seen(10, "leaf1", "m2"),
            e.HostGone(20 * S, guest.mac, guest.vni, here.row("leaf1")),
            *seen(30, "leaf3", "m3"),
        ],
        until_ms=40_000,
    )
    tables = [switch.vtep.vnis[guest.vni] for switch in network.switches if switch.vtep is not None]
    places = [table.macs[guest.mac] for table in tables]
    assert [entry.kind for entry in places] == [MacKind.AUTO, MacKind.REMOTE, MacKind.LOCAL]
    assert (places[0].local_sequence, places[0].remote_sequence, places[2].local_sequence) == (2, 1, 0)


def test_a_host_whose_new_leaf_starts_again_is_found_there_with_a_number_from_0() -> None:
    """The withdrawal takes the number of the move with it, although a binding of its own keeps the MAC on leaf1."""
    here = world(leaves=3)
    guest, row = here.plan.endpoints[0], here.row("leaf2")
    heard = e.HostSeen(1 * S, guest.mac, guest.ip, guest.vni, row, "m1")
    events: list[e.ControlEvent] = [heard, e.DaemonCrash(5 * S, row)]
    network = here.network(events, until_ms=7_000)
    vtep = network.switches[here.row("leaf1")].vtep
    assert vtep is not None
    entry = vtep.vnis[guest.vni].macs[guest.mac]
    assert (entry.kind, entry.remote_sequence, entry.neighbors) == (MacKind.AUTO, 0, (guest.ip,))
    network = here.network([*events, e.DaemonStart(8 * S, row)], until_ms=20_000)
    tables = [switch.vtep.vnis[guest.vni] for switch in network.switches if switch.vtep is not None]
    places = [table.macs[guest.mac] for table in tables]
    assert [entry.kind for entry in places] == [MacKind.REMOTE, MacKind.LOCAL, MacKind.REMOTE]
    assert [table.neighbors[guest.ip].vtep for table in tables] == [tables[1].address, "", tables[1].address]
    assert places[1].left_in_tunnel == tables[0].address  # the kernel's entry outlives the daemon


def test_a_switch_that_lost_its_power_has_no_old_entry_in_its_tunnels() -> None:
    here = world(leaves=3)
    guest, row = here.plan.endpoints[0], here.row("leaf2")
    heard = e.HostSeen(1 * S, guest.mac, guest.ip, guest.vni, row, "m1")
    crash: list[e.ControlEvent] = [e.RouterCrash(5 * S, row, carrier=False), e.RouterBoot(8 * S, row)]
    network = here.network([heard, *crash], until_ms=20_000)
    vtep = network.switches[row].vtep
    assert vtep is not None
    entry = vtep.vnis[guest.vni].macs[guest.mac]
    assert (entry.kind, entry.left_in_tunnel) == (MacKind.LOCAL, "")


# -- drains ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("design", "external"), [(Design.EBGP, True), (Design.IBGP_RR, False)])
def test_a_drained_routers_own_copies_are_marked_and_unmarked(design: Design, external: bool) -> None:
    here = world(config=ControlConfig(design=design))
    row = here.row("spine1")
    for events, marked in (
        ([e.Drain(0, row, on=True)], True),
        ([e.Drain(0, row, on=True), e.Drain(2 * S, row, on=False)], False),
    ):
        speaker = here.network(events, until_ms=4_000).switches[row].speaker
        for family in (IPV4_UNICAST, EVPN):
            for _, selection in speaker.loc_rib(family):
                its, source = selection.best.attributes, selection.best.source
                own = source.local and family is IPV4_UNICAST
                expected = marked and (own or (external and not source.local))
                assert (its.local_pref == 0) == expected, (family.name, source)
                assert (Community.GRACEFUL_SHUTDOWN in its.communities) == expected


# -- causes ------------------------------------------------------------------------------------------------------------


def test_two_events_within_each_others_delays_are_credited_with_their_own_effects() -> None:
    here = world(leaves=4, spines=4)
    one = e.CableDown(0, here.cable("leaf1", "spine1"))
    two = e.CableDown(20 * MS, here.cable("leaf3", "spine2"))
    both = here.run([one, two]).convergence
    for alone, together in zip([*here.run([one]).convergence, *here.run([two]).convergence], both, strict=True):
        assert together.event == alone.event
        assert together.convergence_ns == alone.convergence_ns
        assert together.first_reaction_ns == alone.first_reaction_ns
        assert (together.sessions_lost, together.routers) == (alone.sessions_lost, alone.routers)


def test_a_hold_timer_is_put_down_to_the_silence_and_not_to_what_happened_meanwhile() -> None:
    here = world(leaves=3)
    silent = e.CableSilent(0, here.cable("leaf1", "spine1"))
    drain = e.Drain(2 * S, here.row("spine2"), on=True)
    first, second = here.run([silent, drain], until_ms=15_000).convergence
    assert (first.sessions_lost, second.sessions_lost) == (2, 0)
    assert first.convergence_ns is not None
    assert 6 * S < first.convergence_ns < 9.2 * S
    assert second.convergence_ns is not None
    assert second.convergence_ns < S


def test_keepalives_are_put_down_to_nothing() -> None:
    here = world()
    [moved] = here.run([e.Drain(0, here.row("spine1"), on=True)], until_ms=500).convergence
    [later] = here.run([e.Drain(0, here.row("spine1"), on=True)], until_ms=60_000).convergence
    assert (moved.messages, moved.updates) == (later.messages, later.updates)
