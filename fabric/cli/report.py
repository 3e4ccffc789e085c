"""``fabric report DIR``: report of a run, as HTML, text or JSON."""

from __future__ import annotations

import argparse
import json
import sys

from fabric.cli.options.output import STDOUT, add_out

EXPORTERS = ("ideal", "sonic", "sonic-10s", "hft")
"""Names in telemetry/record/polling/profiles.py, which --help must not load."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the run directory and the three renderings."""
    parser.add_argument("dir", metavar="DIR", help="run directory written by `fabric run`")
    add_out(parser, "FILE", "where to write the page (default: DIR/report.html); '-' for standard output")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--text", action="store_true", help="print it instead: tables and trees, no curves")
    form.add_argument("--json", action="store_true", help="print one JSON object instead, numbers in base units")
    parser.add_argument(
        "--as-seen-by",
        choices=EXPORTERS,
        help="add a section that compares true values with the values of this monitoring",
    )
    parser.add_argument(
        "--dilation",
        metavar="FACTOR",
        type=float,
        help="with --as-seen-by: seconds of the exporter's clock for one simulated second, so that a "
        "run of milliseconds is polled more than once (default 1: real periods)",
    )


def run(args: argparse.Namespace) -> int:
    """Write or print the report; exit 1 where an expectation was not met."""
    from fabric.errors import FabricError  # noqa: PLC0415  --help must not load pyarrow
    from fabric.explain.evidence import Evidence  # noqa: PLC0415
    from fabric.explain.report import compose  # noqa: PLC0415
    from fabric.render.html import to_html  # noqa: PLC0415
    from fabric.render.json import to_json  # noqa: PLC0415
    from fabric.render.text import console_for, print_document  # noqa: PLC0415
    from fabric.runs.files import write_text  # noqa: PLC0415
    from fabric.runs.rundir import RunDir  # noqa: PLC0415

    if args.out is not None and (args.text or args.json):
        raise FabricError("--out has no effect with --text or --json", "redirect standard output instead")
    if args.dilation is not None and args.as_seen_by is None:
        raise FabricError("--dilation has no effect without --as-seen-by", f"name one of {', '.join(EXPORTERS)}")
    run_dir = RunDir.open(args.dir)
    before = []
    if args.as_seen_by is not None:
        from telemetry.sources.seen_section import seen_section  # noqa: PLC0415  telemetry only where it is asked for

        before = [seen_section(run_dir, args.as_seen_by, 1.0 if args.dilation is None else args.dilation)]
    from telemetry.sources.focus import focus_of  # noqa: PLC0415  as above

    evidence = Evidence(run_dir)
    document = compose(evidence, before=before, focus=focus_of(evidence))
    if args.text:
        print_document(document, console_for(sys.stdout))
    elif args.json:
        print(json.dumps(to_json(document), indent=2))
    elif args.out == STDOUT:
        print(to_html(document), end="")
    else:
        page = args.out or run_dir.path / "report.html"
        write_text(page, to_html(document))
        print(page)
    return 0 if all(it["met"] for it in run_dir.summary["expectations"]) else 1
