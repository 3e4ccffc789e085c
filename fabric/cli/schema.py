"""``fabric schema``: the data dictionary of a run directory, or the JSON Schema of scenario and study files."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from fabric.cli.options.output import add_out, write_out
from fabric.errors import InputErrors, Problem


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", action="store_true", help="the dictionary as JSON")
    parser.add_argument(
        "--scenario", action="store_true", help="the JSON Schema of the scenario file instead, for editors"
    )
    parser.add_argument("--study", action="store_true", help="the JSON Schema of the study file instead, for editors")
    add_out(parser, "FILE", "write to FILE instead of standard output")
    parser.add_argument(
        "--markdown",
        metavar="FILE",
        type=Path,
        help="write the dictionary as Markdown, as docs/results.md is made; the same as --out FILE",
    )


def run(args: argparse.Namespace) -> int:
    """Print or write."""
    problems = []
    if args.study and args.scenario:
        problems.append(Problem("--study", "contradicts --scenario", "give one of them"))
    if args.study and args.markdown is not None:
        problems.append(Problem("--study", "contradicts --markdown", "docs/study.md describes the study file"))
    if args.markdown is not None:
        if args.scenario:
            problems.append(
                Problem("--scenario", "contradicts --markdown", "`fabric scenario docs` describes the scenario file")
            )
        if args.json:
            problems.append(Problem("--json", "contradicts --markdown", "use --out FILE"))
        if args.out is not None:
            problems.append(Problem("--out", "contradicts --markdown", "give one of them"))
    if problems:
        raise InputErrors("options", problems)
    out = args.markdown or args.out
    if args.scenario:
        from fabric.scenario.schema.scenario import json_schema  # noqa: PLC0415  pydantic takes its time to load

        write_out(out, json.dumps(json_schema(), indent=2) + "\n")
        return 0
    if args.study:
        from fabric.studies.schema import json_schema as of_study  # noqa: PLC0415  as above

        write_out(out, json.dumps(of_study(), indent=2) + "\n")
        return 0
    from fabric.runs import dictionary  # noqa: PLC0415

    text = json.dumps(dictionary.dictionary(), indent=2) + "\n" if args.json else dictionary.markdown()
    write_out(out, text)
    return 0
