"""Further mistakes in NVUE and SONiC, invented without a look at the checks: typing errors and half changes."""

from __future__ import annotations

from typing import Final

from tests.mistakes.mistake import REMOVED, Edit, Mistake, both, put, renamed

_FILES: Final = {"nvue": "yaml", "sonic": "json"}
_PEERS: Final = ("vrf", "default", "router", "bgp", "neighbor")


def _case(
    language: str,
    title: str,
    checks: str,
    devices: str,
    where: str,
    edit: Edit,
    file: str = "leaf1",
    *,
    lo: bool = False,
) -> Mistake:
    return Mistake(language, title, checks, devices, where, f"{file}.{_FILES[language]}", edit, lo)


CASES: Final = (
    _case("nvue", "the switch has no AS", "P12", "leaf1", "", put("router", "bgp", "autonomous-system", value=REMOVED)),
    _case(
        "nvue",
        "a host port is in VLAN 1",
        "R1",
        "leaf1",
        "swp2",
        put("interface", "swp2", "bridge", "domain", "br_default", "access", value=1),
    ),
    _case(
        "nvue",
        "the watchdog polls slowly",
        "W6",
        "leaf1",
        "",
        put("qos", "pfc-watchdog", "polling-interval", value=5000),
    ),
    _case(
        "nvue",
        "the VTEP's address is not advertised",
        "V7",
        "leaf1",
        "10.0.2.1",
        both(
            put("interface", "lo", "ip", "address", "10.0.2.1/32", value={}),
            put("nve", "vxlan", "source", "address", value="10.0.2.1"),
            put(
                "vrf",
                "default",
                "router",
                "bgp",
                "address-family",
                "ipv4-unicast",
                value={"enable": "on", "network": {"10.0.0.1/32": {}}},
            ),
        ),
    ),
    _case(
        "nvue",
        "a neighbour is disabled",
        "P6",
        "leaf1 spine1",
        "10.1.0.1",
        put(*_PEERS, "10.1.0.1", "enable", value="off"),
    ),
    _case(
        "nvue",
        "a route map denies everything",
        "V11",
        "leaf1",
        "DENY",
        both(
            put("router", "policy", "route-map", "DENY", value={"rule": {"10": {"action": "deny"}}}),
            *(
                put(*_PEERS, ip, "address-family", "ipv4-unicast", "policy", "outbound", value={"route-map": "DENY"})
                for ip in ("10.1.0.1", "10.1.0.3")
            ),
        ),
    ),
    _case(
        "nvue",
        "CNPs leave in the data queue",
        "M2",
        "leaf1",
        "",
        put("qos", "egress-queue-mapping", "default-global", "switch-priority", "6", "traffic-class", value=3),
    ),
    _case(
        "nvue", "the SVI is of another VLAN", "V18", "leaf1", "vlan100", put("interface", "vlan100", "vlan", value=101)
    ),
    _case(
        "nvue",
        "a leaf has other route targets",
        "V3 V11",
        "leaf1 leaf2",
        "65000:9",
        put("evpn", "vni", "10100", value={"route-target": {"import": {"65000:9": {}}, "export": {"65000:9": {}}}}),
    ),
    _case(
        "sonic",
        "the map names another tunnel",
        "R1",
        "leaf1",
        "vtep2",
        renamed("VXLAN_TUNNEL_MAP", "vtep|map_10100_Vlan100", to="vtep2|map_10100_Vlan100"),
    ),
    _case(
        "sonic",
        "the interface's row is missing",
        "R9",
        "leaf1",
        "Ethernet24",
        put("INTERFACE", "Ethernet24", value=REMOVED),
    ),
    _case(
        "sonic",
        "the AS is None",
        "P12 R5",
        "leaf1",
        "bgp_asn",
        put("DEVICE_METADATA", "localhost", "bgp_asn", value="None"),
    ),
    _case(
        "sonic",
        "a VLAN member is in a LAG",
        "R9",
        "leaf1",
        "Ethernet8",
        both(
            put("PORTCHANNEL", value={"PortChannel1": {"admin_status": "up"}}),
            put("PORTCHANNEL_MEMBER", value={"PortChannel1|Ethernet8": {}}),
        ),
    ),
    _case(
        "sonic",
        "an uplink is in a VLAN",
        "R9",
        "leaf1",
        "Ethernet24",
        put("VLAN_MEMBER", "Vlan100|Ethernet24", value={"tagging_mode": "untagged"}),
    ),
    _case(
        "sonic", "a host port's MTU is small", "L4", "leaf1", "Ethernet8", put("PORT", "Ethernet8", "mtu", value="1500")
    ),
    _case(
        "sonic",
        "a host port does not mark",
        "E4",
        "leaf1",
        "Ethernet8|3",
        put("QUEUE", "Ethernet8|3", "wred_profile", value=REMOVED),
    ),
    _case(
        "sonic",
        "a lossy profile may take everything",
        "R9",
        "leaf1",
        "",
        put("BUFFER_PROFILE", "ingress_lossy_profile", "dynamic_th", value="7"),
    ),
    _case(
        "sonic",
        "EVPN between loopbacks: a session is shut",
        "P6",
        "leaf1 spine1",
        "10.0.0.12",
        put("BGP_NEIGHBOR", "default|10.0.0.12", "admin_status", value="down"),
        lo=True,
    ),
    _case(
        "sonic",
        "EVPN between loopbacks: the neighbour's AS is wrong",
        "P2",
        "leaf1",
        "65999",
        put("BGP_NEIGHBOR", "default|10.0.0.11", "asn", value="65999"),
        lo=True,
    ),
    _case(
        "sonic",
        "EVPN between loopbacks: the own AS is wrong",
        "P2",
        "leaf1",
        "65999",
        put("BGP_GLOBALS", "default", "local_asn", value="65999"),
        lo=True,
    ),
    _case(
        "sonic",
        "EVPN between loopbacks: one path",
        "D7",
        "leaf1",
        "paths",
        put("BGP_GLOBALS_AF", "default|ipv4_unicast", "max_ebgp_paths", value="1"),
        lo=True,
    ),
    _case(
        "sonic",
        "the last digit of the gateway differs",
        "V6",
        "leaf1 leaf2",
        "172.16.100.9",
        renamed("VLAN_INTERFACE", "Vlan100|172.16.100.1/24", to="Vlan100|172.16.100.9/24"),
    ),
    _case(
        "sonic", "the class has another group", "M4", "leaf1", "", put("TC_TO_PRIORITY_GROUP_MAP", "M", "3", value="4")
    ),
    _case(
        "nvue",
        "RoCE is off",
        "M14",
        "leaf1",
        "",
        both(put("qos", "roce", "enable", value="off"), put("qos", "pfc", value=REMOVED)),
    ),
    _case(
        "nvue",
        "the loopback's address is mistyped",
        "V4",
        "leaf1",
        "10.0.0.1",
        renamed("interface", "lo", "ip", "address", "10.0.0.1/32", to="10.0.0.10/32"),
    ),
    _case(
        "nvue",
        "the peer group does not exist",
        "R1 P11",
        "leaf1",
        "10.1.0.1",
        both(
            put(*_PEERS, "10.1.0.1", "peer-group", value="FABRIC"), put(*_PEERS, "10.1.0.1", "remote-as", value=REMOVED)
        ),
    ),
    _case(
        "nvue",
        "EVPN between loopbacks: the source is an uplink",
        "P3",
        "leaf1 spine1",
        "10.0.0.11",
        put(*_PEERS, "10.0.0.11", "update-source", value="swp3"),
        lo=True,
    ),
    _case(
        "nvue",
        "the gateway has no length",
        "R5",
        "leaf1",
        "vlan100",
        renamed("interface", "vlan100", "ip", "vrr", "address", "172.16.100.1/24", to="172.16.100.1"),
    ),
    _case(
        "nvue",
        "EVPN's family is off at a spine",
        "V8",
        "spine1",
        "EVPN",
        put("vrf", "default", "router", "bgp", "address-family", "l2vpn-evpn", "enable", value="off"),
        "spine1",
    ),
    _case(
        "nvue",
        "the SVI is in a VRF",
        "V6 R1",
        "leaf1 leaf2",
        "RED",
        put("interface", "vlan100", "ip", "vrf", value="RED"),
    ),
    _case(
        "nvue", "a host port is slow", "L2", "leaf1", "swp1", put("interface", "swp1", "link", "speed", value="100G")
    ),
    _case(
        "sonic",
        "the group has a lossy profile",
        "R1",
        "leaf1",
        "Ethernet24",
        put("BUFFER_PG", "Ethernet24|3", "profile", value="ingress_lossy_profile"),
    ),
    _case(
        "sonic",
        "the VNI is too large",
        "R5",
        "leaf1",
        "16777216",
        put("VXLAN_TUNNEL_MAP", "vtep|map_10100_Vlan100", "vni", value="16777216"),
    ),
    _case(
        "sonic",
        "the watchdog watches nothing",
        "W1",
        "leaf1",
        "Ethernet24",
        put("PORT_QOS_MAP", "Ethernet24", "pfcwd_sw_enable", value=REMOVED),
    ),
    _case(
        "sonic",
        "a neighbour is in a VRF",
        "P14",
        "leaf1 spine1",
        "10.1.0.1",
        renamed("BGP_NEIGHBOR", "10.1.0.1", to="Vrf1|10.1.0.1"),
    ),
    _case(
        "sonic",
        "the neighbour has the own AS",
        "P2",
        "leaf1",
        "65101",
        put("BGP_NEIGHBOR", "10.1.0.1", "asn", value="65101"),
    ),
    _case(
        "sonic",
        "EVPN between loopbacks: a route map does not exist",
        "R1",
        "leaf1",
        "OUT",
        put("BGP_NEIGHBOR_AF", "default|10.1.0.1|ipv4_unicast", "route_map_out", value=["OUT"]),
        lo=True,
    ),
    _case(
        "sonic",
        "EVPN between loopbacks: the network is mistyped",
        "V7",
        "leaf1",
        "10.0.0.1",
        renamed("BGP_GLOBALS_AF_NETWORK", "default|ipv4_unicast|10.0.0.1/32", to="default|ipv4_unicast|10.0.0.11/32"),
        lo=True,
    ),
    _case(
        "sonic",
        "the loopback's address is mistyped",
        "V4",
        "leaf1",
        "10.0.0.1",
        renamed("LOOPBACK_INTERFACE", "Loopback0|10.0.0.1/32", to="Loopback0|10.0.0.10/32"),
    ),
    _case(
        "sonic",
        "an uplink is in a VRF",
        "P14 R1",
        "leaf1",
        "Ethernet24",
        put("INTERFACE", "Ethernet24", "vrf_name", value="Vrf1"),
    ),
    _case(
        "sonic",
        "the SVI is in a VRF",
        "V6 R1",
        "leaf1 leaf2",
        "Vrf1",
        put("VLAN_INTERFACE", "Vlan100", "vrf_name", value="Vrf1"),
    ),
)
"""leaf1 unless another file is named; `lo`: of the variant with EVPN between loopbacks."""
