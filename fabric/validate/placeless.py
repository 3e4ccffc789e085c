"""Where a switch states values that the model keeps without a place: AS number, networks, VRFs of interfaces, ...

A part of the model's path stands for itself in braces: '{2}' is its third part.
Sources: as for own_words.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fabric.configs.capabilities import Language
from fabric.configs.model import Where

_NVUE_BGP: Final = "vrf|default|router|bgp|address-family"
_PLACES: Final[Mapping[tuple[str, ...], Mapping[Language, str]]] = {
    ("asn",): {
        "sonic": "DEVICE_METADATA|localhost|bgp_asn",
        "nvue": "router|bgp|autonomous-system",
        "eos": "router bgp",
        "nxos": "router bgp",
    },
    ("role",): {"sonic": "DEVICE_METADATA|localhost|type"},
    ("watchdog_poll_ms",): {
        "sonic": "PFC_WD|GLOBAL|POLL_INTERVAL",
        "nvue": "qos|pfc-watchdog|polling-interval",
        "eos": "priority-flow-control pause watchdog default polling-interval",
        "nxos": "priority-flow-control watch-dog-interval",
    },
    ("global_maps",): {"sonic": "PORT_QOS_MAP|global|{1}_map", "eos": "qos rewrite", "nxos": "system qos"},
    ("lossy_mtus",): {"nxos": "policy-map type network-qos|{1}|mtu"},
    ("identity", "interface_vrfs"): {
        "sonic": "INTERFACE|{2}|vrf_name",
        "nvue": "interface|{2}|ip|vrf",
        "eos": "interface|{2}|vrf",
        "nxos": "interface|{2}|vrf member",
    },
    ("identity", "networks"): {
        "sonic": "BGP_GLOBALS_AF_NETWORK",
        "nvue": f"{_NVUE_BGP}|ipv4-unicast|network",
        "eos": "router bgp|network",
        "nxos": "router bgp|address-family ipv4 unicast|network",
    },
    ("identity", "redistributes_connected"): {
        "sonic": "ROUTE_REDISTRIBUTE|default|connected|bgp|ipv4",
        "nvue": f"{_NVUE_BGP}|ipv4-unicast|redistribute|connected",
        "eos": "router bgp|redistribute connected",
        "nxos": "router bgp|address-family ipv4 unicast|redistribute direct",
    },
    ("identity", "policies", "as_path_lists"): {
        "sonic": "AS_PATH_SET|{3}",
        "nvue": "router|policy|as-path-list|{3}",
        "eos": "ip as-path access-list|{3}",
        "nxos": "ip as-path access-list|{3}",
    },
    ("identity", "tags"): {"nxos": "ip address|tag"},
    ("identity", "keeps_targets"): {"nxos": "router bgp|address-family l2vpn evpn|retain route-target all"},
    ("identity", "vtep_up"): {
        "nvue": "nve|vxlan|enable",
        "eos": "interface|Vxlan1|no shutdown",
        "nxos": "interface|nve1|no shutdown",
    },
}


def stated_at(language: Language, path: tuple[str, ...]) -> Where:
    """The place of a value; () where none is known."""
    for length in range(len(path), 0, -1):
        text = _PLACES.get(path[:length], {}).get(language)
        if text is not None:
            return tuple(word.format(*path) for word in text.split("|"))
    return ()
