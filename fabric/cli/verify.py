"""``fabric verify DIR``: whether the files of a run are as they were written."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("directory", metavar="DIR", type=Path, help="run directory, finished or killed")
    parser.add_argument("--json", action="store_true", help="print every file as JSON, also those that are whole")
    parser.epilog = "exits with 1 where a file is damaged or missing, 0 where all are as they were written"


def run(args: argparse.Namespace) -> int:
    """Compare every file with its checksum; name those that differ."""
    from fabric.report.integrity import examine  # noqa: PLC0415  pyarrow is loaded for this verb alone

    found = examine(args.directory)
    damaged = [it for it in found if it.fault]
    if args.json:
        print(json.dumps({
            "directory": str(args.directory),
            "whole": not damaged,
            "files": [{"file": it.file, "bytes": it.size_bytes, "fault": it.fault or None} for it in found],
        }, indent=2))
    else:
        for it in damaged:
            print(f"{args.directory / it.file}: {it.fault}")
        print(f"{len(damaged)} of {len(found)} files are damaged" if damaged
              else f"{len(found)} files, all as they were written")
    return 1 if damaged else 0
