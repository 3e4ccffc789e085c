"""Drawings of a study by matplotlib, as SVG for the report page: response, distribution, effects, Pareto front.

Text is kept as text and takes the page's colour, so that the drawing follows a light or dark scheme. The same study
gives the same bytes: no date, and ids from a fixed salt.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from fabric.extras import require
from fabric.render.document import Picture, Unit, show
from fabric.scenario.schema.expectations import METRICS
from fabric.studies.analysis import Analysis, CellFigures, axis_value
from fabric.studies.levels import Levels, written
from fabric.units import PS_PER_NS, format_bit_rate, format_measured_bytes, format_time_ps

_INK: Final = "#123456"
"""Stands for the colour of the page's text, and is replaced by it."""
COLOURS: Final = ("#2a78d6", "#d9730d", "#2f9e6b", "#b5439a", "#8a6d00", "#5b5bd6", "#c23b3b", "#4a7f8c")
_SIZE: Final = (8.2, 3.6)
_MOST_LINES: Final = len(COLOURS)
_MOST_TICKS: Final = 8
_FEWEST_DIGITS: Final = 4
_MOST_DIGITS: Final = 12
SETTINGS: Final = {
    "svg.fonttype": "none",
    "svg.hashsalt": "fabric",
    "text.parse_math": False,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "font.size": 10,
    "legend.frameon": False,
}


def unit_of(metric: str) -> Unit:
    """How a measure in the units of summary.json is shown."""
    kind = METRICS[metric][0]
    if kind == "ratio":
        return Unit.TIMES if metric.startswith("slowdown.") else Unit.COUNT
    return {"time": Unit.NS, "size": Unit.BYTES, "rate": Unit.BPS}.get(kind, Unit.COUNT)


def pictures(found: Analysis) -> list[Picture]:
    """Every drawing that the study has the data for."""
    measure = next(iter(found.plan.study.objectives), found.plan.study.measures[0])
    made = [_response(found, measure), _surface(found, measure), _distribution(found), _tornado(found), _front(found)]
    return [it for it in made if it is not None]


def new_axes() -> tuple[Any, Any]:
    """An empty figure of the pages' size, and its axes; to be drawn within rc_context(SETTINGS)."""
    figure = require("matplotlib.figure").Figure(figsize=_SIZE, layout="constrained")
    return figure, figure.add_subplot()


def as_picture(key: str, title: str, figure: Any, note: str = "") -> Picture:  # noqa: ANN401  matplotlib's Figure
    """The figure as SVG, with ids that begin with its key, in the colours of the page."""
    out = io.StringIO()
    require("matplotlib.backends.backend_svg")
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Title": title})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :].replace(_INK, "currentColor")
    svg = re.sub(r'<svg [^>]*viewBox="([^"]+)"[^>]*>', rf'<svg viewBox="\1" role="img" id="{key}-svg">', svg, count=1)
    svg = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{key}-", svg)  # ids are unique in the page
    return Picture(key, title, svg, note)


def drawn(function: Any) -> Any:  # noqa: ANN401  decorates any drawing
    """With the settings of all drawings."""

    def draw(*arguments: Any) -> Any:  # noqa: ANN401
        with require("matplotlib").rc_context(SETTINGS):
            return function(*arguments)

    return draw


def tick_label(value: float, ticks: Sequence[float], unit: Unit) -> str:
    """A value on an axis with these ticks, with as many digits as tell the ticks apart, at least four."""
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS):
        if len({_precise(it, unit, digits) for it in ticks}) == len(set(ticks)):
            return _precise(value, unit, digits)
    return _precise(value, unit, _MOST_DIGITS)


def _precise(value: float, unit: Unit, digits: int) -> str:
    if not value:
        return "0"
    match unit:
        case Unit.BYTES:
            return format_measured_bytes(value, digits)
        case Unit.NS:
            return format_time_ps(value * PS_PER_NS, digits)
        case Unit.BPS:
            return format_bit_rate(value, digits)
        case Unit.TIMES:
            return f"{value:,.{digits}g}x"
        case _:
            return f"{value:,.{digits}g}"


def _labels(axis: Any, unit: Unit, scale: float = 1) -> None:  # noqa: ANN401  matplotlib's Axis
    """Label the ticks of an axis whose values are `scale` times those of the unit."""

    def label(value: float, _position: object) -> str:
        low, high = sorted(axis.get_view_interval())
        ticks = [it / scale for it in axis.get_majorticklocs() if low <= it <= high]
        return tick_label(value / scale, ticks, unit)

    axis.set_major_formatter(label)


def format_axis(axis: Any, metric: str) -> None:  # noqa: ANN401  matplotlib's Axis
    """Name of a measure, and its values in its unit."""
    _labels(axis, unit_of(metric))
    axis.set_label_text(metric)


def _number_axis(axis: Any, levels: Levels) -> None:  # noqa: ANN401  matplotlib's Axis
    axis.set_label_text(levels.name)
    if levels.kind not in {"whole", "number", "text"}:
        unit = {"size": Unit.BYTES, "time": Unit.NS, "rate": Unit.BPS}.get(levels.kind, Unit.COUNT)
        scale = 1000 if levels.kind == "time" else 1
        _labels(axis, unit, scale)


@drawn
def _response(found: Analysis, measure: str) -> Picture | None:
    """The measure over the parameter with the largest effect; a line for each value of the next one."""
    ranked = [it.parameter for it in found.effects if it.measure == measure]
    if not ranked:
        return None
    first, second = ranked[0], ranked[1] if len(ranked) > 1 else None
    levels = found.plan.levels
    groups: dict[str, dict[float | str, list[float]]] = {}
    several = len(found.plan.workloads) > 1
    split = second if second is not None and len({it.values[second].shown for it in found.plan.points}) <= 6 else None
    for cell in found.cells:
        known = cell.measures.get(measure)
        if known is None:
            continue
        label = f"{cell.workload}" if several else f"{split}={cell.point.values[split].shown}" if split else measure
        groups.setdefault(label, {}).setdefault(axis_value(levels[first], cell.point), []).append(known.mean)
    figure, axes = new_axes()
    for number, (label, values) in enumerate(list(groups.items())[:_MOST_LINES]):
        at = sorted(values, key=lambda it: (isinstance(it, str), it))
        axes.plot(at, [float(np.mean(values[it])) for it in at], marker="o", ms=4, color=COLOURS[number], label=label)
    if levels[first].log and levels[first].kind != "text":
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(lambda *_: "")
        ticks = sorted({it for group in groups.values() for it in group if not isinstance(it, str)})
        if len(ticks) <= _MOST_TICKS:
            axes.set_xticks(ticks)
        else:
            axes.xaxis.set_major_locator(require("matplotlib.ticker").LogLocator(subs=(1, 2, 5)))
    _number_axis(axes.xaxis, levels[first])
    format_axis(axes.yaxis, measure)
    if len(groups) > 1:
        axes.legend()
    rest = [name for name in levels if name not in {first, split}]
    note = f"Means over {', '.join(rest)}." if rest else ""
    return as_picture("response", f"{measure} by {first}", figure, note)


@drawn
def _surface(found: Analysis, measure: str) -> Picture | None:
    """The measure over the two parameters with the largest effects, as colours: of two numbers only."""
    levels = found.plan.levels
    ranked = [it.parameter for it in found.effects if levels[it.parameter].kind != "text"]
    if len(ranked) < 2 or len(found.plan.points) < 6:
        return None
    first, second = levels[ranked[0]], levels[ranked[1]]
    spots: dict[tuple[float, float], list[float]] = {}
    for point in found.plan.points:
        value = found.objective(point.number, measure)
        if value is not None:
            spots.setdefault((_float(first, point), _float(second, point)), []).append(value)
    if len(spots) < 6 or len({x for x, _ in spots}) < 2 or len({y for _, y in spots}) < 2:
        return None
    xs, ys = np.array([x for x, _ in spots]), np.array([y for _, y in spots])
    zs = np.array([float(np.mean(it)) for it in spots.values()])
    figure, axes = new_axes()
    at_x, at_y = (np.log(values) if it.log else values for it, values in ((first, xs), (second, ys)))
    try:
        triangles = require("matplotlib.tri").Triangulation(at_x, at_y)
        drawn = axes.tricontourf(triangles, zs, levels=12, cmap="viridis_r")
    except (ValueError, RuntimeError):  # all points are on one line
        return None
    axes.plot(at_x, at_y, ".", color=_INK, ms=3)
    format_axis(figure.colorbar(drawn, ax=axes).ax.yaxis, measure)
    for axis, it in ((axes.xaxis, first), (axes.yaxis, second)):
        axis.set_label_text(it.name)
        axis.set_major_formatter(lambda value, _position, it=it: _tick(it, value))
    return as_picture("surface", f"{measure} by {first.name} and {second.name}", figure, "Interpolated between points.")


def _float(levels: Levels, point: Any) -> float:  # noqa: ANN401  a Point
    return float(point.values[levels.name].number)


def _tick(levels: Levels, value: float) -> str:
    number = float(np.exp(value)) if levels.log else value
    if levels.kind in {"whole", "number"}:
        return f"{number:.3g}"
    unit = {"size": Unit.BYTES, "time": Unit.NS, "rate": Unit.BPS}.get(levels.kind)
    return str(written(levels.kind, number)) if unit is None else show(number / (1000 if unit is Unit.NS else 1), unit)


@drawn
def _distribution(found: Analysis) -> Picture | None:
    """Completion times of the baseline and of the points that are best in each objective."""
    chosen = _notable(found)
    lines = [(cell, np.mean(np.array(cell.percentiles_ns), axis=0)) for cell in chosen if cell.percentiles_ns]
    if not lines:
        return None
    figure, axes = new_axes()
    shares = np.arange(101) / 100
    for number, (cell, at) in enumerate(lines[:_MOST_LINES]):
        label = cell.point.label if len(found.plan.workloads) == 1 else f"{cell.workload}: {cell.point.label}"
        axes.step(at, shares, where="post", color=COLOURS[number], label=label)
    if max(at[-1] for _, at in lines) > 20 * max(min(at[0] for _, at in lines), 1e-9):
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(lambda *_: "")
    _labels(axes.xaxis, Unit.NS)
    axes.set_xlabel("flow completion time")
    axes.set_ylabel("share of messages")
    axes.legend(fontsize=8)
    return as_picture("distribution", "Completion times", figure, "Percentiles of each run, averaged over repetitions.")


def _notable(found: Analysis) -> list[CellFigures]:
    goals = found.plan.study.objectives or {found.plan.study.measures[0]: "min"}
    numbers = [found.plan.baseline]
    for name, goal in goals.items():
        known = [(it.number, found.objective(it.number, name)) for it in found.plan.points]
        values = [(value, number) for number, value in known if value is not None]
        if values:
            numbers.append((min(values) if goal == "min" else max(values))[1])
    return [cell for number in dict.fromkeys(numbers) for cell in found.of_point(number)]


@drawn
def _tornado(found: Analysis) -> Picture | None:
    """Bars: the span of the measure's mean over the values of each parameter."""
    if len(found.effects) < 2:
        return None
    effects = list(reversed(found.effects))
    measure = effects[0].measure
    values = [it for it in (found.objective(p.number, measure) for p in found.plan.points) if it is not None]
    middle = float(np.mean(values))
    figure, axes = new_axes()
    for row, it in enumerate(effects):
        axes.barh(row, it.most - it.least, left=it.least, color=COLOURS[0], height=0.6)
    axes.axvline(middle, color=_INK, lw=1)
    axes.set_yticks(range(len(effects)), [it.parameter for it in effects])
    axes.margins(x=0.08)
    format_axis(axes.xaxis, measure)
    return as_picture(
        "tornado",
        f"What moves {measure}",
        figure,
        "Each bar: from the least to the greatest mean over the values of one parameter. The line: the mean of all.",
    )


@drawn
def _front(found: Analysis) -> Picture | None:
    """Every point in the plane of the first two objectives, with the Pareto front."""
    goals = list(found.plan.study.objectives)
    if len(goals) < 2:
        return None
    first, second = goals[:2]
    figure, axes = new_axes()
    on_front = set(found.front)
    groups: dict[str, list[tuple[float, float]]] = {"on the Pareto front": [], "feasible": [], "not feasible": []}
    for point in found.plan.points:
        x, y = found.objective(point.number, first), found.objective(point.number, second)
        if x is None or y is None:
            continue
        feasible = all(it.feasible for it in found.of_point(point.number))
        name = "on the Pareto front" if point.number in on_front else "feasible" if feasible else "not feasible"
        groups[name].append((x, y))
    if not any(groups.values()):
        return None
    for number, (name, spots) in enumerate(groups.items()):
        if spots:
            marker = ("o", ".", "x")[number]
            axes.plot(*zip(*sorted(spots), strict=True), marker, color=COLOURS[number], label=name, ls="")
    format_axis(axes.xaxis, first)
    format_axis(axes.yaxis, second)
    axes.legend()
    return as_picture("front", f"{first} and {second}", figure, _goals(found, (first, second)))


def _goals(found: Analysis, names: Sequence[str]) -> str:
    words = {"min": "less", "max": "more"}
    return "; ".join(f"{name}: {words[found.plan.study.objectives[name]]} is better" for name in names) + "."


def shown(metric: str, value: float | None) -> str:
    """A value in the units of summary.json for people."""
    return show(value, unit_of(metric))


@drawn
def heat_maps(found: Analysis, measure: str) -> Picture | None:
    """One map a workload: rows the first parameter, columns the others; each cell has the mean, dark is large.

    None where no two cells differ.
    """
    names = list(found.plan.levels)
    if not names or len({it.measures[measure].mean for it in found.cells if measure in it.measures}) < 2:
        return None
    workloads = list(dict.fromkeys(it.workload for it in found.cells))
    rows = list(dict.fromkeys(it.values[names[0]].shown for it in found.plan.points))
    beside = [tuple(it.values[name].shown for name in names[1:]) for it in found.plan.points]
    columns = list(dict.fromkeys(beside))
    height = 0.7 + len(workloads) * (0.45 + 0.3 * len(rows))
    figure = require("matplotlib.figure").Figure(figsize=(_SIZE[0], height), layout="constrained")
    for number, workload in enumerate(workloads):
        axes = figure.add_subplot(len(workloads), 1, number + 1)
        values = np.full((len(rows), len(columns)), np.nan)
        for cell in found.cells:
            if cell.workload == workload and measure in cell.measures:
                at = cell.point.values
                place = rows.index(at[names[0]].shown), columns.index(tuple(at[name].shown for name in names[1:]))
                values[place] = cell.measures[measure].mean
        axes.grid(visible=False)
        axes.imshow(values, aspect="auto", cmap="Blues", alpha=0.6, vmin=0, vmax=max(np.nanmax(values), 1e-12))
        for (row, column), value in np.ndenumerate(values):
            text = "-" if np.isnan(value) else shown(measure, float(value))
            axes.text(column, row, text, ha="center", va="center", fontsize=8, color=_INK)
        axes.set_yticks(range(len(rows)), rows, fontsize=8)
        axes.set_xticks(range(len(columns)), [", ".join(it) or measure for it in columns], fontsize=8)
        axes.set_title(workload, fontsize=9, loc="left")
    return as_picture(measure.replace(".", "-").replace("_", "-"), measure, figure, "Means over seeds; dark is large.")
