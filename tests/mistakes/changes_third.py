"""A third part of mistakes of changes: static routes, filters, second tenants' rows, values that lost a digit."""

from __future__ import annotations

from typing import Final

from tests.mistakes.mistake import Edit, Mistake, both, put, renamed, replaced
from tests.mistakes.tree_edits import each, sonic_list

_BGP: Final = ("vrf", "default", "router", "bgp")
_STATIC: Final = ("vrf", "default", "router", "static")


def _sonic(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.json") -> Mistake:
    return Mistake("sonic", title, checks, devices, where, file, edit)


def _nvue(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.yaml") -> Mistake:
    return Mistake("nvue", title, checks, devices, where, file, edit)


def _eos(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.cfg") -> Mistake:
    return Mistake("eos", title, checks, devices, where, file, edit)


def _nxos(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.cfg") -> Mistake:
    return Mistake("nxos", title, checks, devices, where, file, edit)


def _default_by(gateway: str) -> Edit:
    return put(*_STATIC, "0.0.0.0/0", value={"via": {gateway: {"type": "ipv4-address"}}})


CASES: Final = (
    _sonic(
        "a rule drops what the spine sends",
        "A3",
        "leaf1 spine1",
        "10.1.0.",
        sonic_list("Ethernet24", SRC_IP="10.1.0.1/32", PACKET_ACTION="DROP"),
    ),
    _sonic(
        "the gateway stands at VLAN 10",
        "R1 R9 V18",
        "leaf1",
        "Vlan10",
        renamed("VLAN_INTERFACE", "Vlan100|172.16.100.1/24", to="Vlan10|172.16.100.1/24"),
    ),
    _sonic(
        "the threshold of long cables has a digit too much",
        "R5 B3",
        "leaf1",
        "dynamic_th",
        put("BUFFER_PROFILE", "pg_lossless_400000_40m_profile", "dynamic_th", value="30"),
    ),
    _nvue(
        "default routes of a leaf and its spine lead to each other",
        "D9 D12",
        "leaf1 spine1",
        "0.0.0.0/0",
        each(leaf1=_default_by("10.1.0.1"), spine1=_default_by("10.1.0.0")),
        "*[12].yaml",
    ),
    _nvue(
        "the VNI is at VLAN 110",
        "V16 V2",
        "leaf1",
        "",
        put("bridge", "domain", "br_default", "vlan", value={"100": {}, "110": {"vni": {"10100": {}}}}),
    ),
    _nvue(
        "the VNI imports a mistyped target",
        "V3",
        "leaf1",
        "65000:10010",
        put("evpn", "vni", "10100", value={"route-target": {"import": {"65000:10010": {}}}}),
    ),
    _eos(
        "a static route over an address of no link",
        "D13 D10",
        "leaf1",
        "10.0.0.2/32",
        replaced("router bgp", "ip route 10.0.0.2/32 10.1.0.11\nrouter bgp"),
    ),
    _eos(
        "the list of the VLAN has a mistyped subnet",
        "A1 A2",
        "leaf1",
        "HOSTS",
        both(
            replaced(
                "interface Vlan100\n",
                "ip access-list HOSTS\n   10 permit ip 172.16.10.0/24 any\n!\ninterface Vlan100\n",
            ),
            replaced("   mtu 9214\n", "   mtu 9214\n   ip access-group HOSTS in\n", after="interface Vlan100\n"),
        ),
    ),
    _eos(
        "the queue of RoCE is shaped",
        "M15",
        "leaf1",
        "",
        replaced("      bandwidth percent 90\n", "      bandwidth percent 90\n      shape rate 40000000 kbps\n"),
    ),
    _eos(
        "an uplink has another FEC",
        "L5",
        "leaf1 spine1",
        "Ethernet3/1",
        replaced("reed-solomon", "fire-code", after="interface Ethernet3/1\n"),
    ),
    _eos(
        "an uplink is an access port",
        "R9 P1 P3",
        "leaf1 spine1",
        "Ethernet3/1",
        replaced("   no switchport\n", "   switchport access vlan 100\n"),
    ),
    _nxos(
        "an uplink joins a tenant's VRF",
        "P14",
        "leaf1",
        "10.1.0.1",
        both(
            replaced("interface Vlan100\n", "vrf context RED\ninterface Vlan100\n"),
            replaced("  ip address 10.1.0.0/31\n", "  vrf member RED\n  ip address 10.1.0.0/31\n"),
        ),
    ),
    _nxos("the feature is taken away at the end", "R9", "leaf1", "bgp", lambda text: text + "no feature bgp\n"),
    _nxos(
        "the network statement has length 31",
        "V7",
        "leaf1",
        "10.0.0.1",
        replaced("network 10.0.0.1/32", "network 10.0.0.1/31"),
    ),
    _nxos(
        "the class of RoCE has a whole range of DSCPs",
        "M8 M2",
        "leaf1",
        "24",
        replaced("match dscp 26", "match dscp 24-31"),
    ),
    _nxos(
        "a static route over an address of no link",
        "D13 D10",
        "leaf1",
        "10.0.0.2/32",
        replaced("router bgp", "ip route 10.0.0.2/32 10.1.0.33\nrouter bgp"),
    ),
)
