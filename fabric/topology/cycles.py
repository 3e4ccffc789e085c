"""Cycles of a dependency graph, each reported once and from a fixed start, so that two runs report the same cycles."""

from __future__ import annotations

from typing import Any

import networkx as nx


def cycles(graph: nx.DiGraph) -> list[list[Any]]:
    """One cycle of every strongly connected part with more than one node, the smallest node first, sorted.

    Nodes are of one type that has an order; the cycles are lists of them.
    """
    found = []
    for part in nx.strongly_connected_components(graph):
        if len(part) > 1:
            cycle = [edge[0] for edge in nx.find_cycle(graph.subgraph(part), min(part))]
            start = cycle.index(min(cycle))
            found.append(cycle[start:] + cycle[:start])
    return sorted(found)
