"""Mistakes in config_db.json."""

from __future__ import annotations

from typing import Final

from tests.mistakes.mistake import REMOVED, Edit, Mistake, both, put, renamed

_UP = "Ethernet24"
"""leaf1's port to spine1."""
_DOWN = "Ethernet8"
"""spine1's port to leaf1, and leaf1's port to host1."""


def _case(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1") -> Mistake:
    return Mistake("sonic", title, checks, devices, where, f"{file}.json", edit)


def _wred(field: str, value: str) -> Edit:
    return put("WRED_PROFILE", "W", field, value=value)


def _profile(field: str, value: object, metres: int = 40) -> Edit:
    return put("BUFFER_PROFILE", f"pg_lossless_400000_{metres}m_profile", field, value=value)


CASES: Final = (
    # ===== classification, PFC =====
    _case("PFC is missing at one end", "L1", "leaf1 spine1", "", put("PORT_QOS_MAP", _UP, "pfc_enable", value=REMOVED)),
    _case(
        "PFC on another priority", "L1 M1 M4 N1", "leaf1 spine1", "", put("PORT_QOS_MAP", _UP, "pfc_enable", value="4")
    ),
    _case("RoCE is in a lossy class", "M1 M2 M8", "leaf1", "", put("DSCP_TO_TC_MAP", "M", "26", value="0")),
    _case("CNPs are in the data class", "M6 M2", "leaf1", "48", put("DSCP_TO_TC_MAP", "M", "48", value="3")),
    _case("a hole in the DSCP map", "M3", "leaf1", "26", put("DSCP_TO_TC_MAP", "M", "26", value=REMOVED)),
    _case("the class has another queue", "M5 M1", "leaf1", "", put("TC_TO_QUEUE_MAP", "M", "3", value="4")),
    _case("the class has a lossy group", "M4 M1", "leaf1", "", put("TC_TO_PRIORITY_GROUP_MAP", "M", "3", value="0")),
    _case("other traffic in the class", "M8", "leaf1", "46", put("DSCP_TO_TC_MAP", "M", "46", value="3")),
    _case("data is strict", "M9", "leaf1", "", put("SCHEDULER", "data", "type", value="STRICT")),
    _case(
        "a map that does not exist",
        "R1",
        "leaf1",
        _UP,
        put("PORT_QOS_MAP", _UP, "dscp_to_tc_map", value="AZURE_UPLINK"),
    ),
    _case("asymmetric PFC", "L6", "leaf1", _UP, put("PORT", _UP, "pfc_asym", value="on")),
    # ===== ECN =====
    _case("Kmin above Kmax", "E1", "leaf1", "", _wred("green_min_threshold", "4000000")),
    _case(
        "marks are never reached",
        "E2",
        "leaf1",
        "",
        both(_wred("green_min_threshold", "30000000"), _wred("green_max_threshold", "40000000")),
    ),
    _case("drops instead of marks", "E3 E4", "leaf1", "", _wred("ecn", "ecn_none")),
    _case(
        "a queue without a profile", "E4", "leaf1", f"{_UP}|3", put("QUEUE", f"{_UP}|3", "wred_profile", value=REMOVED)
    ),
    _case("marking with probability 0", "E6", "leaf1", "", _wred("green_drop_probability", "0")),
    _case(
        "thresholds in KB",
        "E13",
        "leaf1",
        "KB",
        both(_wred("green_min_threshold", "400"), _wred("green_max_threshold", "1600")),
    ),
    _case("a threshold that is no number", "R5", "leaf1", "green_min_threshold", _wred("green_min_threshold", "400KB")),
    # ===== buffers, headroom =====
    _case("headroom is halved", "H1 H4", "leaf1", "", both(_profile("xoff", "38912"), _profile("size", "62464"))),
    _case(
        "the profile of a short cable",
        "H3 H1",
        "leaf1",
        _UP,
        put("BUFFER_PG", f"{_UP}|3", "profile", value="pg_lossless_400000_5m_profile"),
    ),
    _case("cable lengths differ", "L3 H5", "leaf1 spine1", "", put("CABLE_LENGTH", "AZURE", _UP, value="300m")),
    _case("a group may take everything", "B3", "leaf1", "", _profile("dynamic_th", "7")),
    _case("the profile's pool does not exist", "R1", "leaf1", "", _profile("pool", "ingress_loseless_pool")),
    _case("no threshold", "R6 R9", "leaf1", "", _profile("dynamic_th", REMOVED)),
    _case("two thresholds", "R6 R9", "leaf1", "", _profile("static_th", "100000")),
    _case("the group is in an egress pool", "B12 B4 B5", "leaf1", "", _profile("pool", "egress_lossless_pool")),
    _case(
        "the queue has an ingress profile",
        "B12 B13 B7",
        "leaf1",
        "",
        put("BUFFER_QUEUE", f"{_UP}|3", "profile", value="pg_lossless_400000_40m_profile"),
    ),
    _case(
        "the egress queue may drop",
        "B7",
        "leaf1",
        "",
        put("BUFFER_PROFILE", "egress_lossless_profile", "dynamic_th", value="-4"),
    ),
    _case(
        "a pool larger than the chip",
        "B1",
        "leaf1",
        "",
        put("BUFFER_POOL", "ingress_lossless_pool", "size", value="260000000"),
    ),
    _case("resume at once", "B6", "leaf1", "", both(_profile("xon", "0"), _profile("xon_offset", "0"))),
    _case(
        "a shaper on the data queue",
        "M15",
        "leaf1",
        "pir",
        both(put("SCHEDULER", "data", "pir", value="12500000000"), put("SCHEDULER", "data", "cir", value="1")),
    ),
    _case(
        "a shaper on a port",
        "M15",
        "leaf1",
        "pir",
        both(
            put("SCHEDULER", "slow", value={"type": "DWRR", "weight": "1", "pir": "12500000000", "cir": "1"}),
            put("PORT_QOS_MAP", _UP, "scheduler", value="slow"),
        ),
    ),
    # ===== watchdog =====
    _case(
        "the big red switch",
        "W11",
        "leaf1",
        "BIG_RED_SWITCH",
        put("PFC_WD", "GLOBAL", "BIG_RED_SWITCH", value="enable"),
    ),
    _case("no watchdog", "W2", "leaf1", _UP, put("PFC_WD", _UP, value=REMOVED)),
    _case(
        "the watchdog looks at another priority",
        "W1",
        "leaf1",
        _UP,
        put("PORT_QOS_MAP", _UP, "pfcwd_sw_enable", value="4"),
    ),
    _case("detection faster than the poll", "W3", "leaf1", "", put("PFC_WD", _UP, "detection_time", value="100")),
    _case("never restored", "W4", "leaf1", _UP, put("PFC_WD", _UP, "restoration_time", value=REMOVED)),
    _case("another action than elsewhere", "W7 W8", "leaf1", _UP, put("PFC_WD", _UP, "action", value="forward")),
    # ===== links =====
    _case("speeds differ", "L2", "leaf1 spine1", "", put("PORT", _UP, "speed", value="100000")),
    _case("MTU differs", "L4 T1", "leaf1 spine1", "", put("PORT", _UP, "mtu", value="1500")),
    _case("FEC differs", "L5", "leaf1 spine1", "", put("PORT", _UP, "fec", value="none")),
    _case("autonegotiation differs", "L2", "leaf1 spine1", "", put("PORT", _UP, "autoneg", value="on")),
    _case("a port is shut", "L12", "leaf1 spine1", "", put("PORT", _UP, "admin_status", value="down")),
    _case("the neighbour is another", "L7", "leaf1", _UP, put("DEVICE_NEIGHBOR", _UP, "name", value="spine2")),
    # ===== identity, BGP =====
    _case(
        "a loopback is used twice",
        "I1",
        "leaf1 leaf2",
        "10.0.0.1",
        both(
            renamed("LOOPBACK_INTERFACE", "Loopback0|10.0.0.2/32", to="Loopback0|10.0.0.1/32"),
            put("VXLAN_TUNNEL", "vtep", "src_ip", value="10.0.0.1"),
        ),
        file="leaf2",
    ),
    _case(
        "a VTEP address is used twice",
        "I2 V4",
        "leaf1 leaf2",
        "10.0.0.1",
        put("VXLAN_TUNNEL", "vtep", "src_ip", value="10.0.0.1"),
        file="leaf2",
    ),
    _case(
        "a router ID is used twice",
        "I3",
        "leaf1 leaf2",
        "10.0.0.1",
        put("DEVICE_METADATA", "localhost", "bgp_router_id", value="10.0.0.1"),
        file="leaf2",
    ),
    _case(
        "a system MAC is used twice",
        "I4",
        "leaf1 leaf2",
        "02:00:00:00:01:01",
        put("DEVICE_METADATA", "localhost", "mac", value="02:00:00:00:01:01"),
        file="leaf2",
    ),
    _case("the neighbour's AS is wrong", "P2", "leaf1", "65001", put("BGP_NEIGHBOR", "10.1.0.1", "asn", value="65001")),
    _case(
        "two leaves have one AS",
        "I5 P2",
        "leaf1 leaf2 spine1 spine2",
        "65101",
        put("DEVICE_METADATA", "localhost", "bgp_asn", value="65101"),
        file="leaf2",
    ),
    _case(
        "hold time below keepalive", "I6", "leaf1", "10.1.0.1", put("BGP_NEIGHBOR", "10.1.0.1", "holdtime", value="2")
    ),
    _case("a session at one end only", "P3", "leaf1 spine1", "", put("BGP_NEIGHBOR", "10.1.0.1", value=REMOVED)),
    _case(
        "the session is shut",
        "P3 P6",
        "leaf1 spine1",
        "",
        put("BGP_NEIGHBOR", "10.1.0.1", "admin_status", value="down"),
    ),
    _case(
        "the ends are in different subnets",
        "P1",
        "leaf1 spine1",
        "",
        both(
            renamed("INTERFACE", f"{_UP}|10.1.0.0/31", to=f"{_UP}|10.9.0.0/31"),
            put("BGP_NEIGHBOR", "10.1.0.1", "local_addr", value="10.9.0.0"),
        ),
    ),
    # ===== VXLAN, EVPN =====
    _case(
        "the VLAN has another VNI",
        "V2",
        "leaf1 leaf2",
        "10200",
        both(put("VXLAN_TUNNEL_MAP", value={"vtep|map_10200_Vlan100": {"vlan": "Vlan100", "vni": "10200"}})),
        file="leaf2",
    ),
    _case(
        "a VNI has two VLANs",
        "V1",
        "leaf1",
        "10100",
        both(
            put("VLAN", "Vlan200", value={"vlanid": "200"}),
            put("VXLAN_TUNNEL_MAP", "vtep|map_10100_Vlan200", value={"vlan": "Vlan200", "vni": "10100"}),
        ),
    ),
    _case(
        "the VTEP's source does not exist",
        "V4",
        "leaf1",
        "10.0.0.99",
        put("VXLAN_TUNNEL", "vtep", "src_ip", value="10.0.0.99"),
    ),
    _case("no EVPN NVO", "V5", "leaf1", "", put("VXLAN_EVPN_NVO", value=REMOVED)),
    _case(
        "the NVO names another tunnel", "R1 V5", "leaf1", "", put("VXLAN_EVPN_NVO", "nvo", "source_vtep", value="vtp")
    ),
    _case(
        "the map names a VLAN that is absent",
        "R1 V2 V1",
        "leaf1",
        "Vlan101",
        put("VXLAN_TUNNEL_MAP", "vtep|map_10100_Vlan100", "vlan", value="Vlan101"),
    ),
    _case(
        "the gateway's address differs",
        "V6",
        "leaf1 leaf2",
        "172.16.100.254",
        renamed("VLAN_INTERFACE", "Vlan100|172.16.100.1/24", to="Vlan100|172.16.100.254/24"),
    ),
    _case(
        "the gateway's prefix differs",
        "V6",
        "leaf1 leaf2",
        "172.16.100.1/25",
        renamed("VLAN_INTERFACE", "Vlan100|172.16.100.1/24", to="Vlan100|172.16.100.1/25"),
    ),
    _case(
        "the gateway's MAC differs",
        "V6",
        "leaf1 leaf2",
        "00:00:5e:00:01:02",
        put("SAG", "GLOBAL", "gateway_mac", value="00:00:5e:00:01:02"),
    ),
    _case(
        "a trailing blank in a profile's name",
        "R1 R10",
        "leaf1",
        "",
        put("BUFFER_PG", f"{_UP}|3", "profile", value="pg_lossless_400000_40m_profile "),
    ),
)
