"""Forwarding of prefixes and locations of endpoints -> rows of the data plane: (switch, host) -> ports.

Without an overlay a row is the route to the host's prefix, or the switch's own ports to the host. With an overlay, a
leaf sends to the VTEP of the host's location. A switch in between forwards by its own best Type-2 route for the host.
Simplification: a real one reads the outer address, which the ingress leaf has chosen from the same routes slightly
earlier or later.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from fabric.controlplane.network.forwarding import Ports, prefix_key
from fabric.controlplane.network.record import LocationChange, RouteChange
from fabric.controlplane.network.run import ControlRun


class RowChange(NamedTuple):
    """A switch forwards the packets for a host to other ports from now on."""

    time_ns: int
    switch: int
    """Row of the switch in the data plane."""
    host: int
    """Row of the host in the data plane."""
    ports: Ports


class FloodRow(NamedTuple):
    """Flood list of a leaf for a VNI from now on; rows of the data plane."""

    time_ns: int
    switch: int
    vni: int
    vteps: tuple[int, ...]


class KnownRow(NamedTuple):
    """A leaf gained or lost the binding by which it answers ARP for a host; rows of the data plane."""

    time_ns: int
    switch: int
    host: int
    known: bool


def flood_rows(run: ControlRun) -> Iterator[FloodRow]:
    """Flood lists at time 0, and every later change in order of time."""
    nodes = [router.node for router in run.plan.routers]
    for router, floods in enumerate(run.floods_at_start):
        for vni, vteps in floods.items():
            yield FloodRow(0, nodes[router], vni, tuple(sorted(nodes[vtep] for vtep in vteps)))
    for change in run.floods:
        yield FloodRow(
            change.time_ns, nodes[change.router], change.vni, tuple(sorted(nodes[vtep] for vtep in change.vteps))
        )


def known_rows(run: ControlRun) -> Iterator[KnownRow]:
    """Bindings from which leaves answer ARP at time 0, and every later change in order of time."""
    host_of = {(it.vni, it.ip): it.node for it in run.plan.endpoints if it.node >= 0}
    nodes = [router.node for router in run.plan.routers]
    for router, known in enumerate(run.bindings_at_start):
        for place in sorted(known & host_of.keys()):
            yield KnownRow(0, nodes[router], host_of[place], known=True)
    for change in run.bindings:
        host = host_of.get((change.vni, change.ip))
        if host is not None:
            yield KnownRow(change.time_ns, nodes[change.router], host, change.known)


def unknown_rows(run: ControlRun) -> Iterator[KnownRow]:
    """Silent hosts whose MAC is unknown (known=False) to leaves of their VNI at time 0, and every later change."""
    silent = {(it.vni, it.mac): it.node for it in run.plan.endpoints if it.silent and it.node >= 0}
    vnis = [{it.vni for it in router.vnis} for router in run.plan.routers]
    for router in run.plan.routers if silent else ():
        for place, host in silent.items():
            if place[0] in vnis[router.row] and place not in run.locations_at_start[router.row]:
                yield KnownRow(0, router.node, host, known=False)
    for change in run.locations:
        host = silent.get((change.vni, change.mac), -1)
        if host >= 0 and change.vni in vnis[change.router]:
            yield KnownRow(change.time_ns, run.plan.routers[change.router].node, host, known=change.vtep is not None)


class Rows:
    """All rows of a fabric, from time 0 on.

    Parameters
    ----------
    run : ControlRun
    local : mapping     (row of a switch, row of a host) in the data plane -> the switch's ports to that host
    """

    def __init__(self, run: ControlRun, local: Mapping[tuple[int, int], Ports]) -> None:
        self._run = run
        self._local = local
        self._host_of = {(it.vni, it.mac): it.node for it in run.plan.endpoints if it.node >= 0}
        self._loopback = [prefix_key(router.loopback, 32) for router in run.plan.routers]
        on_ports = [host.node for host in run.plan.routed]
        self._hosts = sorted([*self._host_of.values(), *on_ports] if run.plan.overlay else run.plan.host_prefix)
        self._routes = [dict(routes) for routes in run.routes_at_start]
        self._key: list[dict[int, bytes]] = [{} for _ in run.plan.routers]
        self._port: list[dict[int, int]] = [{} for _ in run.plan.routers]
        self._users: list[dict[bytes, set[int]]] = [defaultdict(set) for _ in run.plan.routers]
        for router in run.plan.routers:
            self._settle(router.row, router.node)

    def _settle(self, router: int, node: int) -> None:
        """Set the location of each host at time 0."""
        if self._run.plan.overlay:
            for place, (vtep, port) in self._run.locations_at_start[router].items():
                if place in self._host_of:
                    self._place(router, self._host_of[place], vtep, port)
            its = self._run.plan.routers[router]
            for on_port in self._run.plan.routed:
                # Packets for it, and copies of broadcasts, follow routes to its leaf's VTEP (tenant_rows.py). The rows
                # of switches between VTEPs serve views only.
                if on_port.router == router or not (its.vnis or its.vrfs):
                    self._place(router, on_port.node, on_port.router, on_port.port)
            return
        for host, prefix in self._run.plan.host_prefix.items():
            if prefix[1] == 32 or (node, host) not in self._local:
                self._key[router][host] = prefix_key(*prefix)
                self._users[router][self._key[router][host]].add(host)

    def _place(self, router: int, host: int, vtep: int | None, port: int) -> None:
        old = self._key[router].pop(host, None)
        if old is not None:
            self._users[router][old].discard(host)
        self._port[router].pop(host, None)
        if vtep == router:
            self._port[router][host] = port
        elif vtep is not None:
            key = self._key[router][host] = self._loopback[vtep]
            self._users[router][key].add(host)

    def _row(self, router: int, host: int) -> Ports:
        own = self._local.get((self._run.plan.routers[router].node, host), ())
        if self._run.plan.overlay:
            port = self._port[router].get(host)
            if port is not None:  # at a port that does not lead to the host: another device uses its MAC
                return (port,) if port in own else ()
        key = self._key[router].get(host)
        if key is None:
            return () if self._run.plan.overlay else own
        return self._routes[router].get(key, ())

    def at_start(self) -> dict[tuple[int, int], Ports]:
        """Every row at time 0; call it before `changes`."""
        return {
            (router.node, host): self._row(router.row, host)
            for router in self._run.plan.routers
            for host in self._hosts
        }

    def changes(self) -> Iterator[RowChange]:
        """Every later change, in order of time. Consumes the rows: iterate once."""
        logs: tuple[Iterable[RouteChange | LocationChange], ...] = (self._run.routes, self._run.locations)
        for change in heapq.merge(*logs, key=lambda change: change.time_ns):
            if isinstance(change, RouteChange):
                yield from self._rerouted(change)
            else:
                yield from self._moved(change)

    def _rerouted(self, change: RouteChange) -> Iterator[RowChange]:
        routes = self._routes[change.router]
        routes[change.key] = change.ports
        node = self._run.plan.routers[change.router].node
        for host in sorted(self._users[change.router].get(change.key, ())):
            yield RowChange(change.time_ns, node, host, change.ports)

    def _moved(self, change: LocationChange) -> Iterator[RowChange]:
        host = self._host_of.get((change.vni, change.mac))
        if host is None:
            return
        before = self._row(change.router, host)
        self._place(change.router, host, change.vtep, change.port)
        ports = self._row(change.router, host)
        if ports != before:
            yield RowChange(change.time_ns, self._run.plan.routers[change.router].node, host, ports)
