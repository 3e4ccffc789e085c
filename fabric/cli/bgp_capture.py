"""``fabric bgp capture``: BGP messages of a scenario's switches as a pcapng file, from their cold start on."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from fabric.cli.options.output import add_out
from fabric.cli.options.sets import add_sets
from fabric.errors import FabricError, InputErrors, Problem


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("source", metavar="SOURCE", type=Path, help="scenario file with routing: bgp, or a run of one")
    add_out(parser, "FILE", "pcapng file to write", required=True)
    parser.add_argument("--node", metavar="NODE", help="sessions of this switch only (default: all)")
    parser.add_argument(
        "--until",
        metavar="TIME",
        help="up to this simulated time, such as 20ms (default: the start, after convergence)",
    )
    add_sets(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Simulate the control plane, write the file, print a summary."""
    from fabric.capture.bgp import SessionCapture  # noqa: PLC0415  --help must not load a network
    from fabric.controlplane.network.network import Network  # noqa: PLC0415
    from fabric.show.subject import load_subject, moment, node_called  # noqa: PLC0415
    from fabric.units import PS_PER_NS  # noqa: PLC0415

    until_ns = moment(args.until) // PS_PER_NS
    subject = load_subject(args.source, args.sets)
    problems: list[Problem] = []
    node = None if args.node is None else node_called(subject.fabric, args.node, "switch", problems, "--node")
    if problems:
        raise InputErrors("options", problems)
    control = subject.placed.control
    if control is None:
        raise FabricError(
            f"{subject.scenario.name} has no control plane: its routing is shortest-path",
            "give it `routing: bgp`, or --set routing=bgp",
        )
    network = Network(control.plan, control.config, control.seed)
    row = None if node is None else control.plan.by_name[node.name].row
    capture = SessionCapture(network, args.out, row)
    try:
        network.converge()
        network.schedule(control.events)
        network.advance(until_ns)
    finally:
        capture.close()
    if args.json:
        print(json.dumps({"file": str(args.out), "messages": capture.messages, "run_starts_at_ns": network.epoch_ns}))
    else:
        print(f"{capture.messages:,} messages in {args.out}; the run's time 0 is {network.epoch_ns / 1e9:.6f} s there.")
    return 0
