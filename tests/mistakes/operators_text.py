"""Further mistakes of operators in EOS and NX-OS, invented and tried before the checks knew them."""

from __future__ import annotations

from typing import Final

from tests.mistakes.mistake import Edit, Mistake, both, every_host, everywhere, host, replaced


def _eos(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.cfg") -> Mistake:
    return Mistake("eos", title, checks, devices, where, file, edit)


def _nxos(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.cfg") -> Mistake:
    return Mistake("nxos", title, checks, devices, where, file, edit)


_ALL = "leaf1 leaf2 spine1 spine2"
_EUP, _EHOST = "interface Ethernet3/1\n", "interface Ethernet1/1\n"
_NUP, _NHOST = "interface Ethernet1/3\n", "interface Ethernet1/1\n"

CASES: Final = (
    _eos(
        "PFC is off at a port with a profile",
        "L1",
        "leaf1 spine1",
        "Ethernet3/1",
        replaced("   service-profile ROCE\n", "   service-profile ROCE\n   no priority-flow-control on\n", after=_EUP),
    ),
    _eos(
        "the queue drops early instead of marking",
        "E3 E4",
        "leaf1",
        "",
        replaced("random-detect ecn", "random-detect drop"),
    ),
    _eos("every MTU has no room for VXLAN", "T1", _ALL, "9000", everywhere("mtu 9214", "mtu 9000"), "*.cfg"),
    _eos(
        "a stale map line wins",
        "M1 M2",
        "leaf1",
        "26",
        replaced(
            "priority-flow-control pause watchdog default timeout",
            "qos map dscp 26 to traffic-class 1\npriority-flow-control pause watchdog default timeout",
        ),
    ),
    _eos(
        "an uplink is in a port channel that is not defined",
        "R1 R9 L8",
        "leaf1",
        "3/1",
        replaced("   no switchport\n", "   no switchport\n   channel-group 10 mode active\n", after=_EUP),
    ),
    _eos(
        "an uplink has the neighbour's address",
        "I1 P1",
        "leaf1 spine1",
        "10.1.0.1",
        replaced("ip address 10.1.0.0/31", "ip address 10.1.0.1/31"),
    ),
    _eos(
        "the own loopback is not to be exported",
        "V7 V11 P18",
        "leaf1",
        "TAG",
        both(
            replaced("router bgp", "route-map TAG permit 10\n   set community no-export\nrouter bgp"),
            everywhere("send-community extended", "send-community standard extended"),
            replaced(
                "   address-family ipv4\n",
                "   address-family ipv4\n      neighbor 10.1.0.1 route-map TAG out\n"
                "      neighbor 10.1.0.3 route-map TAG out\n",
            ),
        ),
    ),
    _eos(
        "an ACL's RoCE port has swapped digits",
        "A1",
        "leaf1",
        "HOSTS",
        both(
            replaced(
                _EHOST,
                "ip access-list HOSTS\n   10 permit udp any any eq 4719\n   20 permit tcp any any\n"
                "   30 permit icmp any any\n!\n" + _EHOST,
            ),
            replaced("   switchport access", "   ip access-group HOSTS in\n   switchport access", after=_EHOST),
        ),
    ),
    _eos(
        "a stale static flood list",
        "V15 V11 R1",
        "leaf1",
        "10.0.0.9",
        replaced("   vxlan vlan 100 vni 10100\n", "   vxlan vlan 100 vni 10100\n   vxlan flood vtep 10.0.0.9\n"),
    ),
    _eos(
        "the switch rewrites RoCE's DSCP",
        "M12",
        "leaf1",
        "34",
        replaced("qos map dscp 48", "qos rewrite dscp\nqos map traffic-class 3 to dscp 34\nqos map dscp 48"),
    ),
    _eos(
        "the CNP queue is weighted",
        "M6",
        "leaf1",
        "",
        replaced("      priority strict\n", "      no priority\n      bandwidth percent 1\n"),
    ),
    _eos(
        "a spine is the next hop by its own line",
        "V9",
        "spine1",
        "10.1.0.0",
        replaced("neighbor 10.1.0.0 next-hop-unchanged", "neighbor 10.1.0.0 next-hop-self"),
        "spine1.cfg",
    ),
    _eos(
        "a VRF has the VLAN's VNI",
        "V1",
        "leaf1",
        "10100",
        both(
            replaced("vlan 100\n!\n", "vlan 100\n!\nvrf instance RED\n!\nip routing vrf RED\n!\n"),
            replaced("   vxlan vlan 100 vni 10100\n", "   vxlan vlan 100 vni 10100\n   vxlan vrf RED vni 10100\n"),
        ),
    ),
    _eos(
        "CNPs have another class at one spine",
        "M2",
        "spine2",
        "48",
        replaced("dscp 48 to traffic-class 6", "dscp 48 to traffic-class 5"),
        "spine2.cfg",
    ),
    _eos("the priority may drop", "M14 R5", "leaf1", "", replaced("priority 3 no-drop", "priority 3 drop")),
    _eos(
        "EVPN is deactivated below",
        "V8",
        "leaf1 spine1",
        "10.1.0.1",
        replaced("   address-family ipv4\n", "      no neighbor 10.1.0.1 activate\n   address-family ipv4\n"),
    ),
    _eos(
        "a host port is policed",
        "M15 R10",
        "leaf1",
        "police",
        both(
            replaced(
                _EHOST,
                "policy-map type quality-of-service LIMIT\n   class class-default\n"
                "      police cir 10 gbps bc 2 mbytes\n!\n" + _EHOST,
            ),
            replaced(
                "   service-profile ROCE\n",
                "   service-profile ROCE\n   service-policy type qos input LIMIT\n",
                after=_EHOST,
            ),
        ),
    ),
    _eos(
        "a host port trusts 802.1p",
        "M1 M13 N1 N3",
        "leaf1",
        "Ethernet1/1",
        replaced("   service-profile ROCE\n", "   service-profile ROCE\n   qos trust cos\n", after=_EHOST),
    ),
    _eos(
        "one uplink prepends the AS",
        "D7 P18",
        "leaf1",
        "PREP",
        both(
            replaced("router bgp", "route-map PREP permit 10\n   set as-path prepend 65101 65101\nrouter bgp"),
            replaced("   address-family ipv4\n", "   address-family ipv4\n      neighbor 10.1.0.1 route-map PREP in\n"),
        ),
    ),
    _eos(
        "every host marks a lossy DSCP", "M1 N1", "host1 default " + _ALL, "24", every_host(roce_dscp=24), "hosts.json"
    ),
    # NX-OS
    _nxos(
        "queuing is applied to the input",
        "R9 R5 E4",
        "leaf1",
        "queuing",
        replaced("type queuing output QOS_EGRESS", "type queuing input QOS_EGRESS"),
    ),
    _nxos("RoCE is matched by CoS", "M1 M2 M3", "leaf1", "26", replaced("match dscp 26", "match cos 3")),
    _nxos(
        "a wider class comes first",
        "M1 M2",
        "leaf1",
        "26",
        both(
            replaced(
                "policy-map type qos QOS_CLASS",
                "class-map type qos match-any BULK\n  match dscp 24-31\npolicy-map type qos QOS_CLASS",
            ),
            replaced("  class ROCEv2\n", "  class BULK\n    set qos-group 1\n  class ROCEv2\n"),
        ),
    ),
    _nxos(
        "the default network-qos policy",
        "M14",
        "leaf1",
        "",
        replaced("network-qos qos_network\n", "network-qos default-8q-nq-policy\n", after="system qos"),
    ),
    _nxos("the queuing class is of another queue", "E4 M11", "leaf1", "3", replaced("c-out-8q-q3", "c-out-8q-q2")),
    _nxos(
        "thresholds are in megabytes",
        "E2 E5 E8 R5",
        "leaf1",
        "",
        replaced("950 kbytes maximum-threshold 3000 kbytes", "950 mbytes maximum-threshold 3000 mbytes"),
    ),
    _nxos(
        "the watchdog is switched off",
        "W2",
        "leaf1",
        "",
        replaced("watch-dog-interval on\npolicy", "watch-dog-interval off\npolicy"),
    ),
    _nxos(
        "Fire code at one end", "L5", "leaf1 spine1", "Ethernet1/3", replaced("fec rs-fec", "fec fc-fec", after=_NUP)
    ),
    _nxos(
        "the route distinguisher is the other leaf's automatic one",
        "V10",
        "leaf1 leaf2",
        "10.0.0.1:32867",
        replaced("    rd auto\n", "    rd 10.0.0.1:32867\n"),
        "leaf2.cfg",
    ),
    _nxos(
        "the SVI is in a VRF",
        "V6 R1",
        "leaf1 leaf2",
        "TENANT",
        both(
            replaced("vlan 100\n", "vrf context TENANT\nvlan 100\n"),
            replaced("  mtu 9216\n", "  vrf member TENANT\n  mtu 9216\n", after="interface Vlan100\n"),
        ),
    ),
    _nxos(
        "a community list is not defined",
        "R1",
        "spine1",
        "FABRIC",
        replaced("route-map NH_UNCHANGED permit 10\n", "route-map NH_UNCHANGED permit 10\n  match community FABRIC\n"),
        "spine1.cfg",
    ),
    _nxos(
        "a stale deny of the other loopback",
        "V11 P18",
        "leaf1",
        "NETS",
        both(
            replaced(
                "router bgp",
                "ip prefix-list NETS seq 5 deny 10.0.0.2/32\n"
                "ip prefix-list NETS seq 10 permit 0.0.0.0/0 le 32\nrouter bgp",
            ),
            everywhere(
                "    address-family ipv4 unicast\n", "    address-family ipv4 unicast\n      prefix-list NETS in\n"
            ),
        ),
    ),
    _nxos(
        "a host port is shut", "L12", "leaf1", "Ethernet1/1", replaced("  no shutdown\n", "  shutdown\n", after=_NHOST)
    ),
    _nxos(
        "a stale breakout",
        "R9 R1 R10 L7",
        "leaf1",
        "1/3",
        replaced(
            "priority-flow-control watch-dog-interval on\npolicy",
            "interface breakout module 1 port 3 map 100g-4x\npriority-flow-control watch-dog-interval on\npolicy",
        ),
    ),
    _nxos(
        "RoCE is policed",
        "M15 R10",
        "leaf1",
        "police",
        replaced(
            "    set qos-group 3\n",
            "    set qos-group 3\n    police cir 10 gbps bc 200 ms conform transmit violate drop\n",
        ),
    ),
    _nxos(
        "the class clears the DSCP",
        "M12",
        "leaf1",
        "",
        replaced("    set qos-group 3\n", "    set qos-group 3\n    set dscp 0\n"),
    ),
    _nxos(
        "CNPs have no class in the policy", "M6 M2", "leaf1", "48", replaced("  class CNP\n    set qos-group 7\n", "")
    ),
    _nxos(
        "a VLAN filter drops UDP",
        "A1 R10",
        "leaf1",
        "BLOCK",
        replaced(
            "interface Vlan100",
            "ip access-list UDP\n  10 permit udp any any\nvlan access-map BLOCK 10\n"
            "  match ip address UDP\n  action drop\nvlan filter BLOCK vlan-list 100\n"
            "interface Vlan100",
        ),
    ),
    _nxos(
        "the next hop's route map is at the input",
        "V9",
        "spine1",
        "10.1.0.0",
        replaced("route-map NH_UNCHANGED out", "route-map NH_UNCHANGED in", after="neighbor 10.1.0.0\n"),
        "spine1.cfg",
    ),
    _nxos(
        "a session between link addresses has the loopback as source",
        "P3 P7",
        "leaf1 spine1",
        "10.1.0",
        replaced("    remote-as 65000\n", "    remote-as 65000\n    update-source loopback0\n"),
    ),
    _nxos(
        "an uplink is a port channel at one end",
        "L7 L8 L12 P1 R9",
        "leaf1 spine1",
        "1/3",
        replaced(
            "  ip address 10.1.0.0/31\n  service-policy type qos input QOS_CLASSIFICATION\n",
            "  channel-group 1 mode active\n  service-policy type qos input QOS_CLASSIFICATION\n  no shutdown\n"
            "interface port-channel1\n  no switchport\n  mtu 9216\n  ip address 10.1.0.0/31\n"
            "  service-policy type qos input QOS_CLASSIFICATION\n",
        ),
    ),
    _nxos(
        "the class only obeys pauses",
        "M14 L6 L1",
        "leaf1",
        "",
        replaced("pause pfc-cos 3\n", "pause pfc-cos 3 receive\n"),
    ),
    _nxos(
        "every host pauses another priority",
        "L1 N1",
        "host1 default " + _ALL,
        "4",
        every_host(pfc_enable="4"),
        "hosts.json",
    ),
    _nxos(
        # All switches agree, and so do all hosts: the files do not say which of them is wrong.
        "every switch matches another DSCP",
        "M1",
        "host1 default " + _ALL,
        "26",
        everywhere("match dscp 26", "match dscp 46"),
        "*.cfg",
    ),
    _eos(
        "the watchdog is switched off at an uplink",
        "W2",
        "leaf1",
        "Ethernet3/1",
        replaced(
            "   service-profile ROCE\n",
            "   service-profile ROCE\n   no priority-flow-control pause watchdog\n",
            after=_EUP,
        ),
    ),
    _eos(
        "an uplink's description and cable are of the other spine",
        "L7 P1",
        "leaf1 spine1 spine2",
        "spine",
        both(
            replaced("   description spine1\n", "   description X\n"),
            replaced("   description spine2\n", "   description spine1\n"),
            replaced("   description X\n", "   description spine2\n"),
        ),
    ),
    _eos("the profile's queue is another", "E4 M11 M9", "leaf1", "3", replaced("uc-tx-queue 3", "uc-tx-queue 2")),
    _eos("maximum-paths is one", "D7", "leaf1", "maximum-paths", replaced("maximum-paths 4", "maximum-paths 1")),
    _eos(
        "every spine forgets the next hop",
        "V9",
        "spine1 spine2",
        "10.1.",
        lambda text: "".join(it for it in text.splitlines(keepends=True) if "next-hop-unchanged" not in it),
        "spine*.cfg",
    ),
    _eos(
        "the network has a mask in place of its length, wrong",
        "V7 R5",
        "leaf1",
        "10.0.0.1",
        replaced("network 10.0.0.1/32", "network 10.0.0.1 mask 255.255.255.0"),
    ),
    _eos(
        "the gateway's MAC is a multicast address",
        "I4 V6 R5",
        "leaf1 leaf2",
        "01:00:5e",
        replaced("00:00:5e:00:01:01", "01:00:5e:00:01:01"),
    ),
    _eos(
        "RoCE's ACL has the wrong protocol",
        "A1",
        "leaf1",
        "HOSTS",
        both(
            replaced(
                _EHOST,
                "ip access-list HOSTS\n   10 permit tcp any any eq 4791\n   20 permit icmp any any\n"
                "   30 permit tcp any any\n!\n" + _EHOST,
            ),
            replaced("   switchport access", "   ip access-group HOSTS in\n   switchport access", after=_EHOST),
        ),
    ),
    _eos(
        "a VLAN is pruned on a host's trunk",
        "L13 L14",
        "leaf1",
        "Ethernet2/1",
        replaced(
            "   switchport access vlan 100\n",
            "   switchport mode trunk\n   switchport trunk native vlan 100\n   switchport trunk allowed vlan 200\n",
            after="interface Ethernet2/1\n",
        ),
    ),
    _nxos(
        "the watchdog is off at a port",
        "W2",
        "leaf1",
        "Ethernet1/3",
        replaced("watch-dog-interval on", "watch-dog-interval off", after=_NUP),
    ),
    _nxos(
        "RoCE's class and the default's are swapped",
        "M1 M2",
        "leaf1",
        "26",
        both(
            replaced("    set qos-group 3\n", "    set qos-group X\n"),
            replaced("    set qos-group 0\n", "    set qos-group 3\n"),
            replaced("    set qos-group X\n", "    set qos-group 0\n"),
        ),
    ),
    _nxos(
        "the thresholds' ends are swapped",
        "E1",
        "leaf1",
        "",
        replaced(
            "minimum-threshold 950 kbytes maximum-threshold 3000", "minimum-threshold 3000 kbytes maximum-threshold 950"
        ),
    ),
    _nxos(
        "the class map is renamed, the policy is not",
        "R1 M1",
        "leaf1",
        "ROCEv2",
        replaced("class-map type qos match-any ROCEv2", "class-map type qos match-any ROCE"),
    ),
    _nxos(
        "a port has no route for its VRF's member",
        "P14 R1",
        "leaf1",
        "Ethernet1/3",
        replaced("  no switchport\n", "  no switchport\n  vrf member STORAGE\n", after=_NUP),
    ),
    _nxos(
        "the tunnel's VNI floods by a list to no VTEP",
        "V15",
        "leaf1",
        "10.0.0.22",
        replaced(
            "    ingress-replication protocol bgp\n",
            "    ingress-replication protocol static\n      peer-ip 10.0.0.22\n",
        ),
    ),
    _nxos(
        "a spine lowers the preference of one leaf's routes",
        "P18 D7",
        "leaf1",
        "LOW",
        both(
            replaced("router bgp", "route-map LOW permit 10\n  set local-preference 50\nrouter bgp"),
            replaced(
                "    address-family ipv4 unicast\n",
                "    address-family ipv4 unicast\n      route-map LOW in\n",
                after="neighbor 10.1.0.3\n",
            ),
        ),
    ),
    _nxos(
        "the SVI's address is the network's",
        "V6",
        "leaf1 leaf2",
        "172.16.100.0",
        replaced("172.16.100.1/24", "172.16.100.0/24"),
    ),
    _nxos(
        "one host sends with small MTU",
        "T5 L4",
        "host2 leaf1",
        "1500",
        host(name="host2", mtu=1500, roce_mtu=4096),
        "hosts.json",
    ),
    _nxos(
        "every uplink of a leaf has the FEC of short cables",
        "L5",
        "leaf1 spine1 spine2",
        "Ethernet1/",
        everywhere("fec rs-fec", "fec fc-fec"),
    ),
    _nxos(
        "jumbo frames are off at every SVI",
        "T8",
        "leaf1 leaf2",
        "Vlan100",
        replaced("  mtu 9216\n", "", after="interface Vlan100\n"),
        "leaf*.cfg",
    ),
    _eos(
        "every host has PFC on no priority",
        "L1 N1",
        "default host1 " + _ALL,
        "",
        every_host(pfc_enable=""),
        "hosts.json",
    ),
    _eos(
        "the EVPN session's route map drops the other leaf's routes",
        "V11 P18",
        "leaf1",
        "EVPN-IN",
        both(
            replaced(
                "router bgp",
                "route-map EVPN-IN deny 10\n   match evpn route-type mac-ip\nroute-map EVPN-IN permit 20\nrouter bgp",
            ),
            replaced(
                "   address-family evpn\n",
                "   address-family evpn\n      neighbor 10.1.0.1 route-map EVPN-IN in\n"
                "      neighbor 10.1.0.3 route-map EVPN-IN in\n",
            ),
        ),
    ),
    _nxos(
        "the neighbour is under another VRF",
        "P14 P3",
        "leaf1 spine1",
        "10.1.0",
        replaced(
            "  neighbor 10.1.0.1\n    remote-as 65000\n    address-family ipv4 unicast\n"
            "    address-family l2vpn evpn\n      send-community extended\n",
            "  vrf TENANT\n    neighbor 10.1.0.1\n      remote-as 65000\n      address-family ipv4 unicast\n",
        ),
    ),
    _eos(
        "a host port is a trunk with the default native VLAN",
        "L14",
        "leaf1",
        "Ethernet1/1",
        replaced("switchport access vlan 100", "switchport mode trunk", after=_EHOST),
    ),
)
