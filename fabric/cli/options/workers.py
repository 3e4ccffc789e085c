"""Options of verbs that simulate many runs at once: ``--workers`` and ``--dask``."""

from __future__ import annotations

import argparse
from typing import Final

from fabric.errors import Problem
from fabric.extras import install_command, lacking

LOCAL: Final = "local"
"""The address of a cluster on this machine; it has as many processes as --workers says."""


def add_workers(parser: argparse._ActionsContainer, *, shared: str = "") -> None:
    """Declare both; `shared`: what all workers must see."""
    parser.add_argument(
        "--workers", metavar="N", type=int, help="processes on this machine; default: one for each processor"
    )
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="use the workers of this Dask scheduler, such as tcp://host:8786"
        + (f"; they must see {shared}" if shared else "")
        + f"; '{LOCAL}': a cluster on this machine",
    )


def problems_of_workers(args: argparse.Namespace) -> list[Problem]:
    """Numbers that are not possible, and a number of processes for a scheduler that has its own."""
    problems = []
    if args.workers is not None and args.workers < 1:
        problems.append(Problem("--workers", f"{args.workers} processes are not possible", "give 1 or more"))
    if args.workers is not None and args.dask is not None and args.dask != LOCAL:
        problems.append(
            Problem("--workers", "has no effect with --dask", "the scheduler has its workers; leave it out")
        )
    if args.dask is not None and lacking("distributed"):
        problems.append(Problem("--dask", "distributed is not installed", f"run: {install_command('distributed')}"))
    return problems
