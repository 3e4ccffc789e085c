"""Further mistakes of daily upkeep in EOS and NX-OS, invented and tried before the checks knew them."""

from __future__ import annotations

from typing import Final

from tests.mistakes import upkeep_eos
from tests.mistakes.mistake import Edit, Mistake, both, everywhere, replaced


def _eos(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.cfg") -> Mistake:
    return Mistake("eos", title, checks, devices, where, file, edit, loopbacks="between loopbacks" in title)


def _nxos(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.cfg") -> Mistake:
    return Mistake("nxos", title, checks, devices, where, file, edit, loopbacks="between loopbacks" in title)


_ALL = "leaf1 leaf2 spine1 spine2"
_EUP, _EHOST = "interface Ethernet3/1\n", "interface Ethernet1/1\n"
_NUP, _NHOST = "interface Ethernet1/3\n", "interface Ethernet1/1\n"
_IPV4 = "   address-family ipv4\n"
_MARK = (
    "random-detect ecn minimum-threshold 400 kbytes maximum-threshold 1600 kbytes max-mark-probability 20 weight 0\n"
)

CASES: Final = (
    _eos(
        "the CNP queue is last",
        "M6",
        "leaf1",
        "",
        replaced(
            "   uc-tx-queue 6\n      priority strict\n",
            "   uc-tx-queue 6\n      no priority\n      bandwidth percent 1\n",
        ),
    ),
    _eos(
        "RoCE is trusted by CoS and PFC follows another map",
        "M1 M4 M5",
        "leaf1",
        "",
        replaced(
            "qos map dscp 26 to traffic-class 3\n",
            "qos map dscp 26 to traffic-class 3\nqos map traffic-class 3 to uc-tx-queue 5\n",
        ),
    ),
    _eos(
        "marking begins where it ends",
        "E6 E1 E5 E7",
        "leaf1",
        "",
        replaced("maximum-threshold 1600 kbytes", "maximum-threshold 400 kbytes"),
    ),
    _eos(
        "an unused profile was corrected, the used one not",
        "E4",
        "leaf1",
        "",
        both(
            replaced(f"      {_MARK}", ""),
            replaced(
                "interface Ethernet1/1",
                f"qos profile ROCE-NEW\n   uc-tx-queue 3\n      {_MARK}!\ninterface Ethernet1/1",
            ),
        ),
    ),
    _eos(
        "the spines' group lacks EVPN, the neighbour is moved into it",
        "V8",
        "leaf1",
        "10.1.0.1",
        replaced(
            "   address-family evpn\n      neighbor 10.1.0.1 activate\n",
            "   address-family evpn\n      neighbor SPINES activate\n",
        ),
    ),
    _eos(
        "an access list permits RoCE of one subnet only",
        "A1",
        "leaf1",
        "STORAGE",
        both(
            replaced(
                "interface Ethernet1/1",
                "ip access-list STORAGE\n   10 permit udp 172.16.200.0/24 any eq 4791\n"
                "   20 permit tcp any any\n!\ninterface Ethernet1/1",
            ),
            replaced(
                "   switchport access vlan 100\n", "   switchport access vlan 100\n   ip access-group STORAGE in\n"
            ),
        ),
    ),
    _eos(
        "the VTEP is the uplink",
        "V4 V7",
        "leaf1",
        "10.1.0.0",
        replaced("vxlan source-interface Loopback0", "vxlan source-interface Ethernet3/1"),
    ),
    _eos(
        "the route target is of the type of an address",
        "V3 R5",
        "leaf1 leaf2",
        "10.0.0.1:10100",
        replaced("route-target both 65000:10100", "route-target both 10.0.0.1:10100"),
    ),
    _eos(
        "a neighbour is declared and then removed",
        "P3",
        "leaf1 spine1",
        "10.1.0",
        replaced("   vlan 100\n      rd", "   no neighbor 10.1.0.1\n   vlan 100\n      rd"),
    ),
    _eos(
        "the default route map of new neighbours denies",
        "V11 P18",
        "leaf1",
        "DENY",
        both(
            replaced("router bgp", "route-map DENY deny 10\nrouter bgp"),
            replaced(_IPV4, f"{_IPV4}      neighbor 10.1.0.1 route-map DENY in\n"),
        ),
    ),
    _eos(
        "every leaf allows the spines' routes by their length",
        "V11 P18",
        _ALL,
        "SHORT",
        both(
            replaced("router bgp", "ip prefix-list SHORT seq 10 permit 10.0.0.0/8 le 24\nrouter bgp"),
            replaced(_IPV4, _IPV4 + "".join(f"      neighbor 10.1.0.{it} prefix-list SHORT in\n" for it in (1, 3))),
        ),
    ),
    _eos(
        "the ends of a LAG have other MTUs",
        "L4 L8",
        "leaf1 spine1",
        "MTU",
        both(
            upkeep_eos.lag({"leaf1": "active", "spine1": "active"}),
            lambda text: text.replace(
                "switchport\n   mtu 9214\n   ip address 10.1.0.0", "switchport\n   mtu 1500\n   ip address 10.1.0.0"
            ),
        ),
        "*.cfg",
    ),
    _nxos(
        "no-drop marking goes to the strict queue",
        "M9 M1",
        "leaf1",
        "",
        replaced(
            "class type queuing c-out-8q-q3\n    bandwidth remaining percent 50\n",
            "class type queuing c-out-8q-q3\n    priority level 2\n",
        ),
    ),
    _nxos("thresholds are in packets", "R5 E4", "leaf1", "packets", everywhere("kbytes", "packets")),
    _nxos("the pause has two priorities", "L1 M7", "leaf1", "", replaced("pause pfc-cos 3\n", "pause pfc-cos 3,4\n")),
    _nxos(
        "the switch overrides PFC of its ports",
        "L1 M14",
        "leaf1",
        "",
        replaced(
            "priority-flow-control watch-dog-interval on\n",
            "priority-flow-control watch-dog-interval on\npriority-flow-control override-interface mode off\n",
        ),
    ),
    _nxos(
        "a class map matches another list",
        "R1 M1 M3",
        "leaf1",
        "26",
        replaced("  match dscp 26\n", "  match access-group name ROCE-ACL\n"),
    ),
    _nxos(
        "an uplink is in the hosts' VLAN",
        "R9 L13 P1",
        "leaf1",
        "Ethernet1/3",
        replaced("  no switchport\n", "  switchport\n  switchport access vlan 100\n", after=_NUP),
    ),
    _nxos(
        "the tunnel's loopback has only its secondary address",
        "R9 V4 V7",
        "leaf1",
        "secondary",
        replaced("ip address 10.0.0.1/32\n", "ip address 10.0.0.1/32 secondary\n"),
    ),
    _nxos(
        "a VNI has the multicast group and no replication",
        "V15",
        "leaf1",
        "",
        replaced("    ingress-replication protocol bgp\n", "    mcast-group 239.1.1.1\n"),
    ),
    _nxos(
        "the next hop's route map is at one leaf only",
        "V9",
        "spine1",
        "10.1.1.0",
        replaced("      route-map NH_UNCHANGED out\n", "", after="neighbor 10.1.1.0\n"),
        "spine1.cfg",
    ),
    _nxos(
        "the template has no EVPN family",
        "V8",
        "leaf1",
        "10.1.0.1",
        replaced(
            "  neighbor 10.1.0.1\n    remote-as 65000\n    address-family ipv4 unicast\n"
            "    address-family l2vpn evpn\n      send-community extended\n",
            "  template peer SPINE\n    remote-as 65000\n    address-family ipv4 unicast\n"
            "  neighbor 10.1.0.1\n    inherit peer SPINE\n",
        ),
    ),
    _nxos(
        "a community on arrival keeps routes inside",
        "V11 P18",
        "spine1 spine2 " + "leaf1 leaf2",
        "no-advertise",
        both(
            replaced("router bgp", "route-map IN permit 10\n  set community no-advertise\nrouter bgp"),
            everywhere(
                "    address-family ipv4 unicast\n    address-family l2vpn",
                "    address-family ipv4 unicast\n      route-map IN in\n    address-family l2vpn",
            ),
        ),
        "spine*.cfg",
    ),
    _nxos(
        "BFD runs without its feature",
        "R9",
        "leaf1",
        "bfd",
        replaced("    remote-as 65000\n", "    remote-as 65000\n    bfd\n"),
    ),
    _nxos(
        "EVPN between loopbacks: a spine's loopback is in a VRF",
        "P14",
        "spine1",
        "10.0.0.11",
        both(replaced("\ninterface loopback0\n", "\nvrf context STORAGE\ninterface loopback0\n  vrf member STORAGE\n")),
        "spine1.cfg",
    ),
    _eos(
        "EVPN between loopbacks: leaves send hosts only",
        "P22",
        "leaf1 spine1 spine2",
        "10.0.0.1",
        both(
            replaced("router bgp", "ip prefix-list HOSTS seq 10 permit 172.16.0.0/16 le 32\nrouter bgp"),
            replaced(_IPV4, _IPV4 + "".join(f"      neighbor 10.1.0.{it} prefix-list HOSTS out\n" for it in (1, 3))),
        ),
    ),
)
