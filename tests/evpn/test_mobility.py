"""Moves of MACs and bindings: sequence numbers, ties, stickiness, duplicates, ageing (RFC 7432 section 15)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.controlplane.evpn.actions import (
    DuplicateMac,
    FloodListChanged,
    MacsChanged,
    NeighborsChanged,
    Originate,
    StickyMacMoved,
    Withdraw,
)
from fabric.controlplane.evpn.arp import VXLAN_PORT, ArpPacket, NdPacket, NdType, Operation
from fabric.controlplane.evpn.config import DuplicateDetection, VniConfig
from fabric.controlplane.evpn.evpn_attributes import read
from fabric.controlplane.evpn.evpn_nlri import EvpnKey
from fabric.controlplane.evpn.isolation import check_isolation
from fabric.controlplane.evpn.mac import MacKind, NeighborKind
from fabric.controlplane.evpn.vtep import Host, Vtep
from fabric.errors import InputErrors
from tests.evpn.conftest import Mesh, S, leaf

VNI, MAC, IP = 10100, "02:00:00:00:00:11", "10.0.0.11"
MAC2 = "02:00:00:00:00:22"


def _mesh(n: int = 3, **more: object) -> Mesh:
    return Mesh(*(leaf(number, (VniConfig(VNI),), **more) for number in range(1, n + 1)))


def _routes(mesh: Mesh) -> dict[str, tuple[int, ...]]:
    """Type-2 routes -> numbers of the leaves that announce them."""
    found: dict[str, tuple[int, ...]] = {}
    for index, key in mesh.selected:
        if isinstance(key, EvpnKey) and key.mac:
            found[key.text] = (*found.get(key.text, ()), index + 1)
    return found


def _sequence(mesh: Mesh, number: int, mac: str = MAC) -> int:
    key = mesh.vteps[number - 1].vnis[VNI].key(mac)
    return read(mesh.selected[number - 1, key].best.attributes.ext_communities).sequence


def test_every_move_raises_the_sequence_number_by_one() -> None:
    mesh = _mesh(duplicates=DuplicateDetection(enabled=False))
    for move, number in enumerate((1, 2, 3, 1, 2, 1, 3)):
        mesh.say(number, VNI, MAC, IP, "p1", (1 + move) * S)
        assert _routes(mesh)[f"[2]:[0]:[48]:[{MAC}]"] == (number,)
        assert _sequence(mesh, number) == move


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from(("p1", "p2"))), min_size=1, max_size=12))
def test_wherever_a_host_spoke_last_all_switches_send_to(moves: list[tuple[int, str]]) -> None:
    mesh = _mesh(duplicates=DuplicateDetection(enabled=False))
    for at, (number, port) in enumerate(moves):
        for again in range(2):  # once moves the MAC, again the binding
            mesh.say(number, VNI, MAC, IP, port, (10 * at + again + 1) * S)
    last, last_port = moves[-1]
    for number, vtep in enumerate(mesh.vteps, 1):
        where = vtep.vnis[VNI].where(MAC)
        assert where is not None
        assert (where.port, where.vtep) == ((last_port, "") if number == last else ("", f"10.255.1.{last}"))
        assert vtep.vnis[VNI].neighbors[IP].active
    assert _routes(mesh) == {f"[2]:[0]:[48]:[{MAC}]": (last,), f"[2]:[0]:[48]:[{MAC}]:[32]:[{IP}]": (last,)}


def test_of_equal_sequence_numbers_the_lower_vtep_address_wins_rfc7432_15() -> None:
    mesh = _mesh()
    for number in (3, 1, 2):  # no leaf has received the others' routes yet
        mesh.note(number - 1, mesh.vteps[number - 1].host_seen(VNI, MAC, IP, "p1", S))
    mesh.deliver(S)
    assert _routes(mesh) == {f"[2]:[0]:[48]:[{MAC}]": (1,), f"[2]:[0]:[48]:[{MAC}]:[32]:[{IP}]": (1,)}
    assert [vtep.vnis[VNI].macs[MAC].vtep for vtep in mesh.vteps] == ["", "10.255.1.1", "10.255.1.1"]


def test_a_sticky_mac_does_not_move_and_the_operator_hears_of_it_rfc7432_15_2() -> None:
    mesh = _mesh()
    mesh.note(0, mesh.vteps[0].host_seen(VNI, MAC, IP, "p1", S, sticky=True))
    mesh.deliver(S)
    mesh.say(2, VNI, MAC, "", "p7", 2 * S)
    assert mesh.vteps[1].vnis[VNI].macs[MAC].kind is MacKind.REMOTE
    assert ("leaf2", StickyMacMoved(VNI, MAC, "p7", "10.255.1.1")) in mesh.log
    assert mesh.vteps[1].vnis[VNI].macs[MAC].sticky


def test_a_mac_that_becomes_sticky_is_announced_so_with_its_bindings() -> None:
    mesh = _mesh()
    mesh.say(2, VNI, MAC, IP, "p1", S)
    actions = mesh.vteps[1].host_seen(VNI, MAC, IP, "p1", 2 * S, sticky=True)
    route = [
        (key.text, read(one.attributes.ext_communities).sticky)
        for one in actions
        if isinstance(one, Originate)
        for key in one.keys
    ]
    assert route == [(f"[2]:[0]:[48]:[{MAC}]", True), (f"[2]:[0]:[48]:[{MAC}]:[32]:[{IP}]", True)]
    assert mesh.vteps[1].host_seen(VNI, MAC, IP, "p9", 3 * S) == []  # a static entry does not roam
    assert mesh.vteps[1].vnis[VNI].macs[MAC].port == "p1"


def test_a_sticky_announcement_beats_a_higher_sequence() -> None:
    mesh = _mesh(2)
    mesh.note(0, mesh.vteps[0].host_seen(VNI, MAC, "", "p1", S, sticky=True))
    mesh.note(1, mesh.vteps[1].host_seen(VNI, MAC, "", "p1", S))
    mesh.deliver(S)
    assert _routes(mesh) == {f"[2]:[0]:[48]:[{MAC}]": (1,)}


def _flap(mesh: Mesh, moves: int, start_s: int = 1) -> int:
    for move in range(moves):
        mesh.say(1 + move % 2, VNI, MAC, "", "p1", (start_s + move) * S)
    return moves


def test_the_fifth_move_inside_the_window_makes_a_duplicate_that_still_moves() -> None:
    mesh = _mesh(2)
    _flap(mesh, 8)
    alarms = [(name, one) for name, one in mesh.log if isinstance(one, DuplicateMac)]
    assert {name for name, _ in alarms} == {"leaf1", "leaf2"}
    assert all(one.moves == 5 and not one.frozen for _, one in alarms)
    assert mesh.vteps[0].vnis[VNI].macs[MAC].duplicate
    assert (
        max(
            _sequence(mesh, number)
            for number in (1, 2)
            if (number - 1, mesh.vteps[number - 1].vnis[VNI].key(MAC)) in mesh.selected
        )
        == 7
    )


def test_moves_spread_over_more_than_the_window_make_no_duplicate() -> None:
    mesh = _mesh(2)
    for move in range(12):
        mesh.say(1 + move % 2, VNI, MAC, "", "p1", (1 + 100 * move) * S)
    assert not [one for _, one in mesh.log if isinstance(one, DuplicateMac)]


def test_a_frozen_duplicate_is_not_announced_until_the_freeze_ends() -> None:
    freeze = DuplicateDetection(freeze=True, freeze_ns=30 * S)
    mesh = _mesh(2, duplicates=freeze, ageing_ns=None)
    _flap(mesh, 12)
    frozen = [vtep for vtep in mesh.vteps if vtep.vnis[VNI].macs[MAC].duplicate]
    assert frozen
    before = dict(mesh.selected)
    _flap(mesh, 4, start_s=20)
    assert {key for key in mesh.selected if key[1][0] == 2} == {key for key in before if key[1][0] == 2}
    for now in (60 * S, 61 * S):
        for index, vtep in enumerate(mesh.vteps):
            mesh.note(index, vtep.tick(now))
            mesh.deliver(now)
    assert not any(vtep.vnis[VNI].macs[MAC].duplicate for vtep in mesh.vteps)
    assert len(_routes(mesh)[f"[2]:[0]:[48]:[{MAC}]"]) == 1


def test_an_operator_can_clear_a_duplicate() -> None:
    mesh = _mesh(2, duplicates=DuplicateDetection(freeze=True), ageing_ns=None)
    _flap(mesh, 12)
    for index, vtep in enumerate(mesh.vteps):
        mesh.note(index, vtep.clear_duplicate(VNI, MAC, 40 * S))
        mesh.deliver(40 * S)
        assert vtep.clear_duplicate(VNI, MAC, 41 * S) == []
    assert len(_routes(mesh)[f"[2]:[0]:[48]:[{MAC}]"]) == 1


def test_a_silent_host_ages_out_and_its_binding_waits_inactive() -> None:
    mesh = _mesh(2, ageing_ns=10 * S)
    mesh.say(1, VNI, MAC, IP, "p1", S)
    mesh.note(0, mesh.vteps[0].host_seen(VNI, MAC, "", "p1", 6 * S))
    assert mesh.vteps[0].next_deadline_ns() == 11 * S
    assert mesh.vteps[0].tick(11 * S) == []  # it sent at 6 s
    assert mesh.vteps[0].next_deadline_ns() == 16 * S
    actions = mesh.vteps[0].tick(16 * S)
    (withdrawn,) = [one for one in actions if isinstance(one, Withdraw)]
    assert [key.text for key in withdrawn.keys] == [f"[2]:[0]:[48]:[{MAC}]:[32]:[{IP}]", f"[2]:[0]:[48]:[{MAC}]"]
    assert MacsChanged(VNI, (MAC,), None) in actions
    mesh.note(0, actions)
    mesh.deliver(16 * S)
    assert not mesh.vteps[0].vnis[VNI].neighbors[IP].active
    assert mesh.vteps[0].next_deadline_ns() is None
    assert MAC not in mesh.vteps[1].vnis[VNI].macs
    mesh.say(1, VNI, MAC, "", "p1", 20 * S)  # any frame restores the binding
    assert mesh.vteps[1].vnis[VNI].neighbors[IP].mac == MAC


def test_an_unconfirmed_binding_times_out_and_its_mac_stays() -> None:
    mesh = _mesh(2, ageing_ns=None, neighbor_timeout_ns=60 * S)
    mesh.say(1, VNI, MAC, IP, "p1", S)
    mesh.say(1, VNI, MAC, IP, "p1", 31 * S)
    for now in (61 * S, 91 * S):
        mesh.note(0, mesh.vteps[0].tick(now))
        mesh.deliver(now)
    assert _routes(mesh) == {f"[2]:[0]:[48]:[{MAC}]": (1,)}
    assert mesh.vteps[1].vnis[VNI].neighbors == {}


def test_break_before_make_starts_at_sequence_zero() -> None:
    mesh = _mesh()
    mesh.say(1, VNI, MAC, IP, "p1", S)
    mesh.note(0, mesh.vteps[0].detach("p1", 2 * S))
    mesh.deliver(2 * S)
    mesh.say(2, VNI, MAC, IP, "p1", 3 * S)
    assert _sequence(mesh, 2) == 0


def test_an_address_that_takes_another_mac_continues_the_old_ones_sequence() -> None:
    mesh = _mesh()
    mesh.say(1, VNI, MAC, IP, "p1", S)
    mesh.say(1, VNI, MAC2, IP, "p2", 2 * S)
    assert _routes(mesh) == {
        f"[2]:[0]:[48]:[{MAC}]": (1,),
        f"[2]:[0]:[48]:[{MAC2}]": (1,),
        f"[2]:[0]:[48]:[{MAC2}]:[32]:[{IP}]": (1,),
    }
    assert _sequence(mesh, 1, MAC2) == 1
    for vtep in mesh.vteps:
        assert vtep.vnis[VNI].neighbors[IP].mac == MAC2


def test_two_switches_that_claim_one_mac_leave_the_other_when_one_withdraws() -> None:
    mesh = _mesh(3)
    for number in (1, 2):
        mesh.note(number - 1, mesh.vteps[number - 1].host_seen(VNI, MAC, IP, "p1", S))
    third = mesh.vteps[2]
    assert (
        len([one for _, one in mesh.waiting if isinstance(one, Originate)]) == 2
    )  # neither has received the other's route
    mesh.deliver(S)
    assert third.vnis[VNI].macs[MAC].vtep == "10.255.1.1"
    mesh.note(0, mesh.vteps[0].host_gone(VNI, MAC, 2 * S))
    mesh.deliver(2 * S)
    assert third.vnis[VNI].where(MAC) is None  # leaf2 withdrew its route when it lost; its host has to send again


def test_flood_lists_follow_type_3_routes() -> None:
    mesh = _mesh(3)
    assert mesh.vteps[0].vnis[VNI].flood_vteps() == ("10.255.1.2", "10.255.1.3")
    mesh.note(1, mesh.vteps[1].remove_vni(VNI, S))
    mesh.deliver(S)
    assert mesh.vteps[0].vnis[VNI].flood_vteps() == ("10.255.1.3",)
    assert ("leaf1", FloodListChanged(VNI, ("10.255.1.3",))) in mesh.log
    rib = [((key,), selection) for (index, key), selection in mesh.selected.items() if index != 1]
    mesh.note(1, mesh.vteps[1].add_vni(VniConfig(VNI, ports=("p1",)), 2 * S, rib))
    mesh.deliver(2 * S)
    assert [vtep.vnis[VNI].flood_vteps() for vtep in mesh.vteps[:2]] == [
        ("10.255.1.2", "10.255.1.3"),
        ("10.255.1.1", "10.255.1.3"),
    ]


def test_a_vni_that_comes_later_knows_what_was_announced_before() -> None:
    mesh = _mesh(2)
    mesh.say(1, VNI, MAC, IP, "p1", S)
    late = Vtep(leaf(3, (VniConfig(7),)))
    rib = [((key,), selection) for (_, key), selection in mesh.selected.items()]
    actions = late.add_vni(VniConfig(VNI), 2 * S, rib)
    assert MacsChanged(VNI, (MAC,), MacKind.REMOTE, "", "10.255.1.1") in actions
    assert NeighborsChanged(VNI, ((IP, MAC),), NeighborKind.REMOTE, "10.255.1.1") in actions
    assert [one for one in actions if isinstance(one, FloodListChanged)] == [
        FloodListChanged(VNI, ("10.255.1.1", "10.255.1.2"))
    ]
    assert check_isolation([*mesh.vteps, late]).proved


def test_many_hosts_of_one_port_are_announced_in_one_block() -> None:
    vtep = Vtep(leaf(1, (VniConfig(VNI, ports=("p1",)),)))
    hosts = [Host(VNI, f"02:00:00:00:00:{n:02x}", f"10.0.0.{n}", "p1") for n in range(1, 33)]
    actions = vtep.hosts_seen(hosts, S)
    originated = [one for one in actions if isinstance(one, Originate)]
    assert [len(one.keys) for one in originated] == [64]  # MAC and MAC+IP routes
    assert [len(one.macs) for one in actions if isinstance(one, MacsChanged)] == [32]
    assert [len(one.bindings) for one in actions if isinstance(one, NeighborsChanged)] == [32]
    assert vtep.hosts_seen(hosts, 2 * S) == []


def test_a_port_belongs_to_one_vni() -> None:
    vtep = Vtep(leaf(1, (VniConfig(VNI, ports=("p1",)), VniConfig(7))))
    with pytest.raises(ValueError, match="port p1 of leaf1 is in VNI 10100"):
        vtep.attach(7, "p1")
    with pytest.raises(InputErrors, match="exists already"):
        vtep.add_vni(VniConfig(7), S)
    with pytest.raises(InputErrors, match="port p1 is in VNI 10100"):
        vtep.add_vni(VniConfig(8, ports=("p1",)), S)


def test_all_problems_of_a_configuration_are_reported_together() -> None:
    vnis = (
        VniConfig(0),
        VniConfig(5, ports=("p1",), gateway="10.0.0.1/24"),
        VniConfig(5, ports=("p1",), import_targets=("nonsense",), rd="x", export_targets=("y",)),
    )
    with pytest.raises(InputErrors) as raised:
        Vtep(leaf(1, vnis))
    places = [problem.path for problem in raised.value.problems]
    assert places == [
        "vnis",
        "vnis",
        "vnis.0",
        "vnis.5.gateway",
        "vnis.5.rd",
        "vnis.5.import_targets",
        "vnis.5.export_targets",
    ]
    assert all(problem.hint for problem in raised.value.problems)


def test_the_last_sequence_number_has_no_successor_and_breaks_nothing() -> None:
    mesh = _mesh(2)
    table = mesh.vteps[0].vnis[VNI]
    route = table.announcement(0xFFFF_FFFF)
    mesh.note(0, [Originate((table.key(MAC),), route.attributes, table.address_packed, route.payload)])
    mesh.deliver(S)
    mesh.note(1, mesh.vteps[1].host_seen(VNI, MAC, IP, "p1", S))
    assert _sequence_in(mesh.log[-1][1]) == 0xFFFF_FFFF


def _sequence_in(action: object) -> int:
    assert isinstance(action, Originate)
    return read(action.attributes.ext_communities).sequence


def test_ageing_runs_one_clock_per_mac_however_often_it_moves() -> None:
    mesh = _mesh(2, ageing_ns=100 * S, duplicates=DuplicateDetection(enabled=False))
    _flap(mesh, 20)
    for number in (1, 2):
        vtep, ticks = mesh.vteps[number - 1], 0
        while (due := vtep.next_deadline_ns()) is not None:
            mesh.note(number - 1, vtep.tick(due))
            mesh.deliver(due)
            ticks += 1
        assert ticks <= 12  # one for each time it came, and one that aged it out
        assert MAC not in vtep.vnis[VNI].macs or vtep.vnis[VNI].macs[MAC].kind is MacKind.REMOTE


def test_a_binding_without_a_mac_route_places_its_mac_until_it_goes() -> None:
    mesh = _mesh(2)
    table = mesh.vteps[0].vnis[VNI]
    route = table.announcement(0, with_ip=True)
    key = table.key(MAC, IP)
    mesh.note(0, [Originate((key,), route.attributes, table.address_packed, route.payload)])
    mesh.deliver(S)
    where = mesh.vteps[1].vnis[VNI].where(MAC)
    assert where is not None
    assert (where.vtep, where.only_by_neighbor) == ("10.255.1.1", True)
    mesh.note(0, [Withdraw((key,))])
    mesh.deliver(2 * S)
    assert MAC not in mesh.vteps[1].vnis[VNI].macs


def test_a_binding_with_an_older_sequence_number_is_not_followed() -> None:
    mesh = _mesh(3)
    old, new = mesh.vteps[0].vnis[VNI], mesh.vteps[1].vnis[VNI]
    for index, table, sequence, ip in ((1, new, 3, ""), (0, old, 1, IP)):
        route = table.announcement(sequence, with_ip=bool(ip))
        mesh.note(index, [Originate((table.key(MAC, ip),), route.attributes, table.address_packed, route.payload)])
        mesh.deliver(S)
    assert mesh.vteps[2].vnis[VNI].macs[MAC].vtep == "10.255.1.2"
    assert IP not in mesh.vteps[2].vnis[VNI].neighbors


def test_a_mac_frozen_by_a_remote_move_stays_where_it_was_and_follows_when_it_thaws() -> None:
    mesh = _mesh(2, duplicates=DuplicateDetection(max_moves=4, freeze=True, freeze_ns=60 * S), ageing_ns=None)
    _flap(mesh, 5)  # leaf2 counts to it, away, to it, away
    frozen = mesh.vteps[1]
    assert frozen.vnis[VNI].macs[MAC].duplicate
    assert frozen.vnis[VNI].macs[MAC].kind is MacKind.LOCAL
    assert not frozen.vnis[VNI].macs[MAC].announced
    due = frozen.next_deadline_ns()
    assert due is not None
    mesh.note(1, frozen.tick(due))
    mesh.deliver(due)
    assert not frozen.vnis[VNI].macs[MAC].duplicate
    assert frozen.vnis[VNI].macs[MAC].vtep == "10.255.1.1"
    assert len(_routes(mesh)[f"[2]:[0]:[48]:[{MAC}]"]) == 1


def test_a_gratuitous_arp_that_crossed_makes_a_binding_that_waits_for_its_mac() -> None:
    mesh = _mesh(2)
    packet = ArpPacket(Operation.REQUEST, MAC, IP, "00:00:00:00:00:00", IP)
    _, actions = mesh.vteps[1].arp(VNI, packet, VXLAN_PORT, S)
    assert not [one for one in actions if isinstance(one, Originate)]
    neighbor = mesh.vteps[1].vnis[VNI].neighbors[IP]
    assert (neighbor.kind, neighbor.active) == (NeighborKind.LOCAL, False)
    assert mesh.vteps[1].vnis[VNI].macs[MAC].kind is MacKind.AUTO
    mesh.say(1, VNI, MAC, IP, "p1", 2 * S)
    assert neighbor.kind is NeighborKind.REMOTE
    assert mesh.vteps[1].vnis[VNI].macs[MAC].vtep == "10.255.1.1"


def test_a_host_that_turns_router_is_announced_anew() -> None:
    vtep = Vtep(leaf(1, (VniConfig(VNI, ports=("p1",)),)))
    flags = []
    for router in (False, True, True):
        advert = NdPacket(
            NdType.NEIGHBOR_ADVERTISEMENT,
            "2001:db8::1",
            "ff02::1",
            "2001:db8::1",
            MAC,
            "33:33:00:00:00:01",
            router=router,
        )
        actions = vtep.arp(VNI, advert, "p1", S)[1]
        flags.append(
            [
                read(one.attributes.ext_communities).nd_flags
                for one in actions
                if isinstance(one, Originate)
                if any(key.ip for key in one.keys)
            ]
        )
    assert flags == [[0], [1], []]
