"""``fabric evpn TABLE``: the overlay of a scenario at a given time, as FRR shows it; and the proof of isolation."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from fabric.cli.options.control import ROWS, add_common, chosen, show
from fabric.errors import FabricError

if TYPE_CHECKING:  # loaded when there is something to show
    from fabric.controlplane.network.switch import Switch

EXIT_FINDING: Final = 1
_TABLES: Final = (
    ("routes", "routes of BGP: MAC and MAC+IP (2), inclusive multicast (3), IP prefixes (5), with all paths"),
    ("vni", "VNIs of every leaf: MACs, ARP entries, remote VTEPs (the flood list)"),
    ("mac", "MAC tables: location, mobility sequence, duplicates"),
    ("arp", "ARP and ND caches for suppression"),
    ("rmac", "router MACs of other VTEPs, by L3 VNI: inner destinations of routed packets (RFC 9135)"),
    ("next-hops", "VTEPs to which a leaf routes, by L3 VNI"),
    (
        "check-isolation",
        "prove from all tables that tenants are isolated; exit 1 with the violations where they are not",
    ),
)
_MATCHES: Final = {
    "routes": "only routes with TEXT in their name, such as a MAC; shows why every path won or lost",
    "vni": "only VNIs with TEXT in their number",
    "mac": "only MACs with TEXT in them",
    "arp": "only entries with TEXT in address or MAC",
    "rmac": "only router MACs with TEXT in them",
    "next-hops": "only VTEPs with TEXT in their address",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the tables."""
    tables = parser.add_subparsers(dest="table", metavar="TABLE", required=True)
    for name, text in _TABLES:
        table = tables.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        add_common(table, node=name != "check-isolation")  # a proof needs all switches
        if name != "check-isolation":
            table.add_argument("--match", metavar="TEXT", default="", help=_MATCHES[name])
        if name == "routes":
            table.add_argument(
                "--type",
                type=int,
                choices=(2, 3, 5),
                action="append",
                dest="types",
                help="this route type only; repeatable",
            )


def run(args: argparse.Namespace) -> int:
    """Print one table."""
    from fabric.show import bgp as frr_bgp  # noqa: PLC0415
    from fabric.show import control_tables  # noqa: PLC0415
    from fabric.show import evpn as views  # noqa: PLC0415  --help must not load numpy and pydantic

    switches, _, when = chosen(args, args.source)
    if not switches[0].plan.overlay:
        raise FabricError(
            "this fabric has no overlay: no tenant has a VNI",
            "give the scenario `vxlan: {tenants: ...}`, or --set 'vxlan={}' for one tenant of all hosts",
        )
    if args.table == "check-isolation":
        return _isolation(args, switches, when)
    if args.table == "routes":
        types = None if args.types is None else frozenset(args.types)
        if args.match and not args.json:
            return _reasons(args, switches, types, when)
        return show(
            args,
            {switch.router.name: frr_bgp.evpn(switch.speaker, types, args.match) for switch in switches},
            lambda by_node: control_tables.evpn_routes(by_node, when),
        )
    vteps = {switch.router.name: switch.vtep for switch in switches if switch.vtep is not None}
    if not vteps:
        raise FabricError(
            f"{args.node} has no VTEP: no host of a tenant is attached to it", "name a leaf, or leave --node out"
        )
    table, document = {
        "vni": (views.evpn_vni, control_tables.evpn_vni),
        "mac": (views.evpn_mac, control_tables.evpn_macs),
        "arp": (views.arp_cache, control_tables.evpn_arp),
        "rmac": (views.evpn_rmac, control_tables.evpn_rmacs),
        "next-hops": (views.evpn_next_hops, control_tables.evpn_next_hops),
    }[args.table]
    return show(
        args,
        {name: _matching(args.table, table(vtep), args.match) for name, vtep in vteps.items()},
        lambda by_node: document(by_node, when),
    )


def _matching(name: str, table: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The entries with `text` in them; counts stay those of the whole table."""
    if not text:
        return dict(table)
    if name == "vni":
        return {vni: row for vni, row in table.items() if text in vni}
    if name == "mac":
        return {
            vni: {**part, "macs": {mac: row for mac, row in part["macs"].items() if text in mac}}
            for vni, part in table.items()
        }
    return {
        vni: {
            ip: row for ip, row in part.items() if not isinstance(row, dict) or text in ip or text in row.get("mac", "")
        }
        for vni, part in table.items()
    }


def _reasons(args: argparse.Namespace, switches: list[Switch], types: frozenset[int] | None, when: str) -> int:
    from fabric.controlplane.evpn.evpn_nlri import EVPN  # noqa: PLC0415
    from fabric.controlplane.evpn.rd import rd_text  # noqa: PLC0415
    from fabric.show import bgp as frr_bgp  # noqa: PLC0415
    from fabric.show import control_tables  # noqa: PLC0415

    found = {
        switch.router.name: {
            f"{rd_text(key.rd)} {key.text}": frr_bgp.reasons(switch.speaker, EVPN, key)
            for key in frr_bgp.evpn_keys(switch.speaker, types, args.match)
        }
        for switch in switches
    }
    return show(args, found, lambda by_node: control_tables.evpn_reasons(by_node, args.match, when))


def _isolation(args: argparse.Namespace, switches: list[Switch], when: str) -> int:
    from fabric.controlplane.evpn.isolation import check_isolation  # noqa: PLC0415
    from fabric.controlplane.network.tenants import reach_within  # noqa: PLC0415
    from fabric.render.text import console_for, print_document  # noqa: PLC0415
    from fabric.show.control_tables import isolation, isolation_json  # noqa: PLC0415

    found = check_isolation([switch.vtep for switch in switches if switch.vtep is not None])
    reach = reach_within(switches)
    if args.json:
        print(json.dumps(isolation_json(found, when, reach), indent=2))
    else:
        print_document(isolation(found, when, reach), console_for(sys.stdout), ROWS)
    return 0 if found.proved else EXIT_FINDING
