"""``fabric tune STUDY.yml``: search for the best points of a study, and print the chosen one as configuration."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabric.cli.options.output import add_out
from fabric.cli.sweep import EXIT_INTERRUPTED, add_execution, check_options, how_of
from fabric.cli.terminal import streams
from fabric.cli.terminal.study_estimate import tell_estimate
from fabric.errors import InputErrors, Problem
from fabric.extras import SEARCH, check_installed
from fabric.units import count
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
        "  fabric tune STUDY.yml --estimate            runs, time and memory, without a run\n"
        "  fabric tune STUDY.yml --out DIR --resume    go on after Ctrl-C or a crash\n"
        "docs/study.md has the fields of a study, docs/study-results.md searches with their figures."
    )
    parser.add_argument(
        "study", metavar="STUDY", type=Path, nargs="?", help="study file (YAML), or the name of a shipped one"
    )
    add_out(parser, "DIR", "folder of the results; default studies/NAME")
    add_execution(parser)
    parser.add_argument(
        "--configs",
        metavar="DIR",
        type=Path,
        help="make patches for the configurations in this folder, with their profiles, queues and ports, and check "
        "what they make of them; default: commands for a default configuration",
    )
    parser.add_argument("--list", action="store_true", help="print the studies that come with the package")
    parser.add_argument(
        "--estimate",
        action="store_true",
        help="print runs, time and memory, and simulate nothing; exit 1 where it asks",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Read, search, confirm, report. Exit 1 where no point meets the constraints, or a run was lost with its worker."""
    check_options(args)
    if args.configs is not None and (args.list or args.estimate):
        what = "--list" if args.list else "--estimate"
        problem = Problem("--configs", f"has no effect with {what}, which simulates nothing", "leave it out")
        raise InputErrors("options", [problem])
    if args.list:
        return _list(as_json=args.json)
    if args.study is None:
        raise InputErrors("options", [Problem("STUDY", "is missing", "name a study; `fabric tune --list` has some")])
    if not args.estimate:
        check_installed(*SEARCH)
    from fabric.studies.plan import load_study  # noqa: PLC0415  --help must not load the compiler

    plan = load_study(args.study, search=True)
    return _estimate(args, plan) if args.estimate else _tune(args, plan)


def _estimate(args: argparse.Namespace, plan: StudyPlan) -> int:
    from fabric.studies.admission import objections  # noqa: PLC0415  as in run()
    from fabric.studies.plan import examine_corners  # noqa: PLC0415
    from fabric.studies.search_size import SearchSize, search_totals  # noqa: PLC0415

    slots = args.workers or len(os.sched_getaffinity(0))
    examined = examine_corners(plan)
    size, found = SearchSize.of(plan), search_totals(plan, examined, slots)
    confirmed = size.after(size.front) - size.elsewhere
    parts = [f"{count(size.trials, 'trial')} of at most {count(size.searched, 'run')}"]
    if confirmed:
        also = " and the baseline" if size.baseline else ""
        parts.append(f"about {count(confirmed, 'run')} to confirm a front of {count(size.front, 'point')}{also}")
    if size.elsewhere:
        parts.append(f"{count(size.elsewhere, 'run')} elsewhere")
    head = ", ".join(parts)
    facts = {
        "trials": size.trials,
        "trial_runs": size.searched,
        "confirmation_runs": confirmed,
        "elsewhere_runs": size.elsewhere,
        "front": size.front,
    }
    asks = objections(plan, examined, slots, found.time_s)
    return tell_estimate(plan, found, asks, examined, head, facts, as_json=args.json)


def _tune(args: argparse.Namespace, plan: StudyPlan) -> int:
    from fabric.cli.terminal.study_progress import StudyProgress  # noqa: PLC0415  as in run()
    from fabric.studies import carry_out  # noqa: PLC0415
    from fabric.studies.search_runs import LostRunsError  # noqa: PLC0415

    out = args.out or Path("studies") / plan.study.name
    configs = [] if args.configs is None else ["--configs", args.configs]
    again = command("fabric", "tune", args.study, *configs, "--out", out, "--resume")
    try:
        with StudyProgress(sys.stderr, quiet=args.quiet) as line:
            how = replace(how_of(args, out, line), configs=args.configs)
            found, analysis, facts = carry_out.tune(plan, how)
    except KeyboardInterrupt:
        streams.say(f"interrupted; finished runs are kept in {visible(str(out))}; go on with: {again}")
        return EXIT_INTERRUPTED
    except LostRunsError as error:
        raise LostRunsError(
            error.text, f"finished runs are kept in {visible(str(out))}; go on with: {again}"
        ) from error
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
