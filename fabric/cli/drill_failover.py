"""``fabric drill failover SCENARIO``: every single failure in turn, and what users would have felt of it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from fabric.cli.options.estimating import add_yes, confirmed
from fabric.cli.options.folders import free_folder
from fabric.cli.options.output import add_out
from fabric.cli.options.sets import add_sets
from fabric.cli.options.workers import add_workers, problems_of_workers
from fabric.cli.terminal import streams
from fabric.cli.whatif import Count, progress
from fabric.errors import InputErrors, Problem
from fabric.visible import command, visible

PARTS: Final = ("links", "optics", "leaves", "spines", "super-spines", "switches", "pods", "planes", "risk-groups")
"""PARTS in fabric/whatif/failover.py, which --help must not load."""
DEFAULT: Final = "links,optics,leaves,spines"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = (
        "Let every single link, optic, leaf and spine of a scenario fail in turn, and tell what users would have\n"
        "felt: messages failed and delayed, stalls, payload behind, time to recovery, packets lost. Parts that are\n"
        "equal by symmetry are one run. It is the study of `fabric whatif`, told from the users' side."
    )
    parser.epilog = "example: fabric drill failover scenarios/link-failure.yml --parts links,spines --workers 2"
    parser.add_argument("scenario", metavar="SCENARIO", type=Path, help="scenario file (YAML)")
    parser.add_argument(
        "--parts", metavar="PART,...", default=DEFAULT, help=f"of {', '.join(PARTS)} (default: {DEFAULT})"
    )
    parser.add_argument("--all", action="store_true", dest="run_all", help="every part, not one of each equal group")
    parser.add_argument("--at", metavar="TIME", help="when failures begin (default: after a quarter of the baseline)")
    add_out(parser, "DIR", "folder of the study; default runs/failover-NAME, with a number where that exists")
    add_sets(parser)
    add_workers(parser, shared="the folder --out")
    parser.add_argument("--resume", action="store_true", help="continue the study in --out; finished runs are kept")
    add_yes(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def run(args: argparse.Namespace) -> int:
    """Simulate every failure; exit 1 where a run of the study failed."""
    problems = problems_of_workers(args)
    if args.resume and args.out is None:
        problems.append(Problem("--resume", "the study is not named", "name its folder with --out"))
    words = [it.strip() for it in args.parts.split(",")]
    from fabric import shipped  # noqa: PLC0415  --help must not load pydantic
    from fabric.render.text import console_for, print_document  # noqa: PLC0415
    from fabric.scenario.load import apply_overrides  # noqa: PLC0415
    from fabric.scenario.yaml_input import read_yaml  # noqa: PLC0415
    from fabric.topology.select import nearest  # noqa: PLC0415
    from fabric.whatif import failover  # noqa: PLC0415
    from fabric.whatif.question import question_of  # noqa: PLC0415
    from fabric.whatif.study import place  # noqa: PLC0415
    from fabric.whatif.whole import answer  # noqa: PLC0415

    problems += [
        Problem("--parts", f"'{it}' is no kind of part", nearest(it, PARTS, "parts")) for it in words if it not in PARTS
    ]
    if problems:
        raise InputErrors("options", problems)
    file = shipped.scenario(args.scenario)
    kinds = [failover.PARTS[it].value for it in words]
    data = apply_overrides(read_yaml(file), args.sets)
    question = question_of(file, data, args.sets, kinds=kinds, run_all=args.run_all, at=args.at, confirmed=args.yes)
    placed = place(question)
    folder = args.out or free_folder(f"failover-{placed.scenario.name}")
    again = _command(args, folder)
    done = Count(progress(quiet=args.quiet))
    try:
        answered = answer(
            question, placed, folder, dask=args.dask, workers=args.workers, resume=args.resume, command=again,
            form=failover.compose, on_result=done, confirm=confirmed,
        )  # fmt: skip
    except KeyboardInterrupt:
        streams.say(f"{done.runs} runs are finished; continue with: {again} --resume")
        raise
    if args.json:
        print(json.dumps(answered.data, indent=2))
    else:
        print_document(answered.document, console_for(sys.stdout))
        print(f"\nthe page is {visible(answered.data['page'])}")
    return 1 if any(it.failure for it in answered.study.findings) else 0


def _command(args: argparse.Namespace, folder: Path) -> str:
    """The command line of this drill, with its folder."""
    words: list[object] = ["fabric", "drill", "failover", args.scenario]
    for it in args.sets:
        words += ["--set", it]
    words += [] if args.parts == DEFAULT else ["--parts", args.parts]
    words += [] if args.at is None else ["--at", args.at]
    return command(*words, *["--all"] * args.run_all, "--out", folder)
