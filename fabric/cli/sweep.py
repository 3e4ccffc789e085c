"""``fabric sweep STUDY.yml``: simulate a scenario at every point of a design, and show what the points differ in."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabric.cli.options.estimating import YES_HELP, confirmed
from fabric.cli.options.output import add_out
from fabric.cli.options.workers import add_workers, problems_of_workers
from fabric.cli.terminal import streams
from fabric.cli.terminal.study_estimate import tell_estimate
from fabric.errors import InputErrors, Problem
from fabric.extras import SWEEP, check_installed
from fabric.visible import command, visible

if TYPE_CHECKING:  # the engine and its compiler are loaded when there is something to run
    from fabric.cli.terminal.study_progress import StudyProgress
    from fabric.studies.analysis import Analysis
    from fabric.studies.carry_out import How
    from fabric.studies.plan import Examined, StudyPlan

EXIT_INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = (
        "examples:\n"
        "  fabric sweep ecn-curve                      a study that comes with the package\n"
        "  fabric sweep STUDY.yml --estimate           runs, time and memory, without a run\n"
        "  fabric sweep STUDY.yml --warm-up            how long its runs take to settle\n"
        "  fabric sweep STUDY.yml --out DIR --resume   go on after Ctrl-C or a crash\n"
        "docs/study.md has the fields of a study, docs/howto/sweep.md a walk through one."
    )
    parser.add_argument("study", metavar="STUDY", type=Path, help="study file (YAML), or the name of a shipped one")
    add_out(parser, "DIR", "folder of the results; default studies/NAME")
    add_execution(parser)
    parser.add_argument("--list", action="store_true", help="print the points, and simulate nothing")
    parser.add_argument(
        "--estimate",
        action="store_true",
        help="print runs, time and memory, and simulate nothing; exit 1 where it asks",
    )
    parser.add_argument(
        "--warm-up",
        action="store_true",
        help="carry out the baseline alone, and print the warm_up after which its runs are in a steady state; exit 1 "
        "where they are in none",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_execution(parser: argparse.ArgumentParser) -> None:
    """Declare the options of every verb that carries out many runs."""
    add_workers(parser)
    parser.add_argument("--resume", action="store_true", help="do what is left of the study in --out")
    parser.add_argument("--force", action="store_true", help="replace the study in --out")
    parser.add_argument("--yes", action="store_true", help=YES_HELP)
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def run(args: argparse.Namespace) -> int:
    """Read, check, estimate, simulate, report. Exit 1 where a run failed."""
    check_options(args)
    _check_pilots(args)
    if not (args.list or args.estimate or args.warm_up):
        check_installed(*SWEEP)
    from fabric.studies.plan import examine, load_study  # noqa: PLC0415  --help must not load the compiler

    plan = load_study(args.study)
    if args.list:
        return _list(plan, as_json=args.json)
    examined = examine(plan)
    if args.warm_up:
        return _warm_up(args, plan)
    if args.estimate:
        return _estimate(args, plan, examined)
    return _sweep(args, plan, examined)


def _check_pilots(args: argparse.Namespace) -> None:
    """Raises: InputErrors for options that have no effect with --warm-up."""
    if not args.warm_up:
        return
    others = ("list", "estimate", "out", "workers", "dask", "resume", "force", "yes", "quiet")
    if given := [f"--{name}" for name in others if getattr(args, name) not in (None, False)]:
        text = "has no effect with --warm-up, which carries out a few runs in this process and keeps nothing"
        raise InputErrors("options", [Problem(it, text, "leave it out") for it in given])


def _warm_up(args: argparse.Namespace, plan: StudyPlan) -> int:
    from fabric.cli.terminal.study_warm_up import tell_warm_up  # noqa: PLC0415  as in run()
    from fabric.studies.warm_up import warm_up_of  # noqa: PLC0415

    return tell_warm_up(plan, warm_up_of(plan), as_json=args.json)


def check_options(args: argparse.Namespace) -> None:
    """Raises: InputErrors with every problem of the options."""
    problems = problems_of_workers(args)
    if args.resume and args.force:
        problems.append(Problem("--resume", "contradicts --force", "give one of them"))
    if args.list and args.estimate:
        problems.append(Problem("--list", "contradicts --estimate", "give one of them"))
    for name in ("resume", "force", "quiet", "yes"):
        if getattr(args, name) and (args.list or args.estimate):
            what = "--list" if args.list else "--estimate"
            problems.append(Problem(f"--{name}", f"has no effect with {what}, which simulates nothing", "leave it out"))
    if problems:
        raise InputErrors("options", problems)


def how_of(args: argparse.Namespace, out: Path, line: StudyProgress) -> How:
    """How the options want it carried out."""
    from fabric.studies.carry_out import How  # noqa: PLC0415  as in run()

    return How(
        out,
        args.workers,
        args.dask,
        args.resume,
        args.force,
        args.yes,
        confirm=confirmed,
        on_begin=line.begins,
        on_result=line.update,
    )


def _sweep(args: argparse.Namespace, plan: StudyPlan, examined: Examined) -> int:
    from fabric.cli.terminal.study_progress import StudyProgress  # noqa: PLC0415  as in run()
    from fabric.studies import carry_out  # noqa: PLC0415

    out = args.out or Path("studies") / plan.study.name
    with StudyProgress(sys.stderr, quiet=args.quiet) as line:
        swept = carry_out.sweep(plan, examined, how_of(args, out, line))
    found, ended = swept.found, swept.ended
    facts = {"directory": str(out), "status": swept.status, "digest": swept.digest}
    _tell(args, plan, examined, found, facts, complete=swept.complete)
    for number, why in list(ended.lost.items())[:3]:
        streams.say(f"run {number} is not done: {why}")
    if not swept.complete:
        again = command("fabric", "sweep", args.study, "--out", out, "--resume")
        streams.say(f"{found.runs:,} runs are done and kept in {visible(str(out))}; go on with: {again}")
    if swept.interrupted:
        return EXIT_INTERRUPTED
    return int(bool(ended.failed) or bool(ended.lost))


def _tell(
    args: argparse.Namespace,
    plan: StudyPlan,
    examined: Examined,
    found: Analysis,
    facts: dict[str, Any],
    *,
    complete: bool,
) -> None:
    from fabric.render.text import console_for, print_document  # noqa: PLC0415  as in run()
    from fabric.studies.report import as_json, compose  # noqa: PLC0415

    if args.json:
        left_out = [
            {"point": number // len(plan.workloads), "problem": why} for number, why in examined.invalid.items()
        ]
        print(json.dumps({**facts, "left_out": left_out, **as_json(found)}, indent=2))
        return
    document = compose(found, examined.invalid, complete=complete, drawn=False)
    without = tuple(it for it in document.sections if it.key != "study")
    from dataclasses import replace  # noqa: PLC0415

    print_document(replace(document, sections=without), console_for(sys.stdout))
    print(f"\nresults in {visible(facts['directory'])}; the page: {visible(facts['directory'])}/report.html")


def _list(plan: StudyPlan, *, as_json: bool) -> int:
    rows = [
        {"point": point.number, "values": {name: value.shown for name, value in point.values.items()}}
        for point in plan.points
    ]
    if as_json:
        print(json.dumps({"name": plan.study.name, "points": rows}, indent=2))
        return 0
    from rich.table import Table  # noqa: PLC0415  for people only

    from fabric.render.console import PlainConsole  # noqa: PLC0415

    table = Table("point", *plan.levels, box=None, pad_edge=False)
    for point in plan.points:
        table.add_row(str(point.number), *(visible(it.shown) for it in point.values.values()))
    PlainConsole(sys.stdout).print(table)
    return 0


def _estimate(args: argparse.Namespace, plan: StudyPlan, examined: Examined) -> int:
    from fabric.studies.admission import objections, totals  # noqa: PLC0415  as in run()

    slots = args.workers or len(os.sched_getaffinity(0))
    found = totals(plan, examined, slots)
    head = f"{len(plan.points):,} points, {found.runs:,} runs{', or more' if plan.study.repetitions.until else ''}"
    facts = {"points": len(plan.points)}
    asks = objections(plan, examined, slots, found.time_s)
    return tell_estimate(plan, found, asks, examined, head, facts, as_json=args.json)
