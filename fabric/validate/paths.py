"""Paths of packets: one tree of next hops per destination, with every equal-cost choice, from every switch with hosts.

Where a switch's forwarding table was given (`--fib`), its longest match decides. Else a static route of its
configuration, for exactly the prefix it names, if it is closer than eBGP (distance 20). Else the shortest path over
links that are up and, where both ends list BGP neighbours, have a session: eBGP's shortest AS path in a fabric.
Source: RFC 4271 section 9.1.2.2; RFC 7938 section 5; FRR administrative distances.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any, Final

import networkx as nx

from fabric.configs.model import Place
from fabric.configs.network import End
from fabric.configs.routes import Network, Route
from fabric.validate.addresses import Addresses
from fabric.validate.checks.base import Root
from fabric.validate.trees import Hop, Tree, twin

if TYPE_CHECKING:
    from fabric.validate.facts import Facts

EBGP_DISTANCE: Final = 20
_SHOWN_HOPS: Final = 4
_NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Hurt:
    """What is wrong with the paths from one edge switch to another."""

    bad: int
    """Paths over a bad end."""
    every: int
    hops: tuple[Hop, ...]
    """The first bad hops."""
    roots: frozenset[Root]
    """Fields that make the ends bad."""


@dataclass
class Routes:
    """Every tree, and what it was taken from."""

    facts: Facts
    hops: dict[str, list[Hop]] = field(default_factory=dict)
    """Links that packets may take, by the switch they leave."""
    edges: tuple[str, ...] = ()
    """Switches with hosts behind them."""
    down: frozenset[End] = frozenset()
    """Ends of the links that have failed."""

    @classmethod
    def of(cls, facts: Facts) -> Routes:
        """From the links of which both ends are known, up, and have a session where sessions are configured."""
        routes = cls(facts)
        speaks = {
            device.name
            for device in facts.devices
            if any(session.peer in facts.network.devices for session in device.sessions)
        }
        for wire in facts.wires:
            a, b = wire.a.device, wire.b.device
            silent = {a.name, b.name} <= speaks and (a.name not in b.bgp or b.name not in a.bgp)
            if wire.a.port.admin_up and wire.b.port.admin_up and not silent:
                routes.hops.setdefault(a.name, []).append(Hop(wire.a.end, wire.b.end))
                routes.hops.setdefault(b.name, []).append(Hop(wire.b.end, wire.a.end))
        routes.edges = tuple(dict.fromkeys(line.device.name for line in facts.used if facts.faces_host(line)))
        return routes

    def without(self, ends: frozenset[End]) -> Routes:
        """The routes after links with these ends have failed, and BGP has converged.

        A static route or a table loses the next hops that failed, and where none is left, the shortest path counts. A
        switch takes no path over its own AS number (RFC 4271 section 9), unless allowas-in is configured: after a
        failure a path that comes down and goes up again is longer, but it may be the only one left.
        """
        left = {name: [hop for hop in hops if hop.out not in ends] for name, hops in self.hops.items()}
        routes = Routes(self.facts, left, self.edges, ends)
        routes.__dict__["addresses"] = self.addresses  # of the configurations, which a failure does not change
        return routes

    def gains(self, a: End, b: End) -> bool:
        """Whether packets take a next hop after the failure of a link that they do not take before.

        A switch with another next hop left keeps to that one, and all others keep theirs: only the trees of which a
        switch loses its last next hop are made again.
        """
        after = self.without(frozenset((a, b)))
        lost = [tree for tree in self.trees if tree.near.get(a[0]) == (b[0],) or tree.near.get(b[0]) == (a[0],)]
        for tree in lost:
            prefix = None if tree.destination in self.facts.network.devices else ip_network(tree.destination)
            new = after._tree(tree.destination, tree.ends, prefix)  # noqa: SLF001  another one of this class
            reached = new.reach(self.edges)
            if any(not set(new.near.get(name, ())) <= set(tree.near.get(name, ())) for name in reached):
                return True
        return False

    @property
    def source_text(self) -> str:
        """One line for the reader: what the paths were taken from."""
        given, every = len(self.facts.network.fibs), len(self.facts.network.devices)
        shortest = "shortest over all links that are up"
        static = sum(bool(device.routes) for device in self.facts.devices if device.name not in self.facts.network.fibs)
        more = f", static routes of {static} switches" if static else ""
        absent = sorted(
            {
                self.facts.peers[line.end][0]
                for line in self.facts.used
                if line.end in self.facts.peers
                and self.facts.peers[line.end][0] not in self.facts.network.devices
                and not self.facts.faces_host(line)
            }
        )
        more += (
            f"; switches that were not given: {', '.join(absent[:6])}"
            + (f" and {len(absent) - 6} more" if len(absent) > 6 else "")
            if absent
            else ""
        )
        if not given:
            return f"{shortest}{more} (no --fib)"
        parts = [f"FIBs of {given} of {every} switches"]
        parts += [f"{shortest}{more} for the others"] if given < every else []
        parts += [f"shortest to {', '.join(self.unknown)}, of which no prefix is known"] if self.unknown else []
        return ", ".join(parts)

    @cached_property
    def trees(self) -> tuple[Tree, ...]:
        """One per edge switch, one per prefix that a static route names, or one per distinct tree of FIBs' prefixes."""
        names = self.unknown if self.facts.network.fibs else self.edges
        return (*self._plain(names), *self._by_prefix)

    def _plain(self, names: Iterable[str]) -> Iterator[Tree]:
        """The trees of shortest paths. After a failure AS numbers count as well, and twins may have different ones."""
        first: dict[frozenset[str], Tree] = {}
        for name in names:
            around = frozenset(self.near.get(name, ()))
            base = None if self.down or not around or name in around else first.get(around)
            if base is None:
                tree = self._tree(name, frozenset((name,)), None)
                first.setdefault(around, tree)
            else:
                tree = self._twin(base, name, around)
            yield tree

    def _twin(self, base: Tree, name: str, around: frozenset[str]) -> Tree:
        """The tree to a switch with the neighbours that the destination of another tree has."""
        other = {at: self._towards(at, (name,)) for at in around}
        other[base.destination] = self._towards(base.destination, self.near[base.destination])
        before = (it for at in around for it in self.near[at] if at in base.near.get(it, ()))
        own = frozenset((*other, *before, base.destination, name))
        return twin(
            base, name, {at: (hops, self._near(hops)) for at, hops in other.items()}, self.facts.network.devices, own
        )

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
        """Prefixes, and the owner of each address."""
        return Addresses(self.facts)

    def _tree(self, destination: str, ends: frozenset[str], prefix: Network | None) -> Tree:
        distance, passed = self._accepted(ends) if self.down else (self.distances(ends), {})
        chosen: dict[str, tuple[Hop, ...]] = {}
        for name in self.facts.network.devices:
            if name in ends:
                continue
            found = None if prefix is None else self._stated(name, prefix)
            if found is None:
                closer = distance.get(name, 0) - 1
                near = (to for to in self.near.get(name, ()) if distance.get(to, 1 << 30) == closer)
                found = self._towards(name, tuple(to for to in near if self._takes(name, to, passed.get(to, _NONE))))
            if found:
                chosen[name] = found
        return Tree(destination, ends, chosen, {name: self._near(hops) for name, hops in chosen.items()})

    def _accepted(self, to: Iterable[str]) -> tuple[dict[str, int], dict[str, frozenset[str]]]:
        """Hops from every switch that takes a path, and the AS numbers of the path that it advertises."""
        devices = self.facts.network.devices
        found = dict.fromkeys(to, 0)
        passed = {name: frozenset((devices[name].asn,)) for name in found}
        queue = deque(found)
        while queue:
            here = queue.popleft()
            for name in self.near.get(here, ()):
                if name not in found and self._takes(name, here, passed[here]):
                    found[name] = found[here] + 1
                    passed[name] = passed[here] | {devices[name].asn}
                    queue.append(name)
        return found, passed

    def _takes(self, name: str, to: str, passed: frozenset[str]) -> bool:
        """Whether a switch takes a path that a neighbour advertises. Within an AS no number is compared."""
        own = self.facts.network.devices[name].asn
        if not own or own not in passed or own == self.facts.network.devices[to].asn:
            return True
        return name in self._allowing

    @cached_property
    def _allowing(self) -> frozenset[str]:
        """Switches that allow their own AS number in a path."""
        return frozenset(it.name for it in self.facts.devices if any(one.allows_own_as for one in it.sessions))

    def _towards(self, name: str, switches: tuple[str, ...]) -> tuple[Hop, ...]:
        """Every link to these switches. Trees share the tuples, so that what follows from one is worked out once."""
        key = name, switches
        if key not in self._groups:
            wanted = frozenset(switches)
            self._groups[key] = tuple(hop for hop in self.hops.get(name, ()) if hop.into[0] in wanted)
        return self._groups[key]

    @cached_property
    def _groups(self) -> dict[tuple[str, tuple[str, ...]], tuple[Hop, ...]]:
        return {}

    def _near(self, hops: tuple[Hop, ...]) -> tuple[str, ...]:
        """The switches that next hops lead to, each once."""
        cached = self._nears.get(id(hops))
        if cached is None or cached[0] is not hops:
            cached = self._nears[id(hops)] = hops, tuple(dict.fromkeys(hop.into[0] for hop in hops))
        return cached[1]

    @cached_property
    def _nears(self) -> dict[int, tuple[tuple[Hop, ...], tuple[str, ...]]]:
        return {}

    @cached_property
    def near(self) -> dict[str, tuple[str, ...]]:
        """Switch to the switches that links lead to, each once."""
        return {name: tuple(dict.fromkeys(hop.into[0] for hop in hops)) for name, hops in self.hops.items()}

    def _stated(self, name: str, prefix: Network) -> tuple[Hop, ...] | None:
        """Next hops of the FIB or a static route; None without either."""
        if name in self.facts.network.fibs:
            route = self.addresses.match(name, prefix)
            return () if route is None else self._left(self._resolve(name, route))
        for static in self.facts.network.devices[name].routes:
            if ip_network(static.prefix) == prefix and static.distance < EBGP_DISTANCE:
                return self._left(self._resolve(name, self.addresses.route_of(name, static)))
        return None

    def _left(self, hops: list[Hop]) -> tuple[Hop, ...] | None:
        """Next hops without those that have failed; None where a failure leaves none."""
        left = tuple(hop for hop in hops if hop.out not in self.down)
        return left if left or not hops else None

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
            for name in self.near.get(here, ()):
                if name not in found:
                    found[name] = found[here] + 1
                    queue.append(name)
        return found

    def share_of_paths(self, bad: Mapping[End, frozenset[Root]]) -> dict[tuple[str, str], Hurt]:
        """(from, to) -> what hurts its paths, for every pair of edge switches of which a path has a bad end.

        Of several prefixes of one switch the worst counts.
        """
        found: dict[tuple[str, str], Hurt] = {}
        bundles: dict[int, _Bundles] = {}
        order = {name: number for number, name in enumerate(self.edges)}
        for tree in self.trees:
            plain = tree.destination in self.facts.network.devices
            hurt = self._hurt_shortest(tree, bad, bundles) if plain else _hurt(tree, bad, bundles)
            for start in sorted((it for it in hurt if it in order), key=order.__getitem__):
                one = hurt[start]
                if start in tree.ends or not one.bad:
                    continue
                for to in tree.ends & order.keys():
                    known = found.get((start, to))
                    if known is None or known.bad < one.bad:
                        found[start, to] = one
        return found

    def _hurt_shortest(
        self, tree: Tree, bad: Mapping[End, frozenset[Root]], bundles: dict[int, _Bundles]
    ) -> dict[str, Hurt]:
        """What hurts the shortest paths from each switch whose paths pass a bad end; {} where no path does.

        As `_hurt`, for a tree whose next hops are along the links and without a loop: only the switches before and
        behind the bad ends are visited.
        """
        senders = {end[0] for end in bad} | {self.facts.peers[end][0] for end in bad if end in self.facts.peers}
        wanted = {
            name: None
            for name in senders
            if any(hop.out in bad or hop.into in bad for hop in tree.next_hops.get(name, ()))
        }
        queue = deque(wanted)
        while queue:
            at = queue.popleft()
            for name in self.near.get(at, ()):
                if name not in wanted and at in tree.near.get(name, ()):
                    wanted[name] = None
                    queue.append(name)
        found = dict.fromkeys(tree.ends, _UNHURT)
        for start in wanted:
            waiting = [start]
            while waiting:
                at = waiting[-1]
                missing = [to for to in tree.near.get(at, ()) if to not in found]
                if missing:
                    waiting += missing
                    continue
                waiting.pop()
                if at not in found:
                    found[at] = _summed(tree.next_hops[at], bad, bundles, found) if at in tree.next_hops else _LOST
        return found if wanted else {}

    def buffer_graph(self) -> nx.DiGraph:
        """Edges from each ingress port to the ingress ports its packets may fill next: Hu et al., HotNets 2016.

        Only ports that can be in a cycle, or behind one. A next-hop group is a node between the ports on its two
        sides, which spares the product of both; nodes that nothing waits for are taken away until none is left.
        """
        if not self._may_wait_in_a_circle():
            return nx.DiGraph()
        entries: dict[tuple[str, int], tuple[tuple[Hop, ...], dict[End, None]]] = {}
        seen = set()
        for tree in self.trees:
            for at in tree.reach(self.edges):
                hops = tree.next_hops.get(at, ())
                for name in tree.near.get(at, ()):
                    after = tree.next_hops.get(name, ())
                    if not after or (id(hops), name, id(after)) in seen:
                        continue
                    seen.add((id(hops), name, id(after)))
                    ports = entries.setdefault((name, id(after)), (after, {}))[1]
                    ports.update(dict.fromkeys(hop.into for hop in hops if hop.into[0] == name))
        follows: dict[Any, list[Any]] = {}
        for group, (after, ports) in entries.items():
            follows[group] = [hop.into for hop in after]
            for port in ports:
                follows.setdefault(port, []).append(group)
        left = _cyclic(follows)
        graph: nx.DiGraph = nx.DiGraph()
        for group, (after, ports) in entries.items():
            if group in left:
                graph.add_edges_from(
                    (port, hop.into) for port in ports if port in left for hop in after if hop.into in left
                )
        return graph

    def _may_wait_in_a_circle(self) -> bool:
        """Whether the graph of the ports would have a cycle, if every switch sent to every destination.

        Without the ports of switches that pass nothing on: they wait for no other port.
        """
        passing = {to for tree in self.trees for at in tree.changes() for to in tree.near[at] if tree.next_hops.get(to)}
        follows: dict[Any, dict[Any, None]] = {}
        seen = set()
        for tree in self.trees:
            for at in tree.changes():
                hops = tree.next_hops[at]
                for to in tree.near[at]:
                    after = tree.next_hops.get(to, ()) if to in passing else ()
                    if not after or (id(hops), to, id(after)) in seen or passing.isdisjoint(tree.near[to]):
                        continue
                    seen.add((id(hops), to, id(after)))
                    follows[to, id(after)] = dict.fromkeys(hop.into for hop in after)
                    for hop in hops:
                        if hop.into[0] == to:
                            follows.setdefault(hop.into, {})[to, id(after)] = None
        return bool(_cyclic(follows))


_UNHURT: Final = Hurt(0, 1, (), frozenset())
_LOST: Final = Hurt(0, 0, (), frozenset())
_Bundles = tuple[tuple[Hop, ...], list[tuple[str, int, int, tuple[Hop, ...], frozenset[Root]]]]
"""Next hops; and of each switch they lead to: its name, links, good links, first bad links, their roots."""


def _cyclic(follows: Mapping[Any, Collection[Any]]) -> set[Any]:
    """Nodes that are in a cycle or behind one: what is left when nodes without a predecessor are taken away."""
    waiting: dict[Any, int] = dict.fromkeys(follows, 0)
    for nodes in follows.values():
        for node in nodes:
            waiting[node] = waiting.get(node, 0) + 1
    ready = [node for node, count in waiting.items() if not count]
    while ready:
        node = ready.pop()
        del waiting[node]
        for after in follows.get(node, ()):
            waiting[after] -= 1
            if not waiting[after]:
                ready.append(after)
    return set(waiting)


def _bundles(hops: tuple[Hop, ...], bad: Mapping[End, frozenset[Root]]) -> _Bundles:
    links: dict[str, list[Hop]] = {}
    for hop in hops:
        links.setdefault(hop.into[0], []).append(hop)
    found = []
    for name, those in links.items():
        wrong = [hop for hop in those if hop.out in bad or hop.into in bad]
        roots = frozenset(root for hop in wrong for end in (hop.out, hop.into) for root in bad.get(end, ()))
        found.append((name, len(those), len(those) - len(wrong), tuple(wrong[:_SHOWN_HOPS]), roots))
    return hops, found


def _hurt(tree: Tree, bad: Mapping[End, frozenset[Root]], bundles: dict[int, _Bundles]) -> dict[str, Hurt]:
    """What hurts the paths from each switch; nothing for switches before a loop."""
    before: dict[str, set[str]] = {}
    waiting: dict[str, int] = {}
    for name, names in tree.near.items():
        waiting[name] = len(names)
        for to in names:
            before.setdefault(to, set()).add(name)
    found = dict.fromkeys(tree.ends, _UNHURT)
    ready = deque([*tree.ends, *(name for name in before if name not in waiting and name not in tree.ends)])
    while ready:
        at = ready.popleft()
        for name in sorted(before.get(at, ())):
            waiting[name] -= 1
            if waiting[name]:
                continue
            found[name] = _summed(tree.next_hops[name], bad, bundles, found)
            ready.append(name)
    return found


def _summed(
    hops: tuple[Hop, ...], bad: Mapping[End, frozenset[Root]], bundles: dict[int, _Bundles], found: Mapping[str, Hurt]
) -> Hurt:
    """What hurts the paths over these next hops, from what hurts those of the switches that they lead to."""
    known = bundles.get(id(hops))
    if known is None or known[0] is not hops:
        known = bundles[id(hops)] = _bundles(hops, bad)
    count = every = 0
    shown: dict[Hop, None] = {}
    roots: frozenset[Root] = frozenset()
    for to, links, good, wrong, why in known[1]:
        below = found.get(to, _LOST)
        every += links * below.every
        count += links * below.every - good * (below.every - below.bad)
        if len(shown) < _SHOWN_HOPS:
            shown.update(dict.fromkeys((*wrong, *below.hops)))
        for more in (why, below.roots):
            if not more <= roots:
                roots |= more
    return Hurt(count, every, tuple(shown)[:_SHOWN_HOPS], roots)
