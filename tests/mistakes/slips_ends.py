"""More slips of operators in SONiC, the eleventh part, and further ones: both ends alike, units, copies, names."""

from __future__ import annotations

from typing import Any, Final

from tests.mistakes import sonic
from tests.mistakes.mistake import REMOVED, Edit, Mistake, both, put, renamed
from tests.mistakes.tree_edits import each, every_row, moved_to_vlan_10, sonic_lag, sonic_list, sonic_vrf, updated

_UP, _OTHER_UP, _HOST, _SPINE = "Ethernet24", "Ethernet32", "Ethernet8", "Ethernet8"
_LONG: Final = ("BUFFER_PROFILE", "pg_lossless_400000_40m_profile")
_LEAF_AND_SPINE: Final = "leaf1 spine1"


def _case(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.json") -> Mistake:
    return Mistake("sonic", title, checks, devices, where, file, edit)


def _ends(title: str, checks: str, where: str, **edits: Edit) -> Mistake:
    """In the files of both ends of the cable between leaf1 and spine1."""
    return _case(title, checks, _LEAF_AND_SPINE, where, each(**edits), "*[12].json")


def _loopbacks(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1.json") -> Mistake:
    return Mistake("sonic", f"EVPN between loopbacks: {title}", checks, devices, where, file, edit, True)


def _route(**fields: str) -> Edit:
    return put("STATIC_ROUTE", value={"default|10.0.0.2/32": fields})


def _other_loopback(tree: dict[str, Any]) -> dict[str, Any]:
    tree["LOOPBACK_INTERFACE"] = {"Loopback1": {}, "Loopback1|10.0.0.1/32": {}}
    return tree


def _of_leaf2(tree: dict[str, Any]) -> dict[str, Any]:
    other = sonic.good()["leaf2.json"]
    return {**tree, "INTERFACE": other["INTERFACE"], "BGP_NEIGHBOR": other["BGP_NEIGHBOR"]}


def _old_map(tree: dict[str, Any]) -> dict[str, Any]:
    tree["DSCP_TO_TC_MAP"]["OLD"] = {**tree["DSCP_TO_TC_MAP"]["M"], "48": "7"}
    for port in (_UP, _OTHER_UP):
        tree["PORT_QOS_MAP"][port]["dscp_to_tc_map"] = "OLD"
    return tree


def _whole_leaf2(tree: dict[str, Any]) -> dict[str, Any]:
    other = sonic.good()["leaf2.json"]
    other["DEVICE_METADATA"]["localhost"]["hostname"] = tree["DEVICE_METADATA"]["localhost"]["hostname"]
    return dict(other)


def _watchdog_of_a_range(tree: dict[str, Any]) -> dict[str, Any]:
    tree["PFC_WD"]["Ethernet8-16"] = tree["PFC_WD"].pop(_HOST)
    del tree["PFC_WD"]["Ethernet16"]
    return tree


def _swapped_weights(tree: dict[str, Any]) -> dict[str, Any]:
    tree["SCHEDULER"].update(roce={"type": "DWRR", "weight": "10"}, data={"type": "DWRR", "weight": "90"})
    for key, row in tree["QUEUE"].items():
        row["scheduler"] = "roce" if key.endswith("|3") else row["scheduler"]
    return tree


CASES: Final = (
    _case("a description names the other spine", "L7", "leaf1", _UP, updated("PORT", _UP, description="spine2:1/1")),
    _case("restoration takes a minute", "W4", "leaf1", "60000", every_row("PFC_WD", restoration_time="60000")),
    _case(
        "thresholds in bits",
        "E7",
        "leaf1",
        "3200000",
        updated("WRED_PROFILE", "W", green_min_threshold="3200000", green_max_threshold="12800000"),
    ),
    _case("headroom in KB", "H4", "leaf1", "40m", updated(*_LONG, xon="37", xoff="76", size="122")),
    _case("a pool in KB", "B16", "leaf1", "25832", updated("BUFFER_POOL", "ingress_lossless_pool", size="25832")),
    _case("a speed in Gb/s", "L2 H2", "leaf1", _UP, updated("PORT", _UP, speed="400")),
    _case("a CNP queue has no scheduler", "M6", "leaf1", _UP, put("QUEUE", f"{_UP}|6", value=REMOVED)),
    _case("the CNP class leaves in queue 5", "M2", "leaf1", "48", put("TC_TO_QUEUE_MAP", "M", "6", value="5")),
    _case(
        "the TOS byte in place of the DSCP",
        "R5 M1",
        "leaf1",
        "DSCP",
        both(put("DSCP_TO_TC_MAP", "M", "26", value="0"), put("DSCP_TO_TC_MAP", "M", "104", value="3")),
    ),
    _case("a LAG at one end", "L8", _LEAF_AND_SPINE, _UP, sonic_lag(_UP)),
    _ends(
        "a LAG needs two members and has one",
        "L8",
        "min-links",
        leaf1=sonic_lag(_UP, min_links="2"),
        spine1=sonic_lag(_SPINE),
    ),
    _ends("a LAG is shut", "L8", "PortChannel1", leaf1=sonic_lag(_UP, admin_status="down"), spine1=sonic_lag(_SPINE)),
    _case("a host is alone in its VLAN", "L13", "leaf1", "VLAN 10", moved_to_vlan_10("Ethernet16")),
    _case(
        "an old gateway address was left",
        "V6",
        "leaf1",
        "172.16.101.1",
        put("VLAN_INTERFACE", "Vlan100|172.16.101.1/24", value={}),
    ),
    _case(
        "a leaf has a spine's type",
        "I10",
        "leaf1",
        "LeafRouter",
        updated("DEVICE_METADATA", "localhost", type="LeafRouter"),
    ),
    _case(
        "the HWSKU of another chip",
        "H2",
        "leaf1",
        "MSN2700",
        updated("DEVICE_METADATA", "localhost", hwsku="ACS-MSN2700"),
    ),
    _case(
        "the system MAC is a group's",
        "I4",
        "leaf1",
        "03:00",
        updated("DEVICE_METADATA", "localhost", mac="03:00:00:00:01:01"),
    ),
    _case("the loopback has another number", "V7", "leaf1", "10.0.0.1", _other_loopback),
    _case("a static route to the own address", "D13", "leaf1", "10.1.0.0", _route(nexthop="10.1.0.0")),
    _case(
        "a static route names the other port", "D13", "leaf1", _OTHER_UP, _route(nexthop="10.1.0.1", ifname=_OTHER_UP)
    ),
    _case(
        "a static route has fewer ports than next hops",
        "R9",
        "leaf1",
        "10.0.0.2",
        _route(nexthop="10.1.0.1,10.1.0.3", ifname=_UP),
    ),
    _case(
        "an IPv4 rule in a table of IPv6",
        "R9",
        "leaf1",
        "SRC_IP",
        sonic_list(_HOST, "L3V6", SRC_IP="172.16.100.66/32", PACKET_ACTION="DROP"),
    ),
    _case(
        "a rule denies in another vendor's word",
        "R5",
        "leaf1",
        "DENY",
        sonic_list(_HOST, SRC_IP="172.16.100.66/32", PACKET_ACTION="DENY"),
    ),
    _case(
        "a rule's prefix length lost a digit",
        "A1",
        "leaf1",
        "T",
        sonic_list(_HOST, SRC_IP="172.16.100.66/3", PACKET_ACTION="DROP"),
    ),
    _case("the pool's name in capitals", "R1", "leaf1", "INGRESS", updated(*_LONG, pool="INGRESS_LOSSLESS_POOL")),
    _case("ports and neighbours of the other leaf", "P1 P3 I1 P9", "leaf1", "10.1.1", _of_leaf2),
    _ends(
        "a link is shut at both ends, its session is not",
        "L12",
        _UP,
        leaf1=updated("PORT", _UP, admin_status="down"),
        spine1=updated("PORT", _SPINE, admin_status="down"),
    ),
    _ends(
        "a link is slow at both ends",
        "H3 D7",
        "100",
        leaf1=updated("PORT", _UP, speed="100000"),
        spine1=updated("PORT", _SPINE, speed="100000"),
    ),
    _ends(
        "both ends of a link pause another priority",
        "M1",
        _UP,
        leaf1=updated("PORT_QOS_MAP", _UP, pfc_enable="4", pfcwd_sw_enable="4"),
        spine1=updated("PORT_QOS_MAP", _SPINE, pfc_enable="4", pfcwd_sw_enable="4"),
    ),
    _ends(
        "both ends of a link have a small MTU",
        "T1",
        "1500",
        leaf1=updated("PORT", _UP, mtu="1500"),
        spine1=updated("PORT", _SPINE, mtu="1500"),
    ),
    _case(
        "a port's QoS row is in small letters",
        "R1",
        "leaf1",
        "ethernet24",
        renamed("PORT_QOS_MAP", _UP, to="ethernet24"),
    ),
    _case("PFC priorities as a range", "R5", "leaf1", "3-4", updated("PORT_QOS_MAP", _UP, pfc_enable="3-4")),
    _ends(
        "no FEC at both ends",
        "L5",
        "fec",
        leaf1=updated("PORT", _UP, fec="none"),
        spine1=updated("PORT", _SPINE, fec="none"),
    ),
    _ends(
        "autonegotiation offers another speed",
        "L2",
        "100000",
        leaf1=updated("PORT", _UP, autoneg="on", adv_speeds="100000"),
        spine1=updated("PORT", _SPINE, autoneg="on"),
    ),
    _loopbacks(
        "one uplink is preferred",
        "P18",
        "leaf1",
        "10.1.0.1",
        both(
            put("ROUTE_MAP", value={"PREF|10": {"route_operation": "permit", "set_local_pref": "200"}}),
            put("BGP_NEIGHBOR_AF", "default|10.1.0.1|ipv4_unicast", "route_map_in", value=["PREF"]),
        ),
    ),
    _case(
        "a VRF has no VNI", "V16", "leaf1", "VrfRed", each(leaf1=sonic_vrf(""), leaf2=sonic_vrf("50001")), "leaf*.json"
    ),
    _case(
        "schedulers of a range without its marking",
        "E4",
        "leaf1",
        _HOST,
        both(put("QUEUE", f"{_HOST}|3", value=REMOVED), put("QUEUE", f"{_HOST}|2-4", value={"scheduler": "data"})),
    ),
    _case(
        "the lossless group is another one",
        "M7",
        "spine1",
        "group 4",
        renamed("BUFFER_PG", f"{_SPINE}|3", to=f"{_SPINE}|4"),
        "spine1.json",
    ),
    _case("the levels of a profile are swapped", "H4", "leaf1", "xon", updated(*_LONG, xon="120000", xoff="60000")),
    _case(
        "two spines have one management address",
        "I9",
        "spine1 spine2",
        "192.0.2.9",
        put("MGMT_INTERFACE", value={"eth0|192.0.2.9/24": {"gwaddr": "192.0.2.1"}}),
        "spine*.json",
    ),
    _case(
        "no link has room for VXLAN's header",
        "T1",
        "leaf1 leaf2 spine1 spine2",
        "9000",
        every_row("PORT", mtu="9000"),
        "*[12].json",
    ),
    _case(
        "a row of the tunnel map has another VNI than its name",
        "V2",
        "leaf1",
        "map_10100",
        put("VXLAN_TUNNEL_MAP", "vtep|map_10100_Vlan100", "vni", value="100"),
    ),
    _case("a second NVO", "R9", "leaf1", "NVO", put("VXLAN_EVPN_NVO", "nvo2", value={"source_vtep": "vtep"})),
    _case("the uplinks have an old DSCP map", "M6 M2", "leaf1", _UP, _old_map),
    _case(
        "the watchdog's action is another vendor's word",
        "R5",
        "leaf1",
        "Discard",
        updated("PFC_WD", _HOST, action="Discard"),
    ),
    _case(
        "a port is in an old table of lengths",
        "H5 L3",
        _LEAF_AND_SPINE,
        "300",
        both(put("CABLE_LENGTH", "AZURE", _UP, value=REMOVED), put("CABLE_LENGTH", "OLD", value={_UP: "300m"})),
    ),
    _case(
        "the CNP priority is paused as well",
        "M6 L1",
        "leaf1",
        "lossless queue 6",
        every_row("PORT_QOS_MAP", pfc_enable="3,6", pfcwd_sw_enable="3,6"),
    ),
    _case("the hold time is the keepalive", "I6", "leaf1", "hold", updated("BGP_NEIGHBOR", "10.1.0.1", holdtime="3")),
    _loopbacks(
        "a password at one end",
        "P13",
        _LEAF_AND_SPINE,
        "10.0.0",
        put("BGP_NEIGHBOR", "default|10.0.0.11", "auth_password", value="secret"),
    ),
    _loopbacks(
        "the source is another loopback",
        "P3",
        "leaf1",
        "10.0.0.9",
        put("BGP_PEER_GROUP", "default|OVERLAY", "local_addr", value="10.0.0.9"),
    ),
    _loopbacks(
        "a spine sets a next hop",
        "V9",
        "spine1",
        "10.0.0.11",
        both(
            put("ROUTE_MAP", value={"NH|10": {"route_operation": "permit", "set_next_hop": "10.0.0.11"}}),
            put("BGP_PEER_GROUP_AF", "default|OVERLAY|l2vpn_evpn", "route_map_out", value=["NH"]),
        ),
        "spine1.json",
    ),
    _case("a watchdog's row names a range of ports", "R1", "leaf1", "Ethernet8-16", _watchdog_of_a_range),
    _case(
        "a queue's row is in small letters",
        "R1",
        "leaf1",
        "ethernet8",
        renamed("QUEUE", f"{_HOST}|3", to="ethernet8|3"),
    ),
    _case(
        "the tunnel's source is a spine's loopback",
        "V4",
        "leaf1",
        "10.0.0.11",
        put("VXLAN_TUNNEL", "vtep", "src_ip", value="10.0.0.11"),
    ),
    _case(
        "a letter O in the neighbour's AS", "P2 R5", "leaf1", "65O00", updated("BGP_NEIGHBOR", "10.1.0.1", asn="65O00")
    ),
    _case(
        "the neighbour's name has a capital",
        "L7",
        "leaf1 spine1",
        "Leaf1",
        updated("DEVICE_NEIGHBOR", _SPINE, name="Leaf1"),
        "spine1.json",
    ),
    _case(
        "the neighbour's port has a blank",
        "L7",
        "leaf1",
        "Ethernet 8",
        updated("DEVICE_NEIGHBOR", _UP, port="Ethernet 8"),
    ),
    _case(
        "a member of a VLAN has a zero too many",
        "R1",
        "leaf1",
        "Ethernet016",
        renamed("VLAN_MEMBER", "Vlan100|Ethernet16", to="Vlan100|Ethernet016"),
    ),
    _case(
        "the marking profile's name in small letters",
        "R1",
        "leaf1",
        "'w'",
        updated("QUEUE", f"{_UP}|3", wred_profile="w"),
    ),
    _case("the weights of two schedulers are swapped", "M11", "leaf1", "weight 10", _swapped_weights),
    _case(
        "the egress profile's alpha is negative",
        "B7",
        "leaf1",
        "drops at",
        updated("BUFFER_PROFILE", "egress_lossless_profile", dynamic_th="-7"),
    ),
    _case("the watchdog polls each second", "W3", "leaf1", "poll", updated("PFC_WD", "GLOBAL", POLL_INTERVAL="1000")),
    _case(
        "the queue map is reversed",
        "M1",
        "leaf1",
        "queue 4",
        put("TC_TO_QUEUE_MAP", "M", value={str(it): str(7 - it) for it in range(8)}),
    ),
    _ends(
        "a LAG has a small MTU", "L4 T1", "1500", leaf1=sonic_lag(_UP, mtu="1500"), spine1=sonic_lag(_SPINE, mtu="9216")
    ),
    _case(
        "an ACL at the VLAN drops RoCE",
        "A1",
        "leaf1",
        "Vlan100",
        sonic_list("Vlan100", IP_PROTOCOL="17", L4_DST_PORT="4791", PACKET_ACTION="DROP"),
    ),
    _loopbacks(
        "the other leaf's router ID",
        "I3",
        "leaf1",
        "10.0.0.2",
        put("BGP_GLOBALS", "default", "router_id", value="10.0.0.2"),
    ),
    _case("the other leaf's file under the own name", "P1 I1", "leaf1", "10.1.1.0", _whole_leaf2),
    _case(
        "a spine has a leaf's type",
        "I10",
        "spine1",
        "ToRRouter",
        updated("DEVICE_METADATA", "localhost", type="ToRRouter"),
        "spine1.json",
    ),
    _case(
        "an uplink has an address of another leaf's link",
        "P1",
        "leaf1",
        _UP,
        renamed("INTERFACE", f"{_UP}|10.1.0.0/31", to=f"{_UP}|10.1.1.0/31"),
    ),
)
