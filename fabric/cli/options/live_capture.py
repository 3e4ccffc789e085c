"""The options --capture and --capture-to of `fabric serve`: packets of the run for Wireshark."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from fabric.cli.options.output import STDOUT, problems_of_out
from fabric.cli.options.tapped import frame_maker, ports_called, problems_of_model
from fabric.errors import InputErrors, Problem

if TYPE_CHECKING:  # loaded when there is something to serve
    from fabric.scenario.compile.scenario import CompiledScenario
    from fabric.scenario.schema.scenario import Scenario
    from telemetry.live.simulation import Observer
    from telemetry.live.world import LiveWorld


def add_live_capture(parser: argparse.ArgumentParser) -> None:
    """Declare them."""
    parser.add_argument(
        "--capture",
        metavar="DEVICE:PORT",
        action="append",
        default=[],
        help="capture packets at this port, both directions, with the faults and changes of the API; repeatable; "
        "DEVICE: all of its ports (docs/howto/capture.md)",
    )
    parser.add_argument(
        "--capture-to",
        metavar="FILE",
        type=Path,
        help="where they go, as pcapng: a file, a FIFO that `mkfifo` made, whose readers may come and go, or '-' for "
        "standard output",
    )


def capture_problems(args: argparse.Namespace) -> list[Problem]:
    """Problems of the options, without the scenario."""
    to: Path | None = args.capture_to
    if not args.capture and to is None:
        return []
    problems = []
    if to is None:
        problems.append(
            Problem("--capture", "has nowhere to go", "add --capture-to FILE, or --capture-to - for standard output")
        )
    if not args.capture:
        problems.append(Problem("--capture-to", "has no effect without --capture", "name a port: --capture leaf1"))
    if find_spec("scapy") is None:
        problems.append(Problem("--capture", "scapy is not installed", "run: pip install scapy"))
    if to == STDOUT:
        if sys.stdout.isatty():
            problems.append(
                Problem("--capture-to -", "a capture is binary", "pipe it to `wireshark -k -i -`, or name a file")
            )
        problems += [
            Problem("--capture-to -", f"{other} uses standard output too", "name a file")
            for other, used in (("--json", args.json), ("--log -", args.log == "-"))
            if used
        ]
        return problems
    problems += problems_of_out(to, (args.scenario,), (), "--capture-to")
    if to is not None and args.out is not None and args.out.resolve() in to.resolve().parents:
        problems.append(Problem(f"--capture-to {to}", f"lies in the run {args.out}", "name a file outside of the run"))
    return problems


def open_capture(
    args: argparse.Namespace, scenario: Scenario, compiled: CompiledScenario, world: LiveWorld, stack: ExitStack
) -> list[Observer]:
    """The capture, which is written until the stack is closed; nothing without the options.

    Raises: InputErrors where there is no such port; OSError where the file cannot be written.
    """
    if args.capture_to is None:
        return []
    problems = problems_of_model(scenario)
    names = dict.fromkeys(args.capture)
    ports = dict.fromkeys(port for name in names for port in ports_called(compiled.fabric, name, "--capture", problems))
    if problems:
        raise InputErrors("options", problems)
    from telemetry.live.capture import LiveCapture, Place  # noqa: PLC0415  --help must not load an engine

    place = Place(None if args.capture_to == STDOUT else args.capture_to)
    return [stack.enter_context(LiveCapture(world, list(ports), frame_maker(scenario, compiled), place))]
