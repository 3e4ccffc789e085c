"""Estimates: the check before every simulation, the question before a long run, and the table of figures."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabric.cli.terminal import streams
from fabric.units import format_duration_s, format_measured_bytes, format_time_ps

if TYPE_CHECKING:  # the estimate needs numpy and pydantic, which --help must not load
    from fabric.errors import Problem
    from fabric.scenario.estimate.admission import Admission
    from fabric.scenario.estimate.figures import Estimate, Figure
    from fabric.scenario.schema.scenario import Scenario

YES_HELP = (
    "start without confirmation, even if the run is likely to take more than an hour, or more memory or disk "
    "space than available"
)


def add_yes(parser: argparse._ActionsContainer) -> None:
    """Declare --yes."""
    parser.add_argument("--yes", action="store_true", help=YES_HELP)


def admission(scenario: Scenario, *, yes: bool, out: Path | None = None, paced: bool = False) -> Admission:
    """The check of a verb that simulates `scenario` and writes to `out`."""
    from fabric.scenario.estimate.admission import Admission  # noqa: PLC0415  as above

    return Admission(scenario.file.name, out, paced=paced, confirm=(lambda _: True) if yes else confirmed)


def confirmed(problems: Sequence[Problem]) -> bool:
    """Ask the user at a terminal; without a terminal the answer is no."""
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    for problem in problems:
        streams.say(str(problem))
    sys.stderr.write("start it anyway? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def tell(found: Estimate, check: Admission, *, as_json: bool) -> int:
    """Print an estimate and whether the run would start. Returns: 0, or 1 where it would need confirmation."""
    objections = check.objections(found)
    verdict = "refused" if any(it.final for it in objections) else "asks" if objections else "starts"
    if as_json:
        print(
            json.dumps(
                {
                    "scenario": check.file,
                    "verdict": verdict,
                    "figures": found.as_json(),
                    "objections": [
                        {"path": it.problem.path, "text": it.problem.text, "hint": it.problem.hint, "final": it.final}
                        for it in objections
                    ],
                },
                indent=2,
            )
        )
        return int(bool(objections))
    from rich.table import Table  # noqa: PLC0415  for people only

    from fabric.render.console import PlainConsole  # noqa: PLC0415

    table = Table("What", "At least", "Likely", "At most", "Basis", box=None, pad_edge=False)
    for column in table.columns[1:4]:
        column.justify = "right"
    for figure in found.figures.values():
        shown = [_shown(figure, value) for value in (figure.least, figure.likely, figure.most)]
        table.add_row(figure.name, *((shown[0], "", "") if len(set(shown)) == 1 else shown), figure.how)
    PlainConsole(sys.stdout).print(table)
    print()
    for item in objections:
        print(item.problem)
    print(
        {
            "refused": "it would be refused",
            "asks": "it would start with --yes, or after confirmation",
            "starts": "it would start",
        }[verdict]
    )
    return int(bool(objections))


def one_line(found: Estimate) -> str:
    """The figures that matter most, for a list of scenarios."""
    hops, time, memory = (_shown(found[name], found[name].likely) for name in ("packet-hops", "time", "memory"))
    return f"about {hops} packet-hops, {time}, {memory} of memory"


def figures_json(found: Estimate) -> dict[str, Any]:
    """For --json: the likely value of each figure."""
    return {figure.name: figure.likely for figure in found.figures.values()}


def _shown(figure: Figure, value: float) -> str:
    if figure.unit == "bytes":
        return format_measured_bytes(value, 3)
    if figure.unit == "s":
        return format_duration_s(value)
    if figure.unit == "ps":
        return format_time_ps(value, 3)
    if value < 1e6:
        return f"{value:,.0f}"
    factor, name = next((factor, name) for factor, name in ((1e12, "T"), (1e9, "G"), (1e6, "M")) if value >= factor)
    return f"{value / factor:.3g} {name}"
