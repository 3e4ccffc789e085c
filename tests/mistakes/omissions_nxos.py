"""Lines that are missing, or stand at one place of several, in NX-OS: what the switch does without them."""

from __future__ import annotations

from typing import Final

from tests.mistakes.mistake import Edit, Mistake, both, everywhere, replaced

_UP = "interface Ethernet1/3\n"
_HOST = "interface Ethernet1/1\n"


def _case(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1") -> Mistake:
    return Mistake("nxos", title, checks, devices, where, f"{file}.cfg", edit)


def _removed(text: str, after: str = "") -> Edit:
    return replaced(text, "", after=after)


CASES: Final = (
    _case("no MTU in network-qos", "T7", "leaf1", "mtu", everywhere("    mtu 9216\n", "")),
    _case("no MTU in one class", "T7", "leaf1", "c-8q-nq3", _removed("    mtu 9216\n", after="c-8q-nq3\n")),
    _case(
        "no MTU in the default class",
        "T7",
        "leaf1",
        "c-8q-nq-default",
        _removed("    mtu 9216\n", after="nq-default\n"),
    ),
    _case(
        "a spine keeps no foreign route targets",
        "V14",
        "spine1",
        "retain route-target",
        _removed("    retain route-target all\n"),
        "spine1",
    ),
    _case(
        "the VTEP's mask is /24",
        "I7",
        "leaf1",
        "10.0.0.1/24",
        replaced("ip address 10.0.0.1/32", "ip address 10.0.0.1/24"),
    ),
    _case("a VNI without replication", "V15", "leaf1", "10100", _removed("    ingress-replication protocol bgp\n")),
    _case("the SVI has no MTU", "T8", "leaf1", "Vlan100", _removed("  mtu 9216\n", after="interface Vlan100\n")),
    _case("an uplink has no MTU", "L4", "leaf1 spine1", "Ethernet1/3", _removed("  mtu 9216\n", after=_UP)),
    _case("EVPN is not enabled", "R9", "leaf1", "nv overlay evpn", _removed("nv overlay evpn\n")),
    _case("the tunnel's feature is off", "R9", "leaf1", "feature nv overlay", _removed("feature nv overlay\n")),
    _case("BGP's feature is off", "R9", "leaf1", "feature bgp", _removed("feature bgp\n")),
    _case("the SVI's feature is off", "R9", "leaf1", "feature interface-vlan", _removed("feature interface-vlan\n")),
    _case(
        "the VLAN's VNI feature is off",
        "R9",
        "leaf1",
        "feature vn-segment-vlan-based",
        _removed("feature vn-segment-vlan-based\n"),
    ),
    _case(
        "the SVI is no anycast gateway",
        "V6",
        "leaf1 leaf2",
        "Vlan100",
        _removed("  fabric forwarding mode anycast-gateway\n"),
    ),
    _case("the VLAN has no VNI", "V16", "leaf1", "100", _removed("  vn-segment 10100\n")),
    _case(
        "a host port has no VLAN",
        "L13",
        "leaf1",
        "Ethernet1/1",
        _removed("  switchport access vlan 100\n", after=_HOST),
    ),
    _case(
        "no MAC of the gateway",
        "V6",
        "leaf1",
        "MAC",
        _removed("fabric forwarding anycast-gateway-mac 0000.5e00.0101\n"),
    ),
    _case(
        "the SVI was never brought up",
        "V17",
        "leaf1",
        "Vlan100",
        _removed("  no shutdown\n", after="interface Vlan100\n"),
    ),
    _case(
        "the tunnel was never brought up", "V5", "leaf1", "nve1", _removed("  no shutdown\n", after="interface nve1\n")
    ),
    _case(
        "network-qos is not applied",
        "R9",
        "leaf1",
        "network-qos",
        _removed("  service-policy type network-qos qos_network\n"),
    ),
    _case(
        "queuing is not applied",
        "R9",
        "leaf1",
        "queuing",
        _removed("  service-policy type queuing output QOS_EGRESS\n"),
    ),
    _case("the class does not pause", "M14", "leaf1", "", _removed("    pause pfc-cos 3\n")),
    _case("the class map matches nothing", "M1", "leaf1", "26", _removed("  match dscp 26\n")),
    _case(
        "routes are imported only",
        "V3",
        "leaf1 leaf2",
        "65000:10100",
        _removed("    route-target export 65000:10100\n"),
    ),
    _case("no multipath", "D7", "leaf1", "maximum-paths", _removed("    maximum-paths 4\n")),
    _case("the ends have other masks", "I8", "leaf1 spine1", "10.1.0.0", replaced("10.1.0.0/31", "10.1.0.0/30")),
    _case("another VNI is in the tunnel", "V2", "leaf1", "10100", replaced("member vni 10100", "member vni 10101")),
    _case(
        "a neighbour has no AS",
        "P11",
        "leaf1 spine1",
        "10.1.0.1",
        _removed("    remote-as 65000\n", after="neighbor 10.1.0.1\n"),
    ),
    _case(
        "the network's length is mistyped",
        "V7",
        "leaf1",
        "10.0.0.1",
        replaced("network 10.0.0.1/32", "network 10.0.0.1/24"),
    ),
    _case("the pause is in another class", "M1", "leaf1", "", replaced("c-8q-nq3", "c-8q-nq4")),
    _case(
        "an applied route map is not defined",
        "R1",
        "spine1",
        "NH_UNCHANGE",
        replaced("route-map NH_UNCHANGED permit 10", "route-map NH_UNCHANGE permit 10"),
        "spine1",
    ),
    _case("the tunnel has no source", "V4", "leaf1", "nve1", _removed("  source-interface loopback0\n")),
    _case(
        "the VNI has no EVPN instance", "V3", "leaf1", "10100", lambda text: text[: text.index("evpn\n  vni 10100 l2")]
    ),
    _case(
        "marking is on another queue",
        "E4",
        "leaf1",
        "",
        both(
            _removed(
                "    random-detect minimum-threshold 950 kbytes maximum-threshold 3000 kbytes "
                "drop-probability 7 weight 0 ecn\n"
            ),
            replaced(
                "q-default\n    bandwidth remaining percent 50\n",
                "q-default\n    bandwidth remaining percent 50\n"
                "    random-detect minimum-threshold 950 kbytes maximum-threshold 3000 kbytes "
                "drop-probability 7 weight 0 ecn\n",
            ),
        ),
    ),
    _case(
        "the VLAN has no gateway",
        "V18",
        "leaf1",
        "172.16.100.1",
        _removed(
            "interface Vlan100\n  no shutdown\n  mtu 9216\n  ip address 172.16.100.1/24\n"
            "  fabric forwarding mode anycast-gateway\n"
        ),
    ),
    _case("the VXLAN port differs", "V12", "leaf1", "8472", replaced("vlan 100\n", "vxlan udp port 8472\nvlan 100\n")),
    _case(
        "IPv4 is not activated",
        "P10",
        "leaf1 spine1",
        "10.1.0.1",
        _removed("    address-family ipv4 unicast\n", after="neighbor 10.1.0.1\n"),
    ),
    _case("an uplink is a switched port", "R9", "leaf1", "Ethernet1/3", _removed("  no switchport\n", after=_UP)),
    _case("a fabric address is used twice", "I8", "leaf1", "10.1.0.0", replaced("10.1.0.2/31", "10.1.0.0/31")),
    _case(
        "an applied prefix list is not defined",
        "R1",
        "leaf1",
        "NETS",
        replaced(
            "    address-family ipv4 unicast\n",
            "    address-family ipv4 unicast\n      prefix-list NETS in\n",
            after="neighbor 10.1.0.1\n",
        ),
    ),
)
"""leaf1 unless another file is named."""
