"""Tables of a real switch: output of FRR and of the kernel, in the format of tables.py."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from fabric.controlplane.evpn.config import VniConfig
from fabric.lab import tables
from fabric.lab.laboratory import Laboratory
from fabric.lab.tables import Json, Tables

IPV4_TABLE: Final = "show ip bgp json"
EVPN_TABLE: Final = "show bgp l2vpn evpn json"
_UNDERLAY: Final = (IPV4_TABLE, "show ip route json")
_OVERLAY: Final = (EVPN_TABLE,)
_LEAF: Final = (
    "show bgp l2vpn evpn vni json",
    "show bgp l2vpn evpn import-rt json",
    "show evpn vni json",
    "show evpn mac vni all json",
    "show evpn arp-cache vni all json",
)


Answers = Json
"""Command -> output of one switch."""


def ask(lab: Laboratory) -> dict[str, Answers]:
    """Output of every switch whose daemons run, now."""
    return {router.name: _ask(lab, router.name) for router in lab.plan.routers if router.name not in lab.stopped}


def observe(lab: Laboratory, raw: Mapping[str, Answers] | None = None) -> dict[str, Tables]:
    """Tables of every switch whose daemons run: from `raw`, or queried now."""
    raw = ask(lab) if raw is None else raw
    return arranged(raw, frozenset(VniConfig(it.vni).bridge_name for router in lab.plan.routers for it in router.vnis))


def arranged(raw: Mapping[str, Json], bridges: frozenset[str]) -> dict[str, Tables]:
    """Output of every switch as tables. `bridges`: names of the devices that have hosts as neighbours."""
    names: dict[str, str] = {}
    for answers in raw.values():
        names |= tables.distinguishers(answers.get(_LEAF[0], {}))
    return {node: _tables(answers, names, bridges) for node, answers in raw.items()}


def _ask(lab: Laboratory, node: str) -> Json:
    router = lab.plan.by_name[node]
    commands = (*_UNDERLAY, *(_OVERLAY if lab.plan.overlay else ()), *(_LEAF if router.vnis else ()))
    answers: Json = dict(zip(commands, lab.daemons[node].show(*commands), strict=True))
    for command in ("ip -j route", *(("bridge -j fdb", "ip -j neigh") if router.vnis else ())):
        answers[command] = json.loads(lab[node].run(*command.split()) or "[]")
    return answers


def _tables(answers: Mapping[str, Any], names: Mapping[str, str], bridges: frozenset[str]) -> Tables:
    found: Tables = {
        "bgp_ipv4": _bgp(answers["show ip bgp json"]),
        "rib": _rib(answers["show ip route json"]),
        "kernel_fib": _fib(answers["ip -j route"]),
        "evpn": _evpn(answers.get(EVPN_TABLE, {}), names),
    }
    if _LEAF[0] in answers:
        found |= {
            "bgp_vni": tables.bgp_vnis(answers[_LEAF[0]]),
            "import_rt": tables.import_targets(answers[_LEAF[1]]),
            "evpn_vni": tables.vnis(answers[_LEAF[2]]),
            "evpn_mac": tables.macs(answers[_LEAF[3]]),
            "evpn_arp": tables.arps(answers[_LEAF[4]]),
            "kernel_fdb": tables.fdb(answers["bridge -j fdb"]),
            "kernel_neigh": tables.neighbors(answers["ip -j neigh"], bridges),
        }
    return found


def _bgp(table: Json) -> Json:
    return {
        prefix: sorted(
            (
                {
                    "nexthop": path["nexthops"][0]["ip"],
                    "path": path["path"],
                    "med": path.get("metric"),
                    "origin": path["origin"],
                    "weight": path["weight"],
                    "local_pref": path.get("locPrf"),
                    "used": bool(path.get("bestpath") or path.get("multipath")),
                }
                for path in paths
            ),
            key=lambda it: it["nexthop"],
        )
        for prefix, paths in table.get("routes", {}).items()
    }


def _evpn(table: Json, names: Mapping[str, str]) -> Json:
    found: Json = {}
    for distinguisher, routes in table.items():
        for name, route in routes.items() if isinstance(routes, dict) else ():
            if isinstance(route, dict):
                found[f"{names.get(distinguisher, distinguisher)} {name}"] = sorted(
                    (
                        {
                            "nexthop": path["nexthops"][0]["ip"],
                            "path": path["path"],
                            "weight": path["weight"],
                            "peer": "self" if path["peerId"] == "(unspec)" else path["peerId"],
                            "valid": bool(path.get("valid")),
                            "local_pref": path.get("locPrf"),
                            "extcomm": sorted(path.get("extendedCommunity", {}).get("string", "").split()),
                        }
                        for path in route["paths"]
                    ),
                    key=lambda it: it["peer"],
                )
    return found


def _rib(table: Json) -> Json:
    return {
        prefix: [
            {
                "proto": route["protocol"],
                "distance": route["distance"],
                "nexthops": sorted(
                    f"{hop.get('ip', 'connected')} {hop['interfaceName']}"
                    for hop in route["nexthops"]
                    if hop.get("fib")
                ),
            }
            for route in routes
            if route.get("selected")
        ]
        for prefix, routes in table.items()
    }


def _fib(rows: list[Json]) -> Json:
    """BGP's routes in the kernel."""
    return {
        row["dst"] if "/" in row["dst"] else f"{row['dst']}/32": sorted(
            f"{hop.get('gateway') or hop['via']['host']} {hop['dev']}" for hop in row.get("nexthops") or [row]
        )
        for row in rows
        if row.get("protocol") == "bgp"
    }
