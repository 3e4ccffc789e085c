"""Mistakes of operators in NVUE, invented and tried before the checks knew them."""

from __future__ import annotations

from typing import Final

from tests.mistakes.mistake import Mistake, both, every_host, host, put, renamed

CASES: Final = (
    Mistake(
        "nvue",
        "a port's name is one of a breakout",
        "L7",
        "leaf1 spine1",
        "swp3",
        "leaf1.yaml",
        renamed("interface", "swp3", to="swp3s0"),
    ),
    Mistake(
        "nvue",
        "an ACL drops VXLAN",
        "A2",
        "leaf1",
        "acl",
        "leaf1.yaml",
        both(
            put(
                "acl",
                value={
                    "FABRIC": {
                        "type": "ipv4",
                        "rule": {
                            "10": {
                                "match": {"ip": {"protocol": "udp", "udp": {"dest-port": {"4789": {}}}}},
                                "action": {"deny": {}},
                            }
                        },
                    }
                },
            ),
            put("interface", "swp3", "acl", value={"FABRIC": {"inbound": {}}}),
        ),
    ),
    Mistake(
        "nvue",
        "a black hole route",
        "D10",
        "leaf1",
        "10.0.0.2",
        "leaf1.yaml",
        put("vrf", "default", "router", "static", value={"10.0.0.2/32": {"via": {"blackhole": {"type": "blackhole"}}}}),
    ),
    Mistake(
        "nvue",
        "a prefix list lost its lengths at one uplink",
        "P18",
        "leaf1",
        "LOOPBACKS",
        "leaf1.yaml",
        both(
            put(
                "router",
                "policy",
                value={
                    "prefix-list": {
                        "LOOPBACKS": {
                            "type": "ipv4",
                            "rule": {"10": {"action": "permit", "match": {"10.0.0.0/24": {}}}},
                        }
                    },
                    "route-map": {
                        "IN": {
                            "rule": {
                                "10": {
                                    "action": {"permit": {}},
                                    "match": {"ip-prefix-list": "LOOPBACKS", "type": "ipv4"},
                                }
                            }
                        }
                    },
                },
            ),
            put(
                "vrf",
                "default",
                "router",
                "bgp",
                "neighbor",
                "10.1.0.1",
                "address-family",
                "ipv4-unicast",
                "policy",
                value={"inbound": {"route-map": "IN"}},
            ),
        ),
    ),
    Mistake(
        "nvue",
        "the neighbour may send one prefix",
        "P17",
        "leaf1",
        "maximum",
        "leaf1.yaml",
        put(
            "vrf",
            "default",
            "router",
            "bgp",
            "neighbor",
            "10.1.0.1",
            "address-family",
            "ipv4-unicast",
            "prefix-limits",
            value={"inbound": {"maximum": 1}},
        ),
    ),
    Mistake(
        "nvue",
        "the neighbour sees another AS",
        "P2",
        "leaf1 spine1",
        "local-as",
        "leaf1.yaml",
        put(
            "vrf",
            "default",
            "router",
            "bgp",
            "neighbor",
            "10.1.0.1",
            "local-as",
            value={"enable": "on", "asn": 65999, "prepend": "off", "replace": "on"},
        ),
    ),
    Mistake(
        "nvue",
        "TTL security at one end",
        "P16",
        "leaf1 spine1",
        "ttl",
        "leaf1.yaml",
        put(
            "vrf", "default", "router", "bgp", "neighbor", "10.1.0.1", "ttl-security", value={"enable": "on", "hops": 1}
        ),
    ),
    Mistake(
        "nvue",
        "the system MAC lost a digit",
        "R5",
        "leaf1",
        "system-mac",
        "leaf1.yaml",
        put("system", "global", "system-mac", value="02:00:00:00:01:1"),
    ),
    Mistake(
        "nvue",
        "the VNI lost a digit",
        "V2",
        "leaf1 leaf2",
        "1010",
        "leaf1.yaml",
        renamed("bridge", "domain", "br_default", "vlan", "100", "vni", "10100", to="1010"),
    ),
    Mistake(
        "nvue",
        "the remote AS is mistyped",
        "R5",
        "leaf1",
        "extrenal",
        "leaf1.yaml",
        put("vrf", "default", "router", "bgp", "neighbor", "10.1.0.1", "remote-as", value="extrenal"),
    ),
    Mistake(
        "nvue",
        "the RoCE mode is mistyped",
        "R5",
        "leaf1",
        "losless",
        "leaf1.yaml",
        put("qos", "roce", "mode", value="losless"),
    ),
    Mistake(
        "nvue",
        "the CNP queue is weighted",
        "R5 M6",
        "leaf1",
        "6",
        "leaf1.yaml",
        put("qos", "egress-scheduler", "default-global", "traffic-class", "6", value={"mode": "dwrr", "bw-percent": 1}),
    ),
    Mistake(
        "nvue",
        "Kmax has a zero too many",
        "E7",
        "leaf1",
        "Kmax",
        "leaf1.yaml",
        put("qos", "congestion-control", "default-global", "traffic-class", "3", "max-threshold", value=16000000),
    ),
    Mistake(
        "nvue",
        "two priorities are lossless",
        "L1",
        "leaf1",
        "4",
        "leaf1.yaml",
        put("qos", "pfc", "default-global", "switch-priority", value={"3": {}, "4": {}}),
    ),
    Mistake(
        "nvue",
        "the SVI has its own gateway MAC",
        "V6",
        "leaf1",
        "MAC",
        "leaf1.yaml",
        put("interface", "vlan100", "ip", "vrr", "mac-address", value="00:00:5e:00:01:02"),
    ),
    Mistake(
        "nvue",
        "the other leaf's loopback beside the own",
        "I1",
        "leaf1 leaf2",
        "10.0.0.2",
        "leaf1.yaml",
        put("interface", "lo", "ip", "address", "10.0.0.2/32", value={}),
    ),
    Mistake(
        "nvue",
        "a neighbour is unnumbered at one end",
        "P3",
        "leaf1 spine1",
        "swp3",
        "leaf1.yaml",
        both(
            renamed("vrf", "default", "router", "bgp", "neighbor", "10.1.0.1", to="swp3"),
            put("vrf", "default", "router", "bgp", "neighbor", "swp3", "type", value="unnumbered"),
        ),
    ),
    Mistake(
        "nvue",
        "the redistribution's route map is not defined",
        "R1",
        "leaf1",
        "LOOPS",
        "leaf1.yaml",
        put(
            "vrf",
            "default",
            "router",
            "bgp",
            "address-family",
            "ipv4-unicast",
            "redistribute",
            "connected",
            "route-map",
            value="LOOPS",
        ),
    ),
    Mistake(
        "nvue",
        "a switch priority that does not exist",
        "R5",
        "leaf1",
        "30",
        "leaf1.yaml",
        put("qos", "mapping", "default-global", "dscp", "26", "switch-priority", value=30),
    ),
    Mistake(
        "nvue",
        "a probability above 100",
        "R5",
        "leaf1",
        "200",
        "leaf1.yaml",
        put("qos", "congestion-control", "default-global", "traffic-class", "3", "probability", value=200),
    ),
    Mistake(
        "nvue",
        "a speed without its unit",
        "R5",
        "leaf1",
        "speed",
        "leaf1.yaml",
        put("interface", "swp3", "link", "speed", value="400"),
    ),
    Mistake(
        "nvue",
        "an MTU with a zero too many",
        "R5",
        "leaf1",
        "92160",
        "leaf1.yaml",
        put("interface", "swp3", "link", "mtu", value=92160),
    ),
    Mistake(
        "nvue", "a host marks another DSCP", "M1", "host3 leaf2", "34", "hosts.json", host(name="host3", roce_dscp=34)
    ),
    Mistake(
        "nvue",
        "FEC is mistyped",
        "R5",
        "leaf1",
        "fec",
        "leaf1.yaml",
        put("interface", "swp3", "link", "fec", value="rs528"),
    ),
    Mistake(
        "nvue",
        "a spine's prefix list keeps the loopbacks from one leaf",
        "P18",
        "spine1",
        "LEAVES",
        "spine1.yaml",
        both(
            put(
                "router",
                "policy",
                value={
                    "prefix-list": {
                        "LEAVES": {"type": "ipv4", "rule": {"10": {"action": "permit", "match": {"10.0.0.0/24": {}}}}}
                    },
                    "route-map": {
                        "OUT": {
                            "rule": {
                                "10": {"action": {"permit": {}}, "match": {"ip-prefix-list": "LEAVES", "type": "ipv4"}}
                            }
                        }
                    },
                },
            ),
            put(
                "vrf",
                "default",
                "router",
                "bgp",
                "neighbor",
                "10.1.0.0",
                "address-family",
                "ipv4-unicast",
                "policy",
                value={"outbound": {"route-map": "OUT"}},
            ),
        ),
    ),
    Mistake(
        "nvue",
        "an ACL forgets BGP",
        "A3",
        "leaf1",
        "FABRIC",
        "leaf1.yaml",
        both(
            put(
                "acl",
                value={
                    "FABRIC": {
                        "type": "ipv4",
                        "rule": {
                            "10": {"match": {"ip": {"protocol": "udp"}}, "action": {"permit": {}}},
                            "20": {"match": {"ip": {"source-ip": "ANY"}}, "action": {"deny": {}}},
                        },
                    }
                },
            ),
            put("interface", "swp3", "acl", value={"FABRIC": {"inbound": {}}}),
        ),
    ),
    Mistake(
        "nvue",
        "a cable length with its unit",
        "R5",
        "leaf1",
        "cable-length",
        "leaf1.yaml",
        put("qos", "pfc", "default-global", "cable-length", value="40m"),
    ),
    Mistake(
        "nvue",
        "a bandwidth above 100",
        "R5",
        "leaf1",
        "bw-percent",
        "leaf1.yaml",
        put("qos", "egress-scheduler", "default-global", "traffic-class", "3", "bw-percent", value=150),
    ),
    Mistake(
        "nvue",
        "the router ID has a length",
        "R5",
        "leaf1",
        "10.0.0.1/32",
        "leaf1.yaml",
        put("router", "bgp", "router-id", value="10.0.0.1/32"),
    ),
    Mistake(
        "nvue",
        "the peer group is shut",
        "P6",
        "leaf1",
        "10.1.0.1",
        "leaf1.yaml",
        both(
            put("vrf", "default", "router", "bgp", "peer-group", value={"SPINES": {"shutdown": "on"}}),
            put("vrf", "default", "router", "bgp", "neighbor", "10.1.0.1", "peer-group", value="SPINES"),
        ),
    ),
    Mistake(
        "nvue",
        "an uplink is in a VRF",
        "P14 R1",
        "leaf1",
        "swp3",
        "leaf1.yaml",
        put("interface", "swp3", "ip", "vrf", value="TENANT"),
    ),
    Mistake(
        "nvue", "the hosts' MTU is below RoCE's", "T5", "default host1 leaf1", "mtu", "hosts.json", every_host(mtu=1500)
    ),
    Mistake(
        "nvue",
        "a prefix limit on the spine",
        "R5",
        "spine1",
        "maximum",
        "spine1.yaml",
        put(
            "vrf",
            "default",
            "router",
            "bgp",
            "neighbor",
            "10.1.0.0",
            "address-family",
            "ipv4-unicast",
            "prefix-limits",
            value={"inbound": {"maximum": 0}},
        ),
    ),
    Mistake(
        "nvue",
        "the VNI is a name",
        "R5",
        "leaf1",
        "vni10100",
        "leaf1.yaml",
        renamed("bridge", "domain", "br_default", "vlan", "100", "vni", "10100", to="vni10100"),
    ),
    Mistake(
        "nvue",
        "autonomous system as text with AS",
        "P2 R5",
        "leaf1",
        "AS65101",
        "leaf1.yaml",
        put("router", "bgp", "autonomous-system", value="AS65101"),
    ),
    Mistake(
        "nvue",
        "a network instead of redistribution, mistyped",
        "V7",
        "leaf1",
        "network",
        "leaf1.yaml",
        put(
            "vrf",
            "default",
            "router",
            "bgp",
            "address-family",
            "ipv4-unicast",
            value={"enable": "on", "network": {"10.0.0.11/32": {}}},
        ),
    ),
    Mistake(
        "nvue",
        "the access VLAN is a list",
        "R1",
        "leaf1",
        "100,200",
        "leaf1.yaml",
        put("interface", "swp1", "bridge", "domain", "br_default", "access", value="100,200"),
    ),
    Mistake(
        "nvue",
        "the hold time is 1 s",
        "I6",
        "leaf1",
        "hold",
        "leaf1.yaml",
        put("vrf", "default", "router", "bgp", "neighbor", "10.1.0.1", "timers", "hold", value=1),
    ),
)
