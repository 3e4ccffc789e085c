"""More slips of operators in NVUE, the eleventh part, and further ones: both ends alike, units, copies, names."""

from __future__ import annotations

from typing import Any, Final

from tests.mistakes import nvue
from tests.mistakes.mistake import REMOVED, Edit, Mistake, both, put, renamed
from tests.mistakes.tree_edits import each, nvue_bond, nvue_list, nvue_vrf, updated

_BGP: Final = ("vrf", "default", "router", "bgp", "neighbor", "10.1.0.1")
_MARKING: Final = ("qos", "congestion-control", "default-global", "traffic-class", "3")
_ENDS: Final = "leaf1 spine1"
_POOLS: Final = {
    "default-lossy": {"memory-percent": 95},
    "roce-lossless": {"memory-percent": 5, "switch-priority": {"3": {}}},
}
_SHORT: Final = {"switch-priority": {"3": {}}, "tx": "enable", "rx": "enable", "cable-length": 5}
_WATCH: Final = {"enable": "on", "detect-multiplier": 3, "min-rx-interval": 300, "min-tx-interval": 300}
_WORSE: Final = {"route-map": {"LP": {"rule": {"10": {"action": {"permit": {}}, "set": {"local-preference": 50}}}}}}


def _case(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.yaml") -> Mistake:
    return Mistake("nvue", title, checks, devices, where, file, edit)


def _route(gateway: str) -> Edit:
    hop = {"via": {gateway: {"type": "ipv4-address"}}}
    return put("vrf", "default", "router", "static", value={"10.0.0.2/32": hop})


def _of_leaf2(tree: dict[str, Any]) -> dict[str, Any]:
    other = nvue.good()["leaf2.yaml"]
    return {**other, "system": {**other["system"], "hostname": tree["system"]["hostname"]}}


def _swapped_addresses(tree: dict[str, Any]) -> dict[str, Any]:
    ports = tree["interface"]
    ports["swp3"]["ip"], ports["swp4"]["ip"] = ports["swp4"]["ip"], ports["swp3"]["ip"]
    return tree


CASES: Final = (
    _case(
        "the pause level in KB",
        "R9",
        "leaf1",
        "xoff-threshold",
        put("qos", "pfc", "default-global", "xoff-threshold", value=80),
    ),
    _case("a probability as a fraction", "R5", "leaf1", "0.2", put(*_MARKING, "probability", value=0.2)),
    _case(
        "a DSCP by its name",
        "R5",
        "leaf1",
        "af31",
        renamed("qos", "mapping", "default-global", "dscp", "26", to="af31"),
    ),
    _case(
        "a host is alone in its VLAN",
        "L13",
        "leaf1",
        "VLAN 10",
        both(
            put("bridge", "domain", "br_default", "vlan", "10", value={}),
            put("interface", "swp2", "bridge", "domain", "br_default", "access", value=10),
        ),
    ),
    _case("a bond at one end", "L8", _ENDS, "swp3", nvue_bond("swp3")),
    _case(
        "an outbound ACL drops UDP at a host port", "A1", "leaf1", "swp1", nvue_list("swp1", "outbound", {"deny": {}})
    ),
    _case(
        "a policer limits UDP at a host port",
        "R10",
        "leaf1",
        "rate limit",
        nvue_list("swp1", "inbound", {"police": {"mode": "packet", "rate": 1000, "burst": 100}}),
    ),
    _case(
        "the lossless pool has a tenth of its share", "B16", "leaf1", "pool", put("qos", "traffic-pool", value=_POOLS)
    ),
    _case(
        "FEC is off at both ends",
        "L5",
        _ENDS,
        "fec",
        each(
            leaf1=put("interface", "swp3", "link", "fec", value="off"),
            spine1=put("interface", "swp1", "link", "fec", value="off"),
        ),
        "*[12].yaml",
    ),
    _case("a speed lost a digit", "L2", _ENDS, "40000", put("interface", "swp3", "link", "speed", value="40G")),
    _case("a static route to the own address", "D13", "leaf1", "10.1.0.0", _route("10.1.0.0")),
    _case("a static route to a host", "D10 D13", "leaf1", "10.0.0.2", _route("172.16.100.77")),
    _case("a VRF has no VNI", "V16", "leaf1", "RED", each(leaf1=nvue_vrf(""), leaf2=nvue_vrf("50001")), "leaf*.yaml"),
    _case(
        "a VRF has another VNI than on the other leaf",
        "V2",
        "leaf1 leaf2",
        "50009",
        each(leaf1=nvue_vrf("50009"), leaf2=nvue_vrf("50001")),
        "leaf*.yaml",
    ),
    _case("the other leaf's file under the own name", "P1 I1 I4 I5", "leaf1", "10.1.1.0", _of_leaf2),
    _case(
        "an uplink has the profile of a short cable",
        "H5",
        "leaf1",
        "swp3",
        both(
            put("qos", "pfc", "short", value=_SHORT), put("interface", "swp3", "qos", "pfc", value={"profile": "short"})
        ),
    ),
    _case(
        "the watchdog polls in seconds",
        "R5",
        "leaf1",
        "polling",
        put("qos", "pfc-watchdog", "polling-interval", value=1),
    ),
    _case("BFD at one end", "P24", _ENDS, "10.1.0", put(*_BGP, "bfd", value=_WATCH)),
    _case("a port's name in capitals", "R5", "leaf1", "SWP3", renamed("interface", "swp3", to="SWP3")),
    _case(
        "the tunnel's source has a length",
        "V4",
        "leaf1",
        "10.0.0.1/32",
        put("nve", "vxlan", "source", "address", value="10.0.0.1/32"),
    ),
    _case(
        "thresholds in words that no release knows",
        "R5",
        "leaf1",
        "00MB",
        updated(*_MARKING, **{"min-threshold": "400MB", "max-threshold": "1600MB"}),
    ),
    _case(
        "the RoCE class has a tenth of its share",
        "M11",
        "leaf1",
        "weight 5",
        put("qos", "egress-scheduler", "default-global", "traffic-class", "3", "bw-percent", value=5),
    ),
    _case(
        "a host's bond is not in the bridge",
        "L13",
        "leaf1",
        "swp1",
        both(
            put("interface", "bond1", value={"type": "bond", "bond": {"member": {"swp1": {}}}}),
            put("interface", "swp1", "bridge", value=REMOVED),
        ),
    ),
    _case(
        "a bond is shut",
        "L8",
        "leaf1",
        "bond1",
        each(leaf1=nvue_bond("swp3", state={"down": {}}), spine1=nvue_bond("swp1")),
        "*[12].yaml",
    ),
    _case(
        "the own address is the gateway's",
        "V6",
        "leaf1",
        "172.16.100.1",
        put("interface", "vlan100", "ip", "address", value={"172.16.100.1/24": {}}),
    ),
    _case(
        "a policy makes one uplink worse",
        "P18",
        "leaf1",
        "10.1.0.1",
        both(
            put("router", "policy", value=_WORSE),
            put(*_BGP, "address-family", "ipv4-unicast", "policy", value={"inbound": {"route-map": "LP"}}),
        ),
    ),
    _case(
        "the remote AS is a word of no release", "R5", "leaf1", "EXTERNAL", put(*_BGP, "remote-as", value="EXTERNAL-AS")
    ),
    _case(
        "the hosts' ports have a small MTU",
        "L4",
        "leaf1 leaf2",
        "1500",
        both(*(put("interface", port, "link", "mtu", value=1500) for port in ("swp1", "swp2"))),
        "leaf*.yaml",
    ),
    _case(
        "the RoCE priority leaves in class 4",
        "M2",
        "leaf1",
        "queue 4",
        put("qos", "egress-queue-mapping", "default-global", "switch-priority", "3", "traffic-class", value=4),
    ),
    _case(
        "the management port has an uplink's subnet",
        "I8",
        "leaf1",
        "eth0",
        put("interface", "eth0", value={"type": "eth", "ip": {"address": {"10.1.0.77/24": {}}}}),
    ),
    _case(
        "the SVI has another VLAN than its name",
        "V18",
        "leaf1",
        "vlan100",
        put("interface", "vlan100", "vlan", value=200),
    ),
    _case(
        "the tunnel's source is a spine's loopback",
        "V4",
        "leaf1",
        "10.0.0.11",
        put("nve", "vxlan", "source", "address", value="10.0.0.11"),
    ),
    _case("the neighbour has the own AS", "P2", "leaf1", "65101", put(*_BGP, "remote-as", value=65101)),
    _case(
        "the VNI is automatic on one leaf",
        "V2",
        "leaf1 leaf2",
        "VNI 100",
        put("bridge", "domain", "br_default", "vlan", "100", "vni", value={"auto": {}}),
    ),
    _case("the router ID is zero", "R5", "leaf1", "0.0.0.0", put("router", "bgp", "router-id", value="0.0.0.0")),  # noqa: S104
    _case("the addresses of the uplinks are swapped", "P1", "leaf1", "10.1.0.2", _swapped_addresses),
    _case(
        "a bond has a small MTU",
        "L4 T1",
        _ENDS,
        "1500",
        each(leaf1=nvue_bond("swp3", mtu=1500), spine1=nvue_bond("swp1")),
        "*[12].yaml",
    ),
)
