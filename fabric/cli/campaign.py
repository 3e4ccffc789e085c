"""``fabric campaign``: random fabrics, loads and faults; how well the diagnosis names the faults."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabric.cli.options.output import add_out, problems_of_out, write_out
from fabric.cli.options.workers import add_workers, problems_of_workers
from fabric.cli.terminal import streams
from fabric.errors import InputErrors, Problem
from fabric.visible import command, visible

if TYPE_CHECKING:  # the engine and its compiler are loaded when there is something to run
    from telemetry.campaign.seeds import Seed, Side

EXIT_INTERRUPTED: Final = 130
_RUNS: Final = 100
_OF_RUNS: Final = ("runs", "first", "out", "workers", "dask", "resume", "force", "quiet", "test", "page", "fit", "read")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = (
        "examples:\n"
        "  fabric campaign --runs 20                  20 cases, to see what it is\n"
        "  fabric campaign --runs 500 --resume        go on after Ctrl-C, or do more\n"
        "  fabric campaign --test --first 110         seeds that nobody has looked at yet\n"
        "  fabric campaign --test --page page.md      figures on other seeds, as a page\n"
        "  fabric campaign --write-case tune/17 DIR   one case, for `fabric run`\n"
        "docs/detection.md has conditions and figures, docs/diagnosis.md the rules."
    )
    parser.add_argument("--runs", metavar="N", type=int, help=f"cases, as many seeds; default {_RUNS}")
    parser.add_argument("--first", metavar="SEED", type=int, help="number of the first seed; default 0")
    parser.add_argument(
        "--test", action="store_true", help="seeds that no rule was fitted on, with other chips and shapes"
    )
    add_out(parser, "DIR", "folder of the results; default campaigns/tune, or campaigns/test")
    parser.add_argument("--as-seen-by", choices=("ideal", "sonic"), help="counters that are known; default ideal")
    add_workers(parser)
    parser.add_argument("--resume", action="store_true", help="do what is left of the campaign in --out")
    parser.add_argument("--force", action="store_true", help="replace the campaign in --out")
    parser.add_argument("--read", action="store_true", help="simulate nothing: figures of the campaign in --out")
    parser.add_argument("--page", metavar="PAGE", type=Path, help="with --test, the page of the figures (Markdown)")
    parser.add_argument("--fit", metavar="FILE", type=Path, help="write the table of confidence, from tune seeds alone")
    parser.add_argument(
        "--write-case", metavar=("SEED", "DIR"), nargs=2, help="write one case as a scenario file, and simulate nothing"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Simulate what is left, and print the figures. They are no verdict: exit 1 only where a run failed."""
    _check(args)
    if args.write_case is not None:
        return _write_case(args)
    side: Side = "test" if args.test else "tune"
    out = args.out or Path("campaigns") / side
    interrupted = False
    lost: dict[str, str] = {}
    if not args.read:
        interrupted, lost = _simulate(args, side, out)
    status = _tell(args, out)
    for seed, why in list(lost.items())[:3]:
        streams.say(f"{seed} has no result: {visible(why)}")
    if interrupted:
        again = command("fabric", "campaign", *(("--test",) if args.test else ()), "--out", out, "--resume")
        streams.say(f"finished runs are kept in {visible(str(out))}; go on with: {again}")
        return EXIT_INTERRUPTED
    return status or int(bool(lost))


def _check(args: argparse.Namespace) -> None:
    """Raises: InputErrors with every problem of the options."""
    problems = problems_of_workers(args)
    if args.runs is not None and args.runs < 1:
        problems.append(Problem("--runs", f"{args.runs} cases are not possible", "give 1 or more"))
    if args.first is not None and args.first < 0:
        problems.append(Problem("--first", f"{args.first} is below 0", "give 0 or more"))
    if args.resume and args.force:
        problems.append(Problem("--resume", "contradicts --force", "give one of them"))
    if args.page is not None and not args.test:
        problems.append(Problem("--page", "is the page of test seeds", "add --test"))
    if args.fit is not None and args.test:
        problems.append(Problem("--fit", "would fit a table on seeds that measure it", "leave --test out"))
    for option, path in (("--page", args.page), ("--fit", args.fit)):
        problems += problems_of_out(path, (), (), option)
    if args.read:
        problems += [
            Problem(f"--{name}", "has no effect with --read, which simulates nothing", "leave it out")
            for name in ("runs", "first", "workers", "dask", "resume", "force", "quiet")
            if _given(args, name)
        ]
    if args.write_case is not None:
        problems += [
            Problem(f"--{name.replace('_', '-')}", "has no effect with --write-case", "leave it out")
            for name in (*_OF_RUNS, "as_seen_by")
            if _given(args, name)
        ]
    if problems:
        raise InputErrors("options", problems)


def _given(args: argparse.Namespace, name: str) -> bool:
    """Whether an option was given; 0 is a value."""
    value = getattr(args, name)
    return value is not None and value is not False


def _write_case(args: argparse.Namespace) -> int:
    from telemetry.campaign.seeds import parse_seed  # noqa: PLC0415  --help must not load the compiler
    from telemetry.sources.campaign_case import write_case  # noqa: PLC0415

    text, folder = args.write_case
    try:
        seed = parse_seed(text)
    except ValueError as error:
        raise InputErrors("options", [Problem("--write-case", str(error), "such as tune/17")]) from error
    file = write_case(seed, Path(folder))
    if args.json:
        print(json.dumps({"file": str(file)}))
    else:
        print(f"{visible(str(file))}; simulate it with: {command('fabric', 'run', file)}")
    return 0


def _simulate(args: argparse.Namespace, side: Side, out: Path) -> tuple[bool, dict[str, str]]:
    """(whether Ctrl-C ended it, runs without a result)."""
    from fabric.cli.terminal.study_progress import StudyProgress  # noqa: PLC0415  as in _write_case
    from fabric.studies.carry_out import executor_of  # noqa: PLC0415
    from telemetry.campaign.seeds import SIDES  # noqa: PLC0415
    from telemetry.sources.campaign_run import opened  # noqa: PLC0415

    first = args.first or 0
    seeds: Sequence[Seed] = [SIDES[side](number) for number in range(first, first + (args.runs or _RUNS))]
    slots = args.workers or len(os.sched_getaffinity(0))
    with (
        opened(out, side, resume=args.resume, force=args.force) as campaign,
        StudyProgress(sys.stderr, quiet=args.quiet) as line,
    ):
        try:
            if any(it.text not in campaign.rows for it in seeds):
                with executor_of(args.dask, slots) as executor:
                    campaign.run(seeds, executor, line.update)
        except KeyboardInterrupt:
            return True, campaign.lost
        return False, campaign.lost


def _tell(args: argparse.Namespace, out: Path) -> int:
    from telemetry.campaign.page import page, summary_lines  # noqa: PLC0415  as in _write_case
    from telemetry.campaign.results import figures, pages  # noqa: PLC0415
    from telemetry.sources.campaign_run import read_campaign  # noqa: PLC0415

    side, rules, rows = read_campaign(out)
    if (side == "test") != args.test:
        raise InputErrors(
            "options", [Problem("--test", f"{out} holds {side} seeds", "leave it out" if args.test else "add it")]
        )
    view = args.as_seen_by or "ideal"
    if args.fit is not None:
        from telemetry.campaign.calibration import fit, tune_rows  # noqa: PLC0415
        from telemetry.diagnosis.confidence import text_of  # noqa: PLC0415

        write_out(args.fit, text_of(fit(tune_rows(rows), rules)))
    if args.page is not None:
        write_out(args.page, page(rows, rules, args.page))
    if args.json:
        facts: dict[str, Any] = {"directory": str(out), "seeds": side, "rules": rules, "runs": len(rows)}
        print(json.dumps(facts | figures(rows, view).as_json() | {"alerts": pages(rows).as_json()}, indent=2))
    else:
        print("\n".join(visible(it) for it in summary_lines(rows, view, side, out)))
    return 0
