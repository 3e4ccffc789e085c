"""``fabric whatif SCENARIO``: what breaks and what slows when parts fail, are drained, or more is added."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabric.cli.options.estimating import add_yes, confirmed
from fabric.cli.options.folders import free_folder
from fabric.cli.options.output import add_out
from fabric.cli.options.sets import add_sets
from fabric.cli.options.workers import add_workers, problems_of_workers
from fabric.cli.terminal import streams
from fabric.cli.terminal.study_estimate import objections_json, tell_verdict, verdict
from fabric.errors import InputErrors, Problem
from fabric.extras import check_installed
from fabric.units import count, format_duration_s, format_measured_bytes
from fabric.visible import command, visible

if TYPE_CHECKING:  # the engine and its compiler are loaded when there is something to run
    from fabric.whatif.study import Place, Question

KINDS: Final = ("link", "optic", "leaf", "spine", "super-spine", "switch", "pod", "plane", "risk-group")
"""Values of ElementKind in fabric/whatif/elements.py, which --help must not load."""
OPTIC_ERRORS: Final = 1e-6
"""OPTIC_ERRORS in fabric/whatif/question.py, as above."""
SAY_EVERY_S: Final = 5.0
PAGE: Final = "whatif.html"
"""PAGE in fabric/whatif/results.py, as above."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = (
        "Simulate a scenario without a failure and then with one failure after the other, each from a moment of the\n"
        "run to its end, and rank the failures by the damage that users feel. Without --double, --drain and --grow\n"
        "every single failure is simulated: cables, optics, switches, pods, and the scenario's risk_groups."
    )
    parser.add_argument("scenario", metavar="SCENARIO", type=Path, help="scenario file (YAML)")
    add_out(parser, "DIR", "folder of the study; default runs/whatif-NAME, with a number where that exists")
    add_sets(parser)
    what = parser.add_argument_group("questions")
    what.add_argument(
        "--kinds", metavar="KIND,...", help=f"single failures of these kinds only: {', '.join(KINDS)} (default: all)"
    )
    what.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        default=[],
        help="single failures of parts with this name or pattern only, such as 'spine*'; repeatable",
    )
    what.add_argument(
        "--double",
        metavar="A,B",
        action="append",
        default=[],
        help="two parts fail at the same time, by name or pattern: spine1,spine2 or 'spine*,spine*'; repeatable",
    )
    what.add_argument(
        "--drain",
        metavar="NAME",
        action="append",
        default=[],
        help="maintenance of a switch, pod or risk group: drained by BGP, and switched off at once; repeatable",
    )
    what.add_argument(
        "--grow",
        metavar="WHAT",
        action="append",
        default=[],
        help="more of something: pod, job, 400G:800G, or a value such as topology.spines=8; joined by '+' for several "
        "at once; repeatable",
    )
    what.add_argument("--singles", action="store_true", help="every single failure beside --double, --drain or --grow")
    how = parser.add_argument_group("how")
    how.add_argument(
        "--all",
        action="store_true",
        dest="run_all",
        help="simulate every part, instead of one for each group that is equal by symmetry",
    )
    how.add_argument("--static", action="store_true", help="no run: only what cables and shortest paths decide")
    how.add_argument(
        "--at", metavar="TIME", help="when failures begin, such as 200us (default: after a quarter of the baseline)"
    )
    how.add_argument(
        "--optic-errors",
        metavar="RATIO",
        type=float,
        help=f"bit error ratio of a degraded optic, behind FEC (default {OPTIC_ERRORS:g})",
    )
    how.add_argument(
        "--seeds",
        metavar="N",
        type=int,
        default=1,
        help="runs of each case with other seeds, each compared with the run without a failure of its seed: intervals "
        "of the damage, and which ranks are told apart (default 1)",
    )
    how.add_argument(
        "--estimate",
        action="store_true",
        help="print runs, time and memory, and simulate nothing; exit 1 where it asks",
    )
    add_workers(how, shared="the folder --out")
    how.add_argument("--resume", action="store_true", help="continue the study in --out; finished runs are kept")
    add_yes(how)
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON, numbers in base units")
    parser.epilog = (
        "exits with 0, also where failures break something; with 1 where a run of the study failed.\n"
        f"The folder holds {PAGE}, whatif.json, the run without a failure and the run of the worst failure."
    )


def run(args: argparse.Namespace) -> int:
    """Ask, simulate, tell."""
    if args.seeds > 1 and not (args.estimate or args.static):
        check_installed("scipy")  # intervals
    question = _question(args)
    from fabric.render.json import to_json  # noqa: PLC0415  --help must not load pyarrow
    from fabric.render.text import console_for, print_document  # noqa: PLC0415
    from fabric.scenario.remarks import loss_remarks  # noqa: PLC0415
    from fabric.whatif.page import compose  # noqa: PLC0415
    from fabric.whatif.study import place, static  # noqa: PLC0415

    placed = place(question)
    if not args.static and not args.quiet:
        for remark in loss_remarks(placed.scenario):
            streams.say(f"note: {visible(remark)}")
    if args.estimate:
        return _estimate(args, question, placed)
    if args.static:
        document = compose(static(question, placed))
        if args.json:
            print(json.dumps(to_json(document), indent=2))
        else:
            print_document(document, console_for(sys.stdout))
        return 0
    folder = args.out or free_folder(f"whatif-{placed.scenario.name}")
    from fabric.whatif.whole import answer  # noqa: PLC0415

    again = _command(args, folder)
    done = Count(progress(quiet=args.quiet))
    try:
        answered = answer(
            question,
            placed,
            folder,
            dask=args.dask,
            workers=args.workers,
            resume=args.resume,
            command=again,
            on_result=done,
            confirm=confirmed,
        )
    except KeyboardInterrupt:
        streams.say(f"{done.runs} runs are finished; continue with: {again} --resume")
        raise
    if args.json:
        print(json.dumps(answered.data, indent=2))
    else:
        print_document(answered.document, console_for(sys.stdout))
        print(f"\nthe page is {visible(answered.data['page'])}")
    return 1 if any(it.failure for it in answered.study.findings) else 0


def _estimate(args: argparse.Namespace, question: Question, placed: Place) -> int:
    from fabric.whatif.admission import size_of  # noqa: PLC0415  as in run()

    size = size_of(question, placed)
    processes = args.workers or len(os.sched_getaffinity(0))
    asks = size.objections(processes, size.least_runs)
    workers = size.workers(processes)
    least_s, most_s = size.time_s(size.least_runs), size.time_s(size.most_runs)
    if args.json:
        facts = {
            "scenario": placed.scenario.name,
            "verdict": verdict(asks),
            "seeds": question.seeds,
            "least_runs": size.least_runs,
            "most_runs": size.most_runs,
            "least_time_s": least_s,
            "most_time_s": most_s,
            "workers": workers,
            "least_wall_s": least_s / workers,
            "most_wall_s": most_s / workers,
            "memory_bytes": size.memory_bytes(processes),
            "objections": objections_json(asks),
        }
        print(json.dumps(facts, indent=2))
        return int(bool(asks))
    several = size.most_runs > size.least_runs
    why = ": which parts are equal is known after the run without a failure" if several else ""
    print(f"{_span(f'{size.least_runs:,}', f'{size.most_runs:,}')} runs{why}")
    whole = _span(format_duration_s(least_s), format_duration_s(most_s))
    wall = _span(format_duration_s(least_s / workers), format_duration_s(most_s / workers))
    print(f"time: about {whole} in all, {wall} on {count(workers, 'process', 'processes')}")
    print(f"memory: about {format_measured_bytes(size.memory_bytes(processes), 3)} side by side")
    tell_verdict(asks)
    return int(bool(asks))


def _span(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"


class Count:
    """Passes progress on, and keeps the number of finished runs."""

    def __init__(self, tell: Callable[[int, int, str], None]) -> None:
        self._tell = tell
        self.runs = 0

    def __call__(self, done: int, every: int, name: str) -> None:
        """One more run is finished."""
        self.runs = done
        self._tell(done, every, name)


def _question(args: argparse.Namespace) -> Question:
    """The question of the options; every problem of them together."""
    problems = problems_of_workers(args)
    if args.resume and args.out is None:
        problems.append(Problem("--resume", "the study is not named", "name its folder with --out"))
    if args.estimate:
        told = {"--out": args.out, "--resume": args.resume, "--yes": args.yes, "--quiet": args.quiet}
        problems += [
            Problem(option, "has no effect with --estimate, which simulates nothing", "leave it out")
            for option, given in told.items()
            if given
        ]
    if args.static:
        told = {
            "--estimate": args.estimate,
            "--seeds": args.seeds != 1,
            "--at": args.at,
            "--out": args.out,
            "--resume": args.resume,
            "--workers": args.workers,
            "--dask": args.dask,
            "--yes": args.yes,
            "--optic-errors": args.optic_errors,
            "--drain": args.drain,
            "--grow": args.grow,
            "--quiet": args.quiet,
        }
        problems += [
            Problem(option, "has no effect with --static, which makes no run", "leave out one of them")
            for option, given in told.items()
            if given
        ]
    from fabric import shipped  # noqa: PLC0415  --help must not load pydantic
    from fabric.scenario.load import apply_overrides  # noqa: PLC0415
    from fabric.scenario.yaml_input import read_yaml  # noqa: PLC0415
    from fabric.whatif.question import question_of  # noqa: PLC0415

    words: dict[str, Any] = {
        "kinds": None if args.kinds is None else [it.strip() for it in args.kinds.split(",")],
        "only": args.only,
        "double": args.double,
        "drain": args.drain,
        "grow": args.grow,
        "singles": args.singles,
        "run_all": args.run_all,
        "at": args.at,
        "optic_errors": args.optic_errors,
        "confirmed": args.yes,
        "seeds": args.seeds,
    }
    if problems:
        try:
            question_of(Path(), {}, **words)
        except InputErrors as error:
            problems = [*error.problems, *problems]
        raise InputErrors("options", problems)
    file = shipped.scenario(args.scenario)
    return question_of(file, apply_overrides(read_yaml(file), args.sets), args.sets, **words)


def _command(args: argparse.Namespace, folder: Path) -> str:
    """The command line of this study, with its folder."""
    words: list[object] = ["fabric", "whatif", args.scenario]
    for option, values in (
        ("--set", args.sets),
        ("--only", args.only),
        ("--double", args.double),
        ("--drain", args.drain),
        ("--grow", args.grow),
    ):
        for value in values:
            words += [option, value]
    for option, value in (("--kinds", args.kinds), ("--at", args.at), ("--optic-errors", args.optic_errors)):
        words += [] if value is None else [option, value]
    words += ["--singles"] * args.singles + ["--all"] * args.run_all
    words += ["--seeds", args.seeds] if args.seeds != 1 else []
    return command(*words, "--out", folder)


def progress(*, quiet: bool) -> Callable[[int, int, str], None]:
    """Says how many runs are finished and how long the rest takes, every few seconds."""
    began = time.monotonic()
    said = began
    first: int | None = None

    def tell(done: int, every: int, _name: str) -> None:
        nonlocal said, first, began
        now = time.monotonic()
        if first is None:  # until now workers were starting and compiling
            first, began = done, now
        if quiet or (now - said < SAY_EVERY_S and done < every):
            return
        said = now
        rest = ""
        if first < done < every:
            rest = f", about {format_duration_s((now - began) / (done - first) * (every - done))} left"
        streams.say(f"{done:,} of {every:,} runs{rest}")

    return tell
