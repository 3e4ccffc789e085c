"""What is wrong with the routes of a fabric, whoever wrote them: black holes, loops, valleys, circles of buffers.

Every way that a packet can take is walked, from every switch with hosts to every class of hosts. A valley is a way that
goes down and then up again: in a Clos fabric it crosses a leaf in transit, which up-down routing excludes and RFC 7938
section 5.2.1 prevents by one AS for all spines. Valleys are what closes a circle of buffers (cyclic buffer dependency:
Hu et al., HotNets 2016), and a circle of lossless buffers can deadlock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import networkx as nx

from fabric.topology.levels import levels
from fabric.topology.model import Fabric
from fabric.validate.cycles import cycles

NextPorts = Callable[[int, int], Sequence[int]]
"""(switch, host) -> egress ports; () without a route."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One way on which packets for a host go wrong, from the first switch to where it shows."""

    host: int
    """A host of the class that the packets are for."""
    n_hosts: int
    """Hosts of that class."""
    switches: tuple[int, ...]
    """NodeIds in the order of the way."""


@dataclass(frozen=True)
class Findings:
    """Everything that is wrong: a Fault for each class of hosts and each switch where it shows."""

    no_route: tuple[Fault, ...]
    dead_link: tuple[Fault, ...]
    """A next hop by which nothing arrives: packets are lost there."""
    loops: tuple[Fault, ...]
    """The way ends with the switches of the loop, the first of them again at the end."""
    valleys: tuple[Fault, ...]
    """The switch before the last one is the valley's bottom."""
    buffer_cycles: tuple[tuple[int, ...], ...]
    """Ingress ports (PortId), each waiting for room at the next one, the last for the first."""

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not (self.no_route or self.dead_link or self.loops or self.valleys or self.buffer_cycles)


def check_routes(fabric: Fabric, next_ports: NextPorts, classes: Iterable[Sequence[int]],
                 down: frozenset[int] = frozenset(),
                 may_send: Callable[[int, int], bool] = lambda _source, _target: True) -> Findings:
    """Walk every way.

    Parameters
    ----------
    fabric : Fabric
    next_ports : (switch, host) -> ports
    classes : iterable of sequences of int    hosts (NodeId) with the same routes but for the last hop
    down : frozenset of int    ports by which nothing arrives
    may_send : (host, host) -> bool    whether the first has anything to do with the second: tenants of an overlay

    Returns: Findings. Raises: nothing.
    """
    level = levels(fabric).tolist()
    graph: nx.DiGraph[int] = nx.DiGraph()
    found: dict[str, list[Fault]] = {name: [] for name in ("no_route", "dead_link", "loops", "valleys")}
    for hosts in classes:
        one = _OneTarget(fabric, next_ports, level, down, hosts, found)
        one.walk(sorted({fabric.peer_of(port).id for host in fabric.hosts if may_send(host.id, hosts[0])
                         for port in host.ports}))
        graph.add_edges_from(one.waits())
    return Findings(**{name: tuple(faults) for name, faults in found.items()},
                    buffer_cycles=tuple(tuple(cycle) for cycle in cycles(graph)))


class _OneTarget:
    """All ways to one class of hosts. A state is (switch, whether the way has gone down)."""

    def __init__(self, fabric: Fabric, next_ports: NextPorts, level: list[int], down: frozenset[int],
                 hosts: Sequence[int], found: dict[str, list[Fault]]) -> None:
        self._fabric, self._level, self._down, self._found = fabric, level, down, found
        self._next_ports, self._host, self._n_hosts = next_ports, hosts[0], len(hosts)
        self._before: dict[tuple[int, bool], tuple[int, bool] | None] = {}
        self._onwards: dict[int, list[int]] = {}

    def walk(self, entries: Iterable[int]) -> None:
        """Breadth first, so that the way of every fault is one of the shortest."""
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
                    self._report("valleys", (*self._way(at), peer))
                if after not in self._before:
                    self._before[after] = at
                    queue.append(after)
        self._loops()

    def _steps(self, at: tuple[int, bool]) -> list[int]:
        """Switches that packets go to from here; says what is wrong with the others, once per switch."""
        switch = at[0]
        first = switch not in self._onwards
        ports = self._next_ports(switch, self._host)
        alive = [port for port in ports if port not in self._down]
        self._onwards[switch] = [port for port in alive if not self._fabric.peer_of(port).is_host]
        if first and not ports:
            self._report("no_route", self._way(at))
        elif first and len(alive) < len(ports):
            lost = next(port for port in ports if port in self._down)
            self._report("dead_link", (*self._way(at), self._fabric.peer_of(lost).id))
        return list(dict.fromkeys(self._fabric.peer_of(port).id for port in self._onwards[switch]))

    def _loops(self) -> None:
        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_edges_from((switch, self._fabric.peer_of(port).id)
                             for switch, ports in self._onwards.items() for port in ports)
        for cycle in cycles(graph):
            state = next(state for state in self._before if state[0] in cycle)
            start = cycle.index(state[0])
            self._report("loops", (*self._way(state), *cycle[start + 1 :], *cycle[: start + 1]))

    def waits(self) -> Iterable[tuple[int, int]]:
        """(ingress port, ingress port of the next switch): packets in the first may wait for room in the second."""
        for ports in self._onwards.values():
            for port in ports:
                peer = self._fabric.ports[port].peer
                for onward in self._onwards.get(self._fabric.node_of(peer).id, ()):
                    yield peer, self._fabric.ports[onward].peer

    def _way(self, state: tuple[int, bool]) -> tuple[int, ...]:
        way = []
        at: tuple[int, bool] | None = state
        while at is not None:
            way.append(at[0])
            at = self._before[at]
        return tuple(reversed(way))

    def _report(self, kind: str, switches: tuple[int, ...]) -> None:
        self._found[kind].append(Fault(self._host, self._n_hosts, switches))
