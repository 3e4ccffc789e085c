"""``fabric collective OPERATION [SCENARIO]``: the table of nccl-tests for a simulated fabric, and the closed form."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from fabric.cli.collective_choose import add_choose, run_choose
from fabric.cli.options.estimating import add_yes
from fabric.cli.options.output import add_out
from fabric.cli.options.sets import add_sets
from fabric.cli.options.sizes import add_sizes
from fabric.cli.options.threads import add_threads

OPERATIONS: Final = (
    "all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce", "scatter", "gather", "all-to-all",
    "all-to-all-v", "send-recv",
)  # fmt: skip
"""Operations of fabric/workload/spec.py, which --help must not load."""
ONE_SWITCH_RANKS: Final = 64
LEAF_RANKS: Final = 32
"""Hosts of the default fabric: of its only switch at most, and of a leaf where there are more."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare an action for each operation, and `choose`."""
    parser.epilog = (
        "examples:\n"
        "  fabric collective all-reduce --ranks 64 --sizes 1KiB:4GiB --algorithm ring\n"
        "  fabric collective all-to-all scenarios/all-to-all.yml --sizes 1MiB,16MiB --algorithm pairwise --json\n"
        "  fabric collective choose all-reduce --nodes 4 --gpus-per-node 8"
    )
    actions = parser.add_subparsers(dest="action", metavar="OPERATION", required=True)
    for operation in OPERATIONS:
        item = actions.add_parser(operation, help=f"simulate {operation} and print the table of nccl-tests")
        _add_options(item)
        if operation == "all-to-all-v":
            _add_uneven(item)
    add_choose(actions)


def _add_uneven(parser: argparse.ArgumentParser) -> None:
    """Options of uneven sizes."""
    parser.add_argument(
        "--matrix", metavar="FILE", type=Path,
        help="CSV file of what each rank (line) has for each (column), or one line for all; scaled so that the largest "
        "line adds up to the size",
    )  # fmt: skip
    parser.add_argument(
        "--skew", metavar="NAME", help="instead of --matrix: zipf or dirichlet, as tokens choose experts"
    )
    parser.add_argument("--exponent", metavar="X", type=float, help="of zipf, or the concentration of dirichlet")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scenario", metavar="SCENARIO", type=Path, nargs="?",
        help="its fabric and settings; its workload is replaced. Without it: one switch with 400G ports, above "
        f"{ONE_SWITCH_RANKS} ranks leaves of {LEAF_RANKS} and as many spines",
    )  # fmt: skip
    parser.add_argument("--ranks", metavar="N", type=int, help="ranks: the first N hosts (default: all, or 8)")
    add_sizes(parser, "1KiB:64MiB")
    parser.add_argument(
        "--algorithm",
        metavar="NAME",
        default="ring",
        help="algorithm (docs/collectives.md; default ring), or auto: what NCCL's model chooses for each size",
    )
    parser.add_argument(
        "--generation", metavar="NAME", help="with --algorithm auto: volta, ampere, hopper (default) or blackwell"
    )
    parser.add_argument("--channels", metavar="N", type=int, help="rings side by side")
    parser.add_argument(
        "--lockstep", action="store_const", const=True,
        help="rings: a rank begins a step when it has the messages of all channels",
    )  # fmt: skip
    parser.add_argument("--chunk", metavar="SIZE", help="largest message, such as 512KiB")
    parser.add_argument(
        "--ranks-per-node",
        metavar="N",
        type=int,
        help="consecutive ranks that are one node (default 1; with --algorithm auto 8)",
    )
    parser.add_argument("--root", metavar="RANK", type=int, help="root of broadcast, reduce, scatter and gather")
    parser.add_argument("--element", metavar="BYTES", type=int, help="bytes of an element: 1, 2, 4 (default) or 8")
    parser.add_argument("--placement", metavar="ORDER", help="in-order (default), across-leaves or random")
    parser.add_argument("--send-latency", metavar="TIME", help="time of a rank before each message, such as 2us")
    parser.add_argument("--reduction-rate", metavar="RATE", help="rate at which a rank adds, such as 1600G")
    parser.add_argument("--repeat", metavar="N", type=int, help="operations one after another (default 1)")
    parser.add_argument("--warm-up", metavar="N", type=int, help="operations before them that do not count")
    add_sets(parser, "override one value; repeatable")
    add_threads(parser)
    parser.add_argument("--plot", metavar="FILE", type=Path, help="SVG chart of bandwidth over size")
    add_out(parser, "DIR", "keep the run directories in DIR, one for each size, and the table in DIR/collective.json")
    add_yes(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Simulate each size and print the table, or print what NCCL's model chooses."""
    if args.action == "choose":
        return run_choose(args)
    from fabric.cli.collective_table import run_table  # noqa: PLC0415  --help must not load the engine

    return run_table(args)
