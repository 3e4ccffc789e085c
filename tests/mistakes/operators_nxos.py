"""Mistakes of operators in NX-OS, invented and tried before the checks knew them."""

from __future__ import annotations

from typing import Final

from tests.mistakes.mistake import Mistake, both, every_host, replaced

CASES: Final = (
    Mistake(
        "nxos",
        "match-all of two values",
        "R9",
        "leaf1",
        "ROCEv2",
        "leaf1.cfg",
        replaced(
            "class-map type qos match-any ROCEv2\n  match dscp 26\n",
            ("class-map type qos match-all ROCEv2\n  match dscp 26\n  match cos 3\n"),
        ),
    ),
    Mistake(
        "nxos",
        "the classification is at the output",
        "M3",
        "leaf1",
        "DSCP",
        "leaf1.cfg",
        replaced("service-policy type qos input", "service-policy type qos output", after="interface Ethernet1/3"),
    ),
    Mistake("nxos", "the class sets no group", "M1", "leaf1", "26", "leaf1.cfg", replaced("    set qos-group 3\n", "")),
    Mistake(
        "nxos",
        "the default queuing policy",
        "E4",
        "leaf1",
        "default-8q-out-policy",
        "leaf1.cfg",
        replaced(
            "service-policy type queuing output QOS_EGRESS", "service-policy type queuing output default-8q-out-policy"
        ),
    ),
    Mistake(
        "nxos",
        "an ACL on an uplink forgets VXLAN",
        "A2",
        "leaf1",
        "FABRIC",
        "leaf1.cfg",
        both(
            replaced(
                "interface Vlan100",
                ("ip access-list FABRIC\n  10 permit tcp any any eq bgp\n  20 permit icmp any any\ninterface Vlan100"),
            ),
            replaced("  ip address 10.1.0.0/31\n", "  ip address 10.1.0.0/31\n  ip access-group FABRIC in\n"),
        ),
    ),
    Mistake(
        "nxos",
        "a route to Null0",
        "D10",
        "leaf1",
        "10.0.0.2",
        "leaf1.cfg",
        replaced("router bgp 65101", "ip route 10.0.0.2/32 Null0\nrouter bgp 65101"),
    ),
    Mistake(
        "nxos",
        "an inherited template is not defined",
        "R1",
        "leaf1",
        "SPINES",
        "leaf1.cfg",
        replaced("    remote-as 65000\n", "    inherit peer SPINES\n    remote-as 65000\n"),
    ),
    Mistake(
        "nxos",
        "the neighbour may send one prefix",
        "P17",
        "leaf1",
        "maximum-prefix",
        "leaf1.cfg",
        replaced(
            "    address-family ipv4 unicast\n",
            "    address-family ipv4 unicast\n      maximum-prefix 1\n",
            after="neighbor 10.1.0.1",
        ),
    ),
    Mistake(
        "nxos",
        "system jumbomtu is small",
        "R9",
        "leaf1",
        "jumbomtu",
        "leaf1.cfg",
        replaced("interface Vlan100", "system jumbomtu 2500\ninterface Vlan100"),
    ),
    Mistake(
        "nxos",
        "the VNI is associated with a VRF",
        "R1",
        "leaf1",
        "10100",
        "leaf1.cfg",
        replaced("  member vni 10100\n", "  member vni 10100 associate-vrf\n"),
    ),
    Mistake(
        "nxos",
        "the gateway's MAC lost a digit",
        "V6",
        "leaf1",
        "MAC",
        "leaf1.cfg",
        replaced("anycast-gateway-mac 0000.5e00.0101", "anycast-gateway-mac 0000.5e00.011"),
    ),
    Mistake(
        "nxos",
        "the VTEP's loopback is another, not advertised",
        "V7",
        "leaf1",
        "10.0.1.1",
        "leaf1.cfg",
        both(
            replaced("interface Vlan100", ("interface loopback1\n  ip address 10.0.1.1/32\ninterface Vlan100")),
            replaced("source-interface loopback0", "source-interface loopback1"),
        ),
    ),
    Mistake(
        "nxos",
        "the neighbour sees another AS",
        "P2",
        "leaf1 spine1",
        "local-as",
        "leaf1.cfg",
        replaced("    remote-as 65000\n", ("    remote-as 65000\n    local-as 65999 no-prepend replace-as\n")),
    ),
    Mistake(
        "nxos",
        "a prefix list lost le 32 at one uplink",
        "P18",
        "leaf1",
        "LOOPBACKS",
        "leaf1.cfg",
        both(
            replaced(
                "router bgp 65101",
                (
                    "ip prefix-list LOOPBACKS seq 10 permit 10.0.0.0/24\n"
                    "route-map IN permit 10\n"
                    "  match ip address prefix-list LOOPBACKS\n"
                    "router bgp 65101"
                ),
            ),
            replaced(
                "    address-family ipv4 unicast\n",
                "    address-family ipv4 unicast\n      route-map IN in\n",
                after="neighbor 10.1.0.1",
            ),
        ),
    ),
    Mistake(
        "nxos",
        "the marking probability has a zero too many",
        "E7",
        "leaf1",
        "70",
        "leaf1.cfg",
        replaced("drop-probability 7 ", "drop-probability 70 "),
    ),
    Mistake(
        "nxos",
        "the bandwidths exceed 100 percent",
        "R5",
        "leaf1",
        "bandwidth",
        "leaf1.cfg",
        replaced(
            "c-out-8q-q-default\n    bandwidth remaining percent 50",
            "c-out-8q-q-default\n    bandwidth remaining percent 60",
        ),
    ),
    Mistake(
        "nxos",
        "the next hop's route map denies",
        "P18",
        "spine1",
        "NH_UNCHANGED",
        "spine1.cfg",
        replaced("route-map NH_UNCHANGED permit 10", "route-map NH_UNCHANGED deny 10"),
    ),
    Mistake(
        "nxos",
        "the VNI is of layer 3 in EVPN",
        "V3",
        "leaf1",
        "VNI 10100",
        "leaf1.cfg",
        replaced("  vni 10100 l2\n", "  vni 10100 l3\n"),
    ),
    Mistake(
        "nxos",
        "a port's own queuing policy does not mark",
        "E4",
        "leaf1",
        "QOS_HOST",
        "leaf1.cfg",
        both(
            replaced(
                "system qos\n",
                (
                    "policy-map type queuing QOS_HOST\n"
                    "  class type queuing c-out-8q-q3\n"
                    "    bandwidth remaining percent 50\n"
                    "  class type queuing c-out-8q-q-default\n"
                    "    bandwidth remaining percent 50\n"
                    "  class type queuing c-out-8q-q7\n"
                    "    priority level 1\n"
                    "system qos\n"
                ),
            ),
            replaced(
                "  service-policy type qos input",
                ("  service-policy type queuing output QOS_HOST\n  service-policy type qos input"),
                after="interface Ethernet1/1",
            ),
        ),
    ),
    Mistake(
        "nxos",
        "an ACL drops TCP",
        "A3",
        "leaf1",
        "FABRIC",
        "leaf1.cfg",
        both(
            replaced(
                "interface Vlan100",
                ("ip access-list FABRIC\n  10 deny tcp any any\n  20 permit ip any any\ninterface Vlan100"),
            ),
            replaced("  ip address 10.1.0.0/31\n", "  ip address 10.1.0.0/31\n  ip access-group FABRIC in\n"),
        ),
    ),
    Mistake(
        "nxos",
        "the VLAN is suspended",
        "V17",
        "leaf1",
        "suspend",
        "leaf1.cfg",
        replaced("vlan 100\n", "vlan 100\n  state suspend\n"),
    ),
    Mistake(
        "nxos",
        "the router ID has a length",
        "R5",
        "leaf1",
        "10.0.0.1/32",
        "leaf1.cfg",
        replaced("router-id 10.0.0.1\n", "router-id 10.0.0.1/32\n"),
    ),
    Mistake(
        "nxos",
        "a spine's prefix list keeps the loopbacks from one leaf",
        "P18",
        "spine1",
        "LEAVES",
        "spine1.cfg",
        both(
            replaced(
                "router bgp 65000\n",
                (
                    "ip prefix-list LEAVES seq 10 permit 10.0.0.0/24\n"
                    "route-map OUT permit 10\n"
                    "  match ip address prefix-list LEAVES\n"
                    "router bgp 65000\n"
                ),
            ),
            replaced(
                "    address-family ipv4 unicast\n",
                "    address-family ipv4 unicast\n      route-map OUT out\n",
                after="neighbor 10.1.0.0",
            ),
        ),
    ),
    Mistake(
        "nxos",
        "everything else is in the lossless group",
        "M8",
        "leaf1",
        "DSCP",
        "leaf1.cfg",
        replaced("    set qos-group 0", "    set qos-group 3"),
    ),
    Mistake(
        "nxos",
        "a host port is a trunk",
        "L14",
        "leaf1",
        "Ethernet1/1",
        "leaf1.cfg",
        replaced("  switchport access vlan 100\n", "  switchport mode trunk\n  switchport trunk allowed vlan 100\n"),
    ),
    Mistake(
        "nxos",
        "an applied access list is not defined",
        "R1",
        "leaf1",
        "STORAGE",
        "leaf1.cfg",
        replaced("  ip address 10.1.0.0/31\n", "  ip address 10.1.0.0/31\n  ip access-group STORAGE in\n"),
    ),
    Mistake(
        "nxos",
        "hosts mark CNPs with another DSCP",
        "N3",
        "leaf1 default host1",
        "46",
        "hosts.json",
        every_host(cnp_dscp=46),
    ),
    Mistake(
        "nxos",
        "the network lacks its mask",
        "V7",
        "leaf1",
        "10.0.0.1",
        "leaf1.cfg",
        replaced("    network 10.0.0.1/32\n", "    network 10.0.0.1\n"),
    ),
    Mistake(
        "nxos",
        "the ACL's VXLAN port is mistyped",
        "A2",
        "leaf1",
        "FABRIC",
        "leaf1.cfg",
        both(
            replaced(
                "interface Vlan100",
                (
                    "ip access-list FABRIC\n"
                    "  10 permit tcp any any\n"
                    "  20 permit udp any any eq 4798\n"
                    "  30 permit icmp any any\n"
                    "interface Vlan100"
                ),
            ),
            replaced("  ip address 10.1.0.0/31\n", "  ip address 10.1.0.0/31\n  ip access-group FABRIC in\n"),
        ),
    ),
    Mistake(
        "nxos",
        "the pause is removed from the class",
        "M14",
        "spine1",
        "PFC",
        "spine1.cfg",
        replaced("    pause pfc-cos 3\n", ""),
    ),
    Mistake(
        "nxos",
        "the source loopback is mistyped",
        "V4",
        "leaf1",
        "loopback10",
        "leaf1.cfg",
        replaced("source-interface loopback0", "source-interface loopback10"),
    ),
    Mistake(
        "nxos",
        "the SVI has the other prefix",
        "V6",
        "leaf1 leaf2",
        "172.16.100.1/25",
        "leaf1.cfg",
        replaced("ip address 172.16.100.1/24", "ip address 172.16.100.1/25"),
    ),
    Mistake(
        "nxos",
        "the AS of a neighbour has swapped digits",
        "P2",
        "spine2",
        "65110",
        "spine2.cfg",
        replaced("remote-as 65101", "remote-as 65110"),
    ),
)
