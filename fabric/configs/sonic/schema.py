"""Fields of the CONFIG_DB tables that decide about lossless traffic: type, range, and what they refer to.

A field not listed here is reported as not understood; one that is known to be of no matter to any check is in
`IGNORED`. Ranges are those of sonic-buildimage src/sonic-yang-models/yang-models/sonic-<table>.yang, and orchagent's
where YANG has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["int", "choice", "flag", "exact", "text", "free", "ref", "refs", "priorities", "list"]
"""`free` is text for people, in which every character is right."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What one field may hold."""

    kind: Kind
    low: int = 0
    high: int = 2**63 - 1
    choices: tuple[str, ...] = ()
    table: str = ""


_BYTES: Final = Rule("int")
_TEXT: Final = Rule("text")
_FLAG: Final = Rule("flag", choices=("true", "false"))
_EXACT_FLAG: Final = Rule("exact", choices=("true", "false"))
"""Compared as written (sonic-swss qosorch.cpp, convertBool): 'True' is refused, and the whole profile with it."""
_ON_OFF: Final = Rule("choice", choices=("on", "off"))
_UP_DOWN: Final = Rule("choice", choices=("up", "down"))
_PERCENT: Final = Rule("int", 0, 100)
_ECN: Final = (
    "ecn_none",
    "ecn_green",
    "ecn_yellow",
    "ecn_red",
    "ecn_green_yellow",
    "ecn_green_red",
    "ecn_yellow_red",
    "ecn_all",
)
_ENABLE: Final = Rule("choice", choices=("enable", "disable"))
COLOURS: Final = ("green", "yellow", "red")

MAP_TABLES: Final = {
    "DSCP_TO_TC_MAP": ("dscp_to_tc", 63, 15),
    "DOT1P_TO_TC_MAP": ("dot1p_to_tc", 7, 15),
    "TC_TO_QUEUE_MAP": ("tc_to_queue", 15, 15),
    "TC_TO_PRIORITY_GROUP_MAP": ("tc_to_pg", 15, 7),
    "MAP_PFC_PRIORITY_TO_QUEUE": ("pfc_to_queue", 7, 15),
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": ("pfc_to_pg", 7, 7),
    "TC_TO_DSCP_MAP": ("tc_to_dscp", 15, 63),
}
"""Table -> (kind of map, largest key, largest value)."""

MAP_FIELDS: Final = {f"{kind}_map": (kind, table) for table, (kind, _, _) in MAP_TABLES.items()}
"""Field of PORT_QOS_MAP -> (kind of map, table)."""

_NEIGHBOR_AF: Final = {
    "admin_status": Rule("choice", choices=("true", "false", "up", "down")),
    "route_map_in": Rule("list"),
    "route_map_out": Rule("list"),
    "prefix_list_in": Rule("list"),
    "prefix_list_out": Rule("list"),
    "rrclient": _FLAG,
    "nhself": _FLAG,
    "allow_as_in": _FLAG,
    "send_default_route": _FLAG,
    "max_prefix_limit": Rule("int", 1, 4_294_967_295),
    "max_prefix_warning_only": _FLAG,
}

_SESSION: Final = {
    "asn": _TEXT,
    "local_addr": _TEXT,
    "keepalive": Rule("int", 0, 65_535),
    "holdtime": Rule("int", 0, 65_535),
    "peer_type": Rule("choice", choices=("internal", "external")),
    "ebgp_multihop": _FLAG,
    "ebgp_multihop_ttl": Rule("int", 1, 255),
    "local_asn": _TEXT,
    "ttl_security_hops": Rule("int", 1, 254),
    "auth_password": Rule("free"),
    "bfd": _FLAG,
    "passive_mode": _FLAG,
}
"""Fields of a BGP neighbour that a peer group has, too."""

SCHEMA: Final[dict[str, dict[str, Rule]]] = {
    "DEVICE_METADATA": {
        "hostname": _TEXT,
        "hwsku": _TEXT,
        "platform": _TEXT,
        "type": _TEXT,
        "bgp_asn": _TEXT,
        "buffer_model": Rule("choice", choices=("dynamic", "traditional")),
        "default_pfcwd_status": _ENABLE,
        "bgp_router_id": _TEXT,
        "mac": _TEXT,
        "docker_routing_config_mode": Rule("choice", choices=("separated", "split", "unified", "split-unified")),
    },
    "PORT": {
        "lanes": Rule("list"),
        "speed": Rule("int", 1, 1_600_000),
        "mtu": Rule("int", 68, 9216),
        "admin_status": _UP_DOWN,
        "fec": Rule("choice", choices=("rs", "fc", "none", "auto")),
        "autoneg": _ON_OFF,
        "pfc_asym": _ON_OFF,
        "macsec": _TEXT,
        "description": Rule("free"),
        "adv_speeds": Rule("list"),
    },
    "BUFFER_POOL": {
        "type": Rule("choice", choices=("ingress", "egress", "both")),
        "mode": Rule("choice", choices=("static", "dynamic")),
        "size": _BYTES,
        "xoff": _BYTES,
        "percentage": _PERCENT,
    },
    "BUFFER_PROFILE": {
        "pool": Rule("ref", table="BUFFER_POOL"),
        "size": _BYTES,
        "dynamic_th": Rule("int", -8, 7),
        "static_th": _BYTES,
        "xon": _BYTES,
        "xon_offset": _BYTES,
        "xoff": _BYTES,
        "headroom_type": Rule("choice", choices=("static", "dynamic")),
        "mode": Rule("choice", choices=("static", "dynamic")),
        "packet_discard_action": Rule("choice", choices=("drop", "trim")),
    },
    "BUFFER_PG": {"profile": Rule("ref", table="BUFFER_PROFILE")},
    "BUFFER_QUEUE": {"profile": Rule("ref", table="BUFFER_PROFILE")},
    "BUFFER_PORT_INGRESS_PROFILE_LIST": {"profile_list": Rule("refs", table="BUFFER_PROFILE")},
    "BUFFER_PORT_EGRESS_PROFILE_LIST": {"profile_list": Rule("refs", table="BUFFER_PROFILE")},
    "WRED_PROFILE": {
        "ecn": Rule("choice", choices=_ECN),
        **{f"{c}_{end}_threshold": _BYTES for c in COLOURS for end in ("min", "max")},
        **{f"{c}_drop_probability": _PERCENT for c in COLOURS},
        **{f"wred_{c}_enable": _EXACT_FLAG for c in COLOURS},
    },
    "QUEUE": {"scheduler": Rule("ref", table="SCHEDULER"), "wred_profile": Rule("ref", table="WRED_PROFILE")},
    "SCHEDULER": {
        "type": Rule("choice", choices=("DWRR", "WRR", "STRICT")),
        "weight": Rule("int", 1, 100),
        "priority": Rule("int", 0, 9),
        "meter_type": Rule("choice", choices=("packets", "bytes")),
        "cir": _BYTES,
        "pir": _BYTES,
        "cbs": _BYTES,
        "pbs": _BYTES,
    },
    "PORT_QOS_MAP": {
        **{name: Rule("ref", table=table) for name, (_, table) in MAP_FIELDS.items()},
        "pfc_enable": Rule("priorities"),
        "pfcwd_sw_enable": Rule("priorities"),
        "scheduler": Rule("ref", table="SCHEDULER"),
        "decap_tc_to_pg_map": Rule("ref", table="TC_TO_PRIORITY_GROUP_MAP"),
        "decap_dscp_to_tc_map": Rule("ref", table="DSCP_TO_TC_MAP"),
    },
    "PFC_WD": {
        "action": Rule("choice", choices=("drop", "forward", "alert")),
        "detection_time": Rule("int", 100, 5000),
        "restoration_time": Rule("int", 100, 60000),
        "pfc_stat_history": _ENABLE,
        "POLL_INTERVAL": Rule("int", 100, 1000),
        "BIG_RED_SWITCH": _ENABLE,
    },
    "PFC_WD_HW_CAPABILITIES": {
        "recovery_type": Rule("choice", choices=("hardware", "software")),
        **{
            f"{timer}_timer_{end}": Rule("int", 1, 10**6)
            for timer in ("detection", "restoration")
            for end in ("min", "max")
        },
    },
    "DEVICE_NEIGHBOR": {"name": _TEXT, "port": _TEXT},
    "DEVICE_NEIGHBOR_METADATA": {"type": _TEXT},
    "LOSSLESS_TRAFFIC_PATTERN": {"mtu": Rule("int", 1, 9216), "small_packet_percentage": _PERCENT},
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": {
        "default_dynamic_th": Rule("int", -8, 7),
        "over_subscribe_ratio": Rule("int", 0, 65535),
        "max_headroom_size": _BYTES,
    },
    "BGP_NEIGHBOR": {**_SESSION, "name": _TEXT, "admin_status": _UP_DOWN, "peer_group_name": _TEXT},
    "BGP_PEER_GROUP": {**_SESSION, "admin_status": Rule("choice", choices=("true", "false", "up", "down"))},
    "BGP_GLOBALS_AF": {"advertise-all-vni": _FLAG, "max_ebgp_paths": Rule("int", 1, 256)},
    "BGP_GLOBALS_AF_NETWORK": {},
    "OSPFV2_ROUTER": {
        **dict.fromkeys(("enable", "passive-interface-default", "max-metric-administrative"), _FLAG),
        **dict.fromkeys(("router-id", "router_id"), _TEXT),
    },
    "OSPFV2_ROUTER_AREA": {"authentication": _TEXT, "stub": _FLAG, "stub-no-summary": _FLAG},
    "OSPFV2_ROUTER_AREA_NETWORK": {},
    "OSPFV2_ROUTER_DISTRIBUTE_ROUTE": {},
    "OSPFV2_ROUTER_PASSIVE_INTERFACE": {},
    "OSPFV2_INTERFACE": {
        **dict.fromkeys(("area-id", "network-type", "authentication-type"), _TEXT),
        **dict.fromkeys(("hello-interval", "dead-interval", "metric"), Rule("int", 1, 65535)),
        "mtu-ignore": _FLAG,
    },
    "ROUTE_REDISTRIBUTE": {"route_map": Rule("list")},
    "BGP_GLOBALS": {"router_id": _TEXT, "local_asn": _TEXT, "rr_cluster_id": _TEXT, "ebgp_requires_policy": _FLAG},
    "BGP_DEVICE_GLOBAL": {"tsa_enabled": _FLAG},
    "FEATURE": {"state": _TEXT},
    "VRF": {"vni": Rule("int", 0, 16_777_215)},
    "BGP_NEIGHBOR_AF": _NEIGHBOR_AF,
    "BGP_PEER_GROUP_AF": _NEIGHBOR_AF,
    "ROUTE_MAP": {
        "route_operation": Rule("choice", choices=("permit", "deny")),
        "match_prefix_set": Rule("ref", table="PREFIX_SET"),
        "match_community": Rule("ref", table="COMMUNITY_SET"),
        "set_community_inline": Rule("list"),
        **{name: Rule("int", 0, 4_294_967_295) for name in ("set_local_pref", "set_asn")},
        "set_repeat_asn": Rule("int", 1, 255),
        "set_next_hop": _TEXT,
        **{
            f"match_{name}": _TEXT
            for name in (
                *("interface", "ipv6_prefix_set", "med", "origin", "local_pref", "ext_community"),
                *("next_hop_set", "protocol", "src_vrf", "neighbor"),
            )
        },
        "match_as_path": Rule("ref", table="AS_PATH_SET"),
        "match_tag": Rule("int", 1, 4_294_967_295),
        "call_route_map": _TEXT,
    },
    "AS_PATH_SET": {"as_path_set_member": Rule("list")},
    "PREFIX_SET": {"mode": Rule("choice", choices=("IPv4", "IPv6"))},
    "PREFIX": {"action": Rule("choice", choices=("permit", "deny"))},
    "COMMUNITY_SET": {
        "set_type": Rule("choice", choices=("STANDARD", "EXPANDED")),
        "match_action": Rule("choice", choices=("ANY", "ALL")),
        "community_member": Rule("list"),
        "action": _TEXT,
    },
    "BGP_GLOBALS_EVPN_VNI": {"route-distinguisher": _TEXT, "import-rts": Rule("list"), "export-rts": Rule("list")},
    "BGP_GLOBALS_EVPN_VNI_RT": {"route-target-type": Rule("choice", choices=("import", "export", "both"))},
    "BGP_GLOBALS_EVPN_RT": {"route-target-type": Rule("choice", choices=("import", "export", "both"))},
    "SAG_GLOBAL": {"gateway_mac": _TEXT, "gwmac": _TEXT},
    "SAG": {"gwip": Rule("list"), "gateway_mac": _TEXT},
    "INTERFACE": {"vrf_name": _TEXT},
    "LOOPBACK_INTERFACE": {"vrf_name": _TEXT},
    "PORTCHANNEL_INTERFACE": {"vrf_name": _TEXT},
    "STATIC_ROUTE": {
        "nexthop": Rule("list"),
        "ifname": Rule("list"),
        "distance": Rule("list"),
        "blackhole": Rule("list"),
        "nexthop-vrf": Rule("list"),
    },
    "MCLAG_DOMAIN": {"peer_link": _TEXT, "source_ip": _TEXT, "peer_ip": _TEXT},
    "MCLAG_INTERFACE": {},
    "MUX_CABLE": {"state": Rule("choice", choices=("active", "standby", "auto", "manual", "detach"))},
    "PEER_SWITCH": {"address_ipv4": _TEXT},
    "TUNNEL": {
        "decap_tc_to_pg_map": Rule("ref", table="TC_TO_PRIORITY_GROUP_MAP"),
        "decap_dscp_to_tc_map": Rule("ref", table="DSCP_TO_TC_MAP"),
    },
    "SYSTEM_DEFAULTS": {"status": _TEXT},
    "VXLAN_TUNNEL": {
        "src_ip": _TEXT,
        "dst_ip": _TEXT,
        "ttl_mode": Rule("choice", choices=("uniform", "pipe")),
        "dscp_mode": Rule("choice", choices=("uniform", "pipe")),
        "ecn_mode": Rule("choice", choices=("standard", "copy_from_outer")),
    },
    "VXLAN_TUNNEL_MAP": {"vlan": Rule("ref", table="VLAN"), "vni": Rule("int", 1, 16_777_215)},
    "VXLAN_EVPN_NVO": {"source_vtep": Rule("ref", table="VXLAN_TUNNEL")},
    "VLAN": {
        "vlanid": Rule("int", 1, 4094),
        "mtu": Rule("int", 1, 9216),
        "members": Rule("list"),
        "admin_status": _UP_DOWN,
    },
    "VLAN_MEMBER": {"tagging_mode": Rule("choice", choices=("tagged", "untagged", "priority_tagged"))},
    "SUPPRESS_VLAN_NEIGH": {"suppress": _ON_OFF},
    "VLAN_INTERFACE": {"vrf_name": _TEXT, "static_anycast_gateway": _FLAG},
    "VLAN_SUB_INTERFACE": {
        "admin_status": _UP_DOWN,
        "vlan": Rule("int", 1, 4094),
        "mtu": Rule("int", 1, 9216),
        **dict.fromkeys(("vrf_name", "vnet_name", "loopback_action", "ipv6_use_link_local_only", "nat_zone"), _TEXT),
    },
    "PORTCHANNEL": {
        "admin_status": _UP_DOWN,
        "min_links": Rule("int", 1, 1024),
        "mtu": Rule("int", 1, 9216),
        "fallback": _FLAG,
    },
    "PORTCHANNEL_MEMBER": {},
    "SWITCH_HASH": {
        "ecmp_hash": Rule("list"),
        "lag_hash": Rule("list"),
        "ecmp_hash_algorithm": _TEXT,
        "lag_hash_algorithm": _TEXT,
    },
    "SWITCH": {"fdb_aging_time": Rule("int", 0, 1_000_000), "ecmp_hash_seed": _TEXT, "lag_hash_seed": _TEXT},
    "VERSIONS": {"VERSION": _TEXT},
}
"""Table -> field -> rule. CABLE_LENGTH and the map tables have free field names and are read on their own."""

IGNORED: Final[dict[str, frozenset[str]]] = {
    "PORT": frozenset(
        (
            "alias",
            "index",
            "tpid",
            "role",
            "asic_port_name",
            "core_id",
            "core_port_id",
            "num_voq",
            "coreId",
            "corePortId",
            "numVoq",
            "adv_interface_types",
            "interface_type",
            "link_training",
            "laser_freq",
            "tx_power",
            "mode",
            "dhcp_rate_limit",
            "subport",
            "media_type",
            "dom_polling",
            "valid_speeds",
        )
    ),
    "PORT_QOS_MAP": frozenset(("tc_to_dot1p_map", "dscp_to_fc_map", "exp_to_fc_map", "mpls_tc_to_tc_map")),
    "BGP_GLOBALS_AF": frozenset(("max_ibgp_paths",)),
    "BGP_NEIGHBOR": frozenset(("rrclient", "nhopself", "keepalive_intvl", "holdtime_intvl")),
    "VLAN": frozenset(
        (
            "description",
            "alias",
            "autostate",
            "dhcp_servers",
            "dhcpv6_servers",
            "dhcpv6_option|rfc6939_support",
            "host_ifname",
            "mac",
        )
    ),
}
FREE_FIELDS: Final = frozenset(
    (
        "DEVICE_METADATA",
        "BGP_DEVICE_GLOBAL",
        "FEATURE",
        "BGP_GLOBALS",
        "BGP_GLOBALS_AF",
        "BGP_GLOBALS_AF_NETWORK",
        "OSPFV2_ROUTER",
        "OSPFV2_ROUTER_AREA",
        "OSPFV2_ROUTER_AREA_NETWORK",
        "OSPFV2_ROUTER_DISTRIBUTE_ROUTE",
        "OSPFV2_ROUTER_PASSIVE_INTERFACE",
        "OSPFV2_INTERFACE",
        "BGP_NEIGHBOR_AF",
        "BGP_PEER_GROUP",
        "BGP_PEER_GROUP_AF",
        "ROUTE_REDISTRIBUTE",
        "ROUTE_MAP",
        "BGP_GLOBALS_EVPN_VNI",
        "VRF",
        "SAG_GLOBAL",
        "SAG",
        "VLAN_INTERFACE",
        "PORTCHANNEL",
        "PORTCHANNEL_MEMBER",
        "SWITCH",
        "VERSIONS",
        "DEVICE_NEIGHBOR_METADATA",
        "INTERFACE",
        "LOOPBACK_INTERFACE",
        "PORTCHANNEL_INTERFACE",
        "STATIC_ROUTE",
        "MCLAG_DOMAIN",
        "MCLAG_INTERFACE",
        "MUX_CABLE",
        "PEER_SWITCH",
        "TUNNEL",
        "SYSTEM_DEFAULTS",
    )
)
"""Tables of which only the fields above matter and the others are many."""

UNJUDGED_EFFECTS: Final[dict[tuple[str, str], str]] = {
    **{("SCHEDULER", name): "rate limit" for name in ("cir", "cbs", "pbs")},
    ("BUFFER_PROFILE", "packet_discard_action"): "QoS",
}
"""(table, field) -> how a known field that no check reads could act on RoCE traffic."""
