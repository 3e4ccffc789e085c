"""Routes that FRR would not send: no failure, no leftover state, no import of invalid routes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.controlplane.bgp.actions import Change
from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.bgp.rib import Path, Selection, Source
from fabric.controlplane.evpn.addresses import is_group, mac_packed
from fabric.controlplane.evpn.config import VniConfig, VrfConfig
from fabric.controlplane.evpn.evpn_attributes import ENCAPSULATION_VXLAN, Facts, communities, mobility, router_mac
from fabric.controlplane.evpn.evpn_nlri import EvpnKey, Payload, mac_ip_key, multicast_key, prefix_key
from fabric.controlplane.evpn.rd import auto_rd
from fabric.controlplane.evpn.targets import auto_target
from fabric.controlplane.evpn.vtep import Vtep
from fabric.show.evpn import arp_cache, evpn_mac, evpn_vni, kernel_fdb, kernel_neighbors
from tests.evpn.conftest import S, leaf

VNI = 10100
PEER = Source("spine1", 65000, True, 1, b"\x0a\0\0\1")
RD = auto_rd("10.255.1.9", 2)
HERE, THERE = b"\x0a\xff\x01\x01", b"\x0a\xff\x01\x09"


def _vtep() -> Vtep:
    vtep = Vtep(leaf(1, (VniConfig(VNI, "blue"),), vrfs=(VrfConfig("blue", 5000),), router_mac="02:00:00:00:99:01"))
    vtep.host_seen(VNI, "02:00:00:00:00:01", "10.0.0.1", "p1", S)
    return vtep


def _selection(attributes: Attributes, next_hop: bytes = THERE, payload: object = None) -> Selection:
    path = Path(PEER, attributes, next_hop, payload, 0)
    return Selection(path, (path,))


rds = st.sampled_from((RD, auto_rd("10.255.1.8", 2), auto_rd("10.255.1.9", 3)))
macs = st.sampled_from(("02:00:00:00:00:01", "02:00:00:00:00:02", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00"))
ips = st.sampled_from(("", "10.0.0.1", "10.0.0.2", "2001:db8::1", "0.0.0.0"))  # noqa: S104  no address
keys = st.one_of(
    st.builds(mac_ip_key, rds, macs, ips, st.integers(0, 2)),
    st.builds(multicast_key, rds, st.sampled_from(("10.255.1.9", "2001:db8::9"))),
    st.builds(lambda rd, length: prefix_key(rd, "0.0.0.0", length), rds, st.integers(0, 32)),  # noqa: S104  no address
    st.builds(lambda rd: prefix_key(rd, "::", 0), rds),
    st.just(EvpnKey(b"\x04" + RD + bytes(15))),
)
targets = st.sampled_from((auto_target(65109, VNI), auto_target(65109, 5000), auto_target(1, 77)))
kinds = st.one_of(
    targets,
    st.just(ENCAPSULATION_VXLAN),
    st.just(router_mac("02:00:00:00:99:09")),
    st.builds(lambda n, sticky: mobility(n, sticky=sticky), st.sampled_from((0, 1, 2, 0xFFFF_FFFF)), st.booleans()),
    st.binary(min_size=8, max_size=8),
)
attribute_sets = st.builds(
    lambda communities_given, pmsi, local_pref: Attributes(
        ext_communities=tuple(communities_given), pmsi_tunnel=pmsi, local_pref=local_pref
    ),
    st.lists(kinds, max_size=5),
    st.one_of(st.none(), st.binary(max_size=22), st.just(b"\x00\x06\x00\x27\x74\x0a\xff\x01\x09")),
    st.none() | st.integers(0, 9),
)
selections = st.builds(
    _selection,
    attribute_sets,
    st.sampled_from((THERE, HERE, b"", bytes(16), bytes(32), b"\x0a\xff\x01\x08")),
    st.one_of(st.none(), st.builds(Payload, st.lists(st.integers(0, 0xFFFFFF), max_size=2).map(tuple))),
)


@given(st.lists(st.tuples(keys, st.none() | selections), max_size=12), st.booleans())
@settings(max_examples=400, deadline=None)
def test_any_selected_routes_are_taken_in_and_given_back(
    steps: list[tuple[EvpnKey, Selection | None]], moves: bool
) -> None:
    vtep, held = _vtep(), {}
    for at, (key, new) in enumerate(steps, 2):
        old = held.pop(key, None)
        if new is not None:
            held[key] = new
        if old is not None or new is not None:
            vtep.routes_changed([Change((bytes(key),), old, new)], at * S)  # keys without a view, too
        if moves:
            vtep.host_seen(VNI, "02:00:00:00:00:02", "10.0.0.2", "p2", at * S)
        vtep.lookup("blue", "10.0.0.2")
        for view in (evpn_mac, arp_cache, evpn_vni, kernel_fdb, kernel_neighbors):
            view(vtep)
    for key, old in held.items():
        vtep.routes_changed([Change((key,), old, None)], 99 * S)
    table, vrf = vtep.vnis[VNI], vtep.vrfs["blue"]
    assert (table.imports, table.multicast, table.flood_vteps(), vrf.imports) == ({}, {}, (), {})
    assert not [entry for entry in table.macs.values() if entry.vtep]
    assert not [entry for entry in table.neighbors.values() if entry.vtep]


WANTED = (ENCAPSULATION_VXLAN, auto_target(65109, VNI))
MPLS = b"\x03\x0c" + bytes(4) + b"\x00\x0a"


@pytest.mark.parametrize(
    ("communities_given", "next_hop", "taken"),
    [
        (WANTED, THERE, True),
        (WANTED[1:], THERE, True),  # no encapsulation named: VXLAN by configuration
        ((MPLS, WANTED[1]), THERE, False),
        (WANTED, HERE, False),
        (WANTED, b"", False),
        (WANTED[:1], THERE, False),
        ((WANTED[0], auto_target(65109, 7)), THERE, False),
    ],
)
def test_only_vxlan_routes_of_others_for_a_vni_of_this_switch_are_taken(
    communities_given: tuple[bytes, ...], next_hop: bytes, taken: bool
) -> None:
    vtep = _vtep()
    key = mac_ip_key(RD, "02:00:00:00:00:02")
    vtep.routes_changed(
        [Change((key,), None, _selection(Attributes(ext_communities=communities_given), next_hop))], 2 * S
    )
    assert ("02:00:00:00:00:02" in vtep.vnis[VNI].macs) is taken


@pytest.mark.parametrize("pmsi", [None, b"", b"\x00\x06\x00\x27\x74", b"\x00\x03\x00\x27\x74\x0a\xff\x01\x09"])
def test_nothing_is_flooded_by_a_tunnel_that_is_no_ingress_replication(pmsi: bytes | None) -> None:
    vtep = _vtep()
    key = multicast_key(RD, "10.255.1.9")
    vtep.routes_changed([Change((key,), None, _selection(Attributes(ext_communities=WANTED, pmsi_tunnel=pmsi)))], 2 * S)
    assert vtep.vnis[VNI].flood_vteps() == ()


def test_a_change_of_the_underlays_path_alone_is_not_looked_at() -> None:
    vtep = _vtep()
    attributes = Attributes(ext_communities=WANTED)
    other = Source("spine2", 65000, True, 2, b"\x0a\0\0\2")
    again = Path(other, Attributes(ext_communities=WANTED), THERE, None, 5)

    class Untouchable(tuple[bytes, ...]):
        __slots__ = ()

        def __iter__(self) -> object:  # type: ignore[override]
            raise AssertionError("looked at")

    change = Change(Untouchable((b"\x02",)), _selection(attributes), Selection(again, (again,)))
    assert vtep.routes_changed([change], 2 * S) == []


def test_a_route_of_two_distinguishers_stays_while_one_is_left() -> None:
    vtep, mac = _vtep(), "02:00:00:00:00:02"
    communities_given = _selection(Attributes(ext_communities=communities(Facts((WANTED[1],), 8, 1))))
    worse = _selection(Attributes(ext_communities=WANTED), b"\x0a\xff\x01\x08")
    one, other = mac_ip_key(RD, mac), mac_ip_key(auto_rd("10.255.1.8", 2), mac)
    table = vtep.vnis[VNI]
    vtep.routes_changed([Change((one,), None, communities_given), Change((other,), None, worse)], 2 * S)
    assert (table.macs[mac].vtep, table.macs[mac].remote_sequence) == ("10.255.1.9", 1)
    vtep.routes_changed([Change((one,), communities_given, None)], 3 * S)
    assert (table.macs[mac].vtep, table.macs[mac].remote_sequence) == ("10.255.1.8", 0)
    vtep.routes_changed(
        [Change((one,), communities_given, None), Change((other,), worse, None)], 4 * S
    )  # the first is gone
    assert mac not in table.macs


@pytest.mark.parametrize("text", ["", "02:00:00:00:00", "02-00-00-00-00-01", "02:00:00:00:00:0g", "2:0:0:0:0:1"])
def test_what_is_no_mac_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write it as 02:00:00:65:01:01"):
        mac_packed(text)


def test_the_group_bit_tells_broadcast_and_multicast() -> None:
    found = [is_group(mac) for mac in ("ff:ff:ff:ff:ff:ff", "33:33:00:00:00:01", "02:00:00:00:00:01")]
    assert found == [True, True, False]
