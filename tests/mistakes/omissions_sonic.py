"""Rows that are missing, or stand at one place of several, in config_db.json: what the switch does without them."""

from __future__ import annotations

from typing import Final

from tests.mistakes.mistake import REMOVED, Edit, Mistake, put, renamed

_UP, _HOST = "Ethernet24", "Ethernet8"


def _case(title: str, checks: str, devices: str, where: str, edit: Edit, file: str = "leaf1") -> Mistake:
    return Mistake("sonic", title, checks, devices, where, f"{file}.json", edit)


CASES: Final = (
    _case("a host port has no VLAN", "L13", "leaf1", _HOST, put("VLAN_MEMBER", f"Vlan100|{_HOST}", value=REMOVED)),
    _case("no VLAN members at all", "L13", "leaf1", "VLAN", put("VLAN_MEMBER", value=REMOVED)),
    _case("the VLAN has no VNI", "V16", "leaf1", "Vlan100", put("VXLAN_TUNNEL_MAP", value=REMOVED)),
    _case(
        "the VTEP's mask is /24",
        "I7",
        "leaf1",
        "10.0.0.1/24",
        renamed("LOOPBACK_INTERFACE", "Loopback0|10.0.0.1/32", to="Loopback0|10.0.0.1/24"),
    ),
    _case("the VLAN's MTU is small", "T6", "leaf1", "Vlan100", put("VLAN", "Vlan100", "mtu", value="1500")),
    _case("the VLAN is down", "V17", "leaf1", "Vlan100", put("VLAN", "Vlan100", "admin_status", value="down")),
    _case("a port was never brought up", "L12", "leaf1 spine1", _UP, put("PORT", _UP, "admin_status", value=REMOVED)),
    _case("an uplink has no address", "P1", "leaf1", _UP, put("INTERFACE", f"{_UP}|10.1.0.0/31", value=REMOVED)),
    _case(
        "a fabric address is used twice",
        "I8",
        "leaf1",
        "10.1.0.0",
        renamed("INTERFACE", "Ethernet32|10.1.0.2/31", to="Ethernet32|10.1.0.0/31"),
    ),
    _case(
        "the SVI is no anycast gateway",
        "V6",
        "leaf1 leaf2",
        "Vlan100",
        put("VLAN_INTERFACE", "Vlan100", "static_anycast_gateway", value=REMOVED),
    ),
    _case("no MAC of the gateway", "V6", "leaf1", "MAC", put("SAG", value=REMOVED)),
    _case(
        "the session's source is mistyped",
        "P3",
        "leaf1",
        "10.1.0.8",
        put("BGP_NEIGHBOR", "10.1.0.1", "local_addr", value="10.1.0.8"),
    ),
    _case(
        "the neighbour's address is mistyped",
        "P9",
        "leaf1 spine1",
        "10.1.0.5",
        renamed("BGP_NEIGHBOR", "10.1.0.1", to="10.1.0.5"),
    ),
    _case("a port has no DSCP map", "M3", "leaf1", _HOST, put("PORT_QOS_MAP", _HOST, "dscp_to_tc_map", value=REMOVED)),
    _case("a port has no group map", "M3", "leaf1", _HOST, put("PORT_QOS_MAP", _HOST, "tc_to_pg_map", value=REMOVED)),
    _case("a port has no QoS at all", "L1", "leaf1", _UP, put("PORT_QOS_MAP", _UP, value=REMOVED)),
    _case(
        "the data queue has no scheduler",
        "M9",
        "leaf1",
        f"{_UP}|3",
        put("QUEUE", f"{_UP}|3", "scheduler", value=REMOVED),
    ),
    _case("the watchdog waits 5 s", "W6", "leaf1", _UP, put("PFC_WD", _UP, "detection_time", value="5000")),
    _case("the VLAN's number is another", "R9", "leaf1", "Vlan100", put("VLAN", "Vlan100", "vlanid", value="101")),
    _case("no address of the VTEP", "V4", "leaf1", "src_ip", put("VXLAN_TUNNEL", "vtep", "src_ip", value=REMOVED)),
    _case(
        "the loopback has no address",
        "V4",
        "leaf1",
        "10.0.0.1",
        put("LOOPBACK_INTERFACE", "Loopback0|10.0.0.1/32", value=REMOVED),
    ),
    _case(
        "the host port is tagged",
        "L14",
        "leaf1",
        _HOST,
        put("VLAN_MEMBER", f"Vlan100|{_HOST}", "tagging_mode", value="tagged"),
    ),
    _case(
        "the ends have other masks",
        "I8",
        "leaf1 spine1",
        "10.1.0.0",
        renamed("INTERFACE", f"{_UP}|10.1.0.0/31", to=f"{_UP}|10.1.0.0/30"),
    ),
    _case(
        "the host name of another switch",
        "refused",
        "spine1 spine2",
        "spine1",
        put("DEVICE_METADATA", "localhost", "hostname", value="spine1"),
        "spine2",
    ),
    _case("the VLAN has no gateway", "V18", "leaf1", "172.16.100.1", put("VLAN_INTERFACE", value=REMOVED)),
    _case("a neighbour has no AS", "P11", "leaf1", "10.1.0.1", put("BGP_NEIGHBOR", "10.1.0.1", "asn", value=REMOVED)),
)
"""leaf1 unless another file is named."""
