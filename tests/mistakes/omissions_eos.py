"""Lines that are missing, or stand at one place of several, in EOS: what the switch does without them."""

from __future__ import annotations

from typing import Final

from tests.mistakes.mistake import Edit, Mistake, both, replaced

_UP = "interface Ethernet3/1\n"
_HOST = "interface Ethernet1/1\n"


def _case(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1") -> Mistake:
    return Mistake("eos", title, checks, devices, where, f"{file}.cfg", edit)


def _removed(line: str, after: str = "") -> Edit:
    return replaced(line, "", after=after)


CASES: Final = (
    _case("the SVI has no MTU", "T8", "leaf1", "Vlan100", _removed("   mtu 9214\n", after="interface Vlan100\n")),
    _case("a port has no MTU", "L4", "leaf1 spine1", "Ethernet3/1", _removed("   mtu 9214\n", after=_UP)),
    _case("the VTEP's mask is /24", "I7", "leaf1", "10.0.0.1/24", replaced("10.0.0.1/32\n!", "10.0.0.1/24\n!")),
    _case("the VXLAN port differs", "V12", "leaf1", "4790", replaced("udp-port 4789", "udp-port 4790")),
    _case("learned MACs are not advertised", "V13", "leaf1", "redistribute", _removed("      redistribute learned\n")),
    _case("IP routing is off", "R9", "leaf1", "ip routing", _removed("ip routing\n!\n")),
    _case("an uplink is a switched port", "R9", "leaf1", "Ethernet3/1", _removed("   no switchport\n", after=_UP)),
    _case("the VLAN is not defined", "R1", "leaf1", "100", _removed("vlan 100\n!\n")),
    _case(
        "a host port is in another VLAN",
        "R1",
        "leaf1",
        "Ethernet1/1",
        replaced("access vlan 100", "access vlan 101", after=_HOST),
    ),
    _case(
        "a host port has no VLAN",
        "L13",
        "leaf1",
        "Ethernet1/1",
        _removed("   switchport access vlan 100\n", after=_HOST),
    ),
    _case(
        "a host port has no profile", "L1", "leaf1", "Ethernet1/1", _removed("   service-profile ROCE\n", after=_HOST)
    ),
    _case("no priority is lossless", "M14", "leaf1", "", _removed("   priority-flow-control priority 3 no-drop\n")),
    _case(
        "no MAC of the gateway", "V6", "leaf1", "MAC", _removed("ip virtual-router mac-address 00:00:5e:00:01:01\n!\n")
    ),
    _case("no multipath", "D7", "leaf1", "maximum-paths", _removed("   maximum-paths 4\n")),
    _case(
        "the host name of another switch",
        "refused",
        "spine2 spine1",
        "spine1",
        replaced("hostname spine2", "hostname spine1"),
        "spine2",
    ),
    _case("the watchdog waits 20 s", "W6", "leaf1", "", replaced("timeout 0.20", "timeout 20.0")),
    _case("the ends have other masks", "I8", "leaf1 spine1", "10.1.0.0", replaced("10.1.0.0/31", "10.1.0.0/30")),
    _case(
        "the neighbour's address is mistyped",
        "P9",
        "leaf1 spine1",
        "10.1.0.5",
        lambda text: text.replace("10.1.0.1 ", "10.1.0.5 "),
    ),
    _case(
        "routes are imported only",
        "V3",
        "leaf1 leaf2",
        "65000:10100",
        replaced("route-target both", "route-target import"),
    ),
    _case(
        "routes are exported only",
        "V3",
        "leaf1 leaf2",
        "65000:10100",
        replaced("route-target both", "route-target export"),
    ),
    _case(
        "two leaves have one route distinguisher",
        "V10",
        "leaf1 leaf2",
        "10.0.0.1:10100",
        replaced("rd 10.0.0.2:10100", "rd 10.0.0.1:10100"),
        "leaf2",
    ),
    _case(
        "marking is on another queue",
        "E4",
        "leaf1",
        "",
        both(
            replaced(
                "      random-detect ecn minimum-threshold 400 kbytes maximum-threshold 1600 kbytes "
                "max-mark-probability 20 weight 0\n",
                "",
            ),
            replaced(
                "uc-tx-queue 6\n",
                "uc-tx-queue 6\n      random-detect ecn minimum-threshold 400 kbytes maximum-threshold 1600 kbytes "
                "max-mark-probability 20 weight 0\n",
            ),
        ),
    ),
    _case(
        "IPv4 is not activated",
        "P10",
        "leaf1 spine1",
        "10.1.0.1",
        _removed("      neighbor 10.1.0.1 activate\n", after="address-family ipv4\n"),
    ),
    _case("the profile trusts nothing", "M1", "leaf1", "", replaced("qos trust dscp", "no qos trust")),
    _case(
        "the network's length is mistyped",
        "V7",
        "leaf1",
        "10.0.0.1",
        replaced("network 10.0.0.1/32", "network 10.0.0.1/24"),
    ),
    _case(
        "an applied route map is not defined",
        "R1",
        "leaf1",
        "IMPORT",
        replaced(
            "      neighbor 10.1.0.1 activate\n",
            "      neighbor 10.1.0.1 activate\n      neighbor 10.1.0.1 route-map IMPORT in\n",
            after="address-family ipv4\n",
        ),
    ),
    _case("the VNI is mapped in the tunnel nowhere", "V16", "leaf1", "100", _removed("   vxlan vlan 100 vni 10100\n")),
    _case("the tunnel has no source", "V4", "leaf1", "source", _removed("   vxlan source-interface Loopback0\n")),
    _case(
        "the SVI is shut",
        "V17",
        "leaf1",
        "Vlan100",
        replaced("interface Vlan100\n", "interface Vlan100\n   shutdown\n"),
    ),
    _case(
        "the VTEP's loopback is shut",
        "V17",
        "leaf1",
        "Loopback0",
        replaced("interface Loopback0\n", "interface Loopback0\n   shutdown\n"),
    ),
    _case(
        "the VLAN has no gateway",
        "V18",
        "leaf1",
        "172.16.100.1",
        _removed("interface Vlan100\n   mtu 9214\n   ip address virtual 172.16.100.1/24\n!\n"),
    ),
    _case(
        "the SVI is no anycast gateway", "V6", "leaf1", "Vlan100", replaced("ip address virtual 172", "ip address 172")
    ),
    _case("a neighbour has no AS", "P11", "leaf1", "10.1.0.1", _removed("   neighbor 10.1.0.1 remote-as 65000\n")),
    _case("a fabric address is used twice", "I8", "leaf1", "10.1.0.0", replaced("10.1.0.2/31", "10.1.0.0/31")),
    _case(
        "an applied prefix list is not defined",
        "R1",
        "leaf1",
        "NETS",
        replaced(
            "      neighbor 10.1.0.1 activate\n",
            "      neighbor 10.1.0.1 activate\n      neighbor 10.1.0.1 prefix-list NETS in\n",
            after="address-family ipv4\n",
        ),
    ),
    _case(
        "a route map names a prefix list that is not defined",
        "R1",
        "leaf1",
        "NETS",
        both(
            replaced("router bgp", "route-map IN permit 10\n   match ip address prefix-list NETS\nrouter bgp"),
            replaced(
                "      neighbor 10.1.0.1 activate\n",
                "      neighbor 10.1.0.1 activate\n      neighbor 10.1.0.1 route-map IN in\n",
                after="address-family ipv4\n",
            ),
        ),
    ),
)
"""leaf1 unless another file is named."""
