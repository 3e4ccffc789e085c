"""What a study found: intervals of every measure at every point, differences from the baseline, the Pareto front, and
which parameter matters. All from the table of runs, so that it can be made again at any time, also of a part.

Values are in the units of summary.json (ns, bytes, bit/s).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from fabric.scenario.schema.expectations import METRICS, UNITS, summary_key
from fabric.studies.design import Point
from fabric.studies.levels import Levels
from fabric.studies.plan import StudyPlan
from fabric.studies.statistics import Interval, difference, interval, main_effects, pareto

_UNDONE: Final = ("messages.failed", "messages.unfinished")
"""Messages that completion times leave out."""


@dataclass(frozen=True)
class CellFigures:
    """One point with one workload."""

    point: Point
    workload: str
    runs: int
    failed: int
    feasible: bool
    """Whether every run met every constraint, and there was one."""
    measures: Mapping[str, Interval]
    """Measure -> its interval; measures without a value are left out."""
    differences: Mapping[str, Interval]
    """Measure -> the interval of its difference from the baseline point with the same workload."""
    percentiles_ns: Sequence[Sequence[float]]
    """Of completion times, a list for each run."""
    values: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """Measure -> seed (repetition, where seeds are independent) -> value."""
    incomplete: int = 0
    """Runs in which messages failed or were not done: completion times and slowdowns are those of the others."""


@dataclass(frozen=True)
class Effect:
    """How much a measure depends on a parameter: the least and the most of its means over the values of it."""

    parameter: str
    measure: str
    least: float
    most: float


@dataclass(frozen=True)
class Analysis:
    """All figures of a study."""

    plan: StudyPlan
    cells: tuple[CellFigures, ...]
    front: tuple[int, ...]
    """Numbers of the points on the Pareto front of the objectives; () where there are fewer than two."""
    effects: tuple[Effect, ...]
    """Of the first measure, the largest first."""
    failures: Mapping[str, int]
    """Reason -> runs."""
    by_seed: Mapping[str, Mapping[int, Mapping[int, float]]] = field(default_factory=dict)
    """Measure -> point -> seed (repetition, where seeds are independent) -> mean over the workloads."""

    @property
    def runs(self) -> int:
        """Runs in the table."""
        return sum(it.runs for it in self.cells)

    def of_point(self, number: int) -> list[CellFigures]:
        """The cells of a point."""
        return [it for it in self.cells if it.point.number == number]

    def alike(self, number: int, measure: str) -> list[int] | None:
        """Feasible points that cannot be told apart from a point: the interval of the difference contains 0.

        Returns: their numbers; None where there is no interval, because the points have one seed.
        """
        rule = self.plan.study.repetitions
        known = self.by_seed.get(measure, {})
        found: list[int] = []
        for other, values in known.items():
            if other == number or not all(it.feasible for it in self.of_point(other)):
                continue
            change = difference(values, known.get(number, {}), rule.confidence, paired=rule.pairing == "paired")
            if change is None or change.low is None or change.high is None:
                return None
            if change.low <= 0 <= change.high:
                found.append(other)
        return found

    def objective(self, number: int, measure: str) -> float | None:
        """The value of a measure at a point: the mean over its workloads; None where one has none."""
        found = [it.measures.get(measure) for it in self.of_point(number)]
        if not found or any(it is None for it in found):
            return None
        return sum(it.mean for it in found if it is not None) / len(found)


def shown_measures(plan: StudyPlan) -> tuple[str, ...]:
    """Measures, objectives and constraints, each once, in the order of the file."""
    study = plan.study
    return tuple(dict.fromkeys([*study.measures, *study.objectives, *(it.metric for it in study.constraints)]))


def analysed(plan: StudyPlan, table: pa.Table) -> Analysis:
    """Everything that the table of runs says, finished or not."""
    wanted = shown_measures(plan)
    rows = _rows(table, wanted)
    by_cell: dict[tuple[int, str], list[dict[str, Any]]] = {}
    failures: dict[str, int] = {}
    for row in rows:
        by_cell.setdefault((row["point"], row["workload"]), []).append(row)
        if row["failure"]:
            failures[row["failure"]] = failures.get(row["failure"], 0) + 1
    cells = tuple(
        _figures(plan, cell.point, cell.workload.name, by_cell, wanted)
        for cell in plan.cells
        if (cell.point.number, cell.workload.name) in by_cell
    )
    found = Analysis(plan, cells, (), (), failures)
    return Analysis(plan, cells, _front(found), tuple(_effects(found)), failures, _by_seed(plan, by_cell, wanted))


def _by_seed(
    plan: StudyPlan, by_cell: Mapping[tuple[int, str], Sequence[Mapping[str, Any]]], wanted: Sequence[str]
) -> dict[str, dict[int, dict[int, float]]]:
    """Of seeds that every workload of a point has."""
    paired = plan.study.repetitions.pairing == "paired"
    found: dict[str, dict[int, dict[int, float]]] = {}
    for measure in wanted:
        for point in plan.points:
            cells = [by_cell.get((point.number, it.name), ()) for it in plan.workloads]
            values = [_by_pair(rows, measure, paired=paired) for rows in cells]
            common = set.intersection(*(set(it) for it in values))
            if common:
                means = {seed: sum(it[seed] for it in values) / len(values) for seed in sorted(common)}
                found.setdefault(measure, {})[point.number] = means
    return found


def _rows(table: pa.Table, wanted: Iterable[str]) -> list[dict[str, Any]]:
    columns = ["point", "workload", "repetition", "seed", "failure", "feasible", "fct_percentiles_ns"]
    columns += [it for it in _UNDONE if it not in wanted]
    columns += [summary_key(name) for name in wanted]
    rows: list[dict[str, Any]] = table.select(columns).to_pylist() if table.num_rows else []
    return rows


def _figures(
    plan: StudyPlan,
    point: Point,
    workload: str,
    by_cell: Mapping[tuple[int, str], Sequence[Mapping[str, Any]]],
    wanted: Sequence[str],
) -> CellFigures:
    rule = plan.study.repetitions
    rows = by_cell[point.number, workload]
    base = by_cell.get((plan.baseline, workload), ())
    measures, differences, every = {}, {}, {}
    for name in wanted:
        every[name] = values = _by_pair(rows, name, paired=rule.pairing == "paired")
        found = interval(list(values.values()), rule.confidence)
        if found is None:
            continue
        measures[name] = found
        if point.number != plan.baseline and base:
            known = _by_pair(base, name, paired=rule.pairing == "paired")
            change = difference(values, known, rule.confidence, paired=rule.pairing == "paired")
            if change is not None:
                differences[name] = change
    return CellFigures(
        point,
        workload,
        len(rows),
        sum(row["failure"] is not None for row in rows),
        all(row["feasible"] for row in rows),
        measures,
        differences,
        [row["fct_percentiles_ns"] for row in rows if row["fct_percentiles_ns"]],
        every,
        sum(any(row[name] for name in _UNDONE) for row in rows),
    )


def _by_pair(rows: Sequence[Mapping[str, Any]], metric: str, *, paired: bool) -> dict[int, float]:
    key = summary_key(metric)
    return {row["seed" if paired else "repetition"]: row[key] for row in rows if row[key] is not None}


def _front(found: Analysis) -> tuple[int, ...]:
    goals = found.plan.study.objectives
    if len(goals) < 2:
        return ()
    numbers, costs = [], []
    for point in found.plan.points:
        cells = found.of_point(point.number)
        values = [found.objective(point.number, name) for name in goals]
        if not cells or not all(it.feasible for it in cells) or any(it is None for it in values):
            continue
        numbers.append(point.number)
        costs.append(
            [float(it or 0) * (1 if goal == "min" else -1) for it, goal in zip(values, goals.values(), strict=True)]
        )
    return tuple(number for number, on_front in zip(numbers, pareto(costs), strict=True) if on_front)


def _effects(found: Analysis) -> list[Effect]:
    measure = next(iter(found.plan.study.objectives), found.plan.study.measures[0])
    values = {it.number: found.objective(it.number, measure) for it in found.plan.points}
    points = [it for it in found.plan.points if values[it.number] is not None]
    effects = []
    for name, levels in found.plan.levels.items():
        span = main_effects([axis_value(levels, it) for it in points], [values[it.number] or 0.0 for it in points])
        if span is not None:
            effects.append(Effect(name, measure, *span))
    return sorted(effects, key=lambda it: it.least - it.most)


def axis_value(levels: Levels, point: Point) -> float | str:
    """The value of a parameter on an axis: its number in base units, or its name."""
    value = point.values[levels.name]
    return value.shown if levels.kind == "text" or value.number is None else value.number


def cell_json(cell: CellFigures) -> dict[str, Any]:
    """One cell for --json and points.json."""
    return {
        "point": cell.point.number,
        "workload": cell.workload,
        "parameters": {name: value.shown for name, value in cell.point.values.items()},
        "runs": cell.runs,
        "failed": cell.failed,
        "feasible": cell.feasible,
        "incomplete": cell.incomplete,
        "measures": {
            summary_key(name): {"unit": UNITS[METRICS[name][0]], **it.as_json()} for name, it in cell.measures.items()
        },
        "differences": {summary_key(name): it.as_json() for name, it in cell.differences.items()},
    }
