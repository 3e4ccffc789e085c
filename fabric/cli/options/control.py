"""Options of `fabric bgp` and `fabric evpn`: source, time, switch, and the output of a table."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabric.cli.options.sets import add_sets
from fabric.errors import FabricError, InputErrors, Problem

if TYPE_CHECKING:  # loaded when there is something to show
    from fabric.controlplane.network.switch import Switch
    from fabric.render.document import Document
    from fabric.show.subject import Subject

ROWS: Final = 64
"""Rows of a table on the terminal; `--json` has them all."""


def add_common(parser: argparse.ArgumentParser, *, source: bool = True, node: bool = True) -> None:
    """Source, --node, --at, --set, --json."""
    if source:
        parser.add_argument("source", metavar="SOURCE", help="scenario file with routing: bgp, or a run of one")
    if node:
        parser.add_argument("--node", metavar="NODE", help="this switch only (default: all)")
    parser.add_argument("--at", metavar="TIME", help="at this simulated time, such as 2ms (default: the start)")
    add_sets(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        help="print JSON like FRR: of one switch with --node, otherwise an object of all by name"
        if node
        else "print one JSON object",
    )


def tell_beyond(subject: Subject, time_ps: int) -> None:
    """Warn on standard error where --at is outside the run."""
    words = subject.beyond(time_ps)
    if words:
        print(f"note: {words}", file=sys.stderr)


def chosen(args: argparse.Namespace, source: str) -> tuple[list[Switch], int, str]:
    """(selected switches, control-plane clock in ns, description of the time). Raises: InputErrors, FabricError."""
    from fabric.show.subject import load_subject, moment, moment_text, node_called  # noqa: PLC0415

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
    silent = [it.router.name for it in network.switches if not it.daemon_up]
    if node is not None and node.name in silent:
        raise FabricError(
            f"{node.name} does not answer {moment_text(time_ps)}: its routing daemon does not run",
            "query its neighbours, or another time with --at",
        )
    if silent and node is None:
        when += f"; {', '.join(silent)} {'does' if len(silent) == 1 else 'do'} not answer"
    wanted = [it for it in network.switches if it.daemon_up and (node is None or it.router.name == node.name)]
    return wanted, network.now_ns, when


def show(
    args: argparse.Namespace, by_node: Mapping[str, Any], document: Callable[[Mapping[str, Any]], Document]
) -> int:
    """Print one table of each switch: as FRR's JSON, or as a document."""
    from fabric.render.text import console_for, print_document  # noqa: PLC0415

    if args.json:
        print(json.dumps(by_node if args.node is None else by_node[args.node], indent=2))
    else:
        print_document(document(by_node), console_for(sys.stdout), ROWS)
    return 0
