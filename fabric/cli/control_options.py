"""What `fabric bgp` and `fabric evpn` have in common: a source, a moment, a switch, and how a table is printed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabric.errors import FabricError, InputErrors, Problem

if TYPE_CHECKING:  # loaded when there is something to show
    from fabric.control.switch import Switch
    from fabric.report.model import Document
    from fabric.report.subject import Subject

ROWS: Final = 64
"""Rows of a table on the terminal; `--json` has them all."""


def add_common(parser: argparse.ArgumentParser, *, source: bool = True, node: bool = True) -> None:
    """Source, --node, --at, --set, --json."""
    if source:
        parser.add_argument("source", metavar="SOURCE", help="scenario file with routing: bgp, or a run of one")
    if node:
        parser.add_argument("--node", metavar="NODE", help="this switch only (default: all)")
    parser.add_argument("--at", metavar="TIME", help="at this simulated time, such as 2ms (default: the start)")
    parser.add_argument("--set", metavar="PATH=VALUE", action="append", default=[], dest="sets",
                        help="override one value of the scenario; repeatable")
    parser.add_argument("--json", action="store_true",
                        help="print FRR's own JSON: of one switch with --node, else an object of all by name" if node
                        else "print one JSON object")


def tell_beyond(subject: Subject, time_ps: int) -> None:
    """A word on standard error where --at is a moment that the run does not have."""
    words = subject.beyond(time_ps)
    if words:
        print(f"note: {words}", file=sys.stderr)


def chosen(args: argparse.Namespace, source: str) -> tuple[list[Switch], int, str]:
    """(switches asked for, the control plane's clock in ns, when in words). Raises: InputErrors, FabricError."""
    from fabric.report.subject import load_subject, moment, moment_text, node_called  # noqa: PLC0415

    time_ps = moment(args.at)
    subject = load_subject(Path(source), args.sets)
    problems: list[Problem] = []
    node = None
    if getattr(args, "node", None) is not None:
        node = node_called(subject.fabric, args.node, "switch", problems, "--node")
    if problems:
        raise InputErrors("options", problems)
    tell_beyond(subject, time_ps)
    network = subject.network(time_ps)
    when = f"{subject.scenario.name} {moment_text(time_ps)}"
    silent = [it.router.name for it in network.switches if not it.speaking]
    if node is not None and node.name in silent:
        raise FabricError(f"{node.name} does not answer {moment_text(time_ps)}: its routing daemon does not run",
                          "ask its neighbours, or for another moment with --at")
    if silent and node is None:
        when += f"; {', '.join(silent)} {'does' if len(silent) == 1 else 'do'} not answer"
    wanted = [it for it in network.switches if it.speaking and (node is None or it.router.name == node.name)]
    return wanted, network.now_ns, when


def show(args: argparse.Namespace, by_node: Mapping[str, Any],
         document: Callable[[Mapping[str, Any]], Document]) -> int:
    """Print one table of each switch: as FRR's JSON, or as a document."""
    from fabric.report.text import console_for, print_document  # noqa: PLC0415

    if args.json:
        print(json.dumps(by_node if args.node is None else by_node[args.node], indent=2))
    else:
        print_document(document(by_node), console_for(sys.stdout), ROWS)
    return 0
