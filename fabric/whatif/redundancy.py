"""What an element's loss does to paths, from cables and shortest paths only: no traffic, no queues, no time.

Pairs are pairs of attachment classes: hosts on the same switches share their paths (topology/paths.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from fabric.topology.model import Fabric
from fabric.topology.paths import EcmpTable, equal_cost_ports
from fabric.whatif.elements import Element, ElementKind


@dataclass(frozen=True, slots=True)
class Loss:
    """What the loss of an element leaves of the paths between hosts."""

    hosts_cut: int
    """Hosts outside the largest part of the fabric that remains."""
    pairs_cut: int
    """Unordered pairs of classes without any path, whose hosts are all still cabled to a working switch."""
    pairs_longer: int
    """As pairs_cut: pairs that lost every equal-cost path and have a longer one."""
    pairs: int
    """All unordered pairs of classes."""
    paths_left_ratio: float
    """Of the pairs that keep paths of the old length: the smallest share of them that is left; 1 where none is."""
    shared: tuple[str, ...]
    """Examples 'leaf1 to leaf2' of pairs that had several equal-cost paths, all of them through this element."""
    homes_lost: tuple[str, ...]
    """Hosts with cables to several switches that lost all of them."""


class Redundancy:
    """Static analysis of one fabric."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self._table = equal_cost_ports(fabric)
        first: dict[int, int] = {}
        for host in fabric.hosts:
            first.setdefault(int(self._table.class_of_host[host.id]), host.id)
        self._reps = list(first.values())
        self._distance = _between(self._table, self._reps)
        self._paths = _paths(fabric, self._table, self._reps, frozenset())

    def loss(self, element: Element) -> Loss:
        """What is left without one element."""
        down = element.ports_down(self.fabric)
        down |= {self.fabric.ports[port].peer for port in down}
        after = equal_cost_ports(self.fabric, down)
        cabled = np.array([bool(after.attachments[after.class_of_host[host]]) for host in self._reps])
        distance = _between(after, self._reps)
        upper = np.triu(np.ones_like(distance, np.bool_), 1) & cabled[:, None] & cabled[None, :]
        cut = upper & (distance < 0) & (self._distance >= 0)
        longer = upper & (distance > self._distance)
        same = upper & (distance == self._distance) & (self._distance >= 0)
        paths = _paths(self.fabric, after, self._reps, down)
        left = np.where(same & (self._paths > 0), paths / np.maximum(self._paths, 1), 1.0)
        shared = [
            f"{self._home(row)} to {self._home(column)}"
            for row, column in np.argwhere((cut | longer) & (self._paths > 1))
        ]
        homes = [
            host.name
            for host in self.fabric.hosts
            if len({self.fabric.peer_of(port).id for port in self.fabric.network_ports(host.id)}) > 1
            and all(port in down for port in self.fabric.network_ports(host.id))
        ]
        n = len(self._reps)
        return Loss(
            len(hosts_cut(self.fabric, element)),
            int(cut.sum()),
            int(longer.sum()),
            n * (n - 1) // 2,
            float(left.min(initial=1.0)),
            tuple(shared),
            tuple(homes),
        )

    def _home(self, row: int) -> str:
        """The switches of a class, as in 'leaf1'."""
        attached = self._table.attachments[self._table.class_of_host[self._reps[row]]]
        return "+".join(self.fabric.nodes[node].name for node in attached)


def hosts_cut(fabric: Fabric, element: Element) -> list[str]:
    """Hosts outside the largest part that remains; none for an optic, whose cables keep carrier."""
    if element.kind is ElementKind.OPTIC:
        return []
    down = element.ports_down(fabric)
    graph = nx.Graph()
    graph.add_nodes_from(node.id for node in fabric.nodes if node.id not in element.switches)
    graph.add_edges_from(
        (fabric.ports[link.a].node, fabric.ports[link.b].node)
        for link in fabric.links
        if link.a not in down and link.b not in down and not fabric.is_scale_up(link.a)
    )
    hosts = {host.id for host in fabric.hosts}
    parts: list[set[int]] = [part & hosts for part in nx.connected_components(graph)]
    largest: set[int] = max(parts, key=len, default=set())
    return [fabric.nodes[host].name for host in sorted(hosts - largest)]


def _between(table: EcmpTable, hosts: Sequence[int]) -> NDArray[np.int32]:
    """(n, n) switches crossed less one between hosts, -1 where there is no way."""
    rows = np.array(hosts, np.int64)
    return np.asarray(table.distance[rows[:, None], table.class_of_host[rows][None, :]], np.int32)


def _paths(fabric: Fabric, table: EcmpTable, hosts: Sequence[int], down: frozenset[int]) -> NDArray[np.float64]:
    """(n, n) equal-cost paths between hosts from their switches on, parallel cables counted one by one."""
    switches = [switch.id for switch in fabric.switches]
    row = {node: index for index, node in enumerate(switches)}
    cables = np.zeros((len(switches), len(switches)))
    for link in fabric.links:
        a, b = fabric.ports[link.a].node, fabric.ports[link.b].node
        if a in row and b in row and link.a not in down and link.b not in down:
            cables[row[a], row[b]] += 1
            cables[row[b], row[a]] += 1
    classes = table.class_of_host[list(hosts)]
    distance = table.distance[np.array(switches, np.int64)[:, None], classes[None, :]]
    count = (distance == 0).astype(float)
    for hops in range(1, int(distance.max(initial=0)) + 1):
        count += np.where(distance == hops, cables @ np.where(distance == hops - 1, count, 0), 0)
    found = np.zeros((len(hosts), len(hosts)))
    for index, host in enumerate(hosts):
        own = [row[node] for node in table.attachments[table.class_of_host[host]]]
        if own:
            reach = np.where(distance[own] < 0, np.iinfo(np.int32).max, distance[own])
            found[index] = np.where(reach == reach.min(axis=0), count[own], 0).sum(axis=0)
    return found
