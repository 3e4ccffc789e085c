"""A question from the words of a user, on the command line or in Python, with every problem of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fabric.errors import InputErrors, Problem, UnitError
from fabric.studies.schema import MAX_SEEDS
from fabric.units import parse_time_ps
from fabric.whatif.elements import ElementKind
from fabric.whatif.study import Question

OPTIC_ERRORS: Final = 1e-6
"""Bit error ratio of a degraded optic, behind FEC, where none is given."""
_STAGE: Final = "options"


def question_of(
    file: Path,
    data: Mapping[str, Any],
    sets: Sequence[str] = (),
    *,
    kinds: Sequence[str] | None = None,
    only: Sequence[str] = (),
    double: Sequence[str] = (),
    drain: Sequence[str] = (),
    grow: Sequence[str] = (),
    singles: bool = False,
    run_all: bool = False,
    at: str | None = None,
    optic_errors: float | None = None,
    confirmed: bool = False,
    seeds: int = 1,
) -> Question:
    """The question; parameters are named as the options of `fabric whatif`.

    Parameters
    ----------
    data : mapping    the scenario's data, with `sets` applied
    kinds             None: all
    seeds             runs of each case

    Raises: InputErrors.
    """
    known = tuple(it.value for it in ElementKind)
    chosen = known if kinds is None else tuple(kinds)
    problems = [
        Problem("--kinds", f"'{it}' is no kind of failure", f"one of {', '.join(known)}")
        for it in chosen
        if it not in known
    ]
    at_ps = None
    if at is not None:
        try:
            at_ps = parse_time_ps(at)
        except UnitError as error:
            problems.append(Problem("--at", error.text, error.hint))
    asked = bool(double or drain or grow)
    if singles and not asked:
        problems.append(
            Problem("--singles", "has no effect without --double, --drain or --grow", "leave it out: it is the default")
        )
    singles = singles or not asked
    if not singles:
        for option, given in (("--kinds", kinds), ("--only", only), ("--all", run_all)):
            if given:
                problems.append(Problem(option, "chooses single failures, and none are asked for", "add --singles"))
    if optic_errors is not None and not 0 < optic_errors < 0.1:
        problems.append(Problem("--optic-errors", f"{optic_errors} is no such ratio", "above 0, below 0.1"))
    if optic_errors is not None and (not singles or ElementKind.OPTIC not in chosen):
        problems.append(
            Problem("--optic-errors", "has no effect: no optic fails", "leave it out, or add --kinds optic")
        )
    if not 1 <= seeds <= MAX_SEEDS:
        problems.append(Problem("--seeds", f"{seeds} runs of each case are not possible", f"give 1 to {MAX_SEEDS:,}"))
    if problems:
        raise InputErrors(_STAGE, problems)
    ratio = OPTIC_ERRORS if optic_errors is None else optic_errors
    return Question(
        file, data, tuple(sets), singles, chosen, tuple(only), tuple(double), tuple(drain), tuple(grow), run_all, at_ps,
        ratio, confirmed, seeds,
    )  # fmt: skip
