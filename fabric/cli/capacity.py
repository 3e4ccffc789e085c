"""``fabric capacity``: growth, headroom and dates of exhaustion of link classes, from Prometheus or recorded runs."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabric.cli.options.output import STDOUT, add_out
from fabric.cli.options.prometheus import access_of, access_problems, add_access, given_access, warn_of_clear_text
from fabric.errors import InputErrors, Problem, UnitError
from fabric.extras import check_installed
from fabric.units import parse_duration_s

if TYPE_CHECKING:
    from collections.abc import Iterable

    from telemetry.capacity.history import Reading

DAY_S: Final = 86_400
LIMITS: Final = "70,80"
LEAD: Final = "84d"
PERIOD: Final = "1d"
SAMPLE: Final = "5min"
BACK: Final = "180d"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = (
        "The history of a fabric's links, their growth a month, the headroom to 70 and 80 % of the line rate, and\n"
        "when it ends, with an interval. From the metrics of the catalogue in a Prometheus, or from recorded runs."
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--prometheus", metavar="URL", help="a Prometheus, such as http://127.0.0.1:9090")
    source.add_argument(
        "--run",
        metavar="DATE=DIR",
        action="append",
        default=[],
        dest="runs",
        help="a run directory and the day that it stands for, such as 2026-01-31=runs/january; repeatable",
    )
    parser.add_argument("--start", metavar="RFC3339", help=f"with --prometheus: begin (default: {BACK} before the end)")
    parser.add_argument("--end", metavar="RFC3339", help="with --prometheus: end (default: now)")
    parser.add_argument(
        "--match", metavar="MATCHERS", help="with --prometheus: label matchers, such as 'job=\"fabric\"'"
    )
    parser.add_argument("--period", metavar="TIME", help=f"with --prometheus: time of one value (default {PERIOD})")
    parser.add_argument(
        "--sample",
        metavar="TIME",
        help=f"with --prometheus: time of one rate, of which a value is the 95th percentile (default {SAMPLE}); it "
        "must hold two scrapes",
    )
    parser.add_argument(
        "--limits", metavar="PERCENT,...", default=LIMITS, help=f"limits of utilisation, in per cent (default {LIMITS})"
    )
    parser.add_argument(
        "--lead-time", metavar="TIME", default=LEAD, help=f"from an order to its use, such as 12d (default {LEAD})"
    )
    parser.add_argument("--mean", action="store_true", help="of the mean of a class's ports, not of its busiest one")
    add_access(parser)
    add_out(parser, "FILE", "write the report as a page, with drawings; '-' for standard output")
    parser.add_argument("--json", action="store_true", help="print the report as JSON, times as dates")


def run(args: argparse.Namespace) -> int:
    """Read the history, fit, report."""
    problems: list[Problem] = []
    limits = _limits(args.limits, problems)
    lead_s = _duration("--lead-time", args.lead_time, problems)
    if args.json and args.out == STDOUT:
        problems.append(Problem("--out", "'-' has no effect with --json, which prints", "name a file, or leave it out"))
    check_installed("scipy", *(("matplotlib",) if args.out is not None else ()))
    found, where = _source(args, problems)
    from fabric.render.html import to_html  # noqa: PLC0415  --help must not load pyarrow
    from fabric.render.json import to_json  # noqa: PLC0415
    from fabric.render.text import console_for, print_document  # noqa: PLC0415
    from fabric.runs.files import write_text  # noqa: PLC0415
    from telemetry.capacity.history import histories  # noqa: PLC0415
    from telemetry.sources.capacity_page import compose, examine  # noqa: PLC0415

    classes = examine(histories(found), limits, mean=args.mean)
    document = compose(where, classes, limits, lead_s, mean=args.mean, pictures=args.out is not None)
    if args.out == STDOUT:
        print(to_html(document), end="")
        return 0
    if args.out is not None:
        write_text(args.out, to_html(document))
    if args.json:
        print(json.dumps(to_json(document), indent=2))
    else:
        print_document(document, console_for(sys.stdout))
        if args.out is not None:
            print(f"\nthe page is {args.out}")
    return 0


def _source(args: argparse.Namespace, problems: list[Problem]) -> tuple[Iterable[Reading], str]:
    """(readings, where they are from), after all problems of the options."""
    if args.prometheus is None:
        given = ("start", "end", "match", "period", "sample")
        problems += [
            Problem(f"--{name}", "has no effect without --prometheus", "leave it out")
            for name in given
            if getattr(args, name)
        ]
        problems += [Problem(it, "has no effect without --prometheus", "leave it out") for it in given_access(args)]
        runs = [_dated(text, problems) for text in args.runs]
        if problems:
            raise InputErrors("options", problems)
        from telemetry.sources.capacity_runs import readings as of_runs  # noqa: PLC0415  pyarrow

        kept = [it for it in runs if it is not None]
        return of_runs(sorted(kept, key=lambda it: it[0])), f"{len(kept)} recorded runs"
    problems += access_problems(args, args.prometheus, "--prometheus")
    period, sample = (
        _duration(option, value or default, problems)
        for option, value, default in (("--period", args.period, PERIOD), ("--sample", args.sample, SAMPLE))
    )
    if period and sample and sample >= period:
        problems.append(Problem("--sample", f"{sample} s is no part of a period of {period} s", "give a shorter time"))
    end = int(time.time()) if args.end is None else _moment("--end", args.end, problems)
    start = end - parse_duration_s(BACK) if args.start is None else _moment("--start", args.start, problems)
    if not problems and start >= end:
        problems.append(Problem("--start", "is not before the end", "begin earlier"))
    if problems:
        raise InputErrors("options", problems)
    from telemetry.capacity.prometheus_api import Source, readings  # noqa: PLC0415  numpy

    warn_of_clear_text(args, args.prometheus)
    source = Source(args.prometheus, args.match or "", sample, period, access=access_of(args))
    return readings(source, start, end), args.prometheus


def _limits(text: str, problems: list[Problem]) -> list[float]:
    try:
        found = sorted({float(it) / 100 for it in text.split(",")})
    except ValueError:
        found = []
    if not found or not all(0 < it <= 1 for it in found):
        problems.append(Problem("--limits", f"'{text}' are not per cents", "above 0, at most 100, such as 70,80"))
    return found


def _duration(option: str, text: str, problems: list[Problem]) -> int:
    try:
        found = parse_duration_s(text)
    except UnitError as error:
        problems.append(Problem(option, error.text, error.hint))
        return 0
    if not 0 < found < math.inf:
        problems.append(Problem(option, f"'{text}' is no time", "give a time above 0"))
    return found


def _moment(option: str, text: str, problems: list[Problem]) -> int:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        problems.append(Problem(option, f"{text!r} is not a date and time", "write it as 2026-01-31T12:00:00Z"))
        return 0
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())


def _dated(text: str, problems: list[Problem]) -> tuple[float, Path] | None:
    date, equals, folder = text.partition("=")
    before = len(problems)
    moment = _moment(f"--run {text}", date, problems) if equals else 0
    if not equals or not folder:
        problems.append(Problem(f"--run {text}", "is not DATE=DIR", "such as 2026-01-31=runs/january"))
    return (float(moment), Path(folder)) if len(problems) == before else None
