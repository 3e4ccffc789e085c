"""Bisection bandwidth: the least capacity between two halves of the hosts, by max-flow.

Finding the worst of all halvings is NP-hard, so a few are tried: hosts in order (pods against pods), every other
attachment class, and the spectral halving (Fiedler vector of the switch graph). Each gives a true min-cut, hence the
least of them bounds the bisection from above. For a uniform leaf-spine the first is the bisection itself: with x of L
leaves on one side, the cut costs x uplink sets plus the host ports out of place, linear in x, so its least value is at
x = 0 or x = L/2, and max-flow over the halving in order takes the smaller of both.

Interchangeable switches (same role in the flow, same capacity to every neighbour) are merged first: some minimum cut
keeps them together, for the smallest minimum cut is unique and therefore symmetric (Picard and Queyranne, 1980).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import networkx as nx
import numpy as np

from fabric.topology.model import Fabric, Role

_SPECTRAL_LIMIT: Final = 800
"""Switches up to which the eigenvectors are computed (about a second)."""


@dataclass(frozen=True, slots=True)
class Bisection:
    """Result of the search."""

    rate_bps: int
    """Capacity from half to half, one direction."""
    exact: bool
    """True for a uniform leaf-spine; else rate_bps is an upper bound."""
    per_host_ratio: float
    """rate_bps over the capacity of the smaller half of the hosts: 1 is full bisection."""


def bisection(fabric: Fabric, class_of_host: Mapping[int, int]) -> Bisection:
    """Least max-flow over the halvings described above; `class_of_host` as in EcmpTable. Needs two hosts."""
    hosts: list[int] = [host.id for host in fabric.hosts]
    half = len(hosts) // 2
    orders = [hosts, sorted(hosts, key=lambda host: (class_of_host[host] % 2, host))]
    orders += _spectral_order(fabric, hosts)
    capacity = _switch_capacity(fabric)
    best, best_ratio = 0, 0.0
    for index, order in enumerate(orders):
        left = set(order[:half])
        rate = _max_flow(fabric, capacity, left)
        offered = min(_offered(fabric, left), _offered(fabric, set(hosts) - left))
        if index == 0 or rate < best:
            best, best_ratio = rate, rate / offered
    return Bisection(best, _is_uniform_leaf_spine(fabric, capacity), best_ratio)


def _offered(fabric: Fabric, hosts: set[int]) -> int:
    return sum(fabric.links[fabric.ports[port].link].rate_bps for host in hosts for port in fabric.nodes[host].ports)


def _switch_capacity(fabric: Fabric) -> dict[int, dict[int, int]]:
    """Switch -> neighbouring switch -> summed rate of the parallel cables."""
    capacity: dict[int, dict[int, int]] = {switch.id: defaultdict(int) for switch in fabric.switches}
    for link in fabric.links:
        a, b = fabric.node_of(link.a), fabric.node_of(link.b)
        if not a.is_host and not b.is_host:
            capacity[a.id][b.id] += link.rate_bps
            capacity[b.id][a.id] += link.rate_bps
    return capacity


def _max_flow(fabric: Fabric, capacity: Mapping[int, Mapping[int, int]], left: set[int]) -> int:
    """Flow from the hosts `left` to all others. A host is only a source or a sink: it forwards nothing, so its ports
    become source or sink capacity of its switches.
    """
    source, sink = -1, -2
    merged: dict[int, dict[int, int]] = {node: dict(peers) for node, peers in capacity.items()}
    for host in fabric.hosts:
        end = source if host.id in left else sink
        for port, switch in fabric.neighbours(host.id):
            merged[switch.id][end] = merged[switch.id].get(end, 0) + fabric.links[port.link].rate_bps
    while _merge_twins(merged):
        pass
    graph = nx.DiGraph()
    graph.add_nodes_from((source, sink))
    for node, peers in merged.items():
        for peer, rate in peers.items():
            if peer == source:
                graph.add_edge(source, node, capacity=rate)
            else:
                graph.add_edge(node, peer, capacity=rate)
    return int(nx.maximum_flow_value(graph, source, sink, flow_func=nx.algorithms.flow.dinitz))


def _merge_twins(graph: dict[int, dict[int, int]]) -> bool:
    """Merge nodes with equal capacities to equal neighbours, in place. Returns: whether any were merged."""
    twins: dict[frozenset[tuple[int, int]], list[int]] = defaultdict(list)
    for node, peers in graph.items():
        twins[frozenset(peers.items())].append(node)
    found = [nodes for nodes in twins.values() if len(nodes) > 1]
    for first, *others in found:
        for peer in graph[first]:
            graph[first][peer] *= 1 + len(others)
            if peer in graph:
                graph[peer][first] = graph[first][peer]
        for other in others:
            for peer in graph.pop(other):
                if peer in graph:
                    del graph[peer][other]
    return bool(found)


def _spectral_order(fabric: Fabric, hosts: Sequence[int]) -> list[list[int]]:
    """Hosts by their switches' place in the Fiedler vector of the capacity-weighted switch graph; [] if too large."""
    switches = [switch.id for switch in fabric.switches]
    if not 2 <= len(switches) <= _SPECTRAL_LIMIT:
        return []
    row: dict[int, int] = {node: index for index, node in enumerate(switches)}
    laplacian = np.zeros((len(switches), len(switches)))
    for node, peers in _switch_capacity(fabric).items():
        for peer, rate in peers.items():
            laplacian[row[node], row[peer]] = -rate / 1e9
    laplacian[np.diag_indices_from(laplacian)] = -laplacian.sum(axis=1)
    place = np.linalg.eigh(laplacian)[1][:, 1].round(9)  # rounded: equal places must not depend on the last bit
    weight = {host: float(np.mean([place[row[switch.id]] for _, switch in fabric.neighbours(host)])) for host in hosts}
    return [sorted(hosts, key=lambda host: (weight[host], host))]


def _is_uniform_leaf_spine(fabric: Fabric, capacity: Mapping[int, Mapping[int, int]]) -> bool:
    """Every leaf with the same hosts and the same capacity to each spine, an even number of leaves."""
    leaves = [switch for switch in fabric.switches if switch.role is Role.LEAF]
    spines = {switch.id for switch in fabric.switches if switch.role is Role.SPINE}
    if len(leaves) % 2 or len(leaves) + len(spines) != len(fabric.switches):
        return False
    kinds = set()
    for leaf in leaves:
        below = sorted(fabric.links[port.link].rate_bps for port, peer in fabric.neighbours(leaf.id) if peer.is_host)
        kinds.add((tuple(below), frozenset(capacity[leaf.id].items())))
    single = all(host.n_ports == 1 for host in fabric.hosts)
    down, up = next(iter(kinds))
    return (
        single
        and len(kinds) == 1
        and len(set(down)) <= 1
        and {spine for spine, _ in up} == spines
        and len({rate for _, rate in up}) <= 1
    )
