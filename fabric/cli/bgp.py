"""``fabric bgp summary|neighbors|routes``: BGP of a scenario's switches at a given time, as FRR shows it."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
from typing import TYPE_CHECKING, Final, cast

from fabric.cli.options.control import ROWS, add_common, chosen, show
from fabric.errors import InputErrors, Problem

if TYPE_CHECKING:
    from fabric.cli.main import VerbModule

_DOORS: Final = {
    "speak": "a BGP session with a real router over TCP",
    "replay": "replay a journal, and compare its output byte by byte",
    "capture": "the sessions' messages as a pcapng file, for Wireshark and tshark",
}
"""Actions with a separate module, fabric.cli.bgp_NAME, where that is installed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the tables."""
    tables = parser.add_subparsers(dest="table", metavar="TABLE", required=True)
    for name, text in (
        ("summary", "every session: neighbour, state, prefixes received and sent"),
        ("neighbors", "one session after another: timers, messages, prefixes"),
    ):
        add_common(tables.add_parser(name, help=text, description=text[0].upper() + text[1:] + "."))
    text = "IPv4 unicast routes with all paths; of one prefix, why every path won or lost"
    routes = tables.add_parser("routes", help=text, description=text + ".")
    routes.usage = "fabric bgp routes [PREFIX] SOURCE [--node NODE] [--at TIME] [--set PATH=VALUE] [--json]"
    routes.add_argument("first", metavar="PREFIX", help="such as 10.0.0.1/32 (default: all)")
    second = routes.add_argument("second", metavar="SOURCE", help="scenario file with routing: bgp, or a run of one")
    second.required = False  # not nargs='?' for PREFIX: that would be taken as absent before an option
    add_common(routes, source=False)
    for name, text in _DOORS.items():
        if importlib.util.find_spec(f"fabric.cli.bgp_{name}") is not None:
            _door(name).add_arguments(tables.add_parser(name, help=text, description=text[0].upper() + text[1:] + "."))


def _door(name: str) -> VerbModule:
    return cast("VerbModule", importlib.import_module(f"fabric.cli.bgp_{name}"))


def run(args: argparse.Namespace) -> int:
    """Print one table."""
    if args.table in _DOORS:
        return _door(args.table).run(args)
    if args.table == "routes":
        return _routes(args)
    from fabric.show import bgp as frr_bgp  # noqa: PLC0415
    from fabric.show import control_tables  # noqa: PLC0415  --help must not load numpy and pydantic

    switches, now_ns, when = chosen(args, args.source)
    table, document = {
        "summary": (frr_bgp.summary, control_tables.summary),
        "neighbors": (frr_bgp.neighbors, control_tables.neighbors),
    }[args.table]
    return show(
        args,
        {switch.router.name: table(switch.speaker, now_ns) for switch in switches},
        lambda by_node: document(by_node, when),
    )


def _routes(args: argparse.Namespace) -> int:
    from fabric.show import bgp as frr_bgp  # noqa: PLC0415
    from fabric.show import control_tables  # noqa: PLC0415

    if args.second is None:
        switches, _, when = chosen(args, args.first)
        return show(
            args,
            {switch.router.name: frr_bgp.ipv4(switch.speaker) for switch in switches},
            lambda by_node: control_tables.routes(by_node, when),
        )
    key = _prefix(args.first)
    switches, _, when = chosen(args, args.second)
    if args.json:
        by_node = {switch.router.name: frr_bgp.ipv4_route(switch.speaker, key) for switch in switches}
        print(json.dumps(by_node if args.node is None else by_node[args.node], indent=2))
        return 0
    from fabric.controlplane.bgp.afi import IPV4_UNICAST  # noqa: PLC0415
    from fabric.render.text import console_for, print_document  # noqa: PLC0415

    reasons = {switch.router.name: frr_bgp.reasons(switch.speaker, IPV4_UNICAST, key) for switch in switches}
    print_document(control_tables.route_reasons(reasons, args.first, when), console_for(sys.stdout), ROWS)
    return 0


def _prefix(text: str) -> bytes:
    from fabric.controlplane.bgp.afi import prefix_key  # noqa: PLC0415

    try:
        key = prefix_key(text)
    except ValueError as error:
        why = f"{error}" if "host bits" in f"{error}" else f"'{text}' is not an IPv4 prefix"
        raise InputErrors(
            "command line",
            [
                Problem(
                    "PREFIX",
                    why,
                    "write it as 10.0.0.1/32 or 10.64.0.0/24; `fabric route NODE HOST SOURCE` asks for a host",
                )
            ],
        ) from error
    if ":" in text:
        raise InputErrors("command line", [Problem("PREFIX", f"{text} is IPv6", "the underlay has IPv4 routes only")])
    return key
