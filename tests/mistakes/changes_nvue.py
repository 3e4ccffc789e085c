"""Mistakes of changes to a running NVUE fabric: typed addresses, bonds, bindings of the wrong object."""

from __future__ import annotations

from typing import Any, Final

from tests.mistakes.mistake import Edit, Mistake, both, put, renamed
from tests.mistakes.tree_edits import each, nvue_bond, nvue_vrf, updated

_UP, _OTHER_UP, _HOST, _SPINE = "swp3", "swp4", "swp1", "swp1"
_ENDS: Final = "leaf1 spine1"
_BGP: Final = ("vrf", "default", "router", "bgp")
_PEER: Final = (*_BGP, "neighbor", "10.1.0.1")


def _case(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.yaml") -> Mistake:
    return Mistake("nvue", title, checks, devices, where, file, edit)


def _ends(title: str, checks: str, where: str, **edits: Edit) -> Mistake:
    """In the files of both ends of the cable between leaf1 and spine1."""
    return _case(title, checks, _ENDS, where, each(**edits), "*[12].yaml")


def _bond(port: str, **fields: object) -> Edit:
    return both(nvue_bond(port), updated("interface", "bond1", "bond", **fields))


def _list(port: str, **match: object) -> Edit:
    rules = {
        "10": {"match": {"ip": {"protocol": "udp", **match}}, "action": {"deny": {}}},
        "20": {"match": {"ip": {}}, "action": {"permit": {}}},
    }
    return both(
        put("acl", value={"HOSTS": {"type": "ipv4", "rule": rules}}),
        put("interface", port, "acl", value={"HOSTS": {"inbound": {}}}),
    )


def connected_by_policy(prefix: str) -> Edit:
    """Connected routes get into BGP by a policy that lets a prefix and all inside it through."""
    family = (*_BGP, "address-family", "ipv4-unicast", "redistribute", "connected")
    return both(
        put(
            "router",
            "policy",
            value={
                "prefix-list": {
                    "LO": {
                        "type": "ipv4",
                        "rule": {"10": {"action": "permit", "match": {prefix: {"max-prefix-len": 32}}}},
                    }
                },
                "route-map": {"LO": {"rule": {"10": {"action": {"permit": {}}, "match": {"ip-prefix-list": "LO"}}}}},
            },
        ),
        put(*family, "route-map", value="LO"),
    )


def _weights(tree: dict[str, Any]) -> dict[str, Any]:
    classes = tree["qos"]["egress-scheduler"]["default-global"]["traffic-class"]
    classes["0"]["bw-percent"], classes["3"]["bw-percent"] = 98, 2
    return tree


CASES: Final = (
    _case(
        "VTEP address mistyped", "V4", "leaf1", "10.0.0.10", put("nve", "vxlan", "source", "address", value="10.0.0.10")
    ),
    _case(
        "VTEP address of the other leaf",
        "V4 I2",
        "leaf1 leaf2",
        "10.0.0.2",
        put("nve", "vxlan", "source", "address", value="10.0.0.2"),
    ),
    _case(
        "loopback mistyped below the VTEP",
        "V4",
        "leaf1",
        "10.0.0.1",
        renamed("interface", "lo", "ip", "address", "10.0.0.1/32", to="10.0.0.7/32"),
    ),
    _ends(
        "a bond that is static at one end only", "L8", "swp3", leaf1=_bond(_UP, mode="static"), spine1=nvue_bond(_SPINE)
    ),
    _case(
        "a profile of PFC for one port pauses priority 4",
        "M1 L1 M4 L9 M7",
        "leaf1",
        _UP,
        both(
            put("qos", "pfc", "uplinks", value={"switch-priority": {"4": {}}, "tx": "enable", "rx": "enable"}),
            put("interface", _UP, "qos", "pfc", value={"profile": "uplinks"}),
        ),
    ),
    _case(
        "an access list drops a range of ports around RoCE's",
        "A1",
        "leaf1",
        "4791",
        _list(_HOST, udp={"dest-port": {"4700:4799": {}}}),
    ),
    _case(
        "an uplink joins a tenant's VRF",
        "P14",
        "leaf1",
        "10.1.0.1",
        both(nvue_vrf("50001"), put("interface", _UP, "ip", "vrf", value="RED")),
    ),
    _case(
        "an uplink is split and keeps its rows",
        "R9 L2 R1 L12",
        _ENDS,
        _UP,
        put("interface", _UP, "link", "breakout", value={"2x200G": {}}),
    ),
    _case(
        "the interface of the VLAN names another VLAN",
        "V18 R1 V16 L13 V11",
        "leaf1",
        "1",
        put("interface", "vlan100", "vlan", value=110),
    ),
    _case(
        "a policy that lets connected routes of another range out",
        "V7",
        "leaf1",
        "10.0.0.1",
        connected_by_policy("10.0.1.0/24"),
    ),
    _case(
        "the policy of a session has another name",
        "R1",
        "leaf1",
        "TO_SPINES",
        put(*_PEER, "address-family", "ipv4-unicast", "policy", value={"outbound": {"route-map": "TO_SPINES"}}),
    ),
    _case(
        "anycast MAC mistyped in the global fields",
        "V6",
        "leaf1 leaf2",
        "",
        put("system", "global", "anycast-mac", value="00:00:5e:00:01:10"),
    ),
)
