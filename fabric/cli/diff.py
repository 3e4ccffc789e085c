"""``fabric diff DIR DIR``: what differs between two runs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabric.visible import visible

if TYPE_CHECKING:  # annotations only
    from fabric.runs.rundir import RunDir


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("a", metavar="DIR", type=Path, help="a run directory")
    parser.add_argument("b", metavar="DIR", type=Path, help="the run directory to compare it with")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the findings as JSON")
    form.add_argument(
        "--page",
        metavar="OUT.html",
        type=Path,
        help="write a page instead: both maps side by side, and what changed; '-' for standard output",
    )
    parser.epilog = (
        "exits with 1 where the results differ, 0 where they are the same; "
        "example: fabric diff runs/before runs/after --page diff.html"
    )


def run(args: argparse.Namespace) -> int:
    """Compare and print; 1 where the digests differ."""
    from fabric.explain.diff import compare, print_diff  # noqa: PLC0415  pyarrow and rich are for this verb alone
    from fabric.runs.rundir import RunDir  # noqa: PLC0415

    if args.page is not None:
        from fabric.cli.options.output import problems_of_out  # noqa: PLC0415
        from fabric.errors import InputErrors, Problem  # noqa: PLC0415

        problems = problems_of_out(args.page, (), (), "--page")
        whole = args.page.resolve()
        problems += [
            Problem(f"--page {args.page}", f"lies in the run {run}", "name a file outside of both runs")
            for run in (args.a, args.b)
            if run.resolve() in whole.parents
        ]
        if problems:
            raise InputErrors("options", problems)
    runs = RunDir.open(args.a), RunDir.open(args.b)
    found = compare(*runs)
    if args.page is not None:
        _page(found, runs, args)
    elif args.json:
        print(json.dumps(found, indent=2))
    else:
        print_diff(found, (visible(str(args.a)), visible(str(args.b))), sys.stdout)
    return 0 if found["same"] else 1


def _page(found: Mapping[str, Any], runs: tuple[RunDir, RunDir], args: argparse.Namespace) -> None:
    """Write the page, and print where it is."""
    from fabric.cli.options.output import STDOUT, write_styled  # noqa: PLC0415  as in run()
    from fabric.explain.diff_page import diff_document  # noqa: PLC0415
    from fabric.explain.evidence import Evidence  # noqa: PLC0415
    from fabric.render.html import to_html  # noqa: PLC0415
    from telemetry.sources.focus import focus_of  # noqa: PLC0415

    before, after = (Evidence(run) for run in runs)
    names = str(args.a), str(args.b)
    document = diff_document(found, (before, after), names, (focus_of(before), focus_of(after)))
    write_styled(args.page, to_html(document), "html")
    if args.page != STDOUT:
        print(args.page)
