"""Gantt charts as SVG text: lanes with bars by time. Colours are the classes of lines in assets/page.css.

Bars without a label share a path for each lane and kind: a page of 64 ranks has ten thousands of them.
"""

from __future__ import annotations

from typing import Final

from fabric.render.document import Gantt, Unit, show
from fabric.render.plots import Axis
from fabric.visible import in_markup as escape

WIDTH: Final = 860
LEFT, RIGHT, TOP, BOTTOM = 130, 18, 8, 40
LANE: Final = 16
"""Height of a lane with its gap."""
BAR: Final = 11
CHARACTER: Final = 6.2
"""Width of a character of a lane's name, pixels."""


def gantt_svg(gantt: Gantt) -> str:
    """One chart as an <svg> element; an empty frame that says so where it has no bar."""
    if not gantt.bars:
        return (
            f'<svg class="chart" viewBox="0 0 {WIDTH} 60" role="img"><text x="{WIDTH / 2}" y="34" '
            f'class="empty">nothing was recorded</text></svg>'
        )
    bottom = TOP + LANE * len(gantt.lanes)
    edge = max(LEFT, min(round(CHARACTER * max(map(len, gantt.lanes), default=0)) + 14, WIDTH // 2))
    moments = [moment for bar in gantt.bars for moment in (bar.start_ns, bar.end_ns)]
    axis = Axis([float(min(moments)), float(max(moments))], Unit.NS, edge, WIDTH - RIGHT, log=False, from_zero=False)
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {bottom + BOTTOM}" role="img" aria-label="{escape(gantt.title)}">'
    ]
    parts += [
        f'<line class="grid" x1="{axis.at(x):.1f}" x2="{axis.at(x):.1f}" y1="{TOP}" y2="{bottom}"/>'
        f'<text class="tick" x="{axis.at(x):.1f}" y="{bottom + 16}" text-anchor="middle">{axis.label(x)}</text>'
        for x in axis.ticks
    ]
    parts += [
        f'<text class="tick" x="{edge - 8}" y="{TOP + LANE * row + BAR - 1}" text-anchor="end">{escape(name)}</text>'
        for row, name in enumerate(gantt.lanes)
    ]
    plain: dict[tuple[int, int], list[str]] = {}
    for bar in gantt.bars:
        if not bar.label:
            left, right = axis.at(bar.start_ns), axis.at(bar.end_ns)
            wide = max(right - left, 0.4)
            shape = f"M{left:.1f} {TOP + LANE * bar.lane}h{wide:.1f}v{BAR}h{-wide:.1f}z"
            plain.setdefault((bar.lane, bar.kind), []).append(shape)
    parts += [
        f'<path class="lane s{kind}" d="{"".join(shapes)}"><title>{escape(gantt.kinds[kind])}</title></path>'
        for (_, kind), shapes in plain.items()
    ]
    for bar in gantt.bars:
        if bar.label:
            left, right = axis.at(bar.start_ns), axis.at(bar.end_ns)
            lasted = show(bar.end_ns - bar.start_ns, Unit.NS)
            parts.append(
                f'<rect class="lane s{bar.kind}" x="{left:.1f}" width="{max(right - left, 0.4):.1f}" '
                f'y="{TOP + LANE * bar.lane}" height="{BAR}"><title>'
                f"{escape(f'{gantt.kinds[bar.kind]}, {lasted} {bar.label}')}</title></rect>"
            )
    parts.append(f'<text class="axis" x="{WIDTH - RIGHT}" y="{bottom + 34}" text-anchor="end">simulated time</text>')
    return "".join([*parts, "</svg>"])
