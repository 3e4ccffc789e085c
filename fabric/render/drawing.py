"""The fabric as SVG: tiers as rows, hosts in a block under their leaf, each cable as two halves.

A half belongs to the device at its end and takes its colour from the share of the run in which that device was paused
on this cable, so that a pause points from the full switch to the one it stops. Ids (`h<link>a`, `h<link>b`, `n<node>`)
are used by assets/replay.js.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fabric.render.document import Map, Unit, show
from fabric.visible import in_markup as escape

WIDTH: Final = 1120
"""Least width of a drawing, pixels; a long row of switches makes it wider."""
LEAST_SHARE: Final = 15.0
"""Of the width, for one switch: room for its name, written upwards."""
ROW_HEIGHT: Final = 128
CHARACTER: Final = 6.7
"""Width of a character of a host's or switch's name, pixels."""
LEVELS: Final = (0.0, 0.01, 0.05, 0.2, 0.5)
"""Shares of paused time at which the colour grows a step: classes p0 (never) to p5."""
NAMED_HOSTS: Final = 40
"""Above this many hosts their names are tooltips only."""
ROOMY_HOSTS: Final = 128
"""Above this many hosts their dots shrink and stand closer."""
ROOF: Final = 38
"""How far a cable between devices of one row rises above those between them, pixels."""
SWITCH_HALF: Final = 17
"""Half the height of a switch, pixels."""
MARGIN: Final = 24
"""Left and right of a drawing, pixels: room for a ring around a device at its edge."""
LEAST_SCALE: Final = 0.84
"""A drawing is never shown smaller than this, because its smallest names, of 11 pixels, must have 9 on a screen. A part
that has no room on the screen is scrolled."""


def level(ratio: float) -> int:
    """Step 0 (never paused) to 5 (more than half of the time)."""
    return sum(ratio > limit for limit in LEVELS)


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions and sizes of all nodes."""

    at: tuple[tuple[float, float], ...]
    """Centre of every node."""
    half_width: tuple[float, ...]
    """Of every switch; of a host its radius."""
    half_height: tuple[float, ...]
    """Of every switch: more than its half width where its name does not fit across and is written upwards."""
    width: float
    height: float
    named_hosts: bool
    """Whether hosts' names are written; else they are tooltips only."""


def place(drawing: Map, least_width: int = WIDTH) -> Layout:
    """Lay a fabric out, at least so many pixels wide.

    Switches are spread evenly over their row. A host stands under the first switch it is cabled to, in a block as wide
    as that switch's share of the row; every host has a cable.
    """
    switches = [
        (number, node.row)
        for number, node in enumerate(drawing.nodes)
        if node.role != "host" and number not in drawing.hidden
    ]
    rows = sorted({row for _, row in switches}, reverse=True)
    members = [[number for number, own in switches if own == row] for row in rows]
    n_hosts = sum(node.role == "host" for node in drawing.nodes)
    label = CHARACTER * max((len(node.name) for node in drawing.nodes if node.role == "host"), default=0)
    named = n_hosts <= NAMED_HOSTS
    width = max(least_width, max(LEAST_SHARE, (1.09 * label + 14) * named) * max(map(len, members), default=0))
    at: list[tuple[float, float]] = [(0.0, 0.0)] * len(drawing.nodes)
    half: list[float] = [0.0] * len(drawing.nodes)
    half_height: list[float] = [0.0] * len(drawing.nodes)
    share: dict[int, float] = {}
    y = 50.0
    for numbers in members:
        room = width / max(len(numbers), 1)
        longest = max((len(drawing.nodes[number].name) for number in numbers), default=0)
        turned = CHARACTER * longest > 0.86 * room
        tall = SWITCH_HALF if not turned else 6 + CHARACTER / 2 * longest
        y += tall - SWITCH_HALF
        for position, number in enumerate(numbers):
            share[number], half_height[number] = room, tall
            at[number] = (room * (position + 0.5), y)
            half[number] = min(8.0, 0.43 * room) if turned else min(15 + 4.2 * longest, 0.43 * room)
        y += ROW_HEIGHT + tall - SWITCH_HALF
    deepest = _place_hosts(drawing, share, half_height, at, half, label if named else 0)
    return Layout(tuple(at), tuple(half), tuple(half_height), width, max(deepest, y - ROW_HEIGHT) + 40, named)


def _place_hosts(
    drawing: Map,
    share: Mapping[int, float],
    half_height: Sequence[float],
    at: list[tuple[float, float]],
    half: list[float],
    label: float,
) -> float:
    """Write the places of all hosts, whose names take `label` pixels (0: none is written). Returns: the lowest."""
    first_switch: dict[int, int] = {}
    for link in drawing.links:
        for end, other in ((link.a, link.b), (link.b, link.a)):
            if drawing.nodes[end].role == "host" and other not in drawing.hidden:
                first_switch.setdefault(end, other)
    under: dict[int, list[int]] = {}
    for host, switch in first_switch.items():
        under.setdefault(switch, []).append(host)
    roomy = len(first_switch) <= ROOMY_HOSTS
    spacing, pitch, radius = (max(30.0, label), 44.0, 7.0) if roomy else (9.0, 9.0, 3.0)
    deepest = 0.0
    for switch, hosts in under.items():
        room = 0.92 * share[switch]
        columns = max(1, min(len(hosts), int(room / spacing)))
        columns = math.ceil(len(hosts) / math.ceil(len(hosts) / columns))  # the same number of lines, evenly filled
        width = min(room / columns, max(64.0, label) if roomy else 12.0)
        x, y = at[switch]
        y += (104 if roomy else 84) + half_height[switch] - SWITCH_HALF
        for position, host in enumerate(sorted(hosts)):
            line, column = divmod(position, columns)
            in_line = min(columns, len(hosts) - line * columns)
            # One below the other, hosts are shifted a little, so that no cable crosses another host.
            aside = 0.0 if columns > 1 else (line - (len(hosts) - 1) / 2) * min(12.0, room / len(hosts) / 2)
            at[host] = (x + (column - (in_line - 1) / 2) * width + aside, y + line * pitch)
            half[host] = radius
            deepest = max(deepest, at[host][1])
    return deepest


def map_svg(
    drawing: Map,
    *,
    prefix: str = "",
    steps: Mapping[int, int] | None = None,
    overlay: Callable[[Layout], Iterator[str]] | None = None,
    least_width: int = WIDTH,
    culprits: Sequence[int] = (),
) -> str:
    """The drawing as an <svg> element; `prefix` keeps the ids of two drawings on one page apart.

    Names of the origins and `culprits` are always written, and these devices are drawn above all others.

    With `steps`, ends (2 * position of the link + 0 for a, 1 for b) have these colour steps instead of those of their
    ratios, and no notes. `overlay` draws above all.
    """
    layout = place(drawing, least_width)
    width, height = layout.width + 2 * MARGIN, layout.height
    head = (
        f'<svg class="map" id="{prefix}map" viewBox="{-MARGIN} 0 {width:.0f} {height:.0f}" role="img" '
        f'style="min-width:{math.ceil(LEAST_SCALE * width)}px;min-height:{math.ceil(LEAST_SCALE * height)}px"'
    )
    return "".join(
        [
            f'{head} aria-label="{escape(drawing.title)}">',
            *_cables(drawing, layout, prefix, steps),
            *_devices(drawing, layout, prefix, tuple(dict.fromkeys((*culprits, *drawing.origins)))),
            *(overlay(layout) if overlay is not None else ()),
            "</svg>",
        ]
    )


def _cables(drawing: Map, layout: Layout, prefix: str, steps: Mapping[int, int] | None) -> Iterator[str]:
    """Halves of cables, the highest colour step last: above the others that they cross."""
    thin = 1.0 if len(drawing.links) <= 2 * ROOMY_HOSTS else 0.4
    halves: list[tuple[int, str]] = []
    for number, link in enumerate(drawing.links):
        if link.a in drawing.hidden or link.b in drawing.hidden:
            continue
        (ax, ay), (bx, by) = layout.at[link.a], layout.at[link.b]
        mx, my = (ax + bx) / 2, (ay + by) / 2
        if ay == by and any(y == ay and min(ax, bx) < x < max(ax, bx) for x, y in layout.at):
            my -= ROOF  # a straight cable would run through the devices between its ends
        width = thin * min(4.0, 1.1 + math.log10(max(link.rate_bps, 10**10) / 10**10))
        for end, x, y, ratio in (("a", ax, ay, link.a_paused_ratio), ("b", bx, by, link.b_paused_ratio)):
            node = drawing.nodes[link.a if end == "a" else link.b]
            other = drawing.nodes[link.b if end == "a" else link.a]
            if steps is None:
                note = link.note or f"{node.name} towards {other.name}: {drawing.measure} {show(ratio, Unit.RATIO)}"
                colour, title = level(ratio), f"<title>{escape(note)}</title>"
            else:
                colour, title = steps.get(2 * number + (end == "b"), 0), ""
            line = (
                f'<line id="{prefix}h{number}{end}" class="half p{colour}" x1="{x:.1f}" y1="{y:.1f}" '
                f'x2="{mx:.1f}" y2="{my:.1f}" stroke-width="{width:.1f}">{title}</line>'
            )
            halves.append((colour, line))
    yield from (line for _, line in sorted(halves, key=lambda it: it[0]))


def _written(drawing: Map, layout: Layout, culprits: Sequence[int]) -> dict[int, float]:
    """Hosts among `culprits` and the middle of their names: inside the drawing, and not upon each other."""
    found: dict[int, float] = {}
    for number in culprits:
        if drawing.nodes[number].role != "host" or number in drawing.hidden:
            continue
        x, y = layout.at[number]
        half = CHARACTER * len(drawing.nodes[number].name) / 2
        x = min(max(x, half - MARGIN), layout.width + MARGIN - half)
        taken = ((found[it], layout.at[it][1], CHARACTER * len(drawing.nodes[it].name) / 2) for it in found)
        if all(abs(x - other) > half + wide + 4 or abs(y - low) > ROW_HEIGHT / 8 for other, low, wide in taken):
            found[number] = x
    return found


def _devices(drawing: Map, layout: Layout, prefix: str, culprits: Sequence[int]) -> Iterator[str]:
    named = {} if layout.named_hosts else _written(drawing, layout, culprits)
    above = set(culprits)
    for number, node in sorted(enumerate(drawing.nodes), key=lambda it: it[0] in above):
        if number in drawing.hidden:
            continue
        (x, y), half = layout.at[number], layout.half_width[number]
        origin = number in drawing.origins
        kind = "host" if node.role == "host" else "switch"
        classes = f"node {kind} {node.status.value}{' origin' if origin else ''}"
        yield f'<g id="{prefix}n{number}" class="{classes}"><title>{escape(node.name + node.note)}</title>'
        if kind == "host":
            if origin:
                yield f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="{half + 5}"/>'
            yield f'<circle class="body" cx="{x:.1f}" cy="{y:.1f}" r="{half}"/>'
            text = f'<text x="{x:.1f}" y="{y + 21:.1f}">{escape(node.name)}</text>' if layout.named_hosts else ""
            if number in named:
                text = f'<text class="culprit" x="{named[number]:.1f}" y="{y + 23:.1f}">{escape(node.name)}</text>'
        else:
            tall = layout.half_height[number]
            if origin:
                yield (
                    f'<rect class="ring" x="{x - half - 5:.1f}" y="{y - tall - 5:.1f}" '
                    f'width="{2 * half + 10:.1f}" height="{2 * tall + 10:.1f}" rx="12"/>'
                )
            yield (
                f'<rect class="body" x="{x - half:.1f}" y="{y - tall:.1f}" width="{2 * half:.1f}" '
                f'height="{2 * tall:.1f}" rx="{min(8.0, half / 2):.1f}"/>'
            )
            turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if tall > SWITCH_HALF else ""
            text = f'<text x="{x:.1f}" y="{y + 4 + (not turned):.1f}"{turned}>{escape(node.name)}</text>'
        yield f"{text}</g>"
