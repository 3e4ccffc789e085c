"""`--threads`: of the option, else of the user's configuration."""

from __future__ import annotations

import argparse

from fabric.cli.settings import settings
from fabric.errors import Problem


def add_threads(parser: argparse._ActionsContainer) -> None:
    """Declare it."""
    parser.add_argument(
        "--threads",
        metavar="N",
        type=int,
        help="threads of the engine, which never change the result (default: of `fabric config`, else 1)",
    )


def problems_of_threads(args: argparse.Namespace) -> list[Problem]:
    """Set args.threads where it was not given. Returns: why it cannot be used. Raises: InputErrors of the file."""
    if args.threads is None:
        args.threads = settings().threads
    if args.threads < 1:
        return [Problem("--threads", f"{args.threads} threads are not possible", "give 1 or more")]
    return []
