"""Mistakes in NX-OS configurations."""

from __future__ import annotations

from typing import Final

from tests.mistakes.mistake import Edit, Mistake, both, everywhere, replaced

_UP = "interface Ethernet1/3\n"
"""leaf1's port to spine1."""
_HOST = "interface Ethernet1/1\n"
"""leaf1's port to host1."""


def _case(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1") -> Mistake:
    return Mistake("nxos", title, checks, devices, where, f"{file}.cfg", edit)


def _removed(text: str, after: str = "") -> Edit:
    return replaced(text, "", after=after)


CASES: Final = (
    # ===== classification, PFC =====
    _case(
        "PFC off at a port",
        "L1",
        "leaf1 spine1",
        "Ethernet1/3",
        replaced("priority-flow-control mode on", "priority-flow-control mode off", after=_UP),
    ),
    _case("another priority pauses", "L1 M1", "leaf1", "", replaced("pause pfc-cos 3", "pause pfc-cos 4")),
    _case("RoCE is in another group", "M1 M2", "leaf1", "", replaced("set qos-group 3", "set qos-group 1")),
    _case("CNPs are in the data group", "M6 M2", "leaf1", "", replaced("set qos-group 7", "set qos-group 3")),
    _case("RoCE's DSCP is mistyped", "M1 M2", "leaf1", "26", replaced("match dscp 26", "match dscp 28")),
    _case(
        "nothing classifies at a port",
        "M3 N1 M1",
        "leaf1",
        "Ethernet1/1",
        _removed("  service-policy type qos input QOS_CLASSIFICATION\n", after=_HOST),
    ),
    _case("other traffic in the group", "M8", "leaf1", "46", replaced("match dscp 26", "match dscp 26,46")),
    _case(
        "data is strict",
        "M9",
        "leaf1",
        "",
        replaced("bandwidth remaining percent 50\n    random", "priority level 1\n    random"),
    ),
    _case(
        "the policy's name is mistyped",
        "R1",
        "leaf1",
        "QOS_EGRES",
        replaced("queuing output QOS_EGRESS", "queuing output QOS_EGRES"),
    ),
    _case(
        "the classification is mistyped",
        "R1",
        "leaf1",
        "QOS_CLASS",
        replaced("input QOS_CLASSIFICATION", "input QOS_CLASS", after=_UP),
    ),
    _case(
        "the RoCE queue has a small weight",
        "M11",
        "leaf1",
        "",
        both(
            replaced("percent 50\n    random", "percent 2\n    random"),
            replaced("q-default\n    bandwidth remaining percent 50", "q-default\n    bandwidth remaining percent 98"),
        ),
    ),
    _case(
        "the lossless class has small frames",
        "T7",
        "leaf1",
        "1500",
        replaced("mtu 9216\n    pause", "mtu 1500\n    pause"),
    ),
    # ===== ECN =====
    _case("drops instead of marks", "E3", "leaf1", "", replaced("weight 0 ecn", "weight 0")),
    _case(
        "no marking",
        "E4",
        "leaf1",
        "",
        _removed(
            "    random-detect minimum-threshold 950 kbytes maximum-threshold 3000 kbytes "
            "drop-probability 7 weight 0 ecn\n"
        ),
    ),
    _case(
        "Kmin above Kmax", "E1", "leaf1", "", replaced("minimum-threshold 950 kbytes", "minimum-threshold 9500 kbytes")
    ),
    _case("marking with probability 0", "E6", "leaf1", "", replaced("drop-probability 7", "drop-probability 0")),
    _case(
        "thresholds in bytes that are kilobytes",
        "E13",
        "leaf1",
        "KB",
        replaced("950 kbytes maximum-threshold 3000 kbytes", "950 bytes maximum-threshold 3000 bytes"),
    ),
    _case(
        "marking differs from the other leaf",
        "E7 E5",
        "leaf1",
        "",
        replaced("950 kbytes maximum-threshold 3000", "95 kbytes maximum-threshold 300"),
    ),
    _case(
        "a shaper on the data queue",
        "M15",
        "leaf1",
        "shape",
        replaced("    random-detect", "    shape min 0 kbps max 100000000 kbps\n    random-detect"),
    ),
    # ===== watchdog =====
    _case(
        "no watchdog at a port",
        "W2",
        "leaf1",
        "Ethernet1/3",
        _removed("  priority-flow-control watch-dog-interval on\n", after=_UP),
    ),
    _case(
        "no watchdog at all",
        "W2",
        "leaf1",
        "",
        replaced("priority-flow-control watch-dog-interval on\npolicy", "policy"),
    ),
    # ===== links =====
    _case("MTU differs", "L4", "leaf1 spine1", "Ethernet1/3", replaced("mtu 9216", "mtu 1500", after=_UP)),
    _case("speeds differ", "L2", "leaf1 spine1", "Ethernet1/3", replaced("speed 400000", "speed 100000", after=_UP)),
    _case("FEC differs", "L5", "leaf1 spine1", "Ethernet1/3", replaced("fec rs-fec", "fec off", after=_UP)),
    _case(
        "link-wide pause",
        "L10",
        "leaf1",
        "Ethernet1/3",
        replaced("  speed 400000\n", "  flowcontrol receive on\n  speed 400000\n", after=_UP),
    ),
    _case("a port is shut", "L12", "leaf1 spine1", "", replaced("  no shutdown\n", "  shutdown\n", after=_UP)),
    _case(
        "autonegotiation differs",
        "L2",
        "leaf1 spine1",
        "Ethernet1/3",
        replaced("  speed 400000\n", "  speed 400000\n  no negotiate auto\n", after=_UP),
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
        replaced("remote-as 65000", "remote-as 65001", after="neighbor 10.1.0.1\n"),
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
        _removed(
            "  neighbor 10.1.0.1\n    remote-as 65000\n    address-family ipv4 unicast\n"
            "    address-family l2vpn evpn\n      send-community extended\n"
        ),
    ),
    _case(
        "the session is shut",
        "P3 P6",
        "leaf1 spine1",
        "10.1.0.1",
        replaced("    remote-as 65000\n", "    remote-as 65000\n    shutdown\n", after="neighbor 10.1.0.1\n"),
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
        _removed("    address-family l2vpn evpn\n      send-community extended\n", after="neighbor 10.1.0.1\n"),
    ),
    _case(
        "no extended communities",
        "V8 V9",
        "leaf1",
        "10.1.0.1",
        _removed("      send-community extended\n", after="neighbor 10.1.0.1\n"),
    ),
    _case(
        "a spine changes the next hop",
        "V9",
        "spine1",
        "10.1.0.0",
        _removed("      route-map NH_UNCHANGED out\n", after="neighbor 10.1.0.0\n"),
        "spine1",
    ),
    _case("the loopback is not advertised", "V7", "leaf1", "10.0.0.1", _removed("    network 10.0.0.1/32\n")),
    # ===== VXLAN, EVPN =====
    _case("the VLAN has another VNI", "V2 V3", "leaf1 leaf2", "10200", everywhere("10100", "10200"), "leaf2"),
    _case(
        "a VNI has two VLANs",
        "V1",
        "leaf1",
        "10100",
        replaced("vlan 100\n  vn-segment 10100\n", "vlan 100\n  vn-segment 10100\nvlan 200\n  vn-segment 10100\n"),
    ),
    _case(
        "the VNI is not in the tunnel",
        "V2 V5 V1",
        "leaf1",
        "10100",
        _removed("  member vni 10100\n    ingress-replication protocol bgp\n"),
    ),
    _case(
        "the import target differs",
        "V3",
        "leaf1 leaf2",
        "65000:10200",
        replaced("route-target import 65000:10100", "route-target import 65000:10200"),
        "leaf2",
    ),
    _case(
        "the VTEP's source does not exist",
        "V4",
        "leaf1",
        "loopback1",
        replaced("source-interface loopback0", "source-interface loopback1"),
    ),
    _case("flood and learn instead of EVPN", "V5", "leaf1", "nve1", _removed("  host-reachability protocol bgp\n")),
    _case(
        "the tunnel is shut",
        "V5 V4",
        "leaf1",
        "nve1",
        replaced("  no shutdown\n", "  shutdown\n", after="interface nve1\n"),
    ),
    _case(
        "the gateway's address differs",
        "V6",
        "leaf1 leaf2",
        "172.16.100.254",
        replaced("ip address 172.16.100.1/24", "ip address 172.16.100.254/24"),
    ),
    _case(
        "the gateway's prefix differs",
        "V6",
        "leaf1 leaf2",
        "172.16.100.1/25",
        replaced("ip address 172.16.100.1/24", "ip address 172.16.100.1/25"),
    ),
    _case(
        "the gateway's MAC differs",
        "V6",
        "leaf1 leaf2",
        "00:00:5e:00:01:02",
        replaced("0000.5e00.0101", "0000.5e00.0102"),
    ),
)
