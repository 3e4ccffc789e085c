"""``fabric show DIR [TABLE]``: the tables of a run."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from fabric.errors import InputErrors, Problem

_TABLES = ("summary", "messages", "ports", "queues", "pfc", "ecn", "drops", "hosts", "events")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("directory", metavar="DIR", type=Path, help="run directory")
    parser.add_argument("table", nargs="?", choices=_TABLES, default="summary", help="which table (default summary)")
    parser.add_argument("--sort", metavar="COLUMN", help="order by this column, the largest first")
    parser.add_argument("--ascending", action="store_true", help="the smallest first")
    parser.add_argument(
        "--top", metavar="N", type=int, help="only the first N rows (tables default to 20; CSV and JSON to all)"
    )
    parser.add_argument(
        "--filter",
        metavar="COLUMN=VALUE",
        action="append",
        default=[],
        dest="filters",
        help="only rows that match: port=leaf1:*, class=3, fct_ns>200us; repeatable",
    )
    parser.add_argument("--format", choices=("table", "csv", "json"), help="default table")
    parser.add_argument("--json", action="store_true", help="the same as --format json")


def run(args: argparse.Namespace) -> int:
    """Print one table."""
    from fabric.report import page, tables, views  # noqa: PLC0415  pyarrow and rich are for this verb alone
    from fabric.report.rundir import RunDir  # noqa: PLC0415

    style = _checked(args)
    found = RunDir.open(args.directory)
    if args.table == "summary":
        if style == "json":
            print(json.dumps(found.summary, indent=2))
        else:
            page.print_summary(found.manifest, found.summary, sys.stdout)
        return 0
    view = tables.select(views.VIEWS[args.table](found), filters=args.filters, sort=args.sort, ascending=args.ascending)
    if style == "json":
        print(tables.as_json(view, args.top))
    elif style == "csv":
        print(tables.as_csv(view, args.top), end="")
    else:
        tables.print_view(view, sys.stdout, tables.TERMINAL_ROWS if args.top is None else args.top)
    return 0


def _checked(args: argparse.Namespace) -> str:
    """The format; every problem of the options together."""
    problems = []
    if args.json and args.format not in {None, "json"}:
        problems.append(Problem("--json", f"contradicts --format {args.format}", "give one of them"))
    if args.top is not None and args.top < 1:
        problems.append(Problem("--top", f"{args.top} rows are none", "give 1 or more"))
    style = "json" if args.json else args.format or "table"
    if args.table == "summary":
        given = {"--sort": args.sort, "--ascending": args.ascending, "--top": args.top, "--filter": args.filters}
        problems += [
            Problem(name, "has no effect on the summary", "name a table: " + ", ".join(_TABLES[1:]))
            for name, value in given.items()
            if value
        ]
        if style == "csv":
            problems.append(Problem("--format", "the summary is not a table", "use json, or name a table"))
    if problems:
        raise InputErrors("options", problems)
    return style
