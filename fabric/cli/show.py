"""``fabric show DIR [TABLE]``: the tables of a run."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fabric.errors import InputErrors, Problem

if TYPE_CHECKING:  # pyarrow is loaded when there is something to show
    from fabric.runs.rundir import RunDir

_TABLES = (
    "summary",
    "messages",
    "ports",
    "queues",
    "pfc",
    "pfc-history",
    "ecn",
    "drops",
    "hosts",
    "arp",
    "datagrams",
    "events",
)


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
    parser.add_argument(
        "--format",
        choices=("table", "csv", "json", "jsonl"),
        help="default table; csv has no cells that a spreadsheet executes; jsonl writes events for log stores, "
        "one object a line with a wall clock time counted from the start of the run",
    )
    parser.add_argument("--json", action="store_true", help="the same as --format json")


def run(args: argparse.Namespace) -> int:
    """Print one table."""
    from fabric.render import run_page as page  # noqa: PLC0415  pyarrow and rich are for this verb alone
    from fabric.render import tables, views  # noqa: PLC0415
    from fabric.runs.rundir import RunDir  # noqa: PLC0415

    style = _checked(args)
    found = RunDir.open(args.directory)
    if style == "jsonl":
        _print_lines(found)
        return 0
    if args.table == "summary":
        found.verify()  # it speaks for all tables
        if style == "json":
            print(json.dumps(found.summary, indent=2))
        else:
            page.print_summary(found.manifest, found.summary, sys.stdout, found.path)
        return 0
    view = tables.select(views.VIEWS[args.table](found), filters=args.filters, sort=args.sort, ascending=args.ascending)
    if style == "json":
        print(tables.as_json(view, args.top))
    elif style == "csv":
        print(tables.as_csv(view, args.top), end="")
    else:
        tables.print_view(view, sys.stdout, tables.TERMINAL_ROWS if args.top is None else args.top)
    return 0


def _print_lines(run: RunDir) -> None:
    """The event log for a log store: a second of simulated time is a second."""
    from fabric.explain.eventlines import as_json, lines_of_run  # noqa: PLC0415

    for line in lines_of_run(run, datetime.fromisoformat(run.manifest["started"])):
        print(as_json(line))


def _checked(args: argparse.Namespace) -> str:
    """The format; every problem of the options together."""
    problems = []
    if args.json and args.format not in {None, "json"}:
        problems.append(Problem("--json", f"contradicts --format {args.format}", "give one of them"))
    if args.top is not None and args.top < 1:
        problems.append(Problem("--top", f"{args.top} rows are not possible", "give 1 or more"))
    style = "json" if args.json else args.format or "table"
    if style == "jsonl":
        given = {"--sort": args.sort, "--ascending": args.ascending, "--top": args.top, "--filter": args.filters}
        problems += [
            Problem(name, "has no effect on --format jsonl", "filter the lines, for example with jq")
            for name, value in given.items()
            if value
        ]
        if args.table != "events":
            problems.append(Problem("--format", f"jsonl writes events, not {args.table}", "name the table: events"))
    elif args.table == "summary":
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
