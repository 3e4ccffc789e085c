"""Faults in the routes of a fabric: black holes, dead next hops, loops, valleys, cyclic buffer dependencies.

Every path from every switch with hosts to every class of hosts is walked. A valley is a path that goes down and then up
again: in a Clos fabric it crosses a leaf in transit. Up-down routing excludes valleys; RFC 7938 section 5.2.1 prevents
them by one AS for all spines. Valleys close cyclic buffer dependencies, in which lossless buffers can deadlock (Hu et
al., HotNets 2016).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import networkx as nx

from fabric.topology.cycles import cycles
from fabric.topology.levels import levels
from fabric.topology.model import Fabric

NextPorts = Callable[[int, int], Sequence[int]]
"""(switch, host) -> egress ports; () without a route."""


@dataclass(frozen=True, slots=True)
class BadPath:
    """A path on which packets for a host go wrong: from the first switch to the switch that shows it."""

    host: int
    """A host of the class that the packets are for."""
    n_hosts: int
    """Hosts of that class."""
    switches: tuple[int, ...]
    """NodeIds in the order of the path."""


@dataclass(frozen=True)
class RouteFindings:
    """All faults: a BadPath for each class of hosts and each switch that shows one."""

    no_route: tuple[BadPath, ...]
    dead_link: tuple[BadPath, ...]
    """A next hop that loses every packet."""
    loops: tuple[BadPath, ...]
    """The path ends with the switches of the loop; the first one is repeated at the end."""
    valleys: tuple[BadPath, ...]
    """The last switch but one is the bottom of the valley."""
    buffer_cycles: tuple[tuple[int, ...], ...]
    """Ingress ports (PortId), each waiting for room at the next one, the last for the first."""

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not (self.no_route or self.dead_link or self.loops or self.valleys or self.buffer_cycles)


def check_routes(
    fabric: Fabric,
    next_ports: NextPorts,
    classes: Iterable[Sequence[int]],
    down: frozenset[int] = frozenset(),
    may_send: Callable[[int, int], bool] = lambda _source, _target: True,
) -> RouteFindings:
    """Walk every path.

    Parameters
    ----------
    fabric : Fabric
    next_ports : (switch, host) -> ports
    classes : iterable of sequences of int    hosts (NodeId) with the same routes but for the last hop
    down : frozenset of int    ports that lose every packet
    may_send : (host, host) -> bool    whether the first may send to the second: tenants of an overlay

    Returns: RouteFindings. Raises: nothing.
    """
    level = levels(fabric).tolist()
    graph: nx.DiGraph[int] = nx.DiGraph()
    found: dict[str, list[BadPath]] = {name: [] for name in ("no_route", "dead_link", "loops", "valleys")}
    for hosts in classes:
        one = _OneTarget(fabric, next_ports, level, down, hosts, found)
        one.walk(
            sorted(
                {
                    fabric.peer_of(port).id
                    for host in fabric.hosts
                    if may_send(host.id, hosts[0])
                    for port in (host.ports if host.id == hosts[0] else fabric.ports_towards(host.id, hosts[0]))
                }
            )
        )
        graph.add_edges_from(one.waits())
    return RouteFindings(
        **{name: tuple(faults) for name, faults in found.items()},
        buffer_cycles=tuple(tuple(cycle) for cycle in cycles(graph)),
    )


class _OneTarget:
    """All paths to one class of hosts. A state is (switch, whether the path has gone down)."""

    def __init__(
        self,
        fabric: Fabric,
        next_ports: NextPorts,
        level: list[int],
        down: frozenset[int],
        hosts: Sequence[int],
        found: dict[str, list[BadPath]],
    ) -> None:
        self._fabric, self._level, self._down, self._found = fabric, level, down, found
        self._next_ports, self._host, self._n_hosts = next_ports, hosts[0], len(hosts)
        self._before: dict[tuple[int, bool], tuple[int, bool] | None] = {}
        self._onwards: dict[int, list[int]] = {}

    def walk(self, entries: Iterable[int]) -> None:
        """Breadth first, so that every reported path is a shortest one."""
        queue = deque((entry, False) for entry in entries)
        self._before = dict.fromkeys(queue)
        valleys: set[int] = set()
        while queue:
            at = queue.popleft()
            for peer in self._steps(at):
                rises = self._level[peer] > self._level[at[0]]
                after = (peer, at[1] or self._level[peer] < self._level[at[0]])
                if at[1] and rises and at[0] not in valleys:
                    valleys.add(at[0])
                    self._report("valleys", (*self._path_to(at), peer))
                if after not in self._before:
                    self._before[after] = at
                    queue.append(after)
        self._loops()

    def _steps(self, at: tuple[int, bool]) -> list[int]:
        """Next switches of packets at a switch. Reports missing routes and dead next hops, once per switch."""
        switch = at[0]
        first = switch not in self._onwards
        ports = self._next_ports(switch, self._host)
        alive = [port for port in ports if port not in self._down]
        self._onwards[switch] = [port for port in alive if not self._fabric.peer_of(port).is_host]
        if first and not ports:
            self._report("no_route", self._path_to(at))
        elif first and len(alive) < len(ports):
            lost = next(port for port in ports if port in self._down)
            self._report("dead_link", (*self._path_to(at), self._fabric.peer_of(lost).id))
        return list(dict.fromkeys(self._fabric.peer_of(port).id for port in self._onwards[switch]))

    def _loops(self) -> None:
        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_edges_from(
            (switch, self._fabric.peer_of(port).id) for switch, ports in self._onwards.items() for port in ports
        )
        for cycle in cycles(graph):
            state = next(state for state in self._before if state[0] in cycle)
            start = cycle.index(state[0])
            self._report("loops", (*self._path_to(state), *cycle[start + 1 :], *cycle[: start + 1]))

    def waits(self) -> Iterable[tuple[int, int]]:
        """(ingress port, ingress port of the next switch): packets in the first may wait for room in the second."""
        for ports in self._onwards.values():
            for port in ports:
                peer = self._fabric.ports[port].peer
                for onward in self._onwards.get(self._fabric.node_of(peer).id, ()):
                    yield peer, self._fabric.ports[onward].peer

    def _path_to(self, state: tuple[int, bool]) -> tuple[int, ...]:
        path = []
        at: tuple[int, bool] | None = state
        while at is not None:
            path.append(at[0])
            at = self._before[at]
        return tuple(reversed(path))

    def _report(self, kind: str, switches: tuple[int, ...]) -> None:
        self._found[kind].append(BadPath(self._host, self._n_hosts, switches))
