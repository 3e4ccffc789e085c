"""Mistakes in NVUE startup files."""

from __future__ import annotations

from typing import Any, Final

from tests.mistakes.mistake import REMOVED, Edit, Mistake, both, put, renamed

_UP = "swp3"
"""leaf1's port to spine1."""
_CODES = ("qos", "mapping", "default-global", "dscp")
_MARKING = ("qos", "congestion-control", "default-global", "traffic-class", "3")
_PFC = ("qos", "pfc", "default-global")
_PEERS = ("vrf", "default", "router", "bgp", "neighbor")
_VNI = ("bridge", "domain", "br_default", "vlan", "100", "vni")
_GATEWAY = ("interface", "vlan100", "ip", "vrr", "address")


def _case(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1") -> Mistake:
    return Mistake("nvue", title, checks, devices, where, f"{file}.yaml", edit)


def _peer(*path: str, value: Any) -> Edit:  # noqa: ANN401  JSON
    return put(*_PEERS, "10.1.0.1", *path, value=value)


CASES: Final = (
    # ===== classification, PFC =====
    _case("pauses are not sent", "L1 M14", "leaf1 spine1 leaf2 spine2", "", put(*_PFC, "tx", value="disable")),
    _case("pauses are not obeyed", "L1 M14", "leaf1 spine1 leaf2 spine2", "", put(*_PFC, "rx", value="disable")),
    _case("PFC on another priority", "L1 M1 M4", "leaf1", "", put(*_PFC, "switch-priority", value={"4": {}})),
    _case("RoCE is in a lossy class", "M1 M2", "leaf1", "26", put(*_CODES, "26", "switch-priority", value=0)),
    _case("CNPs are in the data class", "M6 M2", "leaf1", "48", put(*_CODES, "48", "switch-priority", value=3)),
    _case("other traffic in the class", "M8", "leaf1", "46", put(*_CODES, "46", value={"switch-priority": 3})),
    _case("802.1p is trusted", "M1 N1 N3", "leaf1", "", put("qos", "mapping", "default-global", "trust", value="l2")),
    _case(
        "lossless in an unmarked queue",
        "E4 M5 M2",
        "leaf1",
        "",
        put("qos", "egress-queue-mapping", "default-global", "switch-priority", "3", "traffic-class", value=1),
    ),
    _case(
        "data is strict",
        "M9",
        "leaf1",
        "",
        put("qos", "egress-scheduler", "default-global", "traffic-class", "3", value={"mode": "strict"}),
    ),
    _case(
        "the RoCE queue has a small weight",
        "M11",
        "leaf1",
        "",
        both(
            put("qos", "egress-scheduler", "default-global", "traffic-class", "3", "bw-percent", value=2),
            put("qos", "egress-scheduler", "default-global", "traffic-class", "0", "bw-percent", value=98),
        ),
    ),
    _case(
        "RoCE is lossy",
        "L1 M1 M14",
        "leaf1",
        "",
        both(put("qos", "roce", "mode", value="lossy"), put("qos", "pfc", value=REMOVED)),
    ),
    _case(
        "the cable is longer than stated elsewhere",
        "L3 H5",
        "leaf1 leaf2 spine1 spine2",
        "",
        put(*_PFC, "cable-length", value=300),
    ),
    # ===== ECN =====
    _case("no marking", "E3 E4", "leaf1", "", put(*_MARKING, "ecn", value="disable")),
    _case("Kmin above Kmax", "E1", "leaf1", "", put(*_MARKING, "min-threshold", value=4_000_000)),
    _case("marking with probability 0", "E6", "leaf1", "", put(*_MARKING, "probability", value=0)),
    _case(
        "thresholds in KB",
        "E13",
        "leaf1",
        "KB",
        both(put(*_MARKING, "min-threshold", value=400), put(*_MARKING, "max-threshold", value=1600)),
    ),
    _case(
        "a threshold that is no number", "R5", "leaf1", "min-threshold", put(*_MARKING, "min-threshold", value="400KB")
    ),
    _case(
        "marking differs from the other leaf",
        "E7 E5",
        "leaf1",
        "",
        both(put(*_MARKING, "min-threshold", value=40_000), put(*_MARKING, "max-threshold", value=160_000)),
    ),
    _case(
        "a shaper on the data queue",
        "M15",
        "leaf1",
        "max-rate",
        put("qos", "egress-shaper", value={"default-global": {"traffic-class": {"3": {"max-rate": 100_000_000}}}}),
    ),
    _case(
        "a shaper on every port",
        "M15",
        "leaf1",
        "port-max-rate",
        put("qos", "egress-shaper", value={"default-global": {"port-max-rate": 100_000_000}}),
    ),
    # ===== watchdog =====
    _case("no watchdog at a port", "W2", "leaf1", _UP, put("interface", _UP, "qos", value=REMOVED)),
    # ===== links =====
    _case("MTU differs", "L4", "leaf1 spine1", "", put("interface", _UP, "link", "mtu", value=1500)),
    _case("speeds differ", "L2", "leaf1 spine1", "", put("interface", _UP, "link", "speed", value="100G")),
    _case("FEC differs", "L5", "leaf1 spine1", "", put("interface", _UP, "link", "fec", value="off")),
    _case(
        "autonegotiation differs",
        "L2",
        "leaf1 spine1",
        "",
        put("interface", _UP, "link", "auto-negotiate", value="off"),
    ),
    _case("a port is shut", "L12", "leaf1 spine1", "", put("interface", _UP, "link", "state", value={"down": {}})),
    # ===== identity, BGP =====
    _case(
        "a loopback is used twice",
        "I1",
        "leaf1 leaf2",
        "10.0.0.1",
        both(
            renamed("interface", "lo", "ip", "address", "10.0.0.2/32", to="10.0.0.1/32"),
            put("nve", "vxlan", "source", "address", value="10.0.0.1"),
        ),
        "leaf2",
    ),
    _case(
        "a VTEP address is used twice",
        "I2 V4",
        "leaf1 leaf2",
        "10.0.0.1",
        put("nve", "vxlan", "source", "address", value="10.0.0.1"),
        "leaf2",
    ),
    _case(
        "a router ID is used twice",
        "I3",
        "leaf1 leaf2",
        "10.0.0.1",
        put("router", "bgp", "router-id", value="10.0.0.1"),
        "leaf2",
    ),
    _case(
        "a system MAC is used twice",
        "I4",
        "leaf1 leaf2",
        "02:00:00:00:01:01",
        put("system", "global", "system-mac", value="02:00:00:00:01:01"),
        "leaf2",
    ),
    _case("the neighbour's AS is wrong", "P2", "leaf1", "65001", _peer("remote-as", value=65001)),
    _case(
        "two leaves have one AS",
        "I5 P2",
        "leaf1 leaf2 spine1 spine2",
        "65101",
        put("router", "bgp", "autonomous-system", value=65101),
        "leaf2",
    ),
    _case("hold time below keepalive", "I6", "leaf1", "10.1.0.1", _peer("timers", "hold", value=2)),
    _case("a session at one end only", "P3", "leaf1 spine1", "", put(*_PEERS, "10.1.0.1", value=REMOVED)),
    _case("the session is shut", "P3 P6", "leaf1 spine1", "10.1.0.1", _peer("shutdown", value="on")),
    _case(
        "the ends are in different subnets",
        "P1",
        "leaf1 spine1",
        "10.9.0.0",
        renamed("interface", _UP, "ip", "address", "10.1.0.0/31", to="10.9.0.0/31"),
    ),
    _case(
        "EVPN is not activated", "V8", "leaf1 spine1", "10.1.0.1", _peer("address-family", "l2vpn-evpn", value=REMOVED)
    ),
    _case(
        "the loopback is not advertised",
        "V7",
        "leaf1",
        "10.0.0.1",
        put("vrf", "default", "router", "bgp", "address-family", "ipv4-unicast", "redistribute", value=REMOVED),
    ),
    # ===== VXLAN, EVPN =====
    _case("the VLAN has another VNI", "V2", "leaf1 leaf2", "10200", renamed(*_VNI, "10100", to="10200"), "leaf2"),
    _case(
        "a VNI has two VLANs",
        "V1",
        "leaf1",
        "10100",
        put("bridge", "domain", "br_default", "vlan", "200", value={"vni": {"10100": {}}}),
    ),
    _case(
        "the VTEP's source does not exist",
        "V4",
        "leaf1",
        "10.0.0.99",
        put("nve", "vxlan", "source", "address", value="10.0.0.99"),
    ),
    _case("VXLAN is off", "V5", "leaf1", "", put("nve", "vxlan", "enable", value="off")),
    _case("EVPN is off", "V5", "leaf1", "", put("evpn", "enable", value="off")),
    _case(
        "the gateway's address differs",
        "V6",
        "leaf1 leaf2",
        "172.16.100.254",
        renamed(*_GATEWAY, "172.16.100.1/24", to="172.16.100.254/24"),
    ),
    _case(
        "the gateway's prefix differs",
        "V6",
        "leaf1 leaf2",
        "172.16.100.1/25",
        renamed(*_GATEWAY, "172.16.100.1/24", to="172.16.100.1/25"),
    ),
    _case(
        "the gateway's MAC differs",
        "V6",
        "leaf1 leaf2",
        "00:00:5e:00:01:02",
        put("system", "global", "anycast-mac", value="00:00:5e:00:01:02"),
    ),
)
