"""Elements that are equal by symmetry of the fabric and of its traffic, so that one of them stands for all.

Two elements are grouped when colour refinement (Weisfeiler and Lehman 1968) cannot tell them apart: the same kinds of
devices, rates and cable lengths at every distance, and hosts with the same part in the workload. The grouping knows
neither hashing nor sizes of single messages: which of two equal cables carries more is decided by ECMP. So the
representative is the element that carried the most bytes in the run without failures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from fabric.topology.model import Fabric
from fabric.whatif.elements import Element


@dataclass(frozen=True, slots=True)
class Equals:
    """Elements that stand for each other."""

    representative: Element
    members: tuple[Element, ...]
    """The representative included."""


def colours(fabric: Fabric, host_labels: Mapping[int, str]) -> tuple[dict[int, str], dict[int, str]]:
    """(colour of each NodeId, colour of each LinkId): equal where refinement cannot tell them apart.

    Parameters
    ----------
    fabric : Fabric
    host_labels : NodeId -> part of the host in the workload; absent: none
    """
    graph = nx.Graph()
    for node in fabric.nodes:
        graph.add_node(("n", node.id), label=f"{node.role} {node.tier} {host_labels.get(node.id, '')}")
    for link in fabric.links:
        graph.add_node(("l", link.id), label=f"{link.rate_bps} {link.delay_ps}")
        graph.add_edge(("l", link.id), ("n", fabric.ports[link.a].node))
        graph.add_edge(("l", link.id), ("n", fabric.ports[link.b].node))
    # Cables are nodes of the graph, so one hop of the fabric is two rounds; a folded Clos is at most six hops wide.
    # The subgraph hash of a node after round k covers everything within k steps of it.
    found = nx.weisfeiler_lehman_subgraph_hashes(graph, node_attr="label", iterations=14)
    last = {place: hashes[-1] for place, hashes in found.items()}
    return (
        {number: colour for (kind, number), colour in last.items() if kind == "n"},
        {number: colour for (kind, number), colour in last.items() if kind == "l"},
    )


def grouped(
    fabric: Fabric, every: Sequence[Element], host_labels: Mapping[int, str], carried: Mapping[int, int]
) -> list[Equals]:
    """Groups of equal elements, in the order of their first members.

    Parameters
    ----------
    every : sequence of Element
    host_labels : NodeId -> part in the workload
    carried : LinkId -> bytes that the cable carried in the run without failures, both directions
    """
    node_colour, link_colour = colours(fabric, host_labels)
    groups: dict[tuple[object, ...], list[Element]] = {}
    for element in every:
        signature = (
            element.kind,
            tuple(sorted(node_colour[node] for node in element.switches)),
            tuple(sorted(link_colour[link] for link in element.links)),
        )
        groups.setdefault(signature, []).append(element)
    return [
        Equals(max(members, key=lambda it: load(fabric, it, carried)), tuple(members)) for members in groups.values()
    ]


def load(fabric: Fabric, element: Element, carried: Mapping[int, int]) -> int:
    """Bytes that the cables of an element carried."""
    links = set(element.links)
    for switch in element.switches:
        links.update(fabric.ports[port].link for port in fabric.nodes[switch].ports)
    return sum(carried.get(link, 0) for link in links)
