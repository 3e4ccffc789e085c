"""``fabric diff DIR DIR``: what differs between two runs."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("a", metavar="DIR", type=Path, help="a run directory")
    parser.add_argument("b", metavar="DIR", type=Path, help="the run directory to compare it with")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.epilog = "exits with 1 where the results differ, 0 where they are the same"


def run(args: argparse.Namespace) -> int:
    """Compare and print; 1 where the digests differ."""
    from fabric.report.diff import compare, print_diff  # noqa: PLC0415  pyarrow and rich are for this verb alone
    from fabric.report.rundir import RunDir  # noqa: PLC0415

    found = compare(RunDir.open(args.a), RunDir.open(args.b))
    if args.json:
        print(json.dumps(found, indent=2))
    else:
        print_diff(found, (str(args.a), str(args.b)), sys.stdout)
    return 0 if found["same"] else 1
