"""Views have the keys of the output of FRR and iproute2, and agree with the tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.evpn.arp import NdPacket, NdType
from fabric.controlplane.evpn.config import VniConfig, VtepConfig
from fabric.controlplane.evpn.evpn_nlri import EvpnKey, mac_ip_key, multicast_key, prefix_key
from fabric.controlplane.evpn.rd import auto_rd
from fabric.controlplane.evpn.vtep import Vtep
from fabric.show import evpn as views
from tests.evpn.conftest import Mesh, S, leaf

A1, A2 = "02:00:00:65:01:01", "02:00:00:65:02:01"
RD = auto_rd("10.255.1.1", 2)


@pytest.fixture
def raw(frr: Path) -> dict[str, Any]:
    return dict(json.loads((frr / "2x2" / "0-initial" / "leaf1.json").read_text()))


def _mesh() -> Mesh:
    names = {"br10100": 4, "vx10100": 5, "br10200": 6, "vx10200": 7, "pa1": 8, "pb1": 9}
    mesh = Mesh(*(leaf(number, (VniConfig(10100), VniConfig(10200)), ifindex=names) for number in (1, 2)))
    for number in (1, 2):
        mesh.say(number, 10100, f"02:00:00:65:0{number}:01", f"172.16.101.{number}1", "pa1", S)
        mesh.say(number, 10200, f"02:00:00:66:0{number}:01", f"172.16.102.{number}1", "pb1", S)
    return mesh


def _without_times(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_times(item) for key, item in value.items() if key != "uptime"}
    return value


@pytest.mark.parametrize(
    ("view", "recorded"),
    [
        ("evpn_vni", "evpn_vni"),
        ("bgp_evpn_vni", "bgp_evpn_vni"),
        ("import_rt", "import_rt"),
        ("vrf_import_rt", "vrf_import_rt"),
        ("evpn_mac", "evpn_mac"),
        ("arp_cache", "arp_cache"),
    ],
)
def test_a_view_is_what_frr_printed(raw: dict[str, Any], view: str, recorded: str) -> None:
    assert getattr(views, view)(_mesh().vteps[0]) == raw["frr"][recorded]


@pytest.mark.parametrize(("view", "recorded"), [("evpn_mac", "evpn_mac_detail"), ("arp_cache", "arp_cache_detail")])
def test_a_detailed_view_is_what_frr_printed_but_for_the_times(raw: dict[str, Any], view: str, recorded: str) -> None:
    ours = getattr(views, view)(_mesh().vteps[0], 6 * S)
    assert _without_times(ours) == _without_times(raw["frr"][recorded])
    assert ours != _without_times(ours)


def test_the_detailed_list_of_vnis_is_what_frr_printed(raw: dict[str, Any]) -> None:
    recorded = sorted(raw["frr"]["evpn_vni_detail"], key=lambda row: int(row["vni"]))
    assert views.evpn_vni_detail(_mesh().vteps[0]) == recorded


def test_global_settings_are_what_frr_printed_but_for_multihoming(raw: dict[str, Any]) -> None:
    ours, recorded = views.evpn_global(_mesh().vteps[0]), raw["frr"]["evpn_global"]
    assert ours == {key: recorded[key] for key in ours}
    assert set(recorded) - set(ours) == {
        "macHoldtime",
        "neighHoldtime",
        "startupDelay",
        "startupDelayTimer",
        "uplinkConfigCount",
        "uplinkActiveCount",
        "protodownReasons",
    }


def test_routes_have_the_fields_frr_printed(raw: dict[str, Any]) -> None:
    table = raw["frr"]["evpn_detail"]["10.255.1.1:2"]
    keys = [mac_ip_key(RD, A1), mac_ip_key(RD, A1, "172.16.101.11"), multicast_key(RD, "10.255.1.1")]
    mesh = _mesh()
    for key in keys:
        recorded = table[key.text]
        assert views.route_fields(key) == {name: recorded[name] for name in views.route_fields(key)}
        attributes = mesh.selected[0, key].best.attributes
        assert views.extended_community(attributes)["extendedCommunity"] == recorded["paths"][0][0]["extendedCommunity"]
        assert views.pmsi(attributes).get("pmsi") == recorded["paths"][0][0].get("pmsi")
        assert recorded["prefixLen"] == views.EVPN_PREFIX_LEN


@pytest.mark.parametrize(
    ("key", "fields"),
    [
        (prefix_key(RD, "10.1.2.0", 24), {"routeType": 5, "ethTag": 0, "ipLen": 24, "ip": "10.1.2.0"}),
        (
            mac_ip_key(RD, A1, "2001:db8::1"),
            {"routeType": 2, "ethTag": 0, "macLen": 48, "mac": A1, "ipLen": 128, "ip": "2001:db8::1"},
        ),
        (EvpnKey(b"\x04" + RD + bytes(15)), {"routeType": 4, "ethTag": 0}),
    ],
)
def test_other_routes_have_fields_of_the_same_kind(key: EvpnKey, fields: dict[str, Any]) -> None:
    assert views.route_fields(key) == fields
    assert key.text.startswith(f"[{fields['routeType']}]")


def test_attributes_that_are_missing_or_malformed_show_nothing() -> None:
    assert views.extended_community(Attributes()) == {}
    assert views.pmsi(Attributes()) == {}
    assert views.pmsi(Attributes(pmsi_tunnel=b"\x00")) == {}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "00:00:00"),
        (3725, "01:02:05"),
        (86400 + 7200 + 180, "1d02h03m"),
        (9 * 86400 + 3 * 3600, "01w2d03h"),
        (-5, "00:00:00"),
    ],
)
def test_uptimes_read_as_frrs(seconds: int, text: str) -> None:
    assert views.uptime_text(seconds * S) == text


def test_a_sticky_mac_is_marked_on_both_sides() -> None:
    mesh = Mesh(leaf(1), leaf(2))
    mesh.note(0, mesh.vteps[0].host_seen(10100, A1, "", "pa1", S, sticky=True))
    mesh.deliver(S)
    for vtep in mesh.vteps:
        assert views.evpn_mac(vtep)["10100"]["macs"][A1]["stickyMac"] is True
    assert [row["state"] for row in views.kernel_fdb(mesh.vteps[0]) if row["mac"] == A1] == ["static"]
    assert [row["flags"] for row in views.kernel_fdb(mesh.vteps[1]) if row["mac"] == A1] == [
        ["extern_learn", "sticky"],
        ["self", "extern_learn"],
    ]


def test_a_router_is_marked_in_the_neighbours_of_all_switches() -> None:
    mesh = Mesh(leaf(1), leaf(2))
    mesh.vteps[0].attach(10100, "pa1")
    advert = NdPacket(
        NdType.NEIGHBOR_ADVERTISEMENT, "2001:db8::1", "ff02::1", "2001:db8::1", A1, "33:33:00:00:00:01", router=True
    )
    mesh.note(0, mesh.vteps[0].arp(10100, advert, "pa1", S)[1])
    mesh.deliver(S)
    for vtep in mesh.vteps:
        assert [row["dst"] for row in views.kernel_neighbors(vtep) if "router" in row] == ["2001:db8::1"]


def test_a_switch_without_vnis_has_empty_tables() -> None:
    vtep = Vtep(VtepConfig("spine1", 65000, "10.255.0.1", "10.255.0.1"))
    for view in (
        views.evpn_vni,
        views.evpn_mac,
        views.arp_cache,
        views.import_rt,
        views.evpn_next_hops,
        views.evpn_rmac,
    ):
        assert view(vtep) == {}
    assert views.bgp_evpn_vni(vtep)["advertiseAllVnis"] == "Disabled"
