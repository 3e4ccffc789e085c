"""``fabric schema``: the data dictionary of a run directory, or the JSON Schema of the scenario file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from fabric.errors import InputErrors, Problem


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", action="store_true", help="the dictionary as JSON")
    parser.add_argument(
        "--scenario", action="store_true", help="the JSON Schema of the scenario file instead, for editors"
    )
    parser.add_argument(
        "--markdown", metavar="FILE", type=Path, help="write the dictionary to FILE, as docs/results.md is made"
    )


def run(args: argparse.Namespace) -> int:
    """Print or write."""
    if args.scenario and args.markdown is not None:
        raise InputErrors(
            "options",
            [Problem("--scenario", "contradicts --markdown", "`fabric scenario docs` describes the scenario file")],
        )
    if args.scenario:
        from fabric.scenario.schema import json_schema  # noqa: PLC0415  pydantic takes its time to load

        print(json.dumps(json_schema(), indent=2))
        return 0
    from fabric.report import dictionary  # noqa: PLC0415

    if args.markdown is not None:
        args.markdown.write_text(dictionary.markdown(), encoding="utf-8")
    elif args.json:
        print(json.dumps(dictionary.dictionary(), indent=2))
    else:
        print(dictionary.markdown(), end="")
    return 0
