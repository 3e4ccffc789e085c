"""Drawings of a search: the confirmed front with its intervals, and what each parameter explains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fabric.render.document import Picture
from fabric.studies.analysis import Analysis
from fabric.studies.figures import COLOURS, as_picture, drawn, format_axis, new_axes, pictures
from fabric.studies.tune import Confirmed, Tuned

_GREY: Final = "#8f98a3"
_OF_TABLE: Final = ("response", "surface")
"""Drawings of the whole table that suit a search. Not the means over the values of a parameter: of a search they say
where it looked (docs/decisions/0064)."""


def tune_pictures(found: Tuned, analysis: Analysis) -> list[Picture]:
    """Every drawing that the search has the data for; `analysis` is that of the table of runs."""
    made = [_front(found, analysis), _importances(found)]
    return [it for it in (*made, *(it for it in pictures(analysis) if it.key in _OF_TABLE)) if it is not None]


@drawn
def _front(found: Tuned, analysis: Analysis) -> Picture | None:
    """The points of the table of the front, with their intervals, among the points that were only searched."""
    goals = found.plan.study.objectives
    if len(goals) < 2 or not found.front:
        return None
    first, second = list(goals)[:2]
    confirmed = [*found.front, *([] if found.baseline is None else [found.baseline])]
    figure, axes = new_axes()
    known = {it.point.number for it in confirmed}
    places = [
        (x, y)
        for point in found.plan.points
        if point.number not in known
        and (x := analysis.objective(point.number, first)) is not None
        and (y := analysis.objective(point.number, second)) is not None
    ]
    if places:
        axes.plot(*zip(*sorted(places), strict=True), ".", color=_GREY, label="searched only", ls="")
    chosen = None if found.chosen is None else found.chosen.point.number
    base = None if found.baseline is None else found.baseline.point.number
    groups = {
        "Pareto front": [it for it in found.front if it.point.number not in {chosen, base}],
        "chosen": [it for it in found.front if it.point.number == chosen],
        "baseline": [] if found.baseline is None or base == chosen else [found.baseline],
    }
    for number, (name, its) in enumerate(groups.items()):
        _with_intervals(axes, its, (first, second), COLOURS[number], name)
    format_axis(axes.xaxis, first)
    format_axis(axes.yaxis, second)
    axes.legend()
    words = {"min": "less", "max": "more"}
    better = "; ".join(f"{name}: {words[goals[name]]} is better" for name in (first, second))
    return as_picture("front", f"{first} and {second}", figure, f"{better}. Crosses: intervals of the new seeds.")


def _with_intervals(axes: Any, its: Sequence[Confirmed], names: tuple[str, str], colour: str, label: str) -> None:  # noqa: ANN401
    spots = [it.objectives for it in its if all(name in it.objectives for name in names)]
    if not spots:
        return
    (x, dx), (y, dy) = (
        ([it[name].mean for it in spots], [it[name].half_width or 0.0 for it in spots]) for name in names
    )
    axes.errorbar(x, y, xerr=dx, yerr=dy, fmt="o", color=colour, label=label, elinewidth=1)


@drawn
def _importances(found: Tuned) -> Picture | None:
    """Bars: the share of the variance of each objective that a parameter explains."""
    names = list(found.importances)
    parameters = list(found.plan.levels)
    if not names or len(parameters) < 2:
        return None
    parameters.sort(key=lambda it: sum(found.importances[name].get(it, 0.0) for name in names))
    figure, axes = new_axes()
    height = 0.8 / len(names)
    for number, name in enumerate(names):
        rows = [row + 0.4 - (number + 0.5) * height for row in range(len(parameters))]
        shares = [found.importances[name].get(it, 0.0) for it in parameters]
        axes.barh(rows, shares, height=height * 0.9, color=COLOURS[number % len(COLOURS)], label=name)
    axes.set_yticks(range(len(parameters)), parameters)
    axes.set_xlim(0, 1)
    axes.xaxis.set_label_text("share of the variance")
    axes.legend()
    return as_picture("importances", "What matters", figure, "fANOVA over the searched space.")
