"""Routes over the links of a network: shortest paths between switches with hosts, every equal-cost choice.

Static: no control plane, all links up. Enough to ask whether a bad hop is on some path, and whether paused buffers
can wait for each other in a circle.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import networkx as nx

from fabric.configs.network import End
from fabric.validate.facts import Facts


@dataclass(frozen=True, slots=True)
class Hop:
    """One direction of a link between two switches."""

    out: End
    into: End


@dataclass(slots=True)
class Routes:
    """Hops between known switches, and the distance of every switch to every edge switch."""

    hops: dict[str, list[Hop]] = field(default_factory=dict)
    edges: tuple[str, ...] = ()
    """Switches with hosts behind them."""

    @classmethod
    def of(cls, facts: Facts) -> Routes:
        """From the links of which both ends are known and up."""
        routes = cls()
        for wire in facts.wires:
            if wire.a.port.admin_up and wire.b.port.admin_up:
                routes.hops.setdefault(wire.a.device.name, []).append(Hop(wire.a.end, wire.b.end))
                routes.hops.setdefault(wire.b.device.name, []).append(Hop(wire.b.end, wire.a.end))
        routes.edges = tuple(dict.fromkeys(line.device.name for line in facts.used if facts.faces_host(line)))
        return routes

    def distances(self, to: str) -> dict[str, int]:
        """Hops from every switch to one; links are symmetric."""
        found = {to: 0}
        queue = deque([to])
        while queue:
            here = queue.popleft()
            for hop in self.hops.get(here, ()):
                if hop.into[0] not in found:
                    found[hop.into[0]] = found[here] + 1
                    queue.append(hop.into[0])
        return found

    def next_hops(self, at: str, distance: dict[str, int]) -> list[Hop]:
        """Every equal-cost hop from here towards the switch the distances are to."""
        return [hop for hop in self.hops.get(at, ()) if distance.get(hop.into[0], 1 << 30) == distance.get(at, 0) - 1]

    def share_of_paths(self, bad: set[End]) -> dict[tuple[str, str], tuple[int, int, list[Hop]]]:
        """(from, to) -> (paths over a bad end, all paths, the bad hops), for every pair of edge switches."""
        found = {}
        for to in self.edges:
            distance = self.distances(to)
            paths: dict[str, tuple[int, int]] = {to: (1, 1)}              # switch -> (good paths, all paths)
            hurt: dict[str, list[Hop]] = {to: []}
            for at in sorted(distance, key=distance.__getitem__):
                if at == to:
                    continue
                good = every = 0
                hops: list[Hop] = []
                for hop in self.next_hops(at, distance):
                    below, count = paths[hop.into[0]]
                    is_bad = hop.out in bad or hop.into in bad
                    good, every = good + (0 if is_bad else below), every + count
                    hops += [hop] if is_bad else []
                    hops += hurt[hop.into[0]]
                paths[at], hurt[at] = (good, every), list(dict.fromkeys(hops))
            for start in self.edges:
                if start != to and start in paths and paths[start][0] < paths[start][1]:
                    good, every = paths[start]
                    found[start, to] = (every - good, every, hurt[start])
        return found

    def buffer_graph(self) -> nx.DiGraph:
        """Edges from each ingress port to the ingress ports its packets may fill next: Hu et al., HotNets 2016."""
        graph: nx.DiGraph = nx.DiGraph()
        for to in self.edges:
            distance = self.distances(to)
            for at in distance:
                for hop in self.next_hops(at, distance):
                    graph.add_edges_from((hop.into, following.into)
                                         for following in self.next_hops(hop.into[0], distance))
        return graph
