"""The fabric map of a run: every layer at every cable end over time, opened where the first root cause shows.

What the root cause is comes from outside (telemetry/sources/focus.py), because this package reads no metrics; without
one the map opens on the layer that says most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.explain import layers
from fabric.explain.evidence import Evidence
from fabric.render.document import Answer, Layer, LayeredMap, Map, MapLink, MapNode, Pane

KEY: Final = "fabric-map"
_STRIKING: Final = 3
"""Step from which a layer is worth opening without a root cause."""
_SEARCHED: Final = (
    layers.HOLES, layers.LOSS, layers.LINKS, layers.PAUSES, layers.QUEUE, layers.BALANCE, layers.ECN,
)  # fmt: skip
"""Layers in the order in which one is chosen where there is no root cause."""


@dataclass(frozen=True, slots=True)
class Focus:
    """What the map opens on, and the answer at the top of the page."""

    answer: Answer
    layer: str = ""
    """Key of a layer; '': no root cause."""
    began_ns: int = 0
    ended_ns: int = 0
    devices: tuple[str, ...] = ()
    """The device of the root first."""
    port: str = ""
    victims: tuple[str, ...] = ()
    headline: str = ""
    """The root cause and its place in a few words; '' where there is none, or only what a network is built for."""


def fabric_map(evidence: Evidence, focus: Focus | None = None) -> LayeredMap:
    """The map of one run."""
    edges, found = layers.layers_within(evidence, layers.edges_of(evidence))
    drawn = pane(evidence, found, focus)
    layer, interval = opening(edges, drawn, focus)
    return LayeredMap(KEY, "Fabric map", tuple(edges.tolist()), (drawn,), layer, interval, _note(evidence, edges))


def pane(evidence: Evidence, found: tuple[Layer, ...], focus: Focus | None, title: str = "") -> Pane:
    """One fabric with its layers, and the places of the focus in it."""
    fabric = evidence.fabric
    nodes = tuple(
        MapNode(node.name, node.role.value, 0 if node.is_host else max(node.tier, 1)) for node in fabric.nodes
    )
    links = tuple(
        MapLink(fabric.ports[it.a].node, fabric.ports[it.b].node, it.rate_bps, 0.0, 0.0) for it in fabric.links
    )
    ports = tuple(fabric.ports[port].name for it in fabric.links for port in (it.a, it.b))
    known = fabric.by_name
    roots: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    victims: tuple[int, ...] = ()
    if focus is not None:
        roots = tuple(int(known[name].id) for name in focus.devices if name in known)
        victims = tuple(int(known[name].id) for name in focus.victims if name in known)
        ends = tuple(
            2 * int(fabric.ports[port].link) + (port == fabric.links[fabric.ports[port].link].b)
            for node in roots[:1]
            for port in fabric.nodes[node].ports
            if fabric.ports[port].name == focus.port
        )
    base = Map("fabric", title or fabric.name, nodes, links)
    return Pane(title, base, ports, found, roots, ends, victims)


def opening(edges: NDArray[np.int64], drawn: Pane, focus: Focus | None) -> tuple[int, int]:
    """(layer, interval) that are shown first."""
    keys = [layer.key for layer in drawn.layers]
    if focus is None or not focus.layer:
        return _striking(drawn.layers)
    layer = keys.index(focus.layer) if focus.layer in keys else keys.index(layers.LOAD)
    first = int(np.clip(np.searchsorted(edges, focus.began_ns, side="right") - 1, 0, len(edges) - 2))
    last = int(np.clip(np.searchsorted(edges, focus.ended_ns, side="left") - 1, first, len(edges) - 2))
    return layer, _first_seen(drawn, drawn.layers[layer], first, last)


def _first_seen(drawn: Pane, layer: Layer, first: int, last: int) -> int:
    """The first interval of the root cause in which the layer shows something at its cables; else the first one."""
    near = {
        end
        for number, link in enumerate(drawn.base.links)
        for end in (2 * number, 2 * number + 1)
        if {link.a, link.b} & set(drawn.roots)
    }
    begun = [
        max(row, first)
        for end, changes in layer.values.items()
        if (layer.on_nodes or end in near)
        if changes
        for (row, value), until in zip(changes, [*(row for row, _ in changes[1:]), last + 1], strict=True)
        if step(layer, value) > 0 and row <= last and until > first
    ]
    return min(begun, default=first)


def _striking(found: Sequence[Layer]) -> tuple[int, int]:
    """Without a root cause: the layer with the highest step, at its highest value; where none is high, the load."""
    by_key = {layer.key: (number, layer) for number, layer in enumerate(found)}
    number, load = by_key[layers.LOAD]
    busiest = max(((value, -row) for changes in load.values.values() for row, value in changes), default=(0.0, 0))
    best, best_step = (number, -busiest[1]), _STRIKING - 1
    for key in _SEARCHED:
        number, layer = by_key[key]
        peak = max(((value, -row) for changes in layer.values.values() for row, value in changes), default=None)
        if peak is not None and step(layer, peak[0]) > best_step:
            best, best_step = (number, -peak[1]), step(layer, peak[0])
    return best


def step(layer: Layer, value: float) -> int:
    """Step of a value in the layer's scale."""
    return sum(value > limit for limit in layer.limits)


def _note(evidence: Evidence, edges: NDArray[np.int64]) -> str:
    samples = int(edges[1] - edges[0]) * 1000 // max(int(evidence.run.manifest["sampling_ps"]), 1)
    joined = f" An interval joins {samples} samples." if samples > 1 else ""
    return (
        "Each half of a cable belongs to the port at its end. Values are those of the run's samples"
        f" (telemetry.interval).{joined}"
    )
