"""Capacity and resilience of a fabric: oversubscription, diameter, ECMP width, single points of failure.

Computed from cables and counts only, without queues, hashing or traffic.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from fabric.topology.flow import Bisection, bisection
from fabric.topology.levels import level_name, levels
from fabric.topology.model import Fabric
from fabric.topology.paths import EcmpTable, equal_cost_ports
from fabric.topology.servers import Servers, network_of, servers_of


@dataclass(frozen=True, slots=True)
class TierRatio:
    """Capacity towards hosts over capacity away from them, of the switches of one tier that have both."""

    tier: int
    name: str
    n_switches: int
    down_bps: int
    """Of the worst switch, as `up_bps`."""
    up_bps: int
    ratio: float
    """Of the worst switch; 1 is non-blocking."""
    worst: str
    """Its name."""
    ratio_link_lost: float | None
    """Worst after the loss of any one cable; None where a switch then has no path up."""
    ratio_switch_lost: float | None
    """Worst after the loss of any one switch above; None where a switch then has no path up."""


@dataclass(frozen=True, slots=True)
class PairClass:
    """Host pairs the same number of cables apart."""

    hops: int
    """Cables on a shortest path: 2 under one switch, 4 over a spine, 6 over a super-spine."""
    n_pairs: int
    """Ordered pairs of hosts."""
    min_paths: int
    """Fewest equal-cost paths, parallel cables between switches counted one by one."""
    max_paths: int


@dataclass(frozen=True, slots=True)
class FailurePoint:
    """A switch, or a cable between switches, whose loss cuts hosts off."""

    what: str
    """'leaf1', or 'leaf1:Ethernet8 - spine1:Ethernet0'."""
    hosts_cut: int
    """Hosts outside the largest part that remains."""
    own_hosts_only: bool
    """True for a switch that only cuts off the single-homed hosts it serves."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything `fabric topology show` says about a fabric beyond its parts list."""

    tiers: tuple[TierRatio, ...]
    diameter_hops: int
    """Cables on the longest shortest path between two hosts; 0 with a single host."""
    pairs: tuple[PairClass, ...]
    bisection: Bisection | None
    """None with a single host."""
    failure_points: tuple[FailurePoint, ...]
    single_cable_hosts: int
    """Hosts with one cable to the network, whose loss cuts the host off."""
    servers: tuple[Servers, ...] = ()
    """Kinds of servers with scale-up links, which all other figures leave out."""


def analyse(fabric: Fabric) -> Analysis:
    """Compute the analysis of the network between servers; about a second for 1,024 hosts. Raises nothing for an
    assembled fabric.
    """
    servers = tuple(servers_of(fabric))
    fabric = network_of(fabric)
    table = equal_cost_ports(fabric)
    pairs = _pairs(fabric, table)
    halves = None
    if len(fabric.hosts) > 1:
        halves = bisection(fabric, {host.id: int(table.class_of_host[host.id]) for host in fabric.hosts})
    return Analysis(
        _tiers(fabric),
        max((pair.hops for pair in pairs), default=0),
        pairs,
        halves,
        _failure_points(fabric, table),
        sum(host.n_ports == 1 for host in fabric.hosts),
        servers,
    )


def _tiers(fabric: Fabric) -> tuple[TierRatio, ...]:
    level = levels(fabric)
    rows = defaultdict(list)
    for switch in fabric.switches:
        down, up, largest = 0, 0, 0
        to_switch: dict[int, int] = defaultdict(int)
        for port, peer in fabric.neighbours(switch.id):
            rate = fabric.links[port.link].rate_bps
            if level[peer.id] < level[switch.id]:
                down += rate
            elif level[peer.id] > level[switch.id]:
                up += rate
                largest = max(largest, rate)
                to_switch[peer.id] += rate
        if down and up:
            rows[int(level[switch.id])].append(
                (down / up, switch.name, down, up, up - largest, up - max(to_switch.values()))
            )
    found = []
    for tier, switches in sorted(rows.items()):
        ratio, name, down, up, _, _ = max(switches, key=lambda row: row[0])
        found.append(
            TierRatio(
                tier,
                level_name(fabric, tier),
                len(switches),
                down,
                up,
                ratio,
                name,
                _worst([(row[2], row[4]) for row in switches]),
                _worst([(row[2], row[5]) for row in switches]),
            )
        )
    return tuple(found)


def _worst(rates: Sequence[tuple[int, int]]) -> float | None:
    """Largest down / up; None where some up is 0."""
    return None if any(up == 0 for _, up in rates) else max(down / up for down, up in rates)


def _pairs(fabric: Fabric, table: EcmpTable) -> tuple[PairClass, ...]:
    """Group pairs by distance, counting paths by dynamic programming outwards from each class."""
    switches = [switch.id for switch in fabric.switches]
    row = {node: index for index, node in enumerate(switches)}
    distance = table.distance[switches]
    cables = np.zeros((len(switches), len(switches)))
    for link in fabric.links:
        a, b = fabric.ports[link.a].node, fabric.ports[link.b].node
        if a in row and b in row:
            cables[row[a], row[b]] += 1
            cables[row[b], row[a]] += 1
    paths = (distance == 0).astype(float)  # exact: counts stay far below 2**53
    for hops in range(1, int(distance.max(initial=0)) + 1):
        paths += np.where(distance == hops, cables @ np.where(distance == hops - 1, paths, 0), 0)
    members = np.bincount(table.class_of_host[table.class_of_host >= 0], minlength=len(table.attachments))
    found: dict[int, tuple[int, int, int]] = {}
    for class_, attached in enumerate(table.attachments):
        own = [row[switch] for switch in attached]
        reach = np.where(distance[own] < 0, np.iinfo(np.int32).max, distance[own])
        nearest: NDArray[np.int32] = reach.min(axis=0)
        count = np.where(reach == nearest, paths[own], 0).sum(axis=0)
        n_pairs = members[class_] * members
        n_pairs[class_] -= members[class_]
        for hops in np.unique(nearest[n_pairs > 0]):
            here = (nearest == hops) & (n_pairs > 0)
            total, low, high = found.get(int(hops), (0, int(count[here].min()), 0))
            found[int(hops)] = (
                total + int(n_pairs[here].sum()),
                min(low, int(count[here].min())),
                max(high, int(count[here].max())),
            )
    return tuple(PairClass(hops + 2, *found[hops]) for hops in sorted(found))


def _failure_points(fabric: Fabric, table: EcmpTable) -> tuple[FailurePoint, ...]:
    graph = nx.MultiGraph()
    graph.add_nodes_from(switch.id for switch in fabric.switches)
    for link in fabric.links:
        a, b = fabric.node_of(link.a), fabric.node_of(link.b)
        if not a.is_host and not b.is_host:
            graph.add_edge(a.id, b.id, key=link.id)
    simple = nx.Graph(graph)
    members = np.bincount(table.class_of_host[table.class_of_host >= 0], minlength=len(table.attachments))
    whole = _islands(graph)
    weak = set(nx.articulation_points(simple))
    found = []
    for switch in fabric.switches:
        island = whole
        if switch.id in weak:
            island = _islands(graph.subgraph(node for node in graph if node != switch.id))
        cut = _hosts_cut(table, members, island, switch.id)
        if cut:
            own = sum(int(members[class_]) for class_, at in enumerate(table.attachments) if at == (switch.id,))
            found.append(FailurePoint(switch.name, cut, cut <= own))
    for a, b in nx.bridges(simple):
        keys = list(graph[a][b])
        if len(keys) > 1:
            continue
        graph.remove_edge(a, b, keys[0])
        cut = _hosts_cut(table, members, _islands(graph), None)
        graph.add_edge(a, b, key=keys[0])
        if cut:
            link = fabric.links[keys[0]]
            found.append(FailurePoint(f"{fabric.port_name(link.a)} - {fabric.port_name(link.b)}", cut, False))
    return tuple(found)


def _islands(graph: nx.MultiGraph) -> dict[int, int]:
    return {node: index for index, nodes in enumerate(nx.connected_components(graph)) for node in nodes}


def _hosts_cut(table: EcmpTable, members: NDArray[np.int64], island: dict[int, int], lost: int | None) -> int:
    """Hosts that share no island with the largest set of hosts; hosts of several islands are in several sets."""
    on_island: dict[int, int] = defaultdict(int)
    for class_, attached in enumerate(table.attachments):
        for place in {island[switch] for switch in attached if switch != lost}:
            on_island[place] += int(members[class_])
    return int(members.sum()) - max(on_island.values(), default=0)
