"""`fabric job compare SCENARIO...`: jobs under several scenarios or placements, and their slowdown, in one table."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from fabric.cli.options.estimating import add_yes, admission
from fabric.cli.options.output import add_out, write_file
from fabric.cli.options.sets import add_sets
from fabric.cli.options.threads import add_threads, problems_of_threads
from fabric.errors import InputErrors, Problem
from fabric.units import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabric.cli.terminal.progress import ProgressLine
    from fabric.render.document import Document
    from fabric.runs.job_compare import Comparison, Variant
    from fabric.runs.session import Hooks

PLACEMENTS: Final = ("packed", "spread", "random", "rail-aligned")
WITH_FILE: Final = ("slurm", "file")


def add_compare(actions: Any) -> ArgumentParser:  # noqa: ANN401  argparse's type of subparsers is private
    """Declare the action."""
    parser: ArgumentParser = actions.add_parser(
        "compare", help="simulate scenarios or placements of their jobs, and compare steps, message tails and pauses"
    )
    parser.add_argument("scenarios", metavar="SCENARIO", nargs="+", type=Path, help="scenario with kind: job")
    parser.add_argument(
        "--placements",
        metavar="LIST",
        help="simulate the scenario with its jobs placed in each of these ways, and each job alone: "
        f"{','.join(PLACEMENTS)}, slurm=FILE, file=FILE",
    )
    parser.add_argument("--alone", action="store_true", help="also simulate each job alone, for its slowdown")
    add_sets(parser, "override a value of every scenario; repeatable")
    add_threads(parser)
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the comparison as a page")
    add_out(parser, "DIR", "keep the run directories in DIR")
    add_yes(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    return parser


def run_compare(args: Namespace) -> int:
    """Simulate, print the table, and write the page."""
    variants = _variants(args)
    from fabric.cli.terminal.progress import ProgressLine  # noqa: PLC0415
    from fabric.runs.job_compare import Simulator, compare  # noqa: PLC0415

    with TemporaryDirectory(prefix="fabric-", ignore_cleanup_errors=True) as temporary:
        folder = args.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        with ProgressLine(sys.stderr, quiet=args.quiet) as line:
            make = Simulator(
                folder,
                args.threads,
                lambda scenario: admission(scenario, yes=args.yes, out=folder),
                lambda label, number, total: _hooks(line, label, number, total),
            )
            found = compare(variants, make, with_alone=args.alone or args.placements is not None)
    page = _document(args, found)
    if args.html is not None:
        from fabric.render.html import to_html  # noqa: PLC0415

        write_file(args.html, to_html(page))
        print(f"wrote {args.html}", file=sys.stderr)
    if args.json:
        print(
            json.dumps({"rows": list(map(asdict, found.rows)), "variants": list(map(asdict, found.wholes))}, indent=1)
        )
    else:
        from fabric.render.text import console_for, print_document  # noqa: PLC0415

        print_document(page, console_for(sys.stdout))
    return 0


def _variants(args: Namespace) -> list[Variant]:
    from fabric import shipped  # noqa: PLC0415
    from fabric.runs.job_compare import Variant, placed_variants  # noqa: PLC0415
    from fabric.scenario.load import load_scenario  # noqa: PLC0415

    problems = []
    if args.placements is None and len(args.scenarios) == 1 and not args.alone:
        text = "there is nothing to compare"
        problems.append(Problem("command line", text, "name several scenarios, or give --placements or --alone"))
    if args.placements is not None and len(args.scenarios) > 1:
        problems.append(Problem("--placements", "needs one scenario", "name one scenario"))
    problems += problems_of_threads(args)
    ways = [] if args.placements is None else [way.strip() for way in args.placements.split(",") if way.strip()]
    if args.placements is not None and not ways:
        problems.append(Problem("--placements", "names none", f"such as {','.join(PLACEMENTS)}"))
    problems += [problem for way in ways if (problem := _wrong(way)) is not None]
    problems += [
        Problem("--placements", f"{way} is given twice", "name each once")
        for place, way in enumerate(ways)
        if way.partition("=")[0] in {other.partition("=")[0] for other in ways[:place]}
    ]
    if problems:
        raise InputErrors("command line", problems)
    scenarios = [load_scenario(shipped.scenario(file), args.sets) for file in args.scenarios]
    if ways:
        return placed_variants(scenarios[0], ways)
    names = [scenario.name for scenario in scenarios]
    labels = [name if names.count(name) == 1 else f"{name}-{row + 1}" for row, name in enumerate(names)]
    return [Variant(label, scenario) for label, scenario in zip(labels, scenarios, strict=True)]


def _wrong(way: str) -> Problem | None:
    policy, equals, file = way.partition("=")
    if policy in PLACEMENTS and not equals:
        return None
    if policy in WITH_FILE:
        return None if file else Problem("--placements", f"{way} needs a file", f"such as {policy}=FILE")
    return Problem(
        "--placements", f"{way!r} is no placement", f"use {listed([*PLACEMENTS, 'slurm=FILE', 'file=FILE'], 9)}"
    )


def _hooks(line: ProgressLine, label: str, number: int, total: int) -> Hooks:
    """Say which run begins, and show its progress."""
    from fabric.runs.session import Hooks  # noqa: PLC0415

    line.say(f"run {number} of {total}: {label}")
    return Hooks(on_progress=line.update)


def _document(args: Namespace, found: Comparison) -> Document:
    from fabric.render.job_comparison import comparison_document  # noqa: PLC0415

    names: Sequence[str] = [file.name for file in args.scenarios]
    return comparison_document(listed(list(names), 4), found)
