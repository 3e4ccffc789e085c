"""The fabric as SVG: tiers as rows, hosts in a block under their leaf, each cable as two halves.

A half belongs to the device at its end and takes its colour from the share of the run in which that device stood still
on this cable, so that a pause points from the full switch to the one it stops. Ids (`h<link>a`, `h<link>b`, `n<node>`)
are what assets/replay.js lights up.
"""

from __future__ import annotations

import math
from html import escape
from typing import Final

from fabric.report.model import Map, Unit, show

WIDTH: Final = 1120
ROW_HEIGHT: Final = 128
LEVELS: Final = (0.0, 0.01, 0.05, 0.2, 0.5)
"""Shares of paused time at which the colour grows a step: classes p0 (never) to p5."""
NAMED_HOSTS: Final = 40
"""Above this many hosts their names are tooltips only."""
_ROLES: Final = {"host": 7, "leaf": 17, "spine": 17, "super-spine": 17, "switch": 17}
"""Half the height of a device's symbol, pixels."""


def level(ratio: float) -> int:
    """Step 0 (never paused) to 5 (more than half of the time)."""
    return sum(ratio > limit for limit in LEVELS)


def place(drawing: Map) -> tuple[list[tuple[float, float]], float]:
    """Centre of every node, and the height of the drawing.

    Switches are spread evenly over their row. A host stands under the first switch it is cabled to, in a block as wide
    as that switch's share of the row; hosts of no drawn switch cannot occur, for every host has a cable.
    """
    rows = sorted({node.row for node in drawing.nodes if node.role != "host"}, reverse=True)
    at: list[tuple[float, float]] = [(0.0, 0.0)] * len(drawing.nodes)
    share = WIDTH / 2
    for depth, row in enumerate(rows):
        members = [number for number, node in enumerate(drawing.nodes) if node.row == row and node.role != "host"]
        share = WIDTH / len(members)
        for position, number in enumerate(members):
            at[number] = (share * (position + 0.5), 50 + depth * ROW_HEIGHT)
    under: dict[int, list[int]] = {}
    for number, node in enumerate(drawing.nodes):
        if node.role == "host":
            switches = [link.a if link.b == number else link.b for link in drawing.links if number in (link.a, link.b)]
            under.setdefault(switches[0], []).append(number)
    deepest = at[0][1]
    spacing = 30.0
    for switch, hosts in under.items():
        columns = max(1, min(len(hosts), int(share * 0.92 / spacing)))
        if len(hosts) <= NAMED_HOSTS and len(hosts) * spacing > share:  # squeeze rather than wrap a few hosts
            columns = math.ceil(len(hosts) / math.ceil(len(hosts) / columns))
        x, y = at[switch]
        width = min(share * 0.92 / columns, 64.0)
        for position, host in enumerate(hosts):
            line, column = divmod(position, columns)
            in_line = min(columns, len(hosts) - line * columns)
            at[host] = (x + (column - (in_line - 1) / 2) * width, y + 104 + line * 44)
            deepest = max(deepest, at[host][1])
    return at, max(deepest, 50 + (len(rows) - 1) * ROW_HEIGHT) + 40


def map_svg(drawing: Map, *, prefix: str = "") -> str:
    """The drawing as an <svg> element; `prefix` keeps the ids of two drawings on one page apart."""
    at, height = place(drawing)
    named = sum(node.role == "host" for node in drawing.nodes) <= NAMED_HOSTS
    head = f'<svg class="map" id="{prefix}map" viewBox="0 0 {WIDTH} {height:.0f}" role="img"'
    parts = [f'{head} aria-label="{escape(drawing.title)}">']
    for number, link in enumerate(drawing.links):
        (ax, ay), (bx, by) = at[link.a], at[link.b]
        mx, my = (ax + bx) / 2, (ay + by) / 2
        width = min(4.0, 1.1 + math.log10(max(link.rate_bps, 10**10) / 10**10))
        for end, x, y, ratio in (("a", ax, ay, link.a_paused_ratio), ("b", bx, by, link.b_paused_ratio)):
            node = drawing.nodes[link.a if end == "a" else link.b]
            other = drawing.nodes[link.b if end == "a" else link.a]
            parts.append(f'<line id="{prefix}h{number}{end}" class="half p{level(ratio)}" x1="{x:.1f}" y1="{y:.1f}" '
                         f'x2="{mx:.1f}" y2="{my:.1f}" stroke-width="{width:.1f}"><title>'
                         f"{escape(node.name)} stood still {show(ratio, Unit.RATIO)} of the time towards "
                         f"{escape(other.name)}</title></line>")
    for number, node in enumerate(drawing.nodes):
        x, y = at[number]
        half = _ROLES.get(node.role, 17)
        kind = "host" if node.role == "host" else "switch"
        origin = " origin" if number in drawing.origins else ""
        parts.append(f'<g id="{prefix}n{number}" class="node {kind}{origin} {node.status.value}">')
        if kind == "host":
            ring = f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="{half + 5}"/>' if origin else ""
            parts.append(f'{ring}<circle class="body" cx="{x:.1f}" cy="{y:.1f}" r="{half}"/>')
            if named:
                parts.append(f'<text x="{x:.1f}" y="{y + 21:.1f}">{escape(node.name)}</text>')
        else:
            wide = 15 + 4.2 * len(node.name)
            ring = (f'<rect class="ring" x="{x - wide - 5:.1f}" y="{y - half - 5}" width="{2 * wide + 10:.1f}" '
                    f'height="{2 * half + 10}" rx="12"/>') if origin else ""
            parts.append(f'{ring}<rect class="body" x="{x - wide:.1f}" y="{y - half}" width="{2 * wide:.1f}" '
                         f'height="{2 * half}" rx="8"/><text x="{x:.1f}" y="{y + 5:.1f}">{escape(node.name)}</text>')
        parts.append(f"<title>{escape(node.name)}</title></g>")
    return "".join([*parts, "</svg>"])
