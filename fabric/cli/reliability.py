"""``fabric reliability [SCENARIO]``: how often a fabric of many parts fails, and what it costs a training job."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Final

from fabric.cli.options.sets import add_sets
from fabric.errors import InputErrors, Problem, UnitError
from fabric.units import inventory, parse_duration_s

KINDS: Final = ("switch", "optic", "cable", "nic", "host")
"""Of fabric/whatif/reliability.py, which --help must not load."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        type=Path,
        nargs="?",
        help="scenario whose fabric is meant; may be left out with --parts",
    )
    add_sets(parser, "override one value of the scenario")
    parser.add_argument("--parts", metavar="N", type=int, help="that many equal parts that are all needed, with --each")
    parser.add_argument("--each", metavar="PROBABILITY", type=float, help="probability that one of them works: 0.999")
    parser.add_argument(
        "--mtbf",
        metavar="PART=HOURS",
        action="append",
        default=[],
        help=f"mean time between failures of one part ({', '.join(KINDS)}), in hours; repeatable",
    )
    parser.add_argument(
        "--checkpoint-time", metavar="TIME", help="time to write a checkpoint, such as 2min: shows the best interval"
    )
    parser.add_argument("--interval", metavar="TIME", help="the interval between checkpoints as it is, to compare")
    parser.add_argument(
        "--restart", metavar="TIME", help="time from a failure until the job computes again (default 10min)"
    )
    parser.add_argument("--json", action="store_true", help="print as JSON, numbers in base units")


def run(args: argparse.Namespace) -> int:
    """Compute and print."""
    problems: list[Problem] = []
    if (args.parts is None) != (args.each is None):
        problems.append(Problem("--parts", "--parts and --each belong together", "such as --parts 1000 --each 0.999"))
    if args.parts is not None and not 1 <= args.parts <= 10**12:
        problems.append(Problem("--parts", f"{args.parts} parts are not possible", "give 1 or more"))
    if args.each is not None and not 0 < args.each <= 1:
        problems.append(Problem("--each", f"{args.each} is no probability", "above 0, at most 1"))
    if args.scenario is None and args.parts is None:
        problems.append(Problem("SCENARIO", "is missing", "name a scenario, or give --parts and --each"))
    if args.scenario is None:
        given = (
            ("--mtbf", args.mtbf),
            ("--checkpoint-time", args.checkpoint_time),
            ("--interval", args.interval),
            ("--restart", args.restart),
            ("--set", args.sets),
        )
        problems += [Problem(option, "has no effect without SCENARIO", "name one") for option, value in given if value]
    times = {
        option: _seconds(option, value, problems)
        for option, value in (
            ("--checkpoint-time", args.checkpoint_time),
            ("--interval", args.interval),
            ("--restart", args.restart),
        )
    }
    if args.checkpoint_time is None:
        problems += [
            Problem(option, "has no effect without --checkpoint-time", "add --checkpoint-time 2min")
            for option in ("--interval", "--restart")
            if times[option] is not None
        ]
    hours = _hours(args.mtbf, problems)
    if problems:
        raise InputErrors("options", problems)
    from fabric.render.document import Document, Status  # noqa: PLC0415  --help must not load pyarrow
    from fabric.render.json import to_json  # noqa: PLC0415
    from fabric.render.text import console_for, print_document  # noqa: PLC0415
    from fabric.whatif import reliability as r  # noqa: PLC0415

    before = [] if args.parts is None else [r.arithmetic(args.parts, args.each)]
    if args.scenario is None:
        document = Document(
            "Reliability", f"{args.parts:,} parts", Status.NEUTRAL, "All are needed.", (), tuple(before)
        )
    else:
        from fabric import shipped  # noqa: PLC0415
        from fabric.scenario.compile.scenario import admitted_fabric  # noqa: PLC0415
        from fabric.scenario.load import apply_overrides, build_scenario  # noqa: PLC0415
        from fabric.scenario.yaml_input import read_yaml  # noqa: PLC0415
        from fabric.whatif.cases import without_idle_delay  # noqa: PLC0415

        file = shipped.scenario(args.scenario)
        scenario = build_scenario(without_idle_delay(apply_overrides(read_yaml(file), args.sets)), file)
        fabric = admitted_fabric(scenario)
        figures = {**r.DEFAULTS, **{kind: r.Figure(value, "--mtbf") for kind, value in hours.items()}}
        write, restart = times["--checkpoint-time"], times["--restart"]
        job = None if write is None else r.Checkpoints(write, 600 if restart is None else restart, times["--interval"])
        about = inventory(len(fabric.hosts), len(fabric.switches), len(fabric.links))
        document = r.compose(scenario.name, about, r.parts_of(fabric, figures), job, before)
    if args.json:
        print(json.dumps(to_json(document), indent=2))
    else:
        print_document(document, console_for(sys.stdout))
    return 0


def _seconds(option: str, text: str | None, problems: list[Problem]) -> int | None:
    if text is None:
        return None
    try:
        found = parse_duration_s(text)
    except UnitError as error:
        problems.append(Problem(option, error.text, error.hint))
        return None
    if found == 0 and option != "--restart":
        problems.append(Problem(option, "is 0", "give a time above 0"))
    return found


def _hours(texts: list[str], problems: list[Problem]) -> dict[str, float]:
    found = {}
    for text in texts:
        kind, _, value = text.partition("=")
        try:
            hours = float(value)
        except ValueError:
            hours = math.nan
        if kind not in KINDS or not 0 < hours < math.inf:
            hint = f"PART is one of {', '.join(KINDS)}; such as --mtbf optic=2e6"
            problems.append(Problem(f"--mtbf {text}", "is not PART=HOURS", hint))
        else:
            found[kind] = hours
    return found
