"""Mistakes of changes to a running SONiC fabric: typed addresses, copied rows, LAGs, bindings of the wrong object."""

from __future__ import annotations

from typing import Any, Final

from tests.mistakes import sonic
from tests.mistakes.mistake import Edit, Mistake, both, put
from tests.mistakes.tree_edits import each, sonic_lag, sonic_list, sonic_vrf, updated

_UP, _OTHER_UP, _HOST, _SPINE = "Ethernet24", "Ethernet32", "Ethernet8", "Ethernet8"
_ENDS: Final = "leaf1 spine1"


def _case(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.json") -> Mistake:
    return Mistake("sonic", title, checks, devices, where, file, edit)


def _ends(title: str, checks: str, where: str, **edits: Edit) -> Mistake:
    """In the files of both ends of the cable between leaf1 and spine1."""
    return _case(title, checks, _ENDS, where, each(**edits), "*[12].json")


def _loopbacks(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.json") -> Mistake:
    return Mistake("sonic", f"EVPN between loopbacks: {title}", checks, devices, where, file, edit, True)


def _member_keeps_its_address(tree: dict[str, Any]) -> dict[str, Any]:
    rows = dict(tree["INTERFACE"])
    tree = sonic_lag(_UP)(tree)
    tree["INTERFACE"].update({key: row for key, row in rows.items() if key.startswith(_UP)})
    return tree


def _marking_at_queue_0(tree: dict[str, Any]) -> dict[str, Any]:
    tree["QUEUE"][f"{_UP}|0"]["wred_profile"] = tree["QUEUE"][f"{_UP}|3"].pop("wred_profile")
    return tree


def _vlans_of_leaf2(tree: dict[str, Any]) -> dict[str, Any]:
    other = sonic.good()["leaf2.json"]
    return {**tree, "LOOPBACK_INTERFACE": other["LOOPBACK_INTERFACE"], "VXLAN_TUNNEL": other["VXLAN_TUNNEL"]}


def _lossless_group_of_one_port_at_4(tree: dict[str, Any]) -> dict[str, Any]:
    tree["TC_TO_PRIORITY_GROUP_MAP"]["P"] = {**tree["TC_TO_PRIORITY_GROUP_MAP"]["M"], "3": "4"}
    tree["PORT_QOS_MAP"][_UP]["tc_to_pg_map"] = "P"
    return tree


CASES: Final = (
    _case(
        "VTEP address mistyped", "V4", "leaf1", "10.0.0.10", put("VXLAN_TUNNEL", "vtep", "src_ip", value="10.0.0.10")
    ),
    _case(
        "VTEP address of the other leaf",
        "V4 I2",
        "leaf1 leaf2",
        "10.0.0.2",
        put("VXLAN_TUNNEL", "vtep", "src_ip", value="10.0.0.2"),
    ),
    _ends(
        "a member of a LAG keeps its address",
        "L8 R9 I1 I8",
        _UP,
        leaf1=_member_keeps_its_address,
        spine1=sonic_lag(_SPINE),
    ),
    _case(
        "pauses of priority 3 act on queue 4 at one port",
        "M5 M1",
        "leaf1",
        _UP,
        both(
            put("MAP_PFC_PRIORITY_TO_QUEUE", value={"Q": {"3": "4"}}),
            put("PORT_QOS_MAP", _UP, "pfc_to_queue_map", value="Q"),
        ),
    ),
    _case("marking bound to queue 0 of one port", "E4", "leaf1", f"{_UP}", _marking_at_queue_0),
    _case("a map of groups copied for one port, with group 4", "M4", "leaf1", _UP, _lossless_group_of_one_port_at_4),
    _case(
        "local address of a session is that of the other uplink",
        "P3 P7 P9 P1 R9",
        "leaf1 spine1",
        "10.1.0.",
        put("BGP_NEIGHBOR", "10.1.0.1", "local_addr", value="10.1.0.2"),
    ),
    _case(
        "an uplink joins a tenant's VRF",
        "P14",
        "leaf1",
        "10.1.0.1",
        both(sonic_vrf("50001"), put("INTERFACE", _UP, "vrf_name", value="VrfRed")),
    ),
    _case(
        "an access list drops a range of ports around RoCE's",
        "A1",
        "leaf1",
        "4791",
        sonic_list(_HOST, IP_PROTOCOL="17", L4_DST_PORT_RANGE="4700-4799", PACKET_ACTION="DROP"),
    ),
    _case(
        "the uplink is still a member of the VLAN",
        "R9 L13 L14",
        "leaf1",
        _UP,
        put("VLAN_MEMBER", f"Vlan100|{_UP}", value={"tagging_mode": "tagged"}),
    ),
    _loopbacks(
        "the group of EVPN sessions has the local address of the other leaf",
        "P7 P3",
        "leaf1",
        "10.0.0.2",
        put("BGP_PEER_GROUP", "default|OVERLAY", "local_addr", value="10.0.0.2"),
    ),
    _case("loopback and tunnel copied from the other leaf", "I1 I2", "leaf1 leaf2", "10.0.0.2", _vlans_of_leaf2),
    _case("an uplink advertises 100G only", "L2", _ENDS, _UP, updated("PORT", _UP, autoneg="on", adv_speeds="100000")),
    _case(
        "a static route to the other loopback over the wrong interface",
        "D12 D13 D10 R9 P1",
        "leaf1",
        "10.0.0.2",
        put("STATIC_ROUTE", value={"default|10.0.0.2/32": {"nexthop": "10.1.0.3", "ifname": _UP}}),
    ),
)
