"""``fabric report DIR``: one page about a run, as HTML, as text, or as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the run directory and the three renderings."""
    parser.add_argument("dir", metavar="DIR", help="run directory written by `fabric run`")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path,
                        help="where to write the page (default: DIR/report.html); '-' for standard output")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--text", action="store_true", help="print it instead: tables and trees, no curves")
    form.add_argument("--json", action="store_true", help="print one JSON object instead, numbers in base units")


def run(args: argparse.Namespace) -> int:
    """Write or print the report; exit 1 where an expectation was not met."""
    from fabric.errors import FabricError  # noqa: PLC0415  --help must not load pyarrow
    from fabric.report.compose import compose  # noqa: PLC0415
    from fabric.report.evidence import Evidence  # noqa: PLC0415
    from fabric.report.files import write_text  # noqa: PLC0415
    from fabric.report.html import to_html  # noqa: PLC0415
    from fabric.report.json import to_json  # noqa: PLC0415
    from fabric.report.rundir import RunDir  # noqa: PLC0415
    from fabric.report.text import console_for, print_document  # noqa: PLC0415

    if args.output is not None and (args.text or args.json):
        raise FabricError("--output has no effect with --text or --json", "redirect standard output instead")
    run_dir = RunDir.open(args.dir)
    document = compose(Evidence(run_dir))
    if args.text:
        print_document(document, console_for(sys.stdout))
    elif args.json:
        print(json.dumps(to_json(document), indent=2))
    elif args.output == Path("-"):
        print(to_html(document), end="")
    else:
        page = args.output or run_dir.path / "report.html"
        write_text(page, to_html(document))
        print(page)
    return 0 if all(it["met"] for it in run_dir.summary["expectations"]) else 1
