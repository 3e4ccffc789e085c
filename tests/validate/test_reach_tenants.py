"""Two tenants that are routed through L3 VNIs (symmetric IRB): which pairs reach, which must not, and why they do not.

host1 is in VLAN 100 of leaf1 and host2 in VLAN 200 of leaf1; host3 and host4 in VLAN 300 and VLAN 200 of leaf2.
VLAN 100 and 300 are tenant RED's, VLAN 200 is BLUE's. No switch has both VLANs of RED.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.validate.checks.base import Severity
from tests.mistakes.mistake import REMOVED, Edit, both, put, replaced
from tests.validate.test_reach_check import verdict
from tests.validate.test_reachability import fabric, failing, reachability

RED, APART = {"13", "31"}, {"12", "14", "21", "23", "32", "34", "41", "43"}


def eos(vlan: int, number: int) -> Edit:
    """A leaf with VLAN 200 of BLUE and one VLAN of RED."""
    svi = "interface Vlan{0}\n   mtu 9214\n   vrf {1}\n   ip address virtual 172.16.{2}.1/24\n!\n"
    red, blue = svi.format(vlan, "RED", vlan // 10), svi.format(200, "BLUE", 20)
    evpn = (
        f"   vlan {vlan}\n      rd 10.0.0.{number}:{vlan}\n      route-target both 65000:10{vlan}\n"
        "      redistribute learned\n"
        f"   vlan 200\n      rd 10.0.0.{number}:200\n      route-target both 65000:10200\n      redistribute learned\n"
    )
    vrfs = "".join(
        f"   vrf {name}\n      rd 10.0.0.{number}:{vni}\n      route-target import evpn 65000:{vni}\n"
        f"      route-target export evpn 65000:{vni}\n"
        for name, vni in (("RED", 50001), ("BLUE", 50002))
    )
    return both(
        replaced(
            "vlan 100\n",
            f"vlan {vlan},200\n!\nvrf instance RED\n!\nvrf instance BLUE\n!\nip routing vrf RED\nip routing vrf BLUE\n",
        ),
        replaced("interface Vlan100\n   mtu 9214\n   ip address virtual 172.16.100.1/24\n!\n", red + blue),
        replaced(
            "   vxlan vlan 100 vni 10100\n",
            f"   vxlan vlan {vlan} vni 10{vlan}\n   vxlan vlan 200 vni 10200\n"
            "   vxlan vrf RED vni 50001\n   vxlan vrf BLUE vni 50002\n",
        ),
        replaced("access vlan 100", f"access vlan {vlan}", after="interface Ethernet1/1\n"),
        replaced("access vlan 100", "access vlan 200", after="interface Ethernet2/1\n"),
        lambda text: (
            text[: text.index("   vlan 100\n      rd")] + evpn + text[text.index("   address-family evpn\n") :] + vrfs
        ),
    )


def tenants(folder: Path, leaf1: Edit = lambda text: text, leaf2: Edit = lambda text: text) -> Path:
    return fabric("eos", folder, leaf1=both(eos(100, 1), leaf1), leaf2=both(eos(300, 2), leaf2))


def errors(folder: Path) -> list[tuple[str, str]]:
    causes = [it for it in verdict(folder).causes if it.severity is Severity.ERROR]
    return [(it.check.id, it.first.device) for it in causes]


def test_a_tenant_reaches_itself_through_its_l3_vni_and_no_other(tmp_path: Path) -> None:
    folder = tenants(tmp_path)
    reach = reachability(folder)
    assert not reach.unknown
    found = failing(reach)
    assert set(found) == APART
    assert all("nothing routes between them" in said for said in found.values())
    assert not errors(folder)


_RED_IN_BGP = (
    "   vrf RED\n      rd 10.0.0.2:50001\n      route-target import evpn 65000:50001\n"
    "      route-target export evpn 65000:50001\n"
)
MISTAKES = [
    ("route-target import evpn 65000:50001", "route-target import evpn 65000:59999", {"31"}, "V3", "leaf2"),
    ("   vxlan vrf RED vni 50001\n", "", RED, "V16", "leaf2"),
    ("   vxlan vrf RED vni 50001\n", "   vxlan vrf RED vni 50009\n", RED, "V2", "leaf2"),
    (_RED_IN_BGP, "", RED, "V3", "leaf2"),
    ("   vrf RED\n   ip address virtual 172.16.30.1/24\n", "   vrf BLUE\n   ip address virtual 172.16.30.1/24\n",
     None, "", ""),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "pairs", "check", "switch"), MISTAKES)
def test_a_mistake_in_a_tenant_is_explained(
    old: str, new: str, pairs: set[str] | None, check: str, switch: str, tmp_path: Path
) -> None:
    folder = tenants(tmp_path, leaf2=replaced(old, new))
    found = failing(reachability(folder))
    if pairs is None:  # VLAN 300 is BLUE's by mistake: BLUE grows, which files alone cannot call wrong
        assert not {"34", "43", "23", "32"} & set(found)
        assert "nothing routes between them" in found["13"]
        return
    assert set(found) == APART | pairs
    assert errors(folder) == [(check, switch)]


_LEAK = "   vrf {0}\n      route-target import evpn 65000:{1}\n"


def leak(into: str, number: int) -> Edit:
    return replaced(f"   vrf {into}\n", _LEAK.format(into, number), after="router bgp")


def test_targets_that_leak_one_way_between_tenants_reach_one_way(tmp_path: Path) -> None:
    folder = tenants(tmp_path, leaf1=leak("RED", 50002))
    reach = reachability(folder)
    by_name = {host.name: host for host in reach.hosts}
    assert reach.hosts_reach(by_name["host1"], by_name["host4"]).reaches is True
    assert reach.hosts_reach(by_name["host4"], by_name["host1"]).reaches is False
    assert reach.hosts_reach(by_name["host1"], by_name["host2"]).reaches is None  # leaks at one switch differ by vendor
    assert [(it.check.id, it.device) for it in verdict(folder).findings if it.check.id == "V19"] == [("V19", "leaf1")]
    assert not errors(folder)


def test_targets_that_leak_both_ways_join_two_tenants(tmp_path: Path) -> None:
    every = both(leak("RED", 50002), leak("BLUE", 50001))
    folder = tenants(tmp_path, leaf1=every, leaf2=every)
    reach = reachability(folder)
    by_name = {host.name: host for host in reach.hosts}
    for one, other in (("host1", "host4"), ("host2", "host3")):
        assert reach.hosts_reach(by_name[one], by_name[other]).reaches is True
        assert reach.hosts_reach(by_name[other], by_name[one]).reaches is True
    assert "V19" not in {it.check.id for it in verdict(folder).findings}


# ===== SONiC: VRF maps and route targets of frrcfgd =====


def sonic(vlan: int, *more: Edit) -> Edit:
    """A leaf with one VLAN of VrfRed and the L3 VNI 50001 of it."""
    name = f"Vlan{vlan}"
    return both(
        put("VLAN", value={name: {"vlanid": str(vlan)}, "Vlan3001": {"vlanid": "3001"}}),
        put("VLAN_MEMBER", value={f"{name}|Ethernet{it}": {"tagging_mode": "untagged"} for it in (8, 16)}),
        put("VRF", value={"VrfRed": {"vni": "50001"}}),
        put(
            "VLAN_INTERFACE",
            value={
                name: {"vrf_name": "VrfRed", "static_anycast_gateway": "true"},
                f"{name}|172.16.{vlan // 10}.1/24": {},
                "Vlan3001": {"vrf_name": "VrfRed"},
            },
        ),
        put(
            "VXLAN_TUNNEL_MAP",
            value={
                f"vtep|map_10{vlan}_{name}": {"vlan": name, "vni": f"10{vlan}"},
                "vtep|map_50001_Vlan3001": {"vlan": "Vlan3001", "vni": "50001"},
            },
        ),
        *more,
    )


def _rt(table: str, key: str, way: str = "both") -> Edit:
    return put(table, value={key: {"route-target-type": way}})


SONIC = [
    ((), (), set(), ""),
    ((), (put("VXLAN_TUNNEL_MAP", "vtep|map_50001_Vlan3001", value=REMOVED),), {"13", "31"}, "V2"),
    ((), (put("VRF", "VrfRed", "vni", value="50002"),), {"13", "31"}, "V2"),
    (
        (_rt("BGP_GLOBALS_EVPN_RT", "VrfRed|L2VPN_EVPN|65000:1"),),
        (_rt("BGP_GLOBALS_EVPN_RT", "VrfRed|L2VPN_EVPN|65000:1"),),
        set(),
        "",
    ),
    (
        (_rt("BGP_GLOBALS_EVPN_RT", "VrfRed|L2VPN_EVPN|65000:1"),),
        (_rt("BGP_GLOBALS_EVPN_RT", "VrfRed|L2VPN_EVPN|65000:2"),),
        {"13", "31"},
        "V3",
    ),
]


@pytest.mark.parametrize(("one", "other", "pairs", "check"), SONIC)
def test_a_vrf_of_sonic_is_routed_through_its_vni(
    one: tuple[Edit, ...], other: tuple[Edit, ...], pairs: set[str], check: str, tmp_path: Path
) -> None:
    folder = fabric("sonic", tmp_path, leaf1=sonic(100, *one), leaf2=sonic(300, *other))
    found = failing(reachability(folder))
    assert {it for it in found if it in {"13", "31"}} == pairs, found
    assert {id_ for id_, _ in errors(folder)} == ({check} if check else set())


@pytest.mark.parametrize(
    ("table", "keys", "pairs"),
    [
        ("BGP_GLOBALS_EVPN_VNI_RT", ("default|l2vpn_evpn|10100|65000:1", "default|l2vpn_evpn|10100|65000:1"), set()),
        (
            "BGP_GLOBALS_EVPN_VNI_RT",
            ("default|l2vpn_evpn|10100|65000:1", "default|l2vpn_evpn|10100|65000:2"),
            {"13", "31"},
        ),
    ],
)
def test_route_targets_of_a_sonic_vni_are_read(
    table: str, keys: tuple[str, str], pairs: set[str], tmp_path: Path
) -> None:
    folder = fabric("sonic", tmp_path, leaf1=_rt(table, keys[0]), leaf2=_rt(table, keys[1]))
    found = failing(reachability(folder))
    assert {it for it in found if it in {"13", "31"}} == pairs
    assert errors(folder) == ([("V3", "leaf2")] if pairs else [])


def test_lists_of_targets_of_a_sonic_vni_are_read(tmp_path: Path) -> None:
    row = {"default|l2vpn_evpn|10100": {"import-rts": ["65000:1"], "export-rts": ["65000:7"]}}
    folder = fabric("sonic", tmp_path, leaf1=put("BGP_GLOBALS_EVPN_VNI", value=row))
    assert {"13", "31"} <= set(failing(reachability(folder)))
