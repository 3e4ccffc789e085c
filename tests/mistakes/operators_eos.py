"""Mistakes of operators in EOS, invented and tried before the checks knew them."""

from __future__ import annotations

from typing import Final

from tests.mistakes.mistake import Mistake, both, host, replaced


def _without_evpn(text: str) -> str:
    """No line of the EVPN address family."""
    return text[: text.index("   address-family evpn")] + text[text.index("   address-family ipv4") :]


CASES: Final = (
    Mistake(
        "eos",
        "the ECN keyword is mistyped",
        "R5",
        "leaf1",
        "enc",
        "leaf1.cfg",
        replaced("random-detect ecn", "random-detect enc"),
    ),
    Mistake(
        "eos",
        "the neighbour may send one route",
        "P17",
        "leaf1",
        "maximum-routes",
        "leaf1.cfg",
        replaced("   vlan 100\n      rd", "   neighbor 10.1.0.1 maximum-routes 1\n   vlan 100\n      rd"),
    ),
    Mistake(
        "eos",
        "a prefix list lost le 32 at one uplink",
        "P18",
        "leaf1",
        "LOOPBACKS",
        "leaf1.cfg",
        both(
            replaced(
                "router bgp 65101\n",
                (
                    "ip prefix-list LOOPBACKS seq 10 permit 10.0.0.0/24\n"
                    "route-map IN permit 10\n"
                    "   match ip address prefix-list LOOPBACKS\n"
                    "router bgp 65101\n"
                ),
            ),
            replaced("   vlan 100\n      rd", "   neighbor 10.1.0.1 route-map IN in\n   vlan 100\n      rd"),
        ),
    ),
    Mistake(
        "eos",
        "an ACL on an uplink forgets VXLAN",
        "A2",
        "leaf1",
        "FABRIC",
        "leaf1.cfg",
        both(
            replaced(
                "interface Ethernet1/1",
                (
                    "ip access-list FABRIC\n"
                    "   10 permit tcp any any eq bgp\n"
                    "   20 permit icmp any any\n"
                    "!\n"
                    "interface Ethernet1/1"
                ),
            ),
            replaced("   ip address 10.1.0.0/31\n", "   ip address 10.1.0.0/31\n   ip access-group FABRIC in\n"),
        ),
    ),
    Mistake(
        "eos",
        "the traffic class has another queue",
        "M1",
        "leaf1",
        "queue",
        "leaf1.cfg",
        replaced(
            "qos map dscp 48 to traffic-class 6\n",
            ("qos map dscp 48 to traffic-class 6\nqos map traffic-class 3 to tx-queue 4\n"),
        ),
    ),
    Mistake(
        "eos",
        "standard communities only",
        "V8",
        "leaf1",
        "communit",
        "leaf1.cfg",
        replaced("neighbor 10.1.0.1 send-community extended", "neighbor 10.1.0.1 send-community standard"),
    ),
    Mistake(
        "eos",
        "the VTEP's loopback is another, not advertised",
        "V7",
        "leaf1",
        "10.0.1.1",
        "leaf1.cfg",
        both(
            replaced("interface Vlan100", ("interface Loopback1\n   ip address 10.0.1.1/32\n!\ninterface Vlan100")),
            replaced("vxlan source-interface Loopback0", "vxlan source-interface Loopback1"),
        ),
    ),
    Mistake(
        "eos",
        "the route distinguisher is malformed",
        "R5",
        "leaf1",
        "10.0.0.1-10100",
        "leaf1.cfg",
        replaced("rd 10.0.0.1:10100", "rd 10.0.0.1-10100"),
    ),
    Mistake(
        "eos",
        "the EVPN instance is of another VLAN",
        "V3",
        "leaf1",
        "vlan 10",
        "leaf1.cfg",
        replaced("   vlan 100\n      rd", "   vlan 10\n      rd"),
    ),
    Mistake(
        "eos",
        "a route to Null0",
        "D10",
        "leaf1",
        "10.0.0.2",
        "leaf1.cfg",
        replaced("router bgp 65101", "ip route 10.0.0.2/32 Null0\n!\nrouter bgp 65101"),
    ),
    Mistake(
        "eos",
        "the neighbour sees another AS",
        "P2",
        "leaf1 spine1",
        "local-as",
        "leaf1.cfg",
        replaced(
            "   vlan 100\n      rd",
            ("   neighbor 10.1.0.1 local-as 65999 no-prepend replace-as\n   vlan 100\n      rd"),
        ),
    ),
    Mistake(
        "eos",
        "TTL security at one end",
        "P16",
        "leaf1 spine1",
        "ttl",
        "leaf1.cfg",
        replaced("   vlan 100\n      rd", "   neighbor 10.1.0.1 ttl maximum-hops 1\n   vlan 100\n      rd"),
    ),
    Mistake(
        "eos",
        "an uplink's lines are at another port",
        "L7",
        "leaf1 spine2",
        "Ethernet4/1",
        "leaf1.cfg",
        replaced("interface Ethernet4/1", "interface Ethernet5/1"),
    ),
    Mistake(
        "eos",
        "two priorities are lossless",
        "L1",
        "leaf1",
        "4",
        "leaf1.cfg",
        replaced(
            "   priority-flow-control priority 3 no-drop\n",
            ("   priority-flow-control priority 3 no-drop\n   priority-flow-control priority 4 no-drop\n"),
        ),
    ),
    Mistake("eos", "a host trusts 802.1p", "N1", "host1 leaf1", "trust", "hosts.json", host(name="host1", trust="pcp")),
    Mistake("eos", "a spine has no EVPN family", "V8", "spine1 leaf1 leaf2", "EVPN", "spine1.cfg", _without_evpn),
    Mistake(
        "eos",
        "the SVI is of another VLAN",
        "V18",
        "leaf1",
        "VLAN 10",
        "leaf1.cfg",
        replaced("interface Vlan100", "interface Vlan10"),
    ),
    Mistake(
        "eos",
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
                    "   match ip address prefix-list LEAVES\n"
                    "router bgp 65000\n"
                ),
            ),
            replaced("   address-family evpn", ("   neighbor 10.1.0.0 route-map OUT out\n   address-family evpn")),
        ),
    ),
    Mistake(
        "eos",
        "an ACL drops TCP",
        "A3",
        "leaf1",
        "FABRIC",
        "leaf1.cfg",
        both(
            replaced(
                "interface Ethernet1/1",
                ("ip access-list FABRIC\n   10 deny tcp any any\n   20 permit ip any any\n!\ninterface Ethernet1/1"),
            ),
            replaced("   ip address 10.1.0.0/31\n", "   ip address 10.1.0.0/31\n   ip access-group FABRIC in\n"),
        ),
    ),
    Mistake(
        "eos",
        "the uplink's length has swapped digits",
        "I8",
        "leaf1 spine1",
        "10.1.0.0/13",
        "leaf1.cfg",
        replaced("ip address 10.1.0.0/31", "ip address 10.1.0.0/13"),
    ),
    Mistake(
        "eos",
        "the exported target lost a digit",
        "V3",
        "leaf1 leaf2",
        "65000:1010",
        "leaf1.cfg",
        replaced(
            "      route-target both 65000:10100\n",
            ("      route-target import 65000:10100\n      route-target export 65000:1010\n"),
        ),
    ),
    Mistake(
        "eos",
        "the VLAN is suspended",
        "V17",
        "leaf1",
        "suspend",
        "leaf1.cfg",
        replaced("vlan 100\n", "vlan 100\n   state suspend\n"),
    ),
    Mistake(
        "eos",
        "the tunnel is shut",
        "V5",
        "leaf1",
        "tunnel",
        "leaf1.cfg",
        replaced("interface Vxlan1\n", "interface Vxlan1\n   shutdown\n"),
    ),
    Mistake(
        "eos",
        "a host port is a trunk",
        "L14",
        "leaf1",
        "Ethernet1/1",
        "leaf1.cfg",
        replaced(
            "   switchport access vlan 100\n", ("   switchport mode trunk\n   switchport trunk allowed vlan 100\n")
        ),
    ),
    Mistake(
        "eos",
        "a weight with a zero too many",
        "R5",
        "leaf1",
        "900",
        "leaf1.cfg",
        replaced("bandwidth percent 90", "bandwidth percent 900"),
    ),
    Mistake(
        "eos",
        "storm control on an uplink",
        "R10",
        "leaf1",
        "storm",
        "leaf1.cfg",
        replaced("   ip address 10.1.0.0/31\n", "   ip address 10.1.0.0/31\n   storm-control all level 0.1\n"),
    ),
    Mistake(
        "eos",
        "the marking probability lost a zero",
        "E7",
        "leaf1",
        "2 %",
        "leaf1.cfg",
        replaced("max-mark-probability 20", "max-mark-probability 2"),
    ),
    Mistake(
        "eos",
        "the spines' peer group is shut",
        "P6",
        "leaf1",
        "10.1.0.1",
        "leaf1.cfg",
        replaced(
            "   neighbor 10.1.0.1 remote-as 65000\n",
            (
                "   neighbor SPINES peer group\n"
                "   neighbor SPINES shutdown\n"
                "   neighbor 10.1.0.1 peer group SPINES\n"
                "   neighbor 10.1.0.1 remote-as 65000\n"
            ),
        ),
    ),
    Mistake(
        "eos",
        "thresholds are in segments",
        "E5",
        "leaf1",
        "random-detect",
        "leaf1.cfg",
        replaced(
            "minimum-threshold 400 kbytes maximum-threshold 1600 kbytes",
            "minimum-threshold 400 segments maximum-threshold 1600 segments",
        ),
    ),
    Mistake(
        "eos",
        "the own network is in the wrong family",
        "V7",
        "leaf1",
        "10.0.0.1",
        "leaf1.cfg",
        both(
            replaced("      network 10.0.0.1/32\n", ""),
            replaced("   address-family evpn\n", "   address-family evpn\n      network 10.0.0.1/32\n"),
        ),
    ),
    Mistake(
        "eos",
        "an ACL on a host port drops UDP",
        "A1",
        "leaf1",
        "HOSTS",
        "leaf1.cfg",
        both(
            replaced(
                "interface Ethernet1/1",
                ("ip access-list HOSTS\n   10 permit tcp any any\n   20 permit icmp any any\n!\ninterface Ethernet1/1"),
            ),
            replaced("   switchport access vlan 100\n", "   switchport access vlan 100\n   ip access-group HOSTS in\n"),
        ),
    ),
    Mistake(
        "eos",
        "the neighbour's group gives another AS",
        "P2",
        "leaf1",
        "65009",
        "leaf1.cfg",
        replaced(
            "   neighbor 10.1.0.1 remote-as 65000\n",
            (
                "   neighbor SPINES peer group\n"
                "   neighbor SPINES remote-as 65009\n"
                "   neighbor 10.1.0.1 peer group SPINES\n"
            ),
        ),
    ),
    Mistake(
        "eos", "the speed is mistyped", "R5", "leaf1", "400-8", "leaf1.cfg", replaced("speed 400g-8", "speed 400-8")
    ),
    Mistake(
        "eos",
        "a second loopback has the other leaf's address",
        "I1",
        "leaf1",
        "10.0.0.2",
        "leaf1.cfg",
        replaced("interface Vlan100", ("interface Loopback9\n   ip address 10.0.0.2/32\n!\ninterface Vlan100")),
    ),
)
