"""Slips of operators in SONiC, the seventh part: tried before the checks knew them. Drift of one port or one row."""

from __future__ import annotations

from typing import Any, Final

from tests.mistakes.mistake import Edit, Mistake, both, put, renamed

_UP, _OTHER_UP, _HOST = "Ethernet24", "Ethernet32", "Ethernet8"
_LONG = ("BUFFER_PROFILE", "pg_lossless_400000_40m_profile")


def _case(title: str, checks: str, devices: str, where: str, edit: Edit, *, loopbacks: bool = False) -> Mistake:
    return Mistake("sonic", title, checks, devices, where, "leaf1.json", edit, loopbacks)


def _list(name: str, ports: list[str], **rules: dict[str, str]) -> Edit:
    """An access list at some ports."""
    rows = {f"{name}|{rule}": fields for rule, fields in rules.items()}
    return both(
        put("ACL_TABLE", value={name: {"type": "L3", "stage": "ingress", "ports": ports}}), put("ACL_RULE", value=rows)
    )


def _no_queue_maps(tree: dict[str, Any]) -> dict[str, Any]:
    for row in tree["PORT_QOS_MAP"].values():
        del row["tc_to_queue_map"]
    return tree


def _old_map(tree: dict[str, Any]) -> dict[str, Any]:
    tree["DSCP_TO_TC_MAP"]["OLD"] = {**tree["DSCP_TO_TC_MAP"]["M"], "26": "0"}
    tree["PORT_QOS_MAP"][_HOST]["dscp_to_tc_map"] = "OLD"
    return tree


def _swapped_profiles(tree: dict[str, Any]) -> dict[str, Any]:
    groups = tree["BUFFER_PG"]
    groups[f"{_UP}|3"], groups[f"{_HOST}|3"] = groups[f"{_HOST}|3"], groups[f"{_UP}|3"]
    return tree


_STATIC: Final = {"pool": "egress_lossless_pool", "size": "0", "static_th": "100000"}
_CNP: Final = {"PRIORITY": "100", "IP_PROTOCOL": "17", "L4_DST_PORT": "4791", "DSCP": "48", "PACKET_ACTION": "DROP"}
CASES: Final = (
    _case("half of the lanes", "R9", "leaf1", "lanes", put("PORT", _UP, "lanes", value="1,2")),
    _case(
        "the lossless profile is on two groups",
        "M7",
        "leaf1",
        "group 4",
        renamed("BUFFER_PG", f"{_HOST}|3", to=f"{_HOST}|3-4"),
    ),
    _case(
        "a static limit for the lossless queues",
        "B7",
        "leaf1",
        "egress_lossless_profile",
        put("BUFFER_PROFILE", "egress_lossless_profile", value=_STATIC),
    ),
    _case(
        "the watchdog's global row is in small letters",
        "R1",
        "leaf1",
        "global",
        renamed("PFC_WD", "GLOBAL", to="global"),
    ),
    _case(
        "a watchdog row of a port that does not exist",
        "R1",
        "leaf1",
        "Ethernet25",
        renamed("PFC_WD", _UP, to="Ethernet25"),
    ),
    _case("CNPs are in class 7", "M2", "leaf1", "48", put("DSCP_TO_TC_MAP", "M", "48", value="7")),
    _case(
        "the best-effort queue is strict at an uplink",
        "M17",
        "leaf1",
        _UP,
        put("QUEUE", f"{_UP}|0", "scheduler", value="cnp"),
    ),
    _case(
        "the CNP queue has the data scheduler at a port",
        "M6",
        "leaf1",
        _UP,
        put("QUEUE", f"{_UP}|6", "scheduler", value="data"),
    ),
    _case(
        "the cable's length has a zero too many", "H2", "leaf1", "400m", put("CABLE_LENGTH", "AZURE", _UP, value="400m")
    ),
    _case(
        "the egress pool lost a digit",
        "B7",
        "leaf1",
        "egress_lossless",
        put("BUFFER_POOL", "egress_lossless_pool", "size", value="6081739"),
    ),
    _case(
        "an uplink's length is 32",
        "P1",
        "leaf1 spine1",
        "10.1.0.0/32",
        renamed("INTERFACE", f"{_UP}|10.1.0.0/31", to=f"{_UP}|10.1.0.0/32"),
    ),
    _case(
        "the neighbour is the switch itself",
        "P19",
        "leaf1",
        "10.1.0.0",
        renamed("BGP_NEIGHBOR", "10.1.0.1", to="10.1.0.0"),
    ),
    _case(
        "the tunnel's source is an uplink",
        "V11 V7",
        "leaf1",
        "10.1.0.0",
        put("VXLAN_TUNNEL", "vtep", "src_ip", value="10.1.0.0"),
    ),
    _case("a VRF has the VLAN's VNI", "V1", "leaf1", "10100", put("VRF", value={"Vrf1": {"vni": "10100"}})),
    _case(
        "a host port is untagged in two VLANs",
        "R9",
        "leaf1",
        _HOST,
        both(
            put("VLAN", "Vlan200", value={"vlanid": "200"}),
            put("VLAN_MEMBER", f"Vlan200|{_HOST}", value={"tagging_mode": "untagged"}),
        ),
    ),
    _case(
        "an uplink is in a LAG and has an address",
        "R9",
        "leaf1",
        _UP,
        both(
            put("PORTCHANNEL", value={"PortChannel1": {"admin_status": "up", "mtu": "9216"}}),
            put("PORTCHANNEL_MEMBER", value={f"PortChannel1|{_UP}": {}}),
        ),
    ),
    _case(
        "storm control at an uplink",
        "R10",
        "leaf1",
        "PORT_STORM_CONTROL",
        put("PORT_STORM_CONTROL", value={f"{_UP}|unknown-unicast": {"kbps": "1000"}}),
    ),
    _case("an ACL drops CNPs", "A1", "leaf1", "48", _list("HOSTS", [_HOST], CNP=_CNP)),
    _case(
        "the priorities of two ACL rules are swapped",
        "A2",
        "leaf1",
        "FABRIC",
        _list(
            "FABRIC",
            [_UP, _OTHER_UP],
            ALL={"PRIORITY": "10", "ETHER_TYPE": "2048", "PACKET_ACTION": "FORWARD"},
            UDP={"PRIORITY": "100", "IP_PROTOCOL": "17", "PACKET_ACTION": "DROP"},
        ),
    ),
    _case(
        "traffic shift away was left on",
        "P20",
        "leaf1",
        "tsa_enabled",
        put("BGP_DEVICE_GLOBAL", value={"STATE": {"tsa_enabled": "true"}}),
    ),
    _case(
        "the BGP feature is disabled", "P6", "leaf1", "bgp|state", put("FEATURE", value={"bgp": {"state": "disabled"}})
    ),
    _case("no port has a queue map", "M3", "leaf1", "tc_to_queue map", _no_queue_maps),
    _case(
        "PFC priorities as a bit mask", "R5", "leaf1", "pfc_enable", put("PORT_QOS_MAP", _UP, "pfc_enable", value="8")
    ),
    _case("a host port has the old DSCP map", "M1", "leaf1", "OLD", _old_map),
    _case("the profiles of two groups are swapped", "H3", "leaf1", "profile", _swapped_profiles),
    _case("a colon in a queue's key", "R5", "leaf1", f"{_UP}:3", renamed("QUEUE", f"{_UP}|3", to=f"{_UP}:3")),
    _case(
        "size and xoff are swapped",
        "H4",
        "leaf1",
        "40m",
        both(put(*_LONG, "size", value="77824"), put(*_LONG, "xoff", value="124928")),
    ),
    _case(
        "an ACL's port does not exist",
        "R1",
        "leaf1",
        "Ethernet9",
        _list("HOSTS", ["Ethernet9"], LOW={"PRIORITY": "100", "DSCP": "8", "PACKET_ACTION": "DROP"}),
    ),
    _case(
        "EVPN between loopbacks: policies are required",
        "P21",
        "leaf1",
        "ebgp_requires_policy",
        put("BGP_GLOBALS", "default", "ebgp_requires_policy", value="true"),
        loopbacks=True,
    ),
)
"""leaf1."""
