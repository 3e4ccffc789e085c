"""More slips of operators in SONiC and NVUE, the eighth part: tried after part 7 was found, before it was known."""

from __future__ import annotations

from typing import Any, Final

from tests.mistakes.mistake import REMOVED, Edit, Mistake, both, put, renamed

_BGP = ("vrf", "default", "router", "bgp")
_UP, _HOST = "Ethernet24", "Ethernet8"


def _sonic(title: str, checks: str, devices: str, where: str, edit: Edit, *, loopbacks: bool = False) -> Mistake:
    return Mistake("sonic", title, checks, devices, where, "leaf1.json", edit, loopbacks)


def _nvue(title: str, checks: str, where: str, edit: Edit, device: str = "leaf1") -> Mistake:
    return Mistake("nvue", title, checks, device, where, f"{device}.yaml", edit)


def _swapped_neighbors(tree: dict[str, Any]) -> dict[str, Any]:
    near = tree["DEVICE_NEIGHBOR"]
    near[_UP], near["Ethernet32"] = near["Ethernet32"], near[_UP]
    return tree


def _short_cables(tree: dict[str, Any]) -> dict[str, Any]:
    tree["CABLE_LENGTH"]["AZURE"] = dict.fromkeys(tree["CABLE_LENGTH"]["AZURE"], "5m")
    return tree


def _unmarked_uplinks(tree: dict[str, Any]) -> dict[str, Any]:
    tree["WRED_PROFILE"]["LOSSY"] = {**tree["WRED_PROFILE"]["W"], "ecn": "ecn_none"}
    for port in (_UP, "Ethernet32"):
        tree["QUEUE"][f"{port}|3"]["wred_profile"] = "LOSSY"
    return tree


_IN: Final = {"HOSTS": {"inbound": {}}}
_SUBNET: Final = {"match": {"ip": {"source-ip": "172.16.100.0/24"}}, "action": {"deny": {}}}
_POOLS: Final = {
    "default-lossy": {"memory-percent": 50},
    "roce-lossless": {"memory-percent": 50, "switch-priority": {"4": {}}},
}
CASES: Final = (
    _sonic(
        "the switch's own DSCP map does not exist",
        "R1",
        "leaf1",
        "AZURE",
        put("PORT_QOS_MAP", "global", value={"dscp_to_tc_map": "AZURE"}),
    ),
    _sonic(
        "alpha differs at one leaf",
        "B15",
        "leaf1",
        "dynamic_th",
        put("BUFFER_PROFILE", "pg_lossless_400000_5m_profile", "dynamic_th", value="-2"),
    ),
    _sonic("the neighbours of two uplinks are swapped", "L7", "leaf1", _UP, _swapped_neighbors),
    _sonic(
        "the host name has a dash too many",
        "R11",
        "leaf1",
        "leaf1",
        put("DEVICE_METADATA", "localhost", "hostname", value="leaf-1"),
    ),
    _sonic("every cable has the default length", "H5", "leaf1", "5 m here", _short_cables),
    _sonic("the uplinks have a profile that marks nothing", "E3", "leaf1", "LOSSY", _unmarked_uplinks),
    _sonic(
        "a probability as a fraction",
        "R5",
        "leaf1",
        "green_drop_probability",
        put("WRED_PROFILE", "W", "green_drop_probability", value="0.2"),
    ),
    _sonic(
        "the counters of the watchdog are off",
        "R9",
        "leaf1",
        "PFCWD",
        put("FLEX_COUNTER_TABLE", value={"PFCWD": {"FLEX_COUNTER_STATUS": "disable"}}),
    ),
    _sonic(
        "a port is in two LAGs",
        "R9",
        "leaf1",
        _HOST,
        both(
            put("PORTCHANNEL", value={"PortChannel1": {"admin_status": "up"}, "PortChannel2": {"admin_status": "up"}}),
            put("VLAN_MEMBER", f"Vlan100|{_HOST}", value=REMOVED),
            put("VLAN_MEMBER", "Vlan100|PortChannel1", value={"tagging_mode": "untagged"}),
            put("PORTCHANNEL_MEMBER", value={f"PortChannel1|{_HOST}": {}, f"PortChannel2|{_HOST}": {}}),
        ),
    ),
    _sonic(
        "a rule's table is mistyped",
        "R1",
        "leaf1",
        "'HOST'",
        both(
            put("ACL_TABLE", value={"HOSTS": {"type": "L3", "stage": "ingress", "ports": [_HOST]}}),
            put("ACL_RULE", value={"HOST|R1": {"PRIORITY": "10", "IP_PROTOCOL": "6", "PACKET_ACTION": "DROP"}}),
        ),
    ),
    _sonic(
        "EVPN between loopbacks: the instance's VRF has a capital",
        "R1",
        "leaf1",
        "Default",
        renamed("BGP_GLOBALS", "default", to="Default"),
        loopbacks=True,
    ),
    _nvue(
        "RoCE's DSCP has swapped digits", "M8", "62", renamed("qos", "mapping", "default-global", "dscp", "26", to="62")
    ),
    _nvue(
        "a range of ports has a small MTU", "L4", "MTU 1500", put("interface", "swp3-4", value={"link": {"mtu": 1500}})
    ),
    _nvue("the AS is automatic", "P2 R5", "autonomous-system", put("router", "bgp", "autonomous-system", value="leaf")),
    _nvue(
        "connected routes are not redistributed",
        "V7",
        "10.0.0.1",
        put(*_BGP, "address-family", "ipv4-unicast", "redistribute", "connected", "enable", value="off"),
    ),
    _nvue(
        "the session's source is another uplink",
        "P3",
        "10.1.0.2",
        put(*_BGP, "neighbor", "10.1.0.1", "update-source", value="swp4"),
    ),
    _nvue("the loopback has another name", "R5", "loopback0", renamed("interface", "lo", to="loopback0")),
    _nvue(
        "an ACL at a host port denies its subnet",
        "A1",
        "swp1",
        both(
            put("acl", value={"HOSTS": {"type": "ipv4", "rule": {"10": _SUBNET}}}),
            put("interface", "swp1", "acl", value=_IN),
        ),
    ),
    _nvue(
        "an uplink's scheduler has no RoCE class",
        "M9",
        "swp3",
        both(
            put(
                "qos",
                "egress-scheduler",
                "small",
                value={"traffic-class": {"0": {"mode": "dwrr", "bw-percent": 50}, "6": {"mode": "strict"}}},
            ),
            put("interface", "swp3", "qos", "egress-scheduler", value={"profile": "small"}),
        ),
    ),
    _nvue("the lossless pool has another priority", "R9", "has priority 4", put("qos", "traffic-pool", value=_POOLS)),
    _nvue(
        "a spine sets itself as next hop of EVPN",
        "V9",
        "10.1.0.0",
        put(
            *_BGP,
            "neighbor",
            "10.1.0.0",
            "address-family",
            "l2vpn-evpn",
            "attribute-mod",
            value={"next-hop-self": "on"},
        ),
        "spine1",
    ),
)
