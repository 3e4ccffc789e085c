"""A LayeredMap as HTML: buttons for layers, a slider for time, one drawing or heat map for each fabric, a legend.

What is shown first is plain SVG, so that the page answers without scripts; assets/layers.js redraws it for another
layer or moment. Ids: `<prefix>h<link>a` for the end of a cable, `<prefix>n<node>`, `<prefix>c<cell>`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from fabric.render.document import Layer, LayeredMap, Pane, Unit, show
from fabric.render.drawing import WIDTH, Layout, map_svg
from fabric.render.heat import heat_svg, matrices, too_large
from fabric.units import PS_PER_NS, format_time_ps
from fabric.visible import in_markup as escape

SMALL_WIDTH: Final = 620
"""Least width of a drawing of at most SMALL_HOSTS hosts, and of each of two side by side: legible on phones."""
SMALL_HOSTS: Final = 20


def layered_html(block: LayeredMap, note: str) -> str:
    """The whole figure; `note` is the rendered note below it."""
    layers = block.panes[0].layers
    layer = layers[block.layer]
    buttons = "".join(
        f'<button type="button" data-layer="{number}" aria-pressed="{str(number == block.layer).lower()}">'
        f"{escape(it.title)}</button>"
        for number, it in enumerate(layers)
    )
    last = len(block.edges_ns) - 2
    clock = moment(block, block.interval)
    panes = "".join(_pane(block, number) for number in range(len(block.panes)))
    data = json.dumps(_data(block), separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<figure class="mapbox layered" id="{block.key}"><figcaption>{escape(block.title)}</figcaption>'
        f'<div class="layers" role="group" aria-label="Layer">{buttons}</div>'
        f'<div class="moments"><button type="button" class="play" aria-label="Play">▶</button>'
        f'<span class="line"><span class="strip" aria-hidden="true"></span><input type="range" min="0" max="{last}" '
        f'value="{block.interval}" step="1" aria-label="Interval of simulated time" aria-valuetext="{escape(clock)}">'
        f'</span><output class="clock">{escape(clock)}</output></div>'
        f'<p class="shown">{escape(layer.title)}: {escape(layer.measure)}.</p>'
        f'<div class="panes n{len(block.panes)}">{panes}</div>'
        f'<div class="legend scale">{legend(layer)}</div>{_marks(block)}{note}'
        f'<script type="application/json" class="data">{data}</script></figure>'
    )


def moment(block: LayeredMap, interval: int) -> str:
    """'2ms to 3ms'."""
    start, end = block.edges_ns[interval : interval + 2]
    return f"{show(start, Unit.NS) if start else '0'} to {format_time_ps(end * PS_PER_NS)}"


def value_at(layer: Layer, place: int, interval: int) -> float:
    """The value of an end, or a node, in an interval."""
    found = 0.0
    for row, value in layer.values.get(place, ()):
        if row > interval:
            break
        found = value
    return found


def step(layer: Layer, value: float) -> int:
    """Colour step of a value."""
    return sum(value > limit for limit in layer.limits)


def legend(layer: Layer) -> str:
    """The scale of a layer with its units."""
    least, unit = layer.limits[0], layer.unit
    names = [(0, f"up to {show(_whole(least, unit), unit)}" if least else "none")]
    names += [(row, f"up to {show(_whole(it, unit), unit)}") for row, it in enumerate(layer.limits) if row]
    names.append((len(layer.limits), "more"))
    return "".join(f'<span><i class="p{number}"></i>{escape(text)}</span>' for number, text in names)


def _marks(block: LayeredMap) -> str:
    """The signs of root cause and victims, where there are any."""
    words = []
    if any(pane.roots for pane in block.panes):
        words.append('<span><b class="rootsign">◆</b>root cause: device ringed, port marked</span>')
    if any(pane.victims for pane in block.panes):
        words.append('<span><i class="victimsign"></i>hurt by it</span>')
    return f'<div class="legend marks">{"".join(words)}</div>' if words else ""


def _pane(block: LayeredMap, number: int) -> str:
    pane = block.panes[number]
    prefix = f"{block.key}-{number}-"
    layer = pane.layers[block.layer]
    steps = {} if layer.on_nodes else {it: step(layer, value_at(layer, it, block.interval)) for it in layer.values}
    hosts = sum(node.role == "host" for node in pane.base.nodes)
    small = len(block.panes) > 1 or hosts <= SMALL_HOSTS
    if too_large(pane.base):
        drawn = heat_svg(pane.base, pane.base.title, prefix, steps, pane.roots, pane.root_ends)
    else:
        drawn = map_svg(
            pane.base,
            prefix=prefix,
            steps=steps,
            overlay=lambda layout: _overlay(pane, layout),
            least_width=SMALL_WIDTH if small else WIDTH,
            culprits=pane.roots,
        )
    title = f'<p class="panetitle">{escape(pane.title)}</p>' if pane.title else ""
    name = f"{pane.base.title}: arrow keys go from port to port"
    empty = f'<p class="empty">{escape(layer.empty)}</p>' if not layer.values else '<p class="empty" hidden></p>'
    kind = " small" if small else ""
    return (
        f'<div class="pane">{title}{empty}<p class="readout" aria-live="polite">'
        f"{escape(_highest(pane, layer, block.interval))}</p>"
        f'<div class="scroll drawing{kind}" tabindex="0" role="region" '
        f'aria-label="{escape(name)}" data-prefix="{prefix}">{drawn}</div></div>'
    )


def _highest(pane: Pane, layer: Layer, interval: int) -> str:
    """The place with the highest value, for readers without scripts; the script writes the same."""
    values = {place: value_at(layer, place, interval) for place in layer.values}
    place = max(values, key=lambda it: values[it], default=None)
    if place is None or not values[place]:
        return ""
    name = pane.base.nodes[place].name if layer.on_nodes else end_name(pane, place)
    return f"Highest: {name}: {show(_whole(values[place], layer.unit), layer.unit)}"


def _whole(value: float, unit: Unit) -> float:
    return int(value) if unit in {Unit.COUNT, Unit.BYTES} else value


def end_name(pane: Pane, end: int) -> str:
    """'leaf1:Ethernet0 towards host1'."""
    link = pane.base.links[end // 2]
    own, other = (link.a, link.b) if end % 2 == 0 else (link.b, link.a)
    return f"{pane.base.nodes[own].name}:{pane.ports[end]} towards {pane.base.nodes[other].name}"


def _overlay(pane: Pane, layout: Layout) -> Iterator[str]:
    """Rings around the root's devices and around victims, and a sign at the root's port."""
    for number in pane.victims:
        if number in pane.roots or number in pane.base.hidden or not layout.half_width[number]:
            continue
        x, y = layout.at[number]
        yield f'<circle class="victim" cx="{x:.1f}" cy="{y:.1f}" r="{layout.half_width[number] + 3.5:.1f}"/>'
    for number in pane.roots:
        if number in pane.base.hidden or not layout.half_width[number]:
            continue
        (x, y), half, tall = layout.at[number], layout.half_width[number], layout.half_height[number]
        tall = tall or half
        room = 6 if layout.half_height[number] else 4  # the name of a host is right below it
        yield (
            f'<rect class="ring root" x="{x - half - room:.1f}" y="{y - tall - room:.1f}" '
            f'width="{2 * (half + room):.1f}" height="{2 * (tall + room):.1f}" rx="9"/>'
        )
    for end in pane.root_ends:
        link = pane.base.links[end // 2]
        own, other = (link.a, link.b) if end % 2 == 0 else (link.b, link.a)
        (x, y), (to_x, to_y) = layout.at[own], layout.at[other]
        # Of a host on its ring, and smaller: the name of the host above it is next to that.
        tall = layout.half_height[own] + 13 if layout.half_height[own] else layout.half_width[own] + 5
        half = 8 if layout.half_height[own] else 6
        share = min(tall / max(abs(to_y - y), 1.0), 0.4)
        x, y = x + share * (to_x - x), y + share * (to_y - y)
        yield f'<path class="rootport" d="M{x:.1f} {y - half:.1f}l{half} {half}l-{half} {half}l-{half} -{half}z"/>'


def _data(block: LayeredMap) -> dict[str, Any]:
    """What layers.js needs, compact."""
    return {
        "layer": block.layer,
        "interval": block.interval,
        "clocks": [moment(block, number) for number in range(len(block.edges_ns) - 1)],
        "layers": [
            {
                "title": it.title,
                "measure": it.measure,
                "unit": it.unit.value,
                "limits": it.limits,
                "nodes": int(it.on_nodes),
                "legend": legend(it),
            }
            for it in block.panes[0].layers
        ],
        "panes": [_pane_data(pane) for pane in block.panes],
    }


def _pane_data(pane: Pane) -> dict[str, Any]:
    def flat(values: Any) -> dict[str, list[float]]:  # noqa: ANN401  Layer.values
        return {str(place): [_short(it) for pair in changes for it in pair] for place, changes in values.items()}

    drawing = pane.base
    cells = (
        [[it.name, list(it.ends), list(it.hosts), it.row, it.column] for m in matrices(drawing) for it in m.cells]
        if too_large(drawing)
        else None
    )
    return {
        "nodes": [node.name for node in drawing.nodes],
        "hosts": [number for number, node in enumerate(drawing.nodes) if node.role == "host"],
        "links": [[link.a, link.b] for link in drawing.links],
        "hidden": sorted(drawing.hidden),
        "ports": pane.ports,
        "cells": cells,
        "root": pane.roots[0] if pane.roots else -1,
        "layers": [
            {"values": flat(it.values), "parts": {name: flat(own) for name, own in it.parts.items()}, "empty": it.empty}
            for it in pane.layers
        ],
    }


def _short(value: float) -> float:
    return int(value) if value == int(value) else value
