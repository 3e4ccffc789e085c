"""Fields that are missing, or stand at one place of several, in NVUE: what the switch does without them."""

from __future__ import annotations

from typing import Final

from tests.mistakes.mistake import REMOVED, Edit, Mistake, put, renamed

_UP, _HOST = "swp3", "swp1"
_PEERS = ("vrf", "default", "router", "bgp", "neighbor")
_BGP = ("vrf", "default", "router", "bgp")


def _case(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1") -> Mistake:
    return Mistake("nvue", title, checks, devices, where, f"{file}.yaml", edit)


CASES: Final = (
    _case(
        "two leaves have one SVI address",
        "I1",
        "leaf1 leaf2",
        "172.16.100.2",
        renamed("interface", "vlan100", "ip", "address", "172.16.100.3/24", to="172.16.100.2/24"),
        "leaf2",
    ),
    _case(
        "a fabric address is used twice",
        "I8",
        "leaf1",
        "10.1.0.0",
        renamed("interface", "swp4", "ip", "address", "10.1.0.2/31", to="10.1.0.0/31"),
    ),
    _case("the VXLAN port differs", "V12", "leaf1", "8472", put("nve", "vxlan", "port", value=8472)),
    _case("EVPN is not enabled", "V5", "leaf1", "evpn", put("evpn", value=REMOVED)),
    _case("the tunnel has no source", "V4", "leaf1", "source", put("nve", "vxlan", "source", value=REMOVED)),
    _case(
        "the VTEP's mask is /24",
        "I7",
        "leaf1",
        "10.0.0.1/24",
        renamed("interface", "lo", "ip", "address", "10.0.0.1/32", to="10.0.0.1/24"),
    ),
    _case("a host port has no VLAN", "L13", "leaf1", _HOST, put("interface", _HOST, "bridge", value=REMOVED)),
    _case(
        "a host port is in another VLAN",
        "R1",
        "leaf1",
        _HOST,
        put("interface", _HOST, "bridge", "domain", "br_default", "access", value=101),
    ),
    _case("the VLAN has no VNI", "V16", "leaf1", "100", put("bridge", "domain", "br_default", "vlan", "100", value={})),
    _case(
        "the gateway's address is missing",
        "V18",
        "leaf1 leaf2",
        "vlan100",
        put("interface", "vlan100", "ip", "vrr", value=REMOVED),
    ),
    _case(
        "the gateway is off",
        "V18",
        "leaf1 leaf2",
        "vlan100",
        put("interface", "vlan100", "ip", "vrr", "enable", value="off"),
    ),
    _case(
        "the neighbour's AS is internal",
        "P2",
        "leaf1 spine1",
        "10.1.0.1",
        put(*_PEERS, "10.1.0.1", "remote-as", value="internal"),
    ),
    _case("BGP is off", "P6", "leaf1", "bgp", put(*_BGP, "enable", value="off")),
    _case("IPv4 is off", "P10", "leaf1", "IPv4", put(*_BGP, "address-family", "ipv4-unicast", "enable", value="off")),
    _case(
        "EVPN's family is off", "V8", "leaf1", "EVPN", put(*_BGP, "address-family", "l2vpn-evpn", "enable", value="off")
    ),
    _case(
        "the port is trusted alone",
        "M1",
        "leaf1",
        "trust",
        put("qos", "mapping", "default-global", "trust", value="port"),
    ),
    _case("the SVI's MTU is small", "T8", "leaf1", "Vlan100", put("interface", "vlan100", "link", value={"mtu": 1500})),
    _case(
        "the ends have other masks",
        "I8",
        "leaf1 spine1",
        "10.1.0.0",
        renamed("interface", _UP, "ip", "address", "10.1.0.0/31", to="10.1.0.0/30"),
    ),
    _case("an uplink has no address", "P1", "leaf1", _UP, put("interface", _UP, "ip", value=REMOVED)),
    _case(
        "broadcast is not replicated",
        "V15",
        "leaf1",
        "flooding",
        put("nve", "vxlan", "flooding", value={"enable": "off"}),
    ),
    _case(
        "the RoCE class has no bandwidth",
        "M11",
        "leaf1",
        "",
        put("qos", "egress-scheduler", "default-global", "traffic-class", "3", "bw-percent", value=0),
    ),
    _case(
        "the class is not paused", "M14", "leaf1", "", put("qos", "pfc", "default-global", "switch-priority", value={})
    ),
    _case(
        "marking is in another class",
        "E5",
        "leaf1",
        "",
        renamed("qos", "congestion-control", "default-global", "traffic-class", "3", to="4"),
    ),
    _case(
        "the neighbour's address is mistyped",
        "P9",
        "leaf1 spine1",
        "10.1.0.5",
        renamed(*_PEERS, "10.1.0.1", to="10.1.0.5"),
    ),
    _case(
        "the host name of another switch",
        "refused",
        "spine1 spine2",
        "spine1",
        put("system", "hostname", value="spine1"),
        "spine2",
    ),
    _case("no MAC of the gateway", "V6", "leaf1", "MAC", put("system", "global", "anycast-mac", value=REMOVED)),
    _case(
        "an applied route map is not defined",
        "R1",
        "leaf1",
        "IMPORT",
        put(*_PEERS, "10.1.0.1", "address-family", "ipv4-unicast", "policy", "inbound", value={"route-map": "IMPORT"}),
    ),
    _case(
        "no multipath",
        "D7",
        "leaf1",
        "paths",
        put(*_BGP, "address-family", "ipv4-unicast", "multipaths", value={"ebgp": 1}),
    ),
    _case(
        "the SVI is shut", "V17", "leaf1", "vlan100", put("interface", "vlan100", "link", value={"state": {"down": {}}})
    ),
    _case("a neighbour has no AS", "P11", "leaf1", "10.1.0.1", put(*_PEERS, "10.1.0.1", "remote-as", value=REMOVED)),
    _case(
        "the VLAN is not in the bridge",
        "R1",
        "leaf1",
        "VLAN 100",
        renamed("bridge", "domain", "br_default", "vlan", "100", to="110"),
    ),
)
"""leaf1 unless another file is named."""
