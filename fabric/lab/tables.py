"""Common format of the tables of one switch, from FRR and the kernel or from the model, for comparison.

Left out are values that no control plane decides: the best of several equal paths (it depends on the order of arrival),
counters, ages, interface numbers, and the permanent entries of devices' own MACs. Derived route distinguishers are
named by their VNI, because their numbering depends on the daemon.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Json = dict[str, Any]
Tables = dict[str, Any]
"""Name of a table -> rows by key."""

TITLES: Final[Mapping[str, str]] = {
    "bgp_ipv4": "BGP, IPv4 unicast: paths of every prefix, and which are used",
    "rib": "routing table of zebra: next hop sets",
    "kernel_fib": "kernel: next hops of BGP routes",
    "evpn": "BGP, EVPN: paths of every route, extended communities",
    "bgp_vni": "BGP, VNIs: route targets, originator",
    "import_rt": "BGP, EVPN: import route targets",
    "evpn_vni": "VNIs: remote VTEPs, numbers of MACs and ARP entries",
    "evpn_mac": "MAC tables: place and mobility sequence",
    "evpn_arp": "ARP caches: place, state and mobility sequence",
    "kernel_fdb": "kernel: bridge forwarding and flood lists",
    "kernel_neigh": "kernel: neighbours of bridges",
}
"""Tables in the order of their dependencies."""
MAC_KEYS: Final = ("intf", "isDuplicate", "localSequence", "remoteSequence", "remoteVtep", "type")
ARP_KEYS: Final = ("localSequence", "mac", "remoteSequence", "remoteVtep", "state", "type")


def macs(table: Mapping[str, Json]) -> Json:
    """`show evpn mac vni all json` -> 'VNI MAC' -> compared fields."""
    return {
        f"{vni} {mac}": {key: row.get(key) for key in MAC_KEYS}
        for vni, part in table.items()
        for mac, row in part.get("macs", {}).items()
    }


def arps(table: Mapping[str, Json]) -> Json:
    """`show evpn arp-cache vni all json`, likewise."""
    return {
        f"{vni} {ip}": {key: row.get(key) for key in ARP_KEYS}
        for vni, part in table.items()
        for ip, row in part.items()
        if isinstance(row, dict)
    }


def vnis(table: Mapping[str, Json]) -> Json:
    """`show evpn vni json`."""
    return {
        vni: {"arps": row["numArpNd"], "macs": row["numMacs"], "remote_vteps": sorted(row.get("remoteVteps", ()))}
        for vni, row in table.items()
    }


def bgp_vnis(table: Mapping[str, Any]) -> Json:
    """`show bgp l2vpn evpn vni json`, without the distinguisher."""
    return {
        vni: {key: row[key] for key in ("exportRTs", "importRTs", "originatorIp")}
        for vni, row in table.items()
        if vni.isdecimal()
    }


def distinguishers(table: Mapping[str, Any]) -> dict[str, str]:
    """`show bgp l2vpn evpn vni json` -> distinguisher -> its name here: 'originator VNI'."""
    return {row["rd"]: f"{row['originatorIp']} VNI {vni}" for vni, row in table.items() if vni.isdecimal()}


def import_targets(table: Mapping[str, Json]) -> Json:
    """`show bgp l2vpn evpn import-rt json`."""
    return {target: sorted(row["vnis"]) for target, row in table.items()}


def fdb(rows: list[Json]) -> Json:
    """`bridge -j fdb` -> 'device MAC destination table' -> origin of the entry; devices' own entries left out."""
    found = {}
    for row in rows:
        flags = row.get("flags", ())
        table = "self" if "self" in flags else "master"
        kind = "extern" if "extern_learn" in flags else row.get("state") or "learned"
        if kind == "permanent" and row["mac"] != "00:00:00:00:00:00":
            continue
        found[f"{row['ifname']} {row['mac']} {row.get('dst', '-')} {table}"] = kind
    return found


def neighbors(rows: list[Json], bridges: frozenset[str]) -> Json:
    """`ip -j neigh` -> 'device IP' -> MAC and origin of the entry; bridges only."""
    return {
        f"{row['dev']} {row['dst']}": f"{row['lladdr']} {'extern' if 'extern_learn' in row else 'local'}"
        for row in rows
        if row["dev"] in bridges and "lladdr" in row and ":" not in row["dst"]
    }
