"""``fabric run SCENARIO``: simulate a scenario, write a run directory, print the result.

Ctrl-C stops the run with usable results; ``--resume`` continues it, also after a crash, and writes the same files as an
uninterrupted run.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from fabric.cli.options.estimating import add_yes, admission, tell
from fabric.cli.options.folders import reserved_folder, runs_folder
from fabric.cli.options.http import access_of, add_http, given_http, http_problems
from fabric.cli.options.output import add_out
from fabric.cli.options.sets import add_sets
from fabric.cli.settings import settings
from fabric.cli.terminal import streams
from fabric.errors import InputErrors, Problem, UnitError
from fabric.runs import files
from fabric.units import parse_time_ps
from fabric.visible import command, visible

if TYPE_CHECKING:  # the engine and its compiler are loaded when there is something to run
    from fabric.cli.terminal.progress import ProgressLine
    from fabric.controlplane.network.run import ControlRun
    from fabric.runs.rundir import RunDir
    from fabric.runs.session import Hooks, Outcome, Plan
    from fabric.scenario.estimate.admission import Admission
    from fabric.scenario.schema.scenario import Scenario

COMPAT = ("node_exporter", "sonic-exporter", "gnmic", "rdma_exporter", "amd", "omnistat")
"""Names in telemetry/export/compat/registry.py, which --help must not load."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("scenario", metavar="SCENARIO", type=Path, help="scenario file (YAML)")
    add_out(parser, "DIR", "run directory; default runs/NAME, with a number where that exists")
    parser.add_argument("--seed", metavar="N", type=int, help="replaces the scenario's run.seed")
    parser.add_argument(
        "--until", metavar="TIME", help="end at this simulated time, such as 5ms, instead of at run.duration"
    )
    add_sets(parser)
    parser.add_argument(
        "--threads",
        metavar="N",
        type=int,
        help="threads of the engine, which never change the result (default: those of the run to resume, or of `fabric "
        "config`, else 1)",
    )
    parser.add_argument(
        "--scheduler",
        choices=("windows", "sequential"),
        help="default windows, or the one of the run to resume; both give the same result with the same order",
    )
    parser.add_argument(
        "--order",
        choices=("source", "insertion"),
        help="order of simultaneous events: by device and source (default, or that of the run to resume), or in "
        "order of scheduling as in ns-3, which needs --scheduler sequential; results differ between the two",
    )
    parser.add_argument(
        "--estimate",
        action="store_true",
        help="do not simulate: print the size of the run, its estimated time, memory and disk space, and their basis; "
        "exit 1 where it would not start without confirmation",
    )
    add_yes(parser)
    parser.add_argument("--resume", action="store_true", help="resume the run in --out from its last checkpoint")
    parser.add_argument("--force", action="store_true", help="replace the run in --out")
    parser.add_argument(
        "--checkpoint-every",
        metavar="SECONDS",
        type=float,
        default=60.0,
        help="wall time between checkpoints (default 60); 0: only when interrupted",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="check the invariants of the model at every sample; exit 3 where one is broken",
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
    """Load, compile, simulate, report."""
    _fill_in(args)
    until_ps = _checked(args)
    from fabric.scenario.load import load_scenario  # noqa: PLC0415  pydantic and the compiler take their time to load

    sets = [*args.sets, *([] if args.seed is None else [f"run.seed={args.seed}"])]
    scenario = load_scenario(args.scenario, sets)
    # A resumed run was admitted at its start, and part of its disk space is already in use.
    check = admission(scenario, yes=args.yes or args.resume, out=None if args.resume else args.out or runs_folder())
    if args.estimate:
        return _estimate(args, scenario, check, until_ps)
    from fabric.cli.terminal.progress import ProgressLine  # noqa: PLC0415
    from fabric.runs import simulate  # noqa: PLC0415
    from fabric.runs.rundir import RunDir  # noqa: PLC0415
    from fabric.scenario.placed_remarks import placed_remarks  # noqa: PLC0415
    from fabric.scenario.remarks import loss_remarks, remarks  # noqa: PLC0415

    compiled, plan = simulate.prepare(scenario, sets=sets, until_ps=until_ps, admit=check)
    if not args.quiet:
        losses = loss_remarks(scenario, until_ps) if scenario.faults else ()
        for remark in (*remarks(scenario, until_ps), *placed_remarks(scenario, compiled), *losses):
            streams.say(f"note: {visible(remark)}")
    out = args.out or reserved_folder(plan.name)
    options = simulate.Options(
        out, args.threads, args.scheduler, args.order, args.resume, args.force, args.checkpoint_every
    )
    with ExitStack() as stack:
        line = stack.enter_context(ProgressLine(sys.stderr, quiet=args.quiet))
        hooks = _hooks(args, plan, line, stack)
        outcome = simulate.simulate(compiled, plan, options, hooks)
    try:
        _tell(args, outcome, RunDir.open(out), compiled.control)
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # the run is done; only its report failed
            streams.say(f"the run is {outcome.status}; its results are in {out}")
        raise
    return outcome.exit_code


def _estimate(args: argparse.Namespace, scenario: Scenario, check: Admission, until_ps: int | None) -> int:
    """--estimate: the figures that prepare() compares with the machine, as a table."""
    from fabric.runs.simulate import check_until  # noqa: PLC0415  as in run()
    from fabric.scenario.compile.scenario import admitted_fabric  # noqa: PLC0415
    from fabric.scenario.estimate.estimator import estimate, fabric_estimate  # noqa: PLC0415
    from fabric.topology.spec import CustomSpec  # noqa: PLC0415

    check_until(scenario, until_ps)
    if not isinstance(scenario.topology, CustomSpec):
        alone = fabric_estimate(scenario, scenario.topology.shape)
        if any(it.final for it in check.objections(alone)):  # the fabric is not built, so no more is known
            return tell(alone, check, as_json=args.json)
    found = estimate(scenario, admitted_fabric(scenario), until_ps)
    if found.problems:
        raise InputErrors("making the traffic", found.problems)
    return tell(found, check, as_json=args.json)


def _tell(args: argparse.Namespace, outcome: Outcome, found: RunDir, control: ControlRun | None) -> None:
    """Print the result."""
    from fabric.render import run_page as page  # noqa: PLC0415  as in run()
    from telemetry.sources.headline import headline  # noqa: PLC0415

    out, manifest = found.path, found.manifest
    first = headline(found, control)
    if args.json:
        print(
            json.dumps(
                {
                    "directory": str(out),
                    "status": outcome.status,
                    "digest": outcome.digest,
                    "timings": manifest["timings"],
                    "root": None if first is None else {"level": first[0], "text": first[1]},
                    "summary": outcome.summary,
                },
                indent=2,
            )
        )
    else:
        page.print_summary(manifest, outcome.summary, sys.stdout, out, first)
        print(
            f"results in {visible(str(out))}"
            + (
                "; resume it with: " + command("fabric", "run", args.scenario, "--out", out, "--resume")
                if outcome.status == "interrupted"
                else f", digest {outcome.digest[:16]}"
            )
        )


def _fill_in(args: argparse.Namespace) -> None:
    """Engine options that were not given: those of the run to resume, which its checkpoint requires."""
    threads = 1 if args.scheduler == "sequential" else settings().threads  # that scheduler has one
    how = {"threads": threads, "scheduler": "windows", "order": "source"}
    if args.resume and args.out is not None and (args.out / files.MANIFEST).is_file():
        from fabric.runs import checkpoint, lock  # noqa: PLC0415  only to resume
        from fabric.runs.rundir import RunDir  # noqa: PLC0415  only to resume

        found = RunDir.open(args.out)
        how |= found.manifest["how"]
        if lock.writer(args.out) is None:  # otherwise claimed() refuses
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
        problems.append(Problem("--order", "insertion needs one global list of events", "add --scheduler sequential"))
    if args.threads < 1:
        problems.append(Problem("--threads", f"{args.threads} threads are not possible", "give 1 or more"))
    if not 0 <= args.checkpoint_every < float("inf"):
        problems.append(
            Problem("--checkpoint-every", f"{args.checkpoint_every} is not a number of seconds", "give 0 or more")
        )
    if args.resume and args.out is None:
        problems.append(Problem("--resume", "the run is not named", "name its directory with --out"))
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
    if args.estimate and args.resume:
        problems.append(Problem("--estimate", "has no effect with --resume", "leave out one of them"))
    if args.estimate and args.yes:
        problems.append(Problem("--yes", "has no effect with --estimate, which starts nothing", "leave it out"))
    if args.scheduler == "sequential" and args.threads > 1:
        problems.append(Problem("--threads", "the sequential scheduler has one", "leave out --threads or --scheduler"))
    if problems:
        raise InputErrors("options", problems)
    return until_ps


def _hooks(args: argparse.Namespace, plan: Plan, line: ProgressLine, stack: ExitStack) -> Hooks:
    """Additions of this command to a session: progress, metrics, invariants, deadlock search, paths."""
    from fabric.api.hooks import hooks_of  # noqa: PLC0415  as in run()

    offer = None
    if args.metrics is not None:
        from fabric.cli.options.metrics import serve_metrics  # noqa: PLC0415  telemetry only where it is asked for

        offer = serve_metrics(args.metrics, args.compat, access_of(args), plan, stack)

    return hooks_of(check=args.check, on_progress=line.update, on_pause=offer)
