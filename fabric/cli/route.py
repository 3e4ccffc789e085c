"""``fabric route NODE [PREFIX] SOURCE``: a switch's forwarding table at a given time, and the reason for a route."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabric.cli.options.control import tell_beyond
from fabric.cli.options.sets import add_sets
from fabric.errors import FabricError, InputErrors, Problem

if TYPE_CHECKING:  # loaded when there is something to show
    from fabric.render.document import Block
    from fabric.show.route_table import Route
    from fabric.show.subject import Subject
    from fabric.topology.model import Node

_ROWS: Final = 64
"""Rows of a table on the terminal; `--json` has them all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "fabric route NODE [PREFIX] SOURCE [--vrf TENANT] [--at TIME] [--set PATH=VALUE] [--json]"
    parser.description = (
        "The forwarding table of a switch at a given time. With a prefix, an address or a host: the longest match,\n"
        "and its reason. Packets are not simulated."
    )
    parser.add_argument("node", metavar="NODE", help="switch")
    second = parser.add_argument("second", metavar="PREFIX", help="host, address or prefix (default: all routes)")
    third = parser.add_argument("third", metavar="SOURCE", help="scenario file or run directory")
    second.required = third.required = False  # not nargs='?': that would be taken as absent before an option
    parser.add_argument(
        "--vrf", metavar="TENANT", help="the leaf's table for a tenant with l3_vni, instead of the default table"
    )
    parser.add_argument("--at", metavar="TIME", help="at this simulated time, such as 2ms (default: the start)")
    add_sets(parser)
    parser.add_argument("--json", action="store_true", help="print JSON like FRR's `show ip route json`")


def run(args: argparse.Namespace) -> int:
    """Print, and exit 0: a table has no verdict."""
    words = [word for word in (args.second, args.third) if word is not None]
    if not words:
        raise InputErrors(
            "command line",
            [
                Problem(
                    "SOURCE",
                    "is missing",
                    "name a scenario file or run directory: fabric route leaf1 scenarios/incast.yml",
                )
            ],
        )
    from fabric.render.text import console_for, print_document  # noqa: PLC0415
    from fabric.show import route_table  # noqa: PLC0415  --help must not load numpy and pydantic
    from fabric.show.subject import load_subject, moment, moment_text, node_called  # noqa: PLC0415

    time_ps = moment(args.at)
    subject = load_subject(Path(words[-1]), args.sets)
    tell_beyond(subject, time_ps)
    problems = list[Problem]()
    switch = node_called(subject.fabric, args.node, "switch", problems, "NODE")
    if switch is None:
        raise InputErrors("command line", problems)
    if args.vrf is not None:
        return _tenant(args, subject, switch, words[0] if len(words) == 2 else None, time_ps)
    at = subject.at(time_ps)
    underlay = subject.underlay(switch, time_ps)
    rows = route_table.routes(at, switch, underlay)
    if subject.compiled.control is not None:
        rows += route_table.underlay_routes(at, switch, underlay, rows)
        rows.sort(key=lambda row: row.network)
    title = f"{subject.compiled.name} {moment_text(time_ps)}"
    none_needed = route_table.absent_document(at, switch, words[0], title, underlay) if len(words) == 2 else None
    if none_needed is not None:
        if args.json:
            print("{}")  # like FRR's answer for a prefix that is not in the table
        else:
            print_document(none_needed, console_for(sys.stdout), _ROWS)
        return 0
    target = route_table.longest_match(rows, words[0], at) if len(words) == 2 else None
    if args.json:
        print(json.dumps(route_table.frr_json(at, rows if target is None else [target], underlay), indent=2))
    else:
        document = route_table.route_document(
            at, switch, rows, title, target, underlay, _behind(subject, switch, target, time_ps)
        )
        print_document(document, console_for(sys.stdout), _ROWS)
    return 0


def _tenant(args: argparse.Namespace, subject: Subject, node: Node, target: str | None, time_ps: int) -> int:
    """The table of one tenant: `show ip route vrf`."""
    from fabric.render.text import console_for, print_document  # noqa: PLC0415
    from fabric.show.subject import moment_text  # noqa: PLC0415  as in run()
    from fabric.show.tenant_routes import tenant_document, tenant_table  # noqa: PLC0415
    from fabric.show.tenant_why import behind_tenant_route  # noqa: PLC0415

    if subject.placed.control is None:
        raise FabricError(
            f"{subject.scenario.name} has no tables of tenants: its routing is shortest-path, and what "
            "leaves route for tenants takes the routes to their hosts",
            "leave --vrf out to see those, or give the scenario `routing: bgp`",
        )
    network = subject.network(time_ps)
    switch = next(it for it in network.switches if it.router.node == node.id)
    plan = network.plan
    addresses = {it.name: it.ip for it in plan.endpoints} | {it.name: it.ip for it in plan.routed}
    table = tenant_table(network, switch, args.vrf, target, addresses)
    if args.json:
        print(json.dumps(table, indent=2))
    else:
        behind = (
            None
            if target is None
            else behind_tenant_route(network, switch, args.vrf, table, addresses.get(target, target), subject.fabric)
        )
        when = f"{subject.scenario.name} {moment_text(time_ps)}"
        print_document(tenant_document(switch, args.vrf, table, when, behind), console_for(sys.stdout), _ROWS)
    return 0


def _behind(subject: Subject, switch: Node, target: Route | None, time_ps: int) -> tuple[Block, ...]:
    """Control-plane reasons of a route; empty without control plane, or for a locally attached host."""
    if target is None or target.protocol == "connected" or subject.compiled.control is None:
        return ()
    from fabric.show.behind_route import behind_route  # noqa: PLC0415  only for one route of a control plane

    return behind_route(
        subject.network(time_ps), switch.id, str(target.network), target.hosts[0] if target.hosts else None
    )
