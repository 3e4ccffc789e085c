"""Symmetric IRB: host routes and prefixes of a tenant over its L3 VNI (RFC 9135, RFC 9136)."""

from __future__ import annotations

import pytest

from fabric.controlplane.bgp.actions import Change
from fabric.controlplane.evpn.actions import Originate, TenantRoutesChanged, Withdraw
from fabric.controlplane.evpn.config import VniConfig, VrfConfig
from fabric.controlplane.evpn.evpn_attributes import community_text
from fabric.controlplane.evpn.evpn_nlri import Payload
from fabric.controlplane.evpn.vrf import HopKind, TenantHop
from fabric.controlplane.evpn.vtep import Vtep
from fabric.errors import InputErrors
from fabric.show.evpn import bgp_evpn_vni, evpn_next_hops, evpn_rmac, evpn_vni, vrf_import_rt
from tests.evpn.conftest import Mesh, S, leaf, select

GW = "02:00:5e:00:01:01"
ONE, TWO = (VniConfig(vni, "blue", gateway=f"10.{vni}.0.1/24", gateway_mac=GW, ports=(f"p{vni}",)) for vni in (1, 2))
HOST1, HOST2 = "02:00:00:00:01:01", "02:00:00:00:02:02"


def _mesh() -> Mesh:
    """leaf1 has subnet 1, leaf2 has subnet 2, leaf3 has a default route and no subnet; hosts 1 and 2 have sent."""
    mesh = Mesh(
        *(
            leaf(
                number, vnis, vrfs=(VrfConfig("blue", 5000, prefixes=prefixes),), router_mac=f"02:00:00:00:99:0{number}"
            )
            for number, vnis, prefixes in (
                (1, (ONE,), ()),
                (2, (TWO,), ()),
                (3, (VniConfig(3, "other"),), ("0.0.0.0/0", "2001:db8::/32")),
            )
        )
    )
    mesh.say(1, 1, HOST1, "10.1.0.11", "p1", S)
    mesh.say(2, 2, HOST2, "10.2.0.22", "p2", S)
    return mesh


def _remote(number: int) -> tuple[TenantHop, ...]:
    return (TenantHop(f"10.255.1.{number}", 5000, f"02:00:00:00:99:0{number}"),)


def test_a_mac_ip_route_of_a_routed_tenant_carries_both_vnis_both_targets_and_the_routers_mac() -> None:
    mesh = _mesh()
    (originated,) = [
        one
        for name, one in mesh.log
        if name == "leaf1"
        and isinstance(one, Originate)
        and one.keys[0].text == f"[2]:[0]:[48]:[{HOST1}]:[32]:[10.1.0.11]"
    ]
    assert originated.payload == Payload((1, 5000))
    assert [community_text(one) for one in originated.attributes.ext_communities] == [
        "ET:8",
        "RT:65101:1",
        "RT:65101:5000",
        "Rmac:02:00:00:00:99:01",
    ]
    (mac_only,) = [
        one
        for name, one in mesh.log
        if name == "leaf1" and isinstance(one, Originate) and one.keys[0].text == f"[2]:[0]:[48]:[{HOST1}]"
    ]
    assert mac_only.payload == Payload((1,))


@pytest.mark.parametrize(
    ("number", "address", "kind", "prefix"),
    [
        (1, "10.1.0.11", HopKind.LOCAL, "10.1.0.11/32"),
        (1, "10.1.0.1", HopKind.GATEWAY, "10.1.0.0/24"),
        (1, "10.1.0.99", HopKind.GLEAN, "10.1.0.0/24"),
        (1, "10.2.0.22", HopKind.REMOTE, "10.2.0.22/32"),
        (1, "10.2.0.99", HopKind.REMOTE, "10.2.0.0/24"),
        (1, "192.0.2.1", HopKind.REMOTE, "0.0.0.0/0"),
        (3, "192.0.2.1", HopKind.UNREACHABLE, ""),
        (1, "2001:db8::5", HopKind.REMOTE, "2001:db8::/32"),
        (1, "2001:db9::5", HopKind.UNREACHABLE, ""),
    ],
)
def test_a_packet_takes_the_longest_prefix(number: int, address: str, kind: HopKind, prefix: str) -> None:
    found = _mesh().vteps[number - 1].lookup("blue", address)
    assert (found.kind, found.prefix) == (kind, prefix)
    if kind is HopKind.REMOTE:
        assert found.hops == _remote(2 if address.startswith("10.2.") else 3)
    if kind is HopKind.LOCAL:
        assert (found.vni, found.port, found.mac) == (1, "p1", HOST1)


def test_a_host_route_goes_with_its_host_and_the_subnet_stays() -> None:
    mesh = _mesh()
    mesh.note(1, mesh.vteps[1].host_gone(2, HOST2, 2 * S))
    mesh.deliver(2 * S)
    assert ("leaf1", TenantRoutesChanged("blue", ("10.2.0.22/32",))) in mesh.log
    assert mesh.vteps[0].lookup("blue", "10.2.0.22").prefix == "10.2.0.0/24"


def test_a_subnet_goes_with_its_last_vni() -> None:
    mesh = _mesh()
    actions = mesh.vteps[1].remove_vni(2, 2 * S)
    withdrawn = [key.text for one in actions if isinstance(one, Withdraw) for key in one.keys]
    assert "[5]:[0]:[24]:[10.2.0.0]" in withdrawn
    mesh.note(1, actions)
    mesh.deliver(2 * S)
    assert mesh.vteps[0].lookup("blue", "10.2.0.22").prefix == "0.0.0.0/0"
    mesh.note(1, mesh.vteps[1].add_vni(TWO, 3 * S))
    mesh.deliver(3 * S)
    assert mesh.vteps[0].lookup("blue", "10.2.0.22").hops == _remote(2)


def test_equal_prefixes_of_two_switches_are_used_together_and_the_shorter_path_alone() -> None:
    vrf = VrfConfig("blue", 5000, prefixes=("192.0.2.0/24",))
    mesh = Mesh(
        *(
            leaf(number, (VniConfig(number),), vrfs=(vrf,), router_mac=f"02:00:00:00:99:0{number}")
            for number in (1, 2, 3)
        )
    )
    assert mesh.vteps[0].lookup("blue", "192.0.2.5").hops == _remote(2) + _remote(3)
    key = next(key for (index, key) in mesh.selected if index == 2 and key[0] == 5)
    old = mesh.selected[2, key]
    worse = old.best.attributes.__class__(
        as_path=((2, (65000, 65103)),), ext_communities=old.best.attributes.ext_communities
    )
    new = select(Originate((key,), worse, old.best.next_hop, old.best.payload), 65103)  # type: ignore[arg-type]
    actions = mesh.vteps[0].routes_changed([Change((key,), old, new)], 2 * S)
    assert actions == [TenantRoutesChanged("blue", ("192.0.2.0/24",))]
    assert mesh.vteps[0].lookup("blue", "192.0.2.5").hops == _remote(2)


@pytest.mark.parametrize("payload", [Payload((5000,), gateway=b"\x0a\x00\x00\x09"), Payload((5000,), b"\x01" * 10)])
def test_a_route_with_an_overlay_index_is_not_taken(payload: Payload) -> None:
    mesh = _mesh()
    key = next(key for (index, key) in mesh.selected if index == 2 and key[0] == 5)
    originated = mesh.selected[2, key].best
    other = Vtep(leaf(4, vrfs=(VrfConfig("blue", 5000),), router_mac="02:00:00:00:99:04"))
    new = select(Originate((key,), originated.attributes, originated.next_hop, payload), 65103)  # type: ignore[arg-type]
    assert other.routes_changed([Change((key,), None, new)], S) == []


def test_the_gateway_is_announced_where_it_is_asked_for() -> None:
    config = VniConfig(1, gateway="10.1.0.1/24", gateway_mac=GW, advertise_gateway=True)
    vtep = Vtep(leaf(1, (config,)))
    texts = {
        key.text: [community_text(one) for one in action.attributes.ext_communities]
        for action in vtep.start(0)
        if isinstance(action, Originate)
        for key in action.keys
    }
    assert texts[f"[2]:[0]:[48]:[{GW}]:[32]:[10.1.0.1]"] == ["ET:8", "RT:65101:1", "Default Gateway"]
    assert f"[2]:[0]:[48]:[{GW}]" in texts
    withdrawn = [key for one in vtep.remove_vni(1, S) if isinstance(one, Withdraw) for key in one.keys]
    assert {key.text for key in withdrawn} == set(texts)


def test_views_show_the_l3_vni() -> None:
    vtep = _mesh().vteps[0]
    assert evpn_vni(vtep)["5000"] == {
        "vni": 5000,
        "type": "L3",
        "vxlanIf": "vx5000",
        "numMacs": 2,
        "numArpNd": 2,
        "numRemoteVteps": "n/a",
        "tenantVrf": "blue",
    }
    assert evpn_next_hops(vtep)["5000"]["10.255.1.2"] == {"nexthopIp": "10.255.1.2", "routerMac": "02:00:00:00:99:02"}
    assert evpn_rmac(vtep)["5000"]["numRmacs"] == 2
    assert vrf_import_rt(vtep) == {"0:5000": {"rt": "0:5000", "vrfs": ["blue"]}}
    assert bgp_evpn_vni(vtep)["5000"]["rd"] == "10.255.1.1:3"


def test_a_prefix_with_host_bits_is_refused() -> None:
    with pytest.raises(InputErrors, match="has host bits set"):
        Vtep(leaf(1, vrfs=(VrfConfig("blue", 5000, prefixes=("10.9.8.7/16",)),), router_mac=GW))


def test_subnets_are_announced_only_where_asked_for() -> None:
    vtep = Vtep(
        leaf(
            1,
            (ONE,),
            vrfs=(VrfConfig("blue", 5000, prefixes=("10.9.0.0/16",), advertise_subnets=False),),
            router_mac=GW,
        )
    )
    keys = [key for one in vtep.start(0) if isinstance(one, Originate) for key in one.keys]
    assert [key.text for key in keys if key.type == 5] == ["[5]:[0]:[16]:[10.9.0.0]"]


def test_an_anycast_gateway_is_at_home_on_every_leaf() -> None:
    shared = VniConfig(1, gateway="10.1.0.1/24", gateway_mac=GW, advertise_gateway=True)
    mesh = Mesh(leaf(1, (shared,)), leaf(2, (shared,)))
    for vtep in mesh.vteps:
        assert GW not in vtep.vnis[1].macs
        assert not vtep.vnis[1].neighbors
