"""The report of a study: one document for the terminal, the page and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fabric.render.document import Column, Document, Markdown, Prose, Section, Status, Table, Unit, Value, show
from fabric.scenario.schema.expectations import summary_key
from fabric.studies.analysis import Analysis, CellFigures, cell_json, shown_measures
from fabric.studies.figures import pictures, unit_of
from fabric.studies.statistics import Interval
from fabric.units import count, listed

_REASONS: Final = 6
"""Kinds of failures that are listed."""


def compose(found: Analysis, left_out: Mapping[int, str], *, complete: bool, drawn: bool = True) -> Document:
    """The report of a study.

    Parameters
    ----------
    left_out : number of a cell -> why it is no valid scenario
    complete : bool       whether every planned run is in the table
    drawn : bool          with the drawings, which need matplotlib
    """
    study = found.plan.study
    sections = [
        Section("best", "Best points", tuple(_best(found))),
        Section("points", "Points", (_points(found),)),
        Section("differences", "Differences from the baseline", tuple(_differences(found))),
        Section("effects", "What matters", tuple(_effects(found))),
        Section("drawings", "Drawings", tuple(pictures(found)) if drawn and found.cells else ()),
        Section("study", "The study", (Markdown(f"```yaml\n{found.plan.text.rstrip().replace('```', '` ` `')}\n```"),)),
    ]
    reasons = tuple(_reasons(found, left_out, complete=complete))
    status = Status.WARNING if any(it.status is not Status.NEUTRAL for it in reasons) else Status.GOOD
    return Document(
        title=study.name,
        subtitle=f"{count(len(found.plan.points), 'point')}, {count(len(found.plan.workloads), 'workload')}, "
        f"{count(found.runs, 'run')}",
        status=status,
        verdict=_verdict(found),
        reasons=reasons,
        sections=tuple(it for it in sections if it.blocks),
    )


def as_json(found: Analysis) -> dict[str, Any]:
    """The figures for --json and points.json."""
    return {
        "name": found.plan.study.name,
        "runs": found.runs,
        "points": [cell_json(it) for it in found.cells],
        "front": list(found.front),
        "best": [
            {"measure": summary_key(name), "point": number, "alike": found.alike(number, name)}
            for name, number in best_points(found).items()
        ],
        "effects": [
            {"parameter": it.parameter, "measure": summary_key(it.measure), "least": it.least, "most": it.most}
            for it in found.effects
        ],
        "failures": [{"reason": reason, "runs": runs} for reason, runs in found.failures.items()],
    }


def goals(found: Analysis) -> dict[str, str]:
    """The objectives; without any, the first measure is to be small, or large where it is a rate."""
    study = found.plan.study
    if study.objectives:
        return dict(study.objectives)
    first = study.measures[0]
    return {first: "max" if unit_of(first) is Unit.BPS or first in {"goodput.jain", "messages.done"} else "min"}


def best_points(found: Analysis) -> dict[str, int]:
    """Objective -> number of the feasible point that is best in it."""
    chosen = {}
    for name, goal in goals(found).items():
        values = []
        for point in found.plan.points:
            cells = found.of_point(point.number)
            value = found.objective(point.number, name)
            if cells and value is not None and all(it.feasible for it in cells):
                values.append((value if goal == "min" else -value, point.number))
        if values:
            chosen[name] = min(values)[1]
    return chosen


def _verdict(found: Analysis) -> str:
    if not found.cells:
        return "no run has finished yet"
    best = best_points(found)
    if not best:
        return "no point meets the constraints in every run" if found.plan.study.constraints else "no run has a value"
    name, number = next(iter(best.items()))
    goal = "least" if goals(found)[name] == "min" else "most"
    value = show(found.objective(number, name), unit_of(name))
    label = found.plan.points[number].label
    if len(found.plan.points) == 1:
        return f"{name} is {value} on average over {count(found.runs, 'run')}"
    text = f"{label} has the {goal} {name}: {value} on average"
    alike = found.alike(number, name)
    if not alike:
        return text if alike is not None else f"{text}; with one seed it is not known whether others differ"
    return f"{text}, and cannot be told apart from {count(len(alike), 'other point')}"


def _reasons(found: Analysis, left_out: Mapping[int, str], *, complete: bool) -> Iterator[Prose]:
    if not complete:
        yield Prose("not every planned run is done: these are the figures so far", Status.WARNING)
    for reason, runs in list(found.failures.items())[:_REASONS]:
        yield Prose(f"{count(runs, 'run')} failed: {reason}", Status.WARNING)
    if left_out:
        first = next(iter(left_out.values()))
        what = count(len(left_out), "point") if len(found.plan.workloads) == 1 else count(len(left_out), "combination")
        yield Prose(f"{what} left out, being no valid scenario: {first}", Status.WARNING)
    broken = [it for it in found.cells if not it.feasible and it.failed < it.runs]
    if broken and found.plan.study.constraints:
        rules = ", ".join(map(str, found.plan.study.constraints))
        names = listed(list(dict.fromkeys(it.point.label for it in broken)), 3, "; ")
        yield Prose(f"{len(broken)} of {len(found.cells)} do not meet {rules}: {names}", Status.NEUTRAL)
    yield from _incomplete(found)
    yield from _alike(found)
    if found.front:
        yield Prose(f"{count(len(found.front), 'point')} on the Pareto front")


def _incomplete(found: Analysis) -> Iterator[Prose]:
    """Points in which messages failed or were not done, where a measure leaves these out."""
    cells = [it for it in found.cells if it.incomplete]
    if cells and any(it.startswith(("fct.", "slowdown.")) for it in shown_measures(found.plan)):
        runs = sum(it.incomplete for it in cells)
        names = listed(list(dict.fromkeys(it.point.label for it in cells)), 3, "; ")
        yield Prose(
            f"messages failed or were not done in {runs} of {count(found.runs, 'run')}, and completion times and "
            f"slowdowns leave them out: {names}",
            Status.WARNING,
        )


def _alike(found: Analysis) -> Iterator[Prose]:
    """Points that are as good as the best one, as far as the seeds can tell."""
    level = found.plan.study.repetitions.confidence
    how = ", seed by seed," if found.plan.study.repetitions.pairing == "paired" else ""
    for name, number in best_points(found).items():
        others = found.alike(number, name)
        if others:
            shown = listed([found.plan.points[it].label for it in others], 3, "; ")
            yield Prose(
                f"{name}: {found.plan.points[number].label} cannot be told apart from {shown}: the {level:.0%} "
                f"interval of the difference{how} contains 0"
            )


def _plus_minus(it: Interval) -> float | None:
    """Half of an interval as a share of the mean."""
    if it.half_width is None or it.mean == 0:
        return None
    return it.half_width / abs(it.mean)


def _point_columns(found: Analysis) -> list[Column]:
    columns = [Column("point", "point", Unit.COUNT), *(Column(name, name) for name in found.plan.levels)]
    if len(found.plan.workloads) > 1:
        columns.append(Column("workload", "workload"))
    return columns


def _point_values(found: Analysis, cell: CellFigures) -> list[Value]:
    values: list[Value] = [cell.point.number, *(it.shown for it in cell.point.values.values())]
    return [*values, cell.workload] if len(found.plan.workloads) > 1 else values


def _points(found: Analysis) -> Table:
    names = shown_measures(found.plan)
    repeated = any(it.runs > 1 for it in found.cells)
    columns = [*_point_columns(found), Column("runs", "runs", Unit.COUNT)]
    if found.plan.study.constraints:
        columns.append(Column("feasible", "feasible"))
    for name in names:
        columns.append(Column(summary_key(name), name, unit_of(name)))
        if repeated:
            columns.append(Column(f"{name}.half_width_ratio", "±", Unit.RATIO))
    rows = []
    for cell in found.cells:
        row = [*_point_values(found, cell), cell.runs]
        if found.plan.study.constraints:
            row.append(cell.feasible)
        for name in names:
            known = cell.measures.get(name)
            row.append(None if known is None else known.mean)
            if repeated:
                row.append(None if known is None else _plus_minus(known))
        rows.append(tuple(row))
    level = found.plan.study.repetitions.confidence
    note = f"Means over seeds; ±: half of the {level:.0%} interval, as a share of the mean." if repeated else ""
    statuses = tuple(Status.NEUTRAL if it.feasible else Status.WARNING for it in found.cells)
    return Table("points", "", tuple(columns), tuple(rows), note, statuses)


def _best(found: Analysis) -> Iterator[Table]:
    best = best_points(found)
    front = found.front or tuple(dict.fromkeys(best.values()))
    if len(found.plan.points) < 2 or not front:
        return
    names = tuple(goals(found))
    numbers = sorted(front, key=lambda it: found.objective(it, names[0]) or 0.0)
    columns = (
        Column("point", "point", Unit.COUNT),
        *(Column(name, name) for name in found.plan.levels),
        *(Column(summary_key(name), name, unit_of(name)) for name in names),
        Column("best_in", "best in"),
    )
    rows = tuple(
        (
            number,
            *(it.shown for it in found.plan.points[number].values.values()),
            *(found.objective(number, name) for name in names),
            ", ".join(name for name, it in best.items() if it == number),
        )
        for number in numbers
    )
    note = "Means over seeds and workloads." if len(found.plan.workloads) > 1 else ""
    yield Table("best", "Pareto front" if found.front else "", columns, rows, note)


def _differences(found: Analysis) -> Iterator[Table]:
    """Points whose interval of the first measure's difference does not contain 0 are marked."""
    names = [it for it in goals(found) if any(it in cell.differences for cell in found.cells)]
    cells = [it for it in found.cells if it.differences]
    if not names or not cells:
        return
    columns = _point_columns(found)
    for name in names:
        unit = unit_of(name)
        columns += [
            Column(f"{summary_key(name)}.mean", f"{name}, difference", unit),
            Column(f"{summary_key(name)}.low", "from", unit),
            Column(f"{summary_key(name)}.high", "to", unit),
        ]
    rows = []
    for cell in cells:
        row = _point_values(found, cell)
        for name in names:
            known = cell.differences.get(name)
            row += [None, None, None] if known is None else [known.mean, known.low, known.high]
        rows.append(tuple(row))
    rule = found.plan.study.repetitions
    how = "seed by seed" if rule.pairing == "paired" else "of independent runs"
    note = (
        f"{rule.confidence:.0%} intervals of the difference from {found.plan.points[found.plan.baseline].label}, {how}."
    )
    yield Table("differences", "", tuple(columns), tuple(rows), note)


def _effects(found: Analysis) -> Iterator[Table]:
    if not found.effects:
        return
    unit = unit_of(found.effects[0].measure)
    columns = (
        Column("parameter", "parameter"),
        Column("measure", "measure"),
        Column("least", "least mean", unit),
        Column("most", "greatest mean", unit),
        Column("span", "span", unit),
    )
    rows = tuple((it.parameter, it.measure, it.least, it.most, it.most - it.least) for it in found.effects)
    note = "Means of the measure over the values of one parameter, averaged over all others."
    yield Table("effects", "", columns, rows, note)
