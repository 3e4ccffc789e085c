"""The switch's own name of a value of the model: SONiC's table|key|field, NVUE's path, the lines of EOS and NX-OS.

A value's place is that of the construct that states it (`where`); its last word is in the table below, for each
language. A value that a language derives from another one has the other one's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fabric.configs.capabilities import CAPABILITIES, Language
from fabric.configs.model import Where
from fabric.validate.placeless import stated_at

_SONIC: Final[Mapping[str, str]] = {
    "speed_mbps": "speed", "admin_up": "admin_status", "lossless": "pfc_enable", "watched": "pfcwd_sw_enable",
    "cable_m": "", "size_bytes": "size", "xon_bytes": "xon", "xon_offset_bytes": "xon_offset", "xoff_bytes": "xoff",
    "static_th_bytes": "static_th", "shared_headroom_bytes": "xoff", "direction": "type", "kind": "type",
    "detection_ms": "detection_time", "restoration_ms": "restoration_time", "up": "admin_status",
    "keepalive_s": "keepalive", "hold_s": "holdtime", "local_address": "local_addr", "peer": "name", "hops": "nexthop",
    "green min_bytes": "green_min_threshold", "green max_bytes": "green_max_threshold",
    "green pmax_percent": "green_drop_probability", "yellow min_bytes": "yellow_min_threshold",
    "yellow max_bytes": "yellow_max_threshold", "yellow pmax_percent": "yellow_drop_probability",
    "red min_bytes": "red_min_threshold", "red max_bytes": "red_max_threshold",
    "red pmax_percent": "red_drop_probability", "wred": "wred_profile", "dscp_to_tc": "dscp_to_tc_map",
    "tc_to_queue": "tc_to_queue_map", "tc_to_pg": "tc_to_pg_map", "pfc_to_queue": "pfc_to_queue_map",
    "pfc_to_pg": "pfc_to_priority_group_map", "tc_to_dscp": "tc_to_dscp_map", "reflects": "rrclient",
    "sets_next_hop": "nhself", "allows_own_as": "allow_as_in", "imports": "import-rts", "exports": "export-rts",
    "number": "vni", "families": "admin_status", "source": "src_ip", "permit": "action", "interface": "ifname",
    "vrf": "vrf_name", "policies": "", "multipath": "", "sessions hops": "ebgp_multihop_ttl",
    "advertised": "adv_speeds",
}  # fmt: skip
_NVUE: Final[Mapping[str, str]] = {
    "speed_mbps": "link speed", "mtu": "link mtu", "fec": "link fec", "autoneg": "link auto-negotiate",
    "admin_up": "link state", "lossless": "switch-priority", "cable_m": "cable-length", "asn": "remote-as",
    "size_bytes": "port-buffer", "xon_bytes": "xon-threshold", "xoff_bytes": "xoff-threshold",
    "green min_bytes": "min-threshold", "green max_bytes": "max-threshold", "green pmax_percent": "probability",
    "up": "shutdown", "keepalive_s": "timers keepalive", "hold_s": "timers hold", "families": "address-family",
    "reflects": "route-reflector-client", "sets_next_hop": "next-hop-self", "imports": "route-target import",
    "exports": "route-target export", "number": "vni", "detection_ms": "polling-interval", "kind": "mode",
    "weight": "bw-percent", "global_pause": "link pause", "hops": "via", "permit": "action", "lag": "bond member",
    "policies": "", "multipath": "", "sessions hops": "multihop-ttl", "local_address": "update-source",
    "lag_mode": "bond mode", "trunk_vlans": "bridge domain br_default vlan", "keeps_next_hop": "nexthop-setting",
    "community_families": "community-advertise", "restoration_ms": "pfc-watchdog robustness",
}  # fmt: skip
_EOS: Final[Mapping[str, str]] = {
    "speed_mbps": "speed", "fec": "error-correction encoding", "autoneg": "speed auto", "admin_up": "shutdown",
    "lossless": "priority-flow-control priority", "watched": "priority-flow-control pause watchdog",
    "asn": "remote-as", "up": "shutdown", "keepalive_s": "timers", "hold_s": "timers", "families": "activate",
    "extended_communities": "send-community extended", "keeps_next_hop": "next-hop-unchanged",
    "allows_own_as": "allowas-in", "reflects": "route-reflector-client", "sets_next_hop": "next-hop-self",
    "green min_bytes": "random-detect ecn minimum-threshold", "green max_bytes": "random-detect ecn maximum-threshold",
    "green pmax_percent": "random-detect ecn max-mark-probability", "imports": "route-target import",
    "exports": "route-target export", "number": "vni", "lag": "channel-group", "global_pause": "flowcontrol",
    "detection_ms": "priority-flow-control pause watchdog timer timeout", "kind": "priority strict",
    "restoration_ms": "priority-flow-control pause watchdog recovery-time", "weight": "bandwidth percent",
    "action": "priority-flow-control pause watchdog action", "source": "vxlan source-interface", "hops": "",
    "local_address": "update-source", "interface": "neighbor interface", "vlan": "switchport access vlan",
    "policies": "", "multipath": "", "sessions hops": "ebgp-multihop", "lag_mode": "channel-group mode",
    "trunk_vlans": "switchport trunk allowed vlan", "community_families": "send-community", "shut": "disabled",
    "dscp_to_tc": "qos trust", "lanes": "speed (lanes)",
}  # fmt: skip
_NXOS: Final[Mapping[str, str]] = {
    **_EOS,
    "fec": "fec", "autoneg": "negotiate auto", "lossless": "priority-flow-control mode", "source": "source-interface",
    "pfc_negotiated": "priority-flow-control mode auto", "watched": "priority-flow-control watch-dog-interval",
    "families": "address-family", "keeps_next_hop": "route-map: set ip next-hop unchanged",
    "green min_bytes": "random-detect minimum-threshold", "green max_bytes": "random-detect maximum-threshold",
    "green pmax_percent": "random-detect drop-probability", "kind": "priority level",
    "weight": "bandwidth remaining percent", "detection_ms": "priority-flow-control watch-dog shutdown-multiplier",
    "restoration_ms": "priority-flow-control auto-restore multiplier", "in_tunnel": "member vni",
    "dscp_to_tc": "service-policy type qos input", "mac": "fabric forwarding anycast-gateway-mac",
}  # fmt: skip
_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {"sonic": _SONIC, "nvue": _NVUE, "eos": _EOS, "nxos": _NXOS}
_WHOLE: Final = (("addresses",), ("class_mtus",), ("drops_lossless",))
"""Parts of the model whose place is the value's whole name."""
_SAME: Final = frozenset(("value", "where", "name", "stated", "entries", "curves"))
"""Fields that stand for their construct as a whole."""


_GATEWAYS: Final[Mapping[Language, str]] = {"eos": "ip address virtual", "nxos": "ip address"}
_ELSEWHERE: Final = {"lag": "PORTCHANNEL_MEMBER", "members": "VLAN_MEMBER", "neighbor": "DEVICE_NEIGHBOR",
               "routed": "VLAN_INTERFACE"}  # fmt: skip
"""SONiC: values of a port or VLAN that another table has."""
_PREFIX_LIST: Final[Mapping[Language, str]] = {
    "sonic": "PREFIX",
    "nvue": "router policy prefix-list",
    "eos": "ip prefix-list",
    "nxos": "ip prefix-list",
}


def own_words(language: Language, where: Where, rest: tuple[str, ...]) -> str:
    """Where a switch states a value.

    Parameters
    ----------
    where    the construct's place
    rest     fields and keys of the model below the construct
    """
    words = _WORDS[language]
    if where[:1] == ("gateway",):
        where = ("interface", where[1], _GATEWAYS[language], *where[2:])
    if stated_at(language, rest) == where:
        rest = ()  # a place that stands for this one value
    fields = [] if rest[-1:] == ("value",) or rest[:1] in _WHOLE else [it for it in rest if it not in {*_SAME, *where}]
    joined = "sessions hops" if rest[:1] + rest[-1:] == ("sessions", "hops") else " ".join(fields[-2:])
    last = ""
    if fields:
        unknown = fields[-1] if CAPABILITIES[language].tables else fields[-1].replace("_", "-")
        last = words.get(joined, words.get(fields[-1], unknown))
    if CAPABILITIES[language].tables and last in _ELSEWHERE and len(where) > 1:
        return f"{_ELSEWHERE[last]}|{where[1]}"
    if CAPABILITIES[language].tables:
        return "|".join((*where, *((last,) if last and last not in where else ())))
    if where and last.startswith(f"{where[-1]} "):
        where = where[:-1]  # the place is the line that the value is a word of
    shown = " ".join(where[where.index("set") + 1 :] if "set" in where else where)
    return f"{shown} {last}".strip() if last and not shown.endswith(last) else shown


def table_of(interface: str) -> str:
    """SONiC's table of an interface's addresses."""
    if "." in interface:
        return "VLAN_SUB_INTERFACE"
    return next((table for start, table in _TABLES if interface.startswith(start)), "INTERFACE")


def place_of(language: Language, path: tuple[str, ...]) -> Where:
    """The place of a value whose construct the model does not name: addresses, prefix lists, MTUs of classes."""
    if stated := stated_at(language, path):
        return stated
    match path:
        case ("addresses", name, *_):
            return (table_of(name), name) if CAPABILITIES[language].tables else ("interface", name, "ip address")
        case ("identity", "policies", "prefix_lists", name, prefix, *_):
            return _PREFIX_LIST[language], name, prefix
        case ("class_mtus", name, *_):
            return "policy-map type network-qos", name, "mtu"
        case ("drops_lossless",):
            return "PFC_WD", "GLOBAL", "BIG_RED_SWITCH"
    return ()


_TABLES: Final = (("Loopback", "LOOPBACK_INTERFACE"), ("Vlan", "VLAN_INTERFACE"), ("Port", "PORTCHANNEL_INTERFACE"))
"""Start of an interface's name to the table of its addresses (SONiC)."""
