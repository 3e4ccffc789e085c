"""Mistakes of literal values in EOS and NX-OS: mistyped words, lines taken back at the end, numbers out of range."""

from __future__ import annotations

from typing import Final

from tests.mistakes.changes_eos import appended
from tests.mistakes.mistake import Edit, Mistake, everywhere, replaced

_ENDS: Final = "leaf1 spine1"
_E3, _N3 = "interface Ethernet3/1\n", "interface Ethernet1/3\n"
_LINK_N: Final = "  ip ospf network point-to-point\n"
_IN_E: Final = "   ip ospf area 0.0.0.0\n"
_TRUNK: Final = "  switchport mode trunk\n  switchport trunk native vlan 100\n  switchport trunk allowed vlan 1-99\n"


def _eos(  # a row of the table
    title: str, checks: str, where: str, edit: Edit, *, devices: str = "leaf1", below: str = ""
) -> Mistake:
    return Mistake("eos", title, checks, devices, where, "leaf1.cfg", edit, loopbacks=bool(below), interior=below)


def _nxos(  # a row of the table
    title: str, checks: str, where: str, edit: Edit, *, devices: str = "leaf1", file: str = "leaf1", below: str = ""
) -> Mistake:
    return Mistake("nxos", title, checks, devices, where, f"{file}.cfg", edit, loopbacks=bool(below), interior=below)


def _after(header: str, old: str, new: str) -> Edit:
    return replaced(old, new, after=header)


CASES: Final = (
    # ===== EOS =====
    _eos("the word no-drop is mistyped", "R5 R10", "no-dorp", everywhere("priority 3 no-drop", "priority 3 no-dorp")),
    _eos("marking has no maximum", "R5 E4 R9", "queue 3", everywhere(" maximum-threshold 1600 kbytes", "")),
    _eos(
        "an uplink is set back at the end",
        "L1 P1 M3 L4",
        "Ethernet3/1",
        appended("default interface Ethernet3/1\n"),
        devices=_ENDS,
    ),
    _eos("the SVI is taken back at the end", "V18", "VLAN 100", appended("no interface Vlan100\n")),
    _eos("the VLAN is taken back at the end", "R1", "VLAN 100", appended("no vlan 100\n")),
    _eos("BGP is taken back at the end", "P12", "AS number", appended("no router bgp 65101\n")),
    _eos("the VNI is taken back at the end", "V16", "10100", appended("interface Vxlan1\n   no vxlan vlan 100 vni\n")),
    _eos(
        "a neighbour's AS in two parts",
        "P2",
        "10.1.0.1",
        replaced("neighbor 10.1.0.1 remote-as 65000", "neighbor 10.1.0.1 remote-as 1.0"),
    ),
    _eos("digits of an uplink's length are swapped", "I8 P1", "Ethernet3/1", replaced("10.1.0.0/31", "10.1.0.0/13")),
    _eos("an uplink's name has no lane", "L7", "Ethernet3", replaced(_E3, "interface Ethernet3\n")),
    _eos("timers without a hold time", "R5 R9", "timers bgp 3", replaced("timers bgp 3 9", "timers bgp 3")),
    _eos(
        "the DSCP map has class 33",
        "R5 R10",
        "33",
        replaced("dscp 26 to traffic-class 3", "dscp 26 to traffic-class 33"),
    ),
    _eos(
        "OSPF: the instance is shut",
        "O1",
        "Ethernet3/1",
        replaced("   max-lsa 12000\n", "   max-lsa 12000\n   shutdown\n"),
        below="ospf",
    ),
    _eos(
        "OSPF: the instance is of a VRF",
        "R1 O1",
        "Ethernet3/1",
        replaced("router ospf 1\n", "router ospf 1 vrf BLUE\n"),
        below="ospf",
    ),
    _eos(
        "OSPF: an uplink is disabled",
        "O1",
        "Ethernet3/1",
        _after(_E3, _IN_E, f"{_IN_E}   ip ospf disabled\n"),
        below="ospf",
    ),
    _eos(
        "OSPF: the dead interval is shorter at one end",
        "O1",
        "dead",
        _after(_E3, _IN_E, f"{_IN_E}   ip ospf dead-interval 20\n"),
        devices=_ENDS,
        below="ospf",
    ),
    _eos(
        "IS-IS: the instance has no address family",
        "R9",
        "address-family",
        _after("router isis U\n", "   address-family ipv4 unicast\n", ""),
        below="isis",
    ),
    _eos("the word priority is mistyped", "R5 R10", "priorty", everywhere("priority strict", "priorty strict")),
    _eos(
        "a neighbour is activated in the family of IPv6",
        "P10",
        "10.1.0.1",
        _after(
            "router bgp",
            "   address-family ipv4\n      neighbor 10.1.0.1 activate\n",
            "   address-family ipv6\n      neighbor 10.1.0.1 activate\n   address-family ipv4\n",
        ),
    ),
    _eos("an MTU with a zero too many", "R5", "92140", _after(_E3, "mtu 9214", "mtu 92140")),
    _eos("the watchdog's timeout in milliseconds", "R5", "200", replaced("timeout 0.20", "timeout 200")),
    _eos(
        "a neighbour is taken back at the end",
        "P3",
        "10.1.0.",
        appended("router bgp 65101\n   no neighbor 10.1.0.1\n"),
        devices=_ENDS,
    ),
    # ===== NX-OS =====
    _nxos("RoCE's DSCP by another name", "M1 M2", "26", everywhere("match dscp 26", "match dscp cs3")),
    _nxos("a group that does not exist", "R5", "8", replaced("set qos-group 3", "set qos-group 8")),
    _nxos("the paused class has a digit too many", "R5", "33", replaced("pfc-cos 3", "pfc-cos 33")),
    _nxos("the mode of PFC is mistyped", "R10 R5", "onn", _after(_N3, "mode on", "mode onn"), devices=_ENDS),
    _nxos(
        "the thresholds have two units",
        "E1",
        "3000 B",
        replaced("maximum-threshold 3000 kbytes", "maximum-threshold 3000 bytes"),
    ),
    _nxos(
        "digits of a spine's MTU are swapped",
        "L4",
        "9126",
        _after("interface Ethernet1/1\n", "mtu 9216", "mtu 9126"),
        file="spine1",
        devices=_ENDS,
    ),
    _nxos("the tunnel is interface nve2", "R5 R9 V4", "nve2", replaced("interface nve1", "interface nve2")),
    _nxos("the VLAN's number is reserved", "R5", "3970", everywhere("vlan 100\n", "vlan 3970\n")),
    _nxos("the gateway is secondary", "R9", "172.16.100.1", replaced("172.16.100.1/24", "172.16.100.1/24 secondary")),
    _nxos(
        "an uplink is unnumbered", "P1", "Ethernet1/3", replaced("ip address 10.1.0.0/31", "ip unnumbered loopback0")
    ),
    _nxos(
        "a host's trunk stops below its VLAN", "L13", "Ethernet1/1", replaced("  switchport access vlan 100\n", _TRUNK)
    ),
    _nxos(
        "OSPF: two switches have one router ID",
        "O2",
        "10.0.0.2",
        replaced("router ospf U\n  router-id 10.0.0.1", "router ospf U\n  router-id 10.0.0.2"),
        devices="leaf1 leaf2",
        below="ospf",
    ),
    _nxos(
        "OSPF: max-metric is left",
        "P20",
        "max-metric",
        replaced("router ospf U\n", "router ospf U\n  max-metric router-lsa\n"),
        file="spine1",
        devices="spine1",
        below="ospf",
    ),
    _nxos("OSPF: a cost of zero", "R5 O4", "cost", _after(_N3, _LINK_N, f"{_LINK_N}  ip ospf cost 0\n"), below="ospf"),
    _nxos(
        "OSPF: the hello interval is shorter at one end",
        "O1",
        "hello",
        _after(_N3, _LINK_N, f"{_LINK_N}  ip ospf hello-interval 5\n"),
        devices=_ENDS,
        below="ospf",
    ),
    _nxos(
        "IS-IS: the overload bit is left",
        "P20",
        "overload",
        replaced("\nrouter isis U\n", "\nrouter isis U\n  set-overload-bit always\n"),
        file="spine1",
        devices="spine1",
        below="isis",
    ),
    _nxos("the tunnel is taken back at the end", "V4", "no source", appended("no interface nve1\n")),
    _nxos("the VLAN is taken back at the end", "R1", "VLAN 100", appended("no vlan 100\n")),
    _nxos("EVPN's instances are taken back at the end", "V3", "10100", appended("no evpn\n")),
    _nxos(
        "an uplink is set back at the end",
        "M3 L4 P1 L1",
        "Ethernet1/3",
        appended("default interface Ethernet1/3\n"),
        devices=_ENDS,
    ),
    _nxos(
        "a share with a zero too many",
        "R5",
        "500",
        replaced("bandwidth remaining percent 50", "bandwidth remaining percent 500"),
    ),
    _nxos("a speed has lost a zero", "L2", "Ethernet1/3", _after(_N3, "speed 400000", "speed 40000"), devices=_ENDS),
    _nxos(
        "a neighbour has the family of MPLS",
        "V8",
        "10.1.0.1",
        _after("  neighbor 10.1.0.1\n", "address-family l2vpn evpn", "address-family vpnv4 unicast"),
    ),
    _nxos(
        "a neighbour is taken back at the end",
        "P3",
        "10.1.0.",
        appended("router bgp 65101\n  no neighbor 10.1.0.1\n"),
        devices=_ENDS,
    ),
)
