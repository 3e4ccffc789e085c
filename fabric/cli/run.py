"""``fabric run SCENARIO``: play a scenario, write a run directory, say how it went.

Ctrl-C ends the run at the next opportunity with usable results; ``--resume`` takes it up again, also after a crash, and
ends with the very files an uninterrupted run would have written.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabric.cli import streams
from fabric.cli.http_options import access_of, add_http, given_http, http_problems
from fabric.cli.output import add_out
from fabric.errors import InputErrors, Problem, UnitError
from fabric.report import files
from fabric.units import parse_time_ps

if TYPE_CHECKING:  # the engine and its compiler are loaded when there is something to run
    from fabric.cli.progress import ProgressLine
    from fabric.engine.counters import Snapshot
    from fabric.engine.driver import Emulator
    from fabric.report.session import Hooks, Outcome, Plan

COMPAT = ("node_exporter", "sonic-exporter", "gnmic")
"""Names in telemetry/compat/registry.py, which --help must not load."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("scenario", metavar="SCENARIO", type=Path, help="scenario file (YAML)")
    add_out(parser, "DIR", "run directory; default runs/NAME, numbered where that is taken")
    parser.add_argument("--seed", metavar="N", type=int, help="instead of the scenario's run.seed")
    parser.add_argument(
        "--until", metavar="TIME", help="end at this simulated time, such as 5ms, instead of run.duration"
    )
    parser.add_argument(
        "--set",
        metavar="PATH=VALUE",
        action="append",
        default=[],
        dest="sets",
        help="override one value of the scenario; repeatable",
    )
    parser.add_argument(
        "--threads",
        metavar="N",
        type=int,
        help="threads of the engine (default 1, or those of the run to resume); the result is the same for any",
    )
    parser.add_argument(
        "--scheduler",
        choices=("windows", "sequential"),
        help="default windows, or that of the run to resume; the result is the same for both, in the same order",
    )
    parser.add_argument(
        "--order",
        choices=("source", "insertion"),
        help="order of events at one instant: by device and source (default, or that of the run to resume), or as "
        "they were scheduled, which needs --scheduler sequential and is how ns-3 orders them; results differ between "
        "the two",
    )
    parser.add_argument("--resume", action="store_true", help="take up the run in --out from its last checkpoint")
    parser.add_argument("--force", action="store_true", help="replace the run in --out")
    parser.add_argument(
        "--checkpoint-every",
        metavar="SECONDS",
        type=float,
        default=60.0,
        help="wall time between checkpoints (default 60); 0: only when interrupted",
    )
    parser.add_argument(
        "--check", action="store_true", help="test the laws of the model at every sample; exit 3 where one is broken"
    )
    parser.add_argument(
        "--metrics", metavar="ADDRESS:PORT", help="serve live metrics to Prometheus, such as 127.0.0.1:9464"
    )
    parser.add_argument(
        "--compat",
        choices=COMPAT,
        help="with --metrics: the same values under the names of that exporter, for dashboards made for it; scrape "
        "with honor_labels: true",
    )
    add_http(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    parser.add_argument("--json", action="store_true", help="print directory, status, digest and summary as JSON")


def run(args: argparse.Namespace) -> int:
    """Load, compile, play, report."""
    _fill_in(args)
    until_ps = _checked(args)
    from fabric.scenario.load import load_scenario  # noqa: PLC0415  pydantic and the compiler take their time to load

    sets = [*args.sets, *([] if args.seed is None else [f"run.seed={args.seed}"])]
    scenario = load_scenario(args.scenario, sets)
    from fabric.cli.progress import ProgressLine  # noqa: PLC0415
    from fabric.report import play  # noqa: PLC0415
    from fabric.report.rundir import RunDir  # noqa: PLC0415

    compiled, plan = play.prepare(scenario, sets=sets, until_ps=until_ps)
    out = args.out or _free_folder(plan.name)
    options = play.Options(
        out, args.threads, args.scheduler, args.order, args.resume, args.force, args.checkpoint_every
    )
    with ExitStack() as stack:
        line = stack.enter_context(ProgressLine(sys.stderr, quiet=args.quiet))
        hooks = _hooks(args, plan, line, stack)
        outcome = play.play(compiled, plan, options, hooks)
    try:
        _tell(args, out, outcome, RunDir.open(out).manifest)
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):      # the run is done, and only telling it went wrong
            streams.say(f"the run is {outcome.status}; its results are in {out}")
        raise
    return outcome.exit_code


def _tell(args: argparse.Namespace, out: Path, outcome: Outcome, manifest: Mapping[str, Any]) -> None:
    """Print how it went."""
    from fabric.report import page  # noqa: PLC0415  as in run()

    if args.json:
        print(
            json.dumps(
                {
                    "directory": str(out),
                    "status": outcome.status,
                    "digest": outcome.digest,
                    "timings": manifest["timings"],
                    "summary": outcome.summary,
                },
                indent=2,
            )
        )
    else:
        page.print_summary(manifest, outcome.summary, sys.stdout, out)
        print(
            f"results in {out}"
            + (
                f"; take it up again with: fabric run {args.scenario} --out {out} --resume"
                if outcome.status == "interrupted"
                else f", digest {outcome.digest[:16]}"
            )
        )


def _fill_in(args: argparse.Namespace) -> None:
    """Options of the engine that were not given: those of the run to resume, whose checkpoint fits no others."""
    how = {"threads": 1, "scheduler": "windows", "order": "source"}
    if args.resume and args.out is not None and (args.out / files.MANIFEST).is_file():
        from fabric.report import checkpoint, lock  # noqa: PLC0415  only to resume
        from fabric.report.rundir import RunDir  # noqa: PLC0415  only to resume

        found = RunDir.open(args.out)
        how |= found.manifest["how"]
        if lock.writer(args.out) is None:       # else claimed() will refuse
            # Before the scenario is compiled: with routing: bgp that simulates the control plane.
            checkpoint.check(args.out, found.manifest["identity"])
    for name, value in how.items():
        if getattr(args, name) is None:
            setattr(args, name, value)


def _checked(args: argparse.Namespace) -> int | None:
    """--until in ps; every problem of the options together."""
    problems = []
    until_ps = None
    if args.until is not None:
        try:
            until_ps = parse_time_ps(args.until)
        except UnitError as error:
            problems.append(Problem("--until", error.text, error.hint))
    if args.order == "insertion" and args.scheduler != "sequential":
        problems.append(
            Problem("--order", "insertion needs one global list of events", "add --scheduler sequential")
        )
    if args.threads < 1:
        problems.append(Problem("--threads", f"{args.threads} threads cannot play", "give 1 or more"))
    if not 0 <= args.checkpoint_every < float("inf"):
        problems.append(
            Problem("--checkpoint-every", f"{args.checkpoint_every} is no number of seconds", "give 0 or more")
        )
    if args.resume and args.out is None:
        problems.append(Problem("--resume", "which run is not said", "name its directory with --out"))
    if args.resume and args.force:
        problems.append(Problem("--resume", "contradicts --force", "give one of them"))
    if args.force and args.out is None:
        problems.append(
            Problem("--force", "has no effect without --out", "name the directory to replace, or leave it out")
        )
    if args.compat is not None and args.metrics is None:
        problems.append(Problem("--compat", "has no effect without --metrics", "add --metrics 127.0.0.1:9464"))
    if args.metrics is None:
        problems += [
            Problem(option, "has no effect without --metrics", "add --metrics 127.0.0.1:9464")
            for option in given_http(args)
        ]
    else:
        problems += http_problems(args)
    if args.scheduler == "sequential" and args.threads > 1:
        problems.append(Problem("--threads", "the sequential scheduler has one", "leave out --threads or --scheduler"))
    if problems:
        raise InputErrors("options", problems)
    return until_ps


def _hooks(args: argparse.Namespace, plan: Plan, line: ProgressLine, stack: ExitStack) -> Hooks:
    """What this command adds to a session: progress, metrics, laws, deadlock search, paths."""
    from fabric.report.paths import message_paths  # noqa: PLC0415  as in run()
    from fabric.report.session import Hooks  # noqa: PLC0415

    offer = None
    if args.metrics is not None:
        from fabric.cli.live_metrics import serve_metrics  # noqa: PLC0415  telemetry only where it is asked for

        offer = serve_metrics(args.metrics, args.compat, access_of(args), plan, stack)

    return Hooks(on_progress=line.update, on_pause=offer, check=_broken_laws if args.check else None,
                 find_cycle=_cycle, paths=message_paths)


def _broken_laws(engine: Emulator, _now: Snapshot) -> Sequence[str]:
    from fabric.validate.conservation import check  # noqa: PLC0415  only with --check

    return check(engine.state, engine.fabric, engine.now_ps)


def _cycle(engine: Emulator) -> Sequence[tuple[int, int]]:
    from fabric.validate.deadlock import find_cycle  # noqa: PLC0415  only where messages wait at the end

    return find_cycle(engine.state, engine.fabric)


def _free_folder(name: str) -> Path:
    """runs/NAME, or runs/NAME-2, -3, ...: the first that does not exist. It is made: no other process has it."""
    Path("runs").mkdir(exist_ok=True)
    for number in count(1):
        folder = Path("runs") / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise AssertionError("there is always a next number")
