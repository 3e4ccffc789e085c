"""``fabric compare``: the same traffic under several congestion controls and load balancers."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fabric import shipped
from fabric.cli.options.output import add_out
from fabric.cli.options.workers import problems_of_workers
from fabric.cli.sweep import EXIT_INTERRUPTED, add_execution, how_of
from fabric.cli.terminal import streams
from fabric.errors import InputErrors, Problem
from fabric.visible import command, visible

if TYPE_CHECKING:  # the engine and its compiler are loaded when there is something to run
    from fabric.studies.carry_out import Swept
    from fabric.studies.plan import Examined, StudyPlan

_MOST_SEEDS = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = (
        "examples:\n"
        "  fabric compare incast permutation --cc dcqcn,dctcp,none\n"
        "  fabric compare permutation --balance ecmp,spray,adaptive --seeds 5\n"
        "  fabric compare balancers --page balancers.html     a study that comes with the package\n"
        "docs/howto/compare.md is a walk through one."
    )
    parser.add_argument(
        "what",
        metavar="WHAT",
        nargs="+",
        type=Path,
        help="scenarios, with --cc or --balance; or one study file, or the name of a shipped one",
    )
    parser.add_argument("--cc", metavar="A,B", help="congestion controls, as transport.cc names them")
    parser.add_argument(
        "--balance",
        metavar="X,Y",
        help="ecmp, e-ecmp, weighted, flowlet, spray, adaptive, adaptive-notices, source-routed",
    )
    parser.add_argument("--seeds", metavar="N", type=int, help="runs of each combination (default 1)")
    add_out(parser, "DIR", "folder of the results; default studies/NAME")
    add_execution(parser)
    parser.add_argument("--page", metavar="FILE", type=Path, help="write the page here, besides DIR/report.html")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Read, check, simulate, compare. Exit 1 where a run failed."""
    _check(args)
    from fabric.studies.comparison import comparison_of, with_measures  # noqa: PLC0415  --help must not load the engine
    from fabric.studies.plan import examine, load_study  # noqa: PLC0415

    if args.cc is None and args.balance is None:
        plan = load_study(args.what[0])
    else:
        plan = comparison_of(args.what, _names(args.cc), _names(args.balance), args.seeds or 1)
    plan = with_measures(plan)
    return _compare(args, plan, examine(plan))


def _check(args: argparse.Namespace) -> None:
    """Raises: InputErrors with every problem of the options."""
    problems = problems_of_workers(args)
    if args.resume and args.force:
        problems.append(Problem("--resume", "contradicts --force", "give one of them"))
    for option in ("cc", "balance"):
        if getattr(args, option) is not None and not _names(getattr(args, option)):
            problems.append(Problem(f"--{option}", "names nothing", f"leave out --{option}, or name two"))
    if args.cc is None and args.balance is None:
        if len(args.what) > 1:
            text = "scenarios are compared under what --cc or --balance name"
            problems.append(Problem("WHAT", text, "add --cc dcqcn,dctcp or --balance ecmp,spray; or name one study"))
        if args.seeds is not None:
            text = "has no effect on a study, which has repetitions"
            problems.append(Problem("--seeds", text, "leave it out, or name scenarios with --cc or --balance"))
        if not shipped.study(args.what[0]).exists() and shipped.scenario(args.what[0]).exists():
            text = f"'{args.what[0]}' is a scenario, and nothing says what it is compared under"
            problems.append(Problem("WHAT", text, "add --cc dcqcn,dctcp or --balance ecmp,spray"))
    if args.seeds is not None and not 1 <= args.seeds <= _MOST_SEEDS:
        problems.append(Problem("--seeds", f"{args.seeds} is not possible", f"give 1 to {_MOST_SEEDS:,}"))
    if args.page is not None and not args.page.parent.is_dir():
        problems.append(Problem("--page", f"there is no folder '{args.page.parent}'", "make it, or name another file"))
    if args.page is not None and args.page.is_dir():
        problems.append(Problem("--page", f"'{args.page}' is a folder", "name a file, such as compare.html"))
    if problems:
        raise InputErrors("options", problems)


def _names(words: str | None) -> list[str]:
    return [it.strip() for it in (words or "").split(",") if it.strip()]


def _compare(args: argparse.Namespace, plan: StudyPlan, examined: Examined) -> int:
    from fabric.cli.terminal.study_progress import StudyProgress  # noqa: PLC0415  as in run()
    from fabric.studies import carry_out  # noqa: PLC0415
    from fabric.studies.comparison import compose_comparison  # noqa: PLC0415

    out = args.out or Path("studies") / plan.study.name
    with StudyProgress(sys.stderr, quiet=args.quiet) as line:
        swept = carry_out.sweep(plan, examined, how_of(args, out, line), compose_comparison)
    _tell(args, out, plan, examined, swept)
    for number, why in list(swept.ended.lost.items())[:3]:
        streams.say(f"run {number} is not done: {why}")
    if not swept.complete:
        options = [
            word
            for option in ("cc", "balance", "seeds")
            for word in (f"--{option}", getattr(args, option))
            if getattr(args, option) is not None
        ]
        again = command("fabric", "compare", *args.what, *options, "--out", out, "--resume")
        streams.say(f"{swept.found.runs:,} runs are done and kept in {visible(str(out))}; go on with: {again}")
    if swept.interrupted:
        return EXIT_INTERRUPTED
    return int(bool(swept.ended.failed) or bool(swept.ended.lost))


def _tell(args: argparse.Namespace, out: Path, plan: StudyPlan, examined: Examined, swept: Swept) -> None:
    from fabric.render.text import console_for, print_document  # noqa: PLC0415  as in run()
    from fabric.studies.comparison import comparison_json, compose_comparison  # noqa: PLC0415
    from fabric.studies.dataset import REPORT  # noqa: PLC0415
    from fabric.studies.report import as_json  # noqa: PLC0415

    if args.page is not None:
        args.page.write_bytes((out / REPORT).read_bytes())
    if args.json:
        facts = {
            "directory": str(out),
            "status": swept.status,
            "digest": swept.digest,
            "left_out": list(examined.invalid.values()),
            "notes": list(plan.notes),
            **as_json(swept.found),
            "comparison": comparison_json(swept.found),
        }
        print(json.dumps(facts, indent=2))
        return
    document = compose_comparison(swept.found, examined.invalid, complete=swept.complete, drawn=False)
    print_document(document, console_for(sys.stdout))
    print(f"\nresults in {visible(str(out))}; the page: {visible(str(args.page or out / 'report.html'))}")
