"""Slips of operators in NVUE, the seventh part: tried before the checks knew them. Drift of one port or profile."""

from __future__ import annotations

from typing import Any, Final

from tests.mistakes.mistake import Edit, Mistake, both, put, renamed

_BGP = ("vrf", "default", "router", "bgp")
_PEER = (*_BGP, "neighbor", "10.1.0.1")
_UP, _HOST = ("interface", "swp3"), ("interface", "swp1")
_QOS = "qos"


def _case(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1") -> Mistake:
    return Mistake("nvue", title, checks, devices, where, f"{file}.yaml", edit)


def _profile(family: str, name: str, at: tuple[str, ...], fields: dict[str, Any]) -> Edit:
    """A profile of a family, and an interface that names it."""
    return both(put(_QOS, family, name, value=fields), put(*at, _QOS, family, value={"profile": name}))


_UNMARKED: Final = {
    "ecn": "disable",
    "red": "enable",
    "min-threshold": 400_000,
    "max-threshold": 1_600_000,
    "probability": 20,
}
CASES: Final = (
    _case(
        "a host port has an old mapping profile",
        "M1",
        "leaf1",
        "OLD",
        _profile(
            "mapping",
            "OLD",
            _HOST,
            {"trust": "l3", "dscp": {"26": {"switch-priority": 0}, "48": {"switch-priority": 6}}},
        ),
    ),
    _case(
        "a PFC profile that does not exist", "R1", "leaf1", "NOPFC", put(*_UP, _QOS, "pfc", value={"profile": "NOPFC"})
    ),
    _case(
        "the pools exceed 100 percent",
        "R5",
        "leaf1",
        "memory-percent",
        put(
            _QOS,
            "traffic-pool",
            value={"default-lossy": {"memory-percent": 60}, "roce-lossless": {"memory-percent": 60}},
        ),
    ),
    _case("the watchdog needs 5 s", "W6", "leaf1", "5000 ms", put(_QOS, "pfc-watchdog", "robustness", value=50)),
    _case(
        "a host port's profile marks nothing",
        "E3",
        "leaf1",
        "swp1",
        _profile("congestion-control", "hosts", _HOST, {"traffic-class": {"3": _UNMARKED}}),
    ),
    _case(
        "the bandwidths exceed 100 percent",
        "R5",
        "leaf1",
        "bw-percent",
        put(_QOS, "egress-scheduler", "default-global", "traffic-class", "5", value={"mode": "dwrr", "bw-percent": 50}),
    ),
    _case(
        "an uplink is broken out", "R9 L7", "leaf1 spine1", "swp3", put(*_UP, "link", "breakout", value={"4x100G": {}})
    ),
    _case(
        "an uplink is in a bond and has an address",
        "R9",
        "leaf1",
        "swp3",
        put("interface", "bond1", value={"type": "bond", "bond": {"member": {"swp3": {}}}}),
    ),
    _case(
        "the bridge's name is mistyped",
        "R1",
        "leaf1",
        "br_defualt",
        renamed(*_HOST, "bridge", "domain", "br_default", to="br_defualt"),
    ),
    _case(
        "IPv4 is off for one neighbour",
        "P10",
        "leaf1 spine1",
        "10.1.0.1",
        put(*_PEER, "address-family", "ipv4-unicast", "enable", value="off"),
    ),
    _case("the neighbour's type is unnumbered", "R5", "leaf1", "10.1.0.1", put(*_PEER, "type", value="unnumbered")),
    _case(
        "graceful shutdown was left on",
        "P20",
        "spine1",
        "graceful-shutdown",
        put("router", "bgp", "graceful-shutdown", value="on"),
        "spine1",
    ),
    _case(
        "static routes are redistributed instead of connected ones",
        "V7",
        "leaf1",
        "10.0.0.1",
        put(*_BGP, "address-family", "ipv4-unicast", "redistribute", value={"static": {"enable": "on"}}),
    ),
    _case(
        "the gateway is down",
        "V18",
        "leaf1",
        "vlan100",
        put("interface", "vlan100", "ip", "vrr", "state", value={"down": {}}),
    ),
    _case("an ACL that does not exist", "R1", "leaf1", "FABRC", put(*_UP, "acl", value={"FABRC": {"inbound": {}}})),
    _case(
        "an ACL drops CNPs",
        "A1",
        "leaf1",
        "swp1",
        both(
            put(
                "acl",
                value={
                    "HOSTS": {"type": "ipv4", "rule": {"10": {"match": {"ip": {"dscp": 48}}, "action": {"deny": {}}}}}
                },
            ),
            put(*_HOST, "acl", value={"HOSTS": {"inbound": {}}}),
        ),
    ),
    _case("the VRF has another AS", "P2", "leaf1", "65999", put(*_BGP, "autonomous-system", value=65999)),
    _case(
        "the VRF has the other leaf's router ID", "I3", "leaf1", "10.0.0.2", put(*_BGP, "router-id", value="10.0.0.2")
    ),
    _case(
        "an uplink pauses priority 4",
        "M1",
        "leaf1",
        "PFC is on for 4",
        _profile("pfc", "four", _UP, {"switch-priority": {"4": {}}, "tx": "enable", "rx": "enable"}),
    ),
    _case(
        "RoCE's DSCP is rewritten to 0",
        "M12",
        "leaf1",
        "DSCP 26 leaves as 0",
        put(_QOS, "remark", value={"default-global": {"rewrite": "l3", "switch-priority": {"3": {"dscp": 0}}}}),
    ),
    _case("an uplink does not forward", "R9", "leaf1", "swp3", put(*_UP, "ip", "ipv4", value={"forward": "off"})),
    _case(
        "xon is above xoff",
        "R9",
        "leaf1",
        "xon-threshold",
        both(
            put(_QOS, "pfc", "default-global", "xoff-threshold", value=10_000),
            put(_QOS, "pfc", "default-global", "xon-threshold", value=20_000),
        ),
    ),
    _case(
        "link pause at a host port",
        "L10",
        "leaf1",
        "swp1",
        _profile("link-pause", "lp", _HOST, {"rx": "enable", "tx": "enable"}),
    ),
    _case(
        "the watchdog's state is mistyped",
        "R5",
        "leaf1",
        "enabel",
        put(*_UP, _QOS, "pfc-watchdog", "state", value="enabel"),
    ),
    _case("BGP is off globally", "P6", "leaf1", "bgp", put("router", "bgp", "enable", value="off")),
    _case(
        "the own address of the SVI lost a digit",
        "V6",
        "leaf1",
        "172.16.10.2",
        renamed("interface", "vlan100", "ip", "address", "172.16.100.2/24", to="172.16.10.2/24"),
    ),
    _case(
        "a host port has no access VLAN",
        "L14",
        "leaf1",
        "swp1",
        put(*_HOST, "bridge", "domain", "br_default", value={}),
    ),
    _case("PFC is switched by another word", "R5", "leaf1", "tx", put(_QOS, "pfc", "default-global", "tx", value="on")),
)
"""leaf1 unless another file is named."""
