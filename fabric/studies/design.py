"""The points of a study: combinations of the values of its parameters.

Sources: McKay, Beckman, Conover, Technometrics 21(2), 1979 (Latin hypercubes); Owen, J. Complexity 14(4), 1998
(scrambled Sobol sequences). Both are scipy.stats.qmc.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fabric.errors import Problem, UnitError
from fabric.extras import require
from fabric.studies.levels import Levels, Value
from fabric.studies.schema import MAX_POINTS, DesignSpec, Study


@dataclass(frozen=True)
class Point:
    """One combination of values."""

    number: int
    values: Mapping[str, Value]
    """By parameter, in the order of the file."""

    @property
    def settings(self) -> dict[str, Any]:
        """Field of the scenario -> value."""
        return {path: setting for value in self.values.values() for path, setting in value.settings}

    @property
    def label(self) -> str:
        """'kmin=100KB pmax=0.2'; 'the scenario' where nothing varies."""
        return " ".join(f"{name}={value.shown}" for name, value in self.values.items()) or "the scenario"


def levels_of(study: Study, file: str, problems: list[Problem]) -> dict[str, Levels]:
    """The values of each parameter; what is wrong is added to `problems`."""
    found = {}
    for name, spec in study.parameters.items():
        try:
            found[name] = Levels(name, spec)
        except UnitError as error:
            field, _, text = error.text.partition(": ")
            problems.append(Problem(f"{file}: parameters.{name}.{field}", text, error.hint))
    return found


def points(study: Study, levels: Mapping[str, Levels], file: str, problems: list[Problem]) -> list[Point]:
    """Every point of the design, without repetitions of the same point; what is wrong is added to `problems`."""
    if isinstance(study.design, DesignSpec):
        drawn: Iterator[Sequence[Value]] = _drawn(study.design, list(levels.values()))
    else:
        for name, it in levels.items():
            if it.is_range:
                problems.append(
                    Problem(
                        f"{file}: parameters.{name}",
                        f"a {study.design} needs the number of values",
                        "add steps to the range, or draw points: design: {kind: sobol, points: 64}",
                    )
                )
        listed = [it.cases for it in levels.values()]
        sizes = {name: len(it.cases) for name, it in levels.items()}
        if study.design == "zip" and len(set(sizes.values())) > 1:
            text = f"zip takes values side by side, and there are {', '.join(f'{n} of {k}' for k, n in sizes.items())}"
            problems.append(Problem(f"{file}: design", text, "give each parameter as many values, or use grid"))
        if study.design == "grid" and math.prod(sizes.values()) > MAX_POINTS:
            text = f"{math.prod(sizes.values()):,} points are more than {MAX_POINTS:,}"
            problems.append(Problem(f"{file}: design", text, "draw a part of them: design: {kind: sobol, points: 256}"))
        if problems:
            return []
        drawn = zip(*listed, strict=True) if study.design == "zip" and listed else itertools.product(*listed)
    distinct: dict[tuple[str, ...], dict[str, Value]] = {}
    for values in drawn:
        try:
            found = combined(levels, dict(zip(levels, values, strict=True)))
        except UnitError as error:
            problems.append(Problem(f"{file}: parameters", error.text, error.hint))
            return []
        distinct.setdefault(tuple(it.shown for it in found.values()), found)
    return [Point(number, values) for number, values in enumerate(distinct.values())]


def combined(levels: Mapping[str, Levels], values: Mapping[str, Value]) -> dict[str, Value]:
    """The values of a point, with factors applied to the parameters that they belong to. Raises: UnitError."""
    return {
        name: values[name]
        if it.factor_of is None
        else it.applied(values[name], values[it.factor_of], levels[it.factor_of].kind)
        for name, it in levels.items()
    }


def _drawn(design: DesignSpec, levels: Sequence[Levels]) -> Iterator[Sequence[Value]]:
    qmc = require("scipy.stats.qmc")
    if not levels:
        yield ()
        return
    if design.kind == "random":
        import numpy as np  # noqa: PLC0415  only for this design

        sample = np.random.default_rng(design.seed).random((design.points, len(levels)))
    elif design.kind == "lhs":
        sample = qmc.LatinHypercube(len(levels), rng=design.seed).random(design.points)
    else:
        sample = qmc.Sobol(len(levels), scramble=True, rng=design.seed).random(1 << (design.points - 1).bit_length())
        sample = sample[: design.points]
    for row in sample.tolist():
        yield [it.at(share) for it, share in zip(levels, row, strict=True)]
