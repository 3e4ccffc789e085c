"""``fabric verify DIR``: check the files of a run or a study against their checksums."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from fabric.visible import visible


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "directory",
        metavar="DIR",
        type=Path,
        help="run directory, or folder of a sweep, search or what-if study; finished or killed",
    )
    parser.add_argument("--json", action="store_true", help="print every file as JSON, also undamaged files")
    parser.epilog = "exits with 1 where a file is damaged or missing, otherwise with 0"


def run(args: argparse.Namespace) -> int:
    """Compare every file with its checksum; print the files that differ."""
    from fabric.runs import integrity  # noqa: PLC0415  pyarrow is loaded for this verb alone
    from fabric.studies import integrity as study_integrity  # noqa: PLC0415

    is_study = study_integrity.is_study(args.directory)
    found = (study_integrity if is_study else integrity).examine(args.directory)
    damaged = [it for it in found if it.fault]
    if args.json:
        print(
            json.dumps(
                {
                    "directory": str(args.directory),
                    "whole": not damaged,
                    "files": [{"file": it.file, "bytes": it.size_bytes, "fault": it.fault or None} for it in found],
                },
                indent=2,
            )
        )
    else:
        for it in damaged:
            print(visible(f"{args.directory / it.file}: {it.fault}"))
        print(f"{len(damaged)} of {len(found)} files are damaged" if damaged else f"{len(found)} files, all undamaged")
    return 1 if damaged else 0
