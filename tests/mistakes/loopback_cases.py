"""Mistakes of EVPN sessions between loopbacks, and of the tables of frrcfgd in SONiC."""

from __future__ import annotations

from typing import Final

from tests.mistakes.mistake import REMOVED, Edit, Mistake, put, renamed, replaced

_FILES: Final = {"sonic": "json", "eos": "cfg", "nxos": "cfg", "nvue": "yaml"}
_PEERS: Final = ("vrf", "default", "router", "bgp", "neighbor", "10.0.0.11")
_GROUP: Final = ("BGP_PEER_GROUP", "default|OVERLAY")


def _case(language: str, title: str, checks: str, where: str, edit: Edit, file: str = "leaf1") -> Mistake:
    title = f"EVPN between loopbacks: {title}"
    return Mistake(language, title, checks, file, where, f"{file}.{_FILES[language]}", edit, loopbacks=True)


def _removed(text: str, after: str = "") -> Edit:
    return replaced(text, "", after=after)


_SESSION = "neighbor 10.0.0.11\n"

CASES: Final = (
    # ===== the source =====
    _case("eos", "no source", "P7", "10.0.0.11", _removed("   neighbor 10.0.0.11 update-source Loopback0\n")),
    _case("nxos", "no source", "P7", "10.0.0.11", _removed("    update-source loopback0\n", after=_SESSION)),
    _case("nvue", "no source", "P7", "10.0.0.11", put(*_PEERS, "update-source", value=REMOVED)),
    _case("sonic", "no source", "P7", "10.0.0.11", put(*_GROUP, "local_addr", value=REMOVED)),
    # ===== hops =====
    _case("eos", "one hop", "P8", "10.0.0.11", _removed("   neighbor 10.0.0.11 ebgp-multihop 3\n")),
    _case("nxos", "one hop", "P8", "10.0.0.11", _removed("    ebgp-multihop 3\n", after=_SESSION)),
    _case("nvue", "one hop", "P8", "10.0.0.11", put(*_PEERS, "multihop-ttl", value=REMOVED)),
    _case("sonic", "one hop", "P8", "10.0.0.11", put(*_GROUP, "ebgp_multihop", value="false")),
    # ===== the loopback's length =====
    _case("eos", "the mask is /24", "I7", "10.0.0.1/24", replaced("10.0.0.1/32\n!", "10.0.0.1/24\n!")),
    _case("nxos", "the mask is /24", "I7", "10.0.0.1/24", replaced("address 10.0.0.1/32", "address 10.0.0.1/24")),
    _case(
        "nvue",
        "the mask is /24",
        "I7",
        "10.0.0.1/24",
        renamed("interface", "lo", "ip", "address", "10.0.0.1/32", to="10.0.0.1/24"),
    ),
    _case(
        "sonic",
        "the mask is /24",
        "I7",
        "10.0.0.1/24",
        renamed("LOOPBACK_INTERFACE", "Loopback0|10.0.0.1/32", to="Loopback0|10.0.0.1/24"),
    ),
    # ===== the next hop =====
    _case(
        "eos",
        "a spine changes the next hop",
        "V9",
        "10.0.0.1",
        _removed("   neighbor 10.0.0.1 next-hop-unchanged\n"),
        "spine1",
    ),
    _case(
        "nxos",
        "a spine changes the next hop",
        "V9",
        "10.0.0.1",
        _removed("      route-map NH_UNCHANGED out\n", after="neighbor 10.0.0.1\n"),
        "spine1",
    ),
    # ===== address families =====
    _case("eos", "not activated", "V8", "10.0.0.11", _removed("      neighbor 10.0.0.11 activate\n")),
    _case("nvue", "not activated", "V8", "10.0.0.11", put(*_PEERS, "address-family", "l2vpn-evpn", value=REMOVED)),
    _case(
        "sonic",
        "not activated",
        "V8",
        "10.0.0.11",
        put("BGP_PEER_GROUP_AF", "default|OVERLAY|l2vpn_evpn", "admin_status", value="false"),
    ),
    _case(
        "sonic",
        "IPv4 is not activated",
        "P10",
        "10.1.0.1",
        put("BGP_NEIGHBOR_AF", "default|10.1.0.1|ipv4_unicast", value=REMOVED),
    ),
    _case(
        "sonic",
        "VNIs are not advertised",
        "V5",
        "advertise-all-vni",
        put("BGP_GLOBALS_AF", "default|l2vpn_evpn", "advertise-all-vni", value="false"),
    ),
    _case("sonic", "the loopback is not advertised", "V7", "10.0.0.1", put("BGP_GLOBALS_AF_NETWORK", value=REMOVED)),
    _case(
        "sonic",
        "the group does not exist",
        "R1",
        "OVERLAYS",
        put("BGP_NEIGHBOR", "default|10.0.0.11", "peer_group_name", value="OVERLAYS"),
    ),
    _case("sonic", "the group is shut", "P6", "10.0.0.11", put(*_GROUP, "admin_status", value="down")),
    _case(
        "sonic",
        "only redistribution, whose route map denies",
        "V7 V11 P22",
        "10.0.0.1",
        lambda tree: put("ROUTE_REDISTRIBUTE", value={"default|connected|bgp|ipv4": {"route_map": ["NONE"]}})(
            put("ROUTE_MAP", value={"NONE|10": {"route_operation": "deny"}})(
                put("BGP_GLOBALS_AF_NETWORK", value=REMOVED)(tree)
            )
        ),
    ),
)
"""leaf1 unless another file is named."""
