"""Mistakes in EOS configurations."""

from __future__ import annotations

from typing import Final

from tests.mistakes.mistake import Edit, Mistake, both, everywhere, replaced

_UP = "interface Ethernet3/1\n"
"""leaf1's port to spine1."""
_HOST = "interface Ethernet1/1\n"
"""leaf1's port to host1."""


def _case(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1") -> Mistake:
    return Mistake("eos", title, checks, devices, where, f"{file}.cfg", edit)


def _removed(line: str, after: str = "") -> Edit:
    return replaced(line, "", after=after)


CASES: Final = (
    # ===== classification, PFC =====
    _case(
        "no PFC on a switch",
        "R9 L1 M14",
        "leaf1 leaf2 spine1 spine2",
        "",
        _removed("   priority-flow-control on\n"),
        "spine1",
    ),
    _case(
        "PFC off at a port", "L1", "leaf1 spine1", "Ethernet3/1", replaced("   service-profile ROCE\n", "", after=_UP)
    ),
    _case("PFC on another priority", "L1 M1 M4", "leaf1", "", replaced("priority 3 no-drop", "priority 4 no-drop")),
    _case(
        "RoCE is in a lossy class",
        "M1 M2",
        "leaf1",
        "26",
        replaced("dscp 26 to traffic-class 3", "dscp 26 to traffic-class 1"),
    ),
    _case(
        "CNPs are in the data class",
        "M6 M2",
        "leaf1",
        "48",
        replaced("dscp 48 to traffic-class 6", "dscp 48 to traffic-class 3"),
    ),
    _case(
        "other traffic in the class",
        "M8",
        "leaf1",
        "46",
        replaced("qos map dscp 26 to", "qos map dscp 46 to traffic-class 3\nqos map dscp 26 to"),
    ),
    _case("data is strict", "M9", "leaf1", "", replaced("no priority\n      bandwidth percent 90", "priority strict")),
    _case(
        "the profile's name is mistyped",
        "R1",
        "leaf1",
        "RCOE",
        replaced("service-profile ROCE", "service-profile RCOE", after=_UP),
    ),
    _case("802.1p is trusted", "M1 M13 N3 N1", "leaf1", "", replaced("qos trust dscp", "qos trust cos")),
    _case(
        "the RoCE queue has a small weight",
        "M11",
        "leaf1",
        "",
        both(
            replaced("bandwidth percent 90", "bandwidth percent 3"),
            replaced("bandwidth percent 10", "bandwidth percent 97"),
        ),
    ),
    # ===== ECN =====
    _case(
        "no marking",
        "E4",
        "leaf1",
        "",
        _removed(
            "      random-detect ecn minimum-threshold 400 kbytes maximum-threshold 1600 kbytes "
            "max-mark-probability 20 weight 0\n"
        ),
    ),
    _case("Kmin above Kmax", "E1", "leaf1", "", replaced("minimum-threshold 400", "minimum-threshold 4000")),
    _case("marking with probability 0", "E6 R5", "leaf1", "", replaced("probability 20", "probability 0")),
    _case(
        "thresholds in bytes that are kilobytes",
        "E13",
        "leaf1",
        "KB",
        replaced("400 kbytes maximum-threshold 1600 kbytes", "400 bytes maximum-threshold 1600 bytes"),
    ),
    _case(
        "marking differs from the other leaf",
        "E7 E5",
        "leaf1",
        "",
        replaced("400 kbytes maximum-threshold 1600", "40 kbytes maximum-threshold 160"),
    ),
    _case(
        "a shaper on the data queue",
        "M15",
        "leaf1",
        "shape rate",
        replaced("      bandwidth percent 90\n", "      bandwidth percent 90\n      shape rate 100000000 kbps\n"),
    ),
    _case(
        "a shaper on a port",
        "M15",
        "leaf1",
        "Ethernet3/1",
        replaced("   mtu 9214\n", "   mtu 9214\n   shape rate 50 percent\n", after=_UP),
    ),
    # ===== watchdog =====
    _case("no watchdog", "W2", "leaf1", "", _removed("   priority-flow-control pause watchdog\n")),
    _case("a slow poll", "W3", "leaf1", "", replaced("polling-interval 0.10", "polling-interval 0.50")),
    # ===== links =====
    _case("MTU differs", "L4", "leaf1 spine1", "Ethernet3/1", replaced("mtu 9214", "mtu 1500", after=_UP)),
    _case(
        "a host port's MTU is small", "T5 L4 T1", "leaf1", "Ethernet1/1", replaced("mtu 9214", "mtu 1500", after=_HOST)
    ),
    _case("speeds differ", "L2", "leaf1 spine1", "Ethernet3/1", replaced("speed 400g-8", "speed 200g-4", after=_UP)),
    _case(
        "FEC differs",
        "L5",
        "leaf1 spine1",
        "Ethernet3/1",
        replaced("   error-correction encoding reed-solomon\n", "   no error-correction encoding\n", after=_UP),
    ),
    _case(
        "link-wide pause",
        "L10",
        "leaf1",
        "Ethernet3/1",
        replaced("   mtu 9214\n", "   mtu 9214\n   flowcontrol receive on\n", after=_UP),
    ),
    _case(
        "a port is shut", "L12", "leaf1 spine1", "", replaced("   mtu 9214\n", "   shutdown\n   mtu 9214\n", after=_UP)
    ),
    # ===== identity, BGP =====
    _case(
        "a loopback is used twice",
        "I1",
        "leaf1 leaf2",
        "10.0.0.1",
        replaced("ip address 10.0.0.2/32", "ip address 10.0.0.1/32"),
        "leaf2",
    ),
    _case(
        "a router ID is used twice",
        "I3",
        "leaf1 leaf2",
        "10.0.0.1",
        replaced("router-id 10.0.0.2", "router-id 10.0.0.1"),
        "leaf2",
    ),
    _case(
        "the neighbour's AS is wrong",
        "P2",
        "leaf1",
        "65001",
        replaced("10.1.0.1 remote-as 65000", "10.1.0.1 remote-as 65001"),
    ),
    _case(
        "two leaves have one AS",
        "I5 P2",
        "leaf1 leaf2 spine1 spine2",
        "65101",
        replaced("router bgp 65102", "router bgp 65101"),
        "leaf2",
    ),
    _case("hold time below keepalive", "I6", "leaf1", "", replaced("timers bgp 3 9", "timers bgp 9 3")),
    _case(
        "a session at one end only",
        "P3",
        "leaf1 spine1",
        "leaf1",
        lambda text: "".join(line for line in text.splitlines(keepends=True) if "neighbor 10.1.0.1 " not in line),
    ),
    _case(
        "the session is shut",
        "P3 P6",
        "leaf1 spine1",
        "10.1.0.1",
        replaced("   neighbor 10.1.0.1 send", "   neighbor 10.1.0.1 shutdown\n   neighbor 10.1.0.1 send"),
    ),
    _case(
        "the ends are in different subnets",
        "P1",
        "leaf1 spine1",
        "10.9.0.0",
        replaced("ip address 10.1.0.0/31", "ip address 10.9.0.0/31"),
    ),
    _case(
        "EVPN is not activated",
        "V8",
        "leaf1 spine1",
        "10.1.0.1",
        _removed("      neighbor 10.1.0.1 activate\n", after="address-family evpn\n"),
    ),
    _case(
        "no extended communities",
        "V8 V9",
        "leaf1",
        "10.1.0.1",
        _removed("   neighbor 10.1.0.1 send-community extended\n"),
    ),
    _case(
        "a spine changes the next hop",
        "V9",
        "spine1",
        "10.1.0.0",
        _removed("   neighbor 10.1.0.0 next-hop-unchanged\n"),
        "spine1",
    ),
    _case("the loopback is not advertised", "V7", "leaf1", "10.0.0.1", _removed("      network 10.0.0.1/32\n")),
    # ===== VXLAN, EVPN =====
    _case(
        "the VLAN has another VNI",
        "V2",
        "leaf1 leaf2",
        "10200",
        replaced("vxlan vlan 100 vni 10100", "vxlan vlan 100 vni 10200"),
        "leaf2",
    ),
    _case(
        "a VNI has two VLANs",
        "V1",
        "leaf1",
        "10100",
        both(
            replaced("vlan 100\n", "vlan 100\n!\nvlan 200\n"),
            replaced("   vxlan vlan 100 vni 10100\n", "   vxlan vlan 100 vni 10100\n   vxlan vlan 200 vni 10100\n"),
        ),
    ),
    _case(
        "the route target differs",
        "V3",
        "leaf1 leaf2",
        "65000:10200",
        replaced("route-target both 65000:10100", "route-target both 65000:10200"),
        "leaf2",
    ),
    _case(
        "no EVPN instance of the VLAN",
        "V3 V5",
        "leaf1",
        "100",
        replaced(
            "   vlan 100\n      rd 10.0.0.1:10100\n      route-target both 65000:10100\n      redistribute learned\n",
            "",
        ),
    ),
    _case(
        "the VTEP's source does not exist",
        "V4",
        "leaf1",
        "Loopback1",
        replaced("source-interface Loopback0", "source-interface Loopback1"),
    ),
    _case(
        "the gateway's address differs",
        "V6",
        "leaf1 leaf2",
        "172.16.100.254",
        replaced("virtual 172.16.100.1/24", "virtual 172.16.100.254/24"),
    ),
    _case(
        "the gateway's prefix differs",
        "V6",
        "leaf1 leaf2",
        "172.16.100.1/25",
        replaced("virtual 172.16.100.1/24", "virtual 172.16.100.1/25"),
    ),
    _case(
        "the gateway's MAC differs",
        "V6",
        "leaf1 leaf2",
        "00:00:5e:00:01:02",
        everywhere("00:00:5e:00:01:01", "00:00:5e:00:01:02"),
    ),
)
