"""Charts as SVG text: axes, gridlines, stepped or straight lines, vertical marks.

Drawn here rather than by a plotting library, because a page that follows the reader's light or dark scheme needs
colours by CSS class, and because a report should not need an extra package. Colours and fonts are in assets/page.css.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from typing import Final

from fabric.render.document import Chart, Series, Unit, show
from fabric.visible import in_markup as escape

WIDTH: Final = 760
HEIGHT: Final = 280
LEFT, RIGHT, TOP, BOTTOM = 74, 18, 22, 40
N_COLOURS: Final = 8
"""Classes s0 to s7 in page.css; further lines repeat them dashed."""
MAX_POINTS: Final = 1200
"""Points per line; more are indistinguishable at this width."""


def chart_svg(chart: Chart) -> str:
    """One chart as an <svg> element. A chart without points becomes an empty frame that says so."""
    series = [thin(line) for line in chart.series]
    xs = [x for line in series for x in line.x] + [mark.x for mark in chart.marks]
    ys = [y for line in series for y in line.y]
    if not ys:
        return (
            f'<svg class="chart" viewBox="0 0 {WIDTH} 60" role="img"><text x="{WIDTH / 2}" y="34" '
            f'class="empty">nothing was recorded</text></svg>'
        )
    x_axis = Axis(xs, chart.x_unit, LEFT, WIDTH - RIGHT, log=chart.log_x, from_zero=False)
    y_axis = Axis(ys, chart.y_unit, HEIGHT - BOTTOM, TOP, log=False, from_zero=True)
    parts = [f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(chart.title)}">']
    parts += [
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y_axis.at(y):.1f}" y2="{y_axis.at(y):.1f}"/>'
        f'<text class="tick" x="{LEFT - 8}" y="{y_axis.at(y) + 4:.1f}" text-anchor="end">{y_axis.label(y)}</text>'
        for y in y_axis.ticks
    ]
    parts += [
        f'<line class="grid" x1="{x_axis.at(x):.1f}" x2="{x_axis.at(x):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        f'<text class="tick" x="{x_axis.at(x):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">'
        f"{x_axis.label(x)}</text>"
        for x in x_axis.ticks
    ]
    parts.append(
        f'<text class="axis" x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" text-anchor="end">{escape(chart.x_title)}'
        f'</text><text class="axis" x="{LEFT}" y="{TOP - 9}">{escape(chart.y_title)}</text>'
    )
    parts += [_line(line, number, x_axis, y_axis, stepped=chart.stepped) for number, line in enumerate(series)]
    parts += [
        f'<line class="mark" x1="{x_axis.at(mark.x):.1f}" x2="{x_axis.at(mark.x):.1f}" y1="{TOP}" '
        f'y2="{HEIGHT - BOTTOM}"/><text class="marktext" x="{x_axis.at(mark.x) + 4:.1f}" '
        f'y="{TOP + 11 + 12 * (number % 3)}">{escape(mark.label)}</text>'
        for number, mark in enumerate(chart.marks)
    ]
    return "".join([*parts, "</svg>"])


def thin(line: Series, limit: int = MAX_POINTS) -> Series:
    """The line with at most about `limit` points: the first, smallest and largest of each interval, so that no peak is
    lost.
    """
    if len(line.x) <= limit:
        return line
    stride = -(-3 * len(line.x) // limit)
    keep: list[int] = []
    for start in range(0, len(line.x), stride):
        interval = range(start, min(start + stride, len(line.x)))
        keep += sorted({start, min(interval, key=line.y.__getitem__), max(interval, key=line.y.__getitem__)})
    if keep[-1] != len(line.x) - 1:
        keep.append(len(line.x) - 1)
    return Series(line.label, tuple(line.x[row] for row in keep), tuple(line.y[row] for row in keep))


class Axis:
    """From values to pixels, with four to eight round ticks."""

    def __init__(
        self, values: Sequence[float], unit: Unit, start: float, end: float, *, log: bool, from_zero: bool
    ) -> None:
        low, high = (min(0, *values) if from_zero else min(values)), max(values)
        if high <= low:
            high = low + 1
        self.unit, self.start, self.end, self.log = unit, start, end, log
        if log:
            low = max(low, 1e-9)
            self.ticks = [t for t in _log_ticks(low, high) if low <= t <= high]
        else:
            step = _round_step((high - low) / 6)
            if from_zero:
                high = step * math.ceil(high / step)
            first = math.ceil(low / step)
            self.ticks = [step * number for number in range(first, int(high / step + 1e-9) + 1)]
        self.low, self.high = low, high

    def at(self, value: float) -> float:
        """Pixel of a value."""
        if self.log:
            part = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def label(self, value: float) -> str:
        """A tick as text."""
        return "0" if value == 0 else escape(show(value, self.unit))


def _round_step(rough: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below `rough`."""
    power = 10.0 ** math.floor(math.log10(rough))
    return power * (1, 2, 5, 10)[bisect.bisect_left((1, 2, 5), rough / power - 1e-9)]


def _log_ticks(low: float, high: float) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if len(decades) <= 3 else (1,)  # few decades leave room for more ticks
    return [factor * 10.0**decade for decade in decades for factor in factors]


def _line(line: Series, number: int, x_axis: Axis, y_axis: Axis, *, stepped: bool) -> str:
    points: list[str] = []
    before = ""
    for x, y in zip(line.x, line.y, strict=True):
        at_x, at_y = f"{x_axis.at(x):.1f}", f"{y_axis.at(y):.1f}"
        if stepped and before:
            points.append(f"{at_x},{before}")
        points.append(f"{at_x},{at_y}")
        before = at_y
    dashed = " dashed" if number >= N_COLOURS else ""
    return (
        f'<polyline class="line s{number % N_COLOURS}{dashed}" points="{" ".join(points)}">'
        f"<title>{escape(line.label)}</title></polyline>"
    )
