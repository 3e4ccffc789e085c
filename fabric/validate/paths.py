"""The ways packets take: one tree of next hops per destination, every equal-cost choice, from every switch with hosts.

Where a switch's forwarding table was given (`--fib`), its longest match decides. Else a static route of its
configuration, for exactly the prefix it names, if it is closer than eBGP (distance 20). Else the shortest way over
links that are up and, where both ends list BGP neighbours, have a session: eBGP's shortest AS path in a fabric.
Source: RFC 4271 section 9.1.2.2; RFC 7938 section 5; FRR administrative distances.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_network
from typing import TYPE_CHECKING, Final

import networkx as nx

from fabric.configs.model import Place
from fabric.configs.network import End
from fabric.configs.routes import Network, Route
from fabric.validate.addresses import Addresses

if TYPE_CHECKING:
    from fabric.validate.facts import Facts

EBGP_DISTANCE: Final = 20


@dataclass(frozen=True, slots=True)
class Hop:
    """One direction of a link between two switches."""

    out: End
    into: End


@dataclass(frozen=True, slots=True)
class Tree:
    """Where packets to one destination go from each switch."""

    destination: str
    """A prefix, or the switch whose hosts are meant."""
    ends: frozenset[str]
    """Switches that deliver."""
    next_hops: Mapping[str, tuple[Hop, ...]]

    def reach(self, starts: Iterable[str]) -> list[str]:
        """Every switch that packets from these switches come to, the first ones included."""
        found = dict.fromkeys(starts)
        queue = deque(found)
        while queue:
            for hop in self.next_hops.get(queue.popleft(), ()):
                if hop.into[0] not in found:
                    found[hop.into[0]] = None
                    queue.append(hop.into[0])
        return list(found)


@dataclass
class Routes:
    """Every tree, and how they came about."""

    facts: Facts
    hops: dict[str, list[Hop]] = field(default_factory=dict)
    """Links that packets may take, by the switch they leave."""
    edges: tuple[str, ...] = ()
    """Switches with hosts behind them."""

    @classmethod
    def of(cls, facts: Facts) -> Routes:
        """From the links of which both ends are known, up, and have a session where sessions are configured."""
        routes = cls(facts)
        speaks = {device.name for device in facts.devices
                  if any(session.peer in facts.network.devices for session in device.sessions)}
        for wire in facts.wires:
            a, b = wire.a.device, wire.b.device
            silent = {a.name, b.name} <= speaks and (a.name not in b.bgp or b.name not in a.bgp)
            if wire.a.port.admin_up and wire.b.port.admin_up and not silent:
                routes.hops.setdefault(a.name, []).append(Hop(wire.a.end, wire.b.end))
                routes.hops.setdefault(b.name, []).append(Hop(wire.b.end, wire.a.end))
        routes.edges = tuple(dict.fromkeys(line.device.name for line in facts.used if facts.faces_host(line)))
        return routes

    @property
    def said(self) -> str:
        """One line for the reader: what the paths were taken from."""
        given, every = len(self.facts.network.fibs), len(self.facts.network.devices)
        shortest = "shortest over all links that are up"
        static = sum(bool(device.routes) for device in self.facts.devices if device.name not in self.facts.network.fibs)
        more = f", static routes of {static} switches" if static else ""
        absent = sorted({self.facts.peers[line.end][0] for line in self.facts.used if line.end in self.facts.peers
                         and self.facts.peers[line.end][0] not in self.facts.network.devices
                         and not self.facts.faces_host(line)})
        more += f"; switches that were not given: {', '.join(absent[:6])}" + (
            f" and {len(absent) - 6} more" if len(absent) > 6 else "") if absent else ""
        if not given:
            return f"{shortest}{more} (no --fib)"
        parts = [f"FIBs of {given} of {every} switches"]
        parts += [f"{shortest}{more} for the others"] if given < every else []
        parts += [f"shortest to {', '.join(self.unknown)}, of which no prefix is known"] if self.unknown else []
        return ", ".join(parts)

    @cached_property
    def trees(self) -> tuple[Tree, ...]:
        """One per edge switch, one per prefix that a static route names, or one per way prefixes of FIBs take."""
        plain = [self._tree(name, frozenset((name,)), None) for name in (
            self.unknown if self.facts.network.fibs else self.edges)]
        return (*plain, *self._by_prefix)

    @cached_property
    def unknown(self) -> tuple[str, ...]:
        """Edge switches to which no prefix leads."""
        covered = {name for tree in self._by_prefix for name in tree.ends}
        return tuple(name for name in self.edges if name not in covered)

    @cached_property
    def _by_prefix(self) -> tuple[Tree, ...]:
        found: dict[object, Tree] = {}
        for prefix, ends in self.addresses.destinations():
            tree = self._tree(str(prefix), ends, prefix)
            found.setdefault((ends, tuple(sorted(tree.next_hops.items(), key=lambda item: item[0]))), tree)
        return tuple(found.values())

    @cached_property
    def addresses(self) -> Addresses:
        """Prefixes, and who owns an address."""
        return Addresses(self.facts)

    def _tree(self, destination: str, ends: frozenset[str], prefix: Network | None) -> Tree:
        distance = self.distances(ends)
        chosen: dict[str, tuple[Hop, ...]] = {}
        for name in self.facts.network.devices:
            if name in ends:
                continue
            found = None if prefix is None else self._stated(name, prefix)
            chosen[name] = tuple(hop for hop in self.hops.get(name, ())
                                 if distance.get(hop.into[0], 1 << 30) == distance.get(name, 0) - 1
                                 ) if found is None else found
        return Tree(destination, ends, {name: hops for name, hops in chosen.items() if hops})

    def _stated(self, name: str, prefix: Network) -> tuple[Hop, ...] | None:
        """What the FIB or a static route says; None where neither speaks."""
        if name in self.facts.network.fibs:
            route = self.addresses.match(name, prefix)
            return () if route is None else tuple(self._resolve(name, route))
        for static in self.facts.network.devices[name].routes:
            if ip_network(static.prefix) == prefix and static.distance < EBGP_DISTANCE:
                return tuple(self._resolve(name, self.addresses.route_of(name, static)))
        return None

    def place(self, name: str, destination: str) -> Place | None:
        """Where a switch's route to a prefix stands; None where it has none."""
        try:
            prefix = ip_network(destination)
        except ValueError:
            return None
        if name in self.facts.network.fibs:
            route = self.addresses.match(name, prefix)
            return None if route is None else route.place
        device = self.facts.network.devices[name]
        return next((device.place(it.where) for it in device.routes if ip_network(it.prefix) == prefix), None)

    def _resolve(self, name: str, route: Route) -> list[Hop]:
        """The links a route's next hops leave over. A table counts even where no BGP session is configured."""
        found: dict[Hop, None] = {}
        for hop in route.hops:
            for out in self.addresses.ports(name, hop):
                into = self.facts.peers.get(out)
                if into is not None and into[0] in self.facts.network.devices:
                    found[Hop(out, into)] = None
        return list(found)

    def distances(self, to: Iterable[str]) -> dict[str, int]:
        """Hops from every switch to the nearest of these; links are symmetric."""
        found = dict.fromkeys(to, 0)
        queue = deque(found)
        while queue:
            here = queue.popleft()
            for hop in self.hops.get(here, ()):
                if hop.into[0] not in found:
                    found[hop.into[0]] = found[here] + 1
                    queue.append(hop.into[0])
        return found

    def share_of_paths(self, bad: set[End]) -> dict[tuple[str, str], tuple[int, int, list[Hop]]]:
        """(from, to) -> (paths over a bad end, all paths, the bad hops), for every pair of edge switches.

        Of several prefixes of one switch the worst counts.
        """
        found: dict[tuple[str, str], tuple[int, int, list[Hop]]] = {}
        for tree in self.trees:
            good_all, hurt = _count(tree, bad)
            for start in self.edges:
                good, every = good_all.get(start, (0, 0))
                if start in tree.ends or good == every:
                    continue
                for to in tree.ends & set(self.edges):
                    if found.get((start, to), (0, 0, []))[0] < every - good:
                        found[start, to] = every - good, every, hurt[start]
        return found

    def buffer_graph(self) -> nx.DiGraph:
        """Edges from each ingress port to the ingress ports its packets may fill next: Hu et al., HotNets 2016."""
        graph: nx.DiGraph = nx.DiGraph()
        for tree in self.trees:
            for at in tree.reach(self.edges):
                for hop in tree.next_hops.get(at, ()):
                    graph.add_edges_from((hop.into, following.into)
                                         for following in tree.next_hops.get(hop.into[0], ()))
        return graph


def _count(tree: Tree, bad: set[End]) -> tuple[dict[str, tuple[int, int]], dict[str, list[Hop]]]:
    """(good paths, all paths) from each switch, and the bad hops on them; nothing for switches before a loop."""
    before: dict[str, set[str]] = {}
    waiting: dict[str, int] = {}
    for name, hops in tree.next_hops.items():
        waiting[name] = len({hop.into[0] for hop in hops})
        for hop in hops:
            before.setdefault(hop.into[0], set()).add(name)
    paths = dict.fromkeys(tree.ends, (1, 1))
    hurt: dict[str, list[Hop]] = {name: [] for name in tree.ends}
    ready = deque([*tree.ends, *(name for name in before if name not in waiting and name not in tree.ends)])
    while ready:
        at = ready.popleft()
        for name in sorted(before.get(at, ())):
            waiting[name] -= 1
            if waiting[name]:
                continue
            good = every = 0
            hops_hurt: dict[Hop, None] = {}
            for hop in tree.next_hops[name]:
                below, count = paths.get(hop.into[0], (0, 0))
                is_bad = hop.out in bad or hop.into in bad
                good, every = good + (0 if is_bad else below), every + count
                hops_hurt.update(dict.fromkeys([*([hop] if is_bad else []), *hurt.get(hop.into[0], [])]))
            paths[name], hurt[name] = (good, every), list(hops_hurt)
            ready.append(name)
    return paths, hurt
