"""``fabric evpn routes|vni|mac|arp|check-isolation``: the overlay of a scenario at a moment, as FRR would show it."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Final

from fabric.cli.control_options import ROWS, add_common, chosen, show
from fabric.errors import FabricError

if TYPE_CHECKING:  # loaded when there is something to show
    from fabric.overlay.vtep import Vtep

EXIT_FINDING: Final = 1
_TABLES: Final = (
    ("routes", "routes of BGP: MAC and MAC+IP (2), inclusive multicast (3), IP prefixes (5), with all paths"),
    ("vni", "VNIs of every leaf: MACs, ARP entries, remote VTEPs (the flood list)"),
    ("mac", "MAC tables: where a MAC is, its mobility sequence, duplicates"),
    ("arp", "ARP and ND caches, from which leaves answer"),
    ("check-isolation", "prove from all tables that tenants are apart, or say where not; exit 1 where they are not"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the tables."""
    tables = parser.add_subparsers(dest="table", metavar="TABLE", required=True)
    for name, text in _TABLES:
        table = tables.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        add_common(table, node=name != "check-isolation")      # a proof needs all switches
        if name == "routes":
            table.add_argument("--type", type=int, choices=(2, 3, 5), action="append", dest="types",
                               help="this route type only; repeatable")


def run(args: argparse.Namespace) -> int:
    """Print one table."""
    from fabric.overlay import views  # noqa: PLC0415  --help must not load numpy and pydantic
    from fabric.report import control_tables, frr_bgp  # noqa: PLC0415

    switches, _, when = chosen(args, args.source)
    if not switches[0].plan.overlay:
        raise FabricError("this fabric has no overlay: no tenant has a VNI",
                          "give the scenario `vxlan: {tenants: ...}`, or --set 'vxlan={}' for one tenant of all hosts")
    if args.table == "check-isolation":
        return _isolation(args, [switch.vtep for switch in switches if switch.vtep is not None], when)
    if args.table == "routes":
        types = None if args.types is None else frozenset(args.types)
        return show(args, {switch.router.name: frr_bgp.evpn(switch.speaker, types) for switch in switches},
                    lambda by_node: control_tables.evpn_routes(by_node, when))
    vteps = {switch.router.name: switch.vtep for switch in switches if switch.vtep is not None}
    if not vteps:
        raise FabricError(f"{args.node} has no VTEP: no host of a tenant hangs on it",
                          "name a leaf, or leave --node out")
    table, document = {"vni": (views.evpn_vni, control_tables.evpn_vni),
                       "mac": (views.evpn_mac, control_tables.evpn_macs),
                       "arp": (views.arp_cache, control_tables.evpn_arp)}[args.table]
    return show(args, {name: table(vtep) for name, vtep in vteps.items()}, lambda by_node: document(by_node, when))


def _isolation(args: argparse.Namespace, vteps: list[Vtep], when: str) -> int:
    from fabric.overlay.isolation import check_isolation  # noqa: PLC0415
    from fabric.report.control_tables import isolation  # noqa: PLC0415
    from fabric.report.json import to_json  # noqa: PLC0415
    from fabric.report.text import console_for, print_document  # noqa: PLC0415

    found = check_isolation(vteps)
    document = isolation(found, when)
    if args.json:
        print(json.dumps(to_json(document), indent=2))
    else:
        print_document(document, console_for(sys.stdout), ROWS)
    return 0 if found.proved else EXIT_FINDING
