"""Cycles of a dependency graph, each named once and from a fixed start, so that two runs report the same."""

from __future__ import annotations

from typing import TypeVar

import networkx as nx

Place = TypeVar("Place", int, str, tuple[str, str], tuple[int, int])


def cycles(graph: nx.DiGraph[Place]) -> list[list[Place]]:
    """One cycle of every strongly connected part with more than one place, the smallest place first, sorted."""
    found = []
    for part in nx.strongly_connected_components(graph):
        if len(part) > 1:
            cycle: list[Place] = [edge[0] for edge in nx.find_cycle(graph.subgraph(part), min(part))]
            start = cycle.index(min(cycle))
            found.append(cycle[start:] + cycle[:start])
    return sorted(found)
