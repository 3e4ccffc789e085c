"""``fabric tune STUDY.yml``: search for the best points of a study, and print the chosen one as configuration."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabric.cli.options.output import add_out
from fabric.cli.sweep import EXIT_INTERRUPTED, add_execution, check_options, how_of
from fabric.cli.terminal import streams
from fabric.visible import command, visible

if TYPE_CHECKING:  # the engine and its compiler are loaded when there is something to run
    from fabric.studies.analysis import Analysis
    from fabric.studies.plan import StudyPlan
    from fabric.studies.tune import Tuned


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = (
        "examples:\n"
        "  fabric tune --list                          the studies that come with the package\n"
        "  fabric tune tune-ecn                        one of them\n"
        "  fabric tune STUDY.yml --out DIR --resume    go on after Ctrl-C or a crash\n"
        "docs/study.md has the fields of a study, docs/studies.md a search with its figures."
    )
    parser.add_argument(
        "study", metavar="STUDY", type=Path, nargs="?", help="study file (YAML), or the name of a shipped one"
    )
    add_out(parser, "DIR", "folder of the results; default studies/NAME")
    add_execution(parser)
    parser.add_argument("--list", action="store_true", help="print the studies that come with the package")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Read, search, confirm, report. Exit 1 where no point meets the constraints."""
    args.estimate = False
    check_options(args)
    if args.list:
        return _list(as_json=args.json)
    from fabric.errors import InputErrors, Problem  # noqa: PLC0415  as below

    if args.study is None:
        raise InputErrors("options", [Problem("STUDY", "is missing", "name a study; `fabric tune --list` has some")])
    from fabric.studies.plan import load_study  # noqa: PLC0415  --help must not load the compiler

    return _tune(args, load_study(args.study, search=True))


def _tune(args: argparse.Namespace, plan: StudyPlan) -> int:
    from fabric.cli.terminal.study_progress import StudyProgress  # noqa: PLC0415  as in run()
    from fabric.studies import carry_out  # noqa: PLC0415

    out = args.out or Path("studies") / plan.study.name
    try:
        with StudyProgress(sys.stderr, quiet=args.quiet) as line:
            found, analysis, facts = carry_out.tune(plan, how_of(args, out, line))
    except KeyboardInterrupt:
        again = command("fabric", "tune", args.study, "--out", out, "--resume")
        streams.say(f"interrupted; finished runs are kept in {visible(str(out))}; go on with: {again}")
        return EXIT_INTERRUPTED
    _tell(args, found, analysis, facts, out)
    return int(found.chosen is None)


def _tell(args: argparse.Namespace, found: Tuned, analysis: Analysis, facts: Mapping[str, Any], out: Path) -> None:
    from fabric.render.text import console_for, print_document  # noqa: PLC0415  as in run()
    from fabric.studies.dataset import REPORT, StudyResults  # noqa: PLC0415
    from fabric.studies.tune_report import tune_document  # noqa: PLC0415

    if args.json:
        print(json.dumps({"directory": str(out), "digest": StudyResults(out).digest(), **facts}, indent=2))
        return
    document = tune_document(found, analysis, drawn=False)
    shown = tuple(it for it in document.sections if it.key != "study")
    print_document(replace(document, sections=shown), console_for(sys.stdout))
    print(f"\nresults in {visible(str(out))}; the page: {visible(str(out / REPORT))}")


def _list(*, as_json: bool) -> int:
    from fabric import shipped  # noqa: PLC0415  as in run()
    from fabric.studies.plan import read_study  # noqa: PLC0415

    rows = [(it.stem, read_study(it)) for it in shipped.studies()]
    if as_json:
        about = [{"name": name, "description": it.description, "tune": it.tune is not None} for name, it in rows]
        print(json.dumps(about, indent=2))
        return 0
    from rich.table import Table  # noqa: PLC0415  for people only

    from fabric.render.console import PlainConsole  # noqa: PLC0415

    table = Table("study", "for", "what it asks", box=None, pad_edge=False)
    for name, it in rows:
        table.add_row(name, "tune, sweep" if it.tune is not None else "sweep", it.description)
    PlainConsole(sys.stdout).print(table)
    return 0
