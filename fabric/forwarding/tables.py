"""Every switch's forwarding table at one moment of a scenario, and what wrote each route; no packet is simulated.

Routes change at known moments only: those of dated edits (fabric/dataplane/engine/edits.py) and, with `routing:
shortest-path`, `run.reroute_delay` after a cable's state has changed. So the tables of any moment follow from the
compiled scenario. They are written by the engine's own writer of routes (fabric/dataplane/engine/fib.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.edits import (
    CarrierNoticed,
    DropEvery,
    Edit,
    FibRoute,
    LinkRate,
    LinkState,
    StaticRoute,
    TenantRoutes,
    UnknownMac,
    VtepRoutes,
)
from fabric.dataplane.engine.fib import FibWriter
from fabric.dataplane.engine.holds import in_force
from fabric.dataplane.engine.static_routes import Row
from fabric.dataplane.state.fill_forwarding import forwarding_state
from fabric.dataplane.state.fill_tenants import set_way
from fabric.dataplane.state.params import EngineParams
from fabric.dataplane.state.types import State
from fabric.forwarding.walk import Flows, Ints, Tables
from fabric.topology.model import Fabric, Node
from fabric.topology.paths import equal_cost_ports


class Cause(IntEnum):
    """What wrote a route."""

    SHORTEST_PATH = 0
    EDIT = 1
    """A static route, of a route fault of the scenario."""
    CONTROL_PLANE = 2


@dataclass(frozen=True)
class Change:
    """Routes or cables that change at one moment."""

    time_ps: int
    cause: Cause
    cables: tuple[tuple[int, bool], ...] = ()
    """(LinkId, up)."""
    silent: tuple[tuple[int, bool], ...] = ()
    """(PortId, whether it loses every frame that arrives from now on): a hung switch, or a cut that leaves the carrier
    up.
    """
    routes: tuple[tuple[int, int, tuple[int, ...]], ...] = ()
    """(switch, host, ports)."""
    computed: bool = False
    """All shortest paths are computed again."""
    tenants: tuple[tuple[int, int, tuple[int, ...]], ...] = ()
    """(leaf, host, VTEPs) of packets between a tenant's subnets."""
    tunnels: tuple[tuple[int, int, tuple[int, ...]], ...] = ()
    """(switch, leaf, ports) towards the leaf's VTEP."""
    unknown: tuple[tuple[int, int, bool], ...] = ()
    """(leaf, host, whether the leaf floods packets for it from now on): silent hosts."""
    rate: LinkRate | None = None
    """A cable has another rate, by which weighted next hops are chosen."""
    static: StaticRoute | None = None
    """A static route begins or ends."""
    noticed: CarrierNoticed | None = None
    """A switch takes a port out of its static routes, or back in."""


@dataclass(frozen=True)
class Forwarding:
    """All FIBs of a fabric at one moment."""

    fabric: Fabric
    params: EngineParams
    time_ps: int
    tables: Tables
    down: frozenset[int]
    """Ports whose cable is down."""
    silent: frozenset[int]
    """Ports with carrier whose cable loses every frame that they send."""
    cause: NDArray[np.int8]
    """(n_switches, n_hosts) Cause of the route."""
    since_ps: Ints
    """(n_switches, n_hosts) when it was written; 0: before the run."""
    unknown: frozenset[tuple[int, int]] = frozenset()
    """(leaf, host): the leaf does not know the MAC of the host and floods packets of local hosts to it."""

    @property
    def dead(self) -> frozenset[int]:
        """Ports that lose every packet."""
        return self.down | self.silent

    def loss(self, port: int) -> str:
        """Why a port loses every packet; '' if it does not."""
        return "cable is down" if port in self.down else "other end loses every frame" if port in self.silent else ""

    def deaf(self, switch: Node) -> bool:
        """Whether every frame that arrives at a switch is lost: it hangs."""
        up = [port for port in switch.ports if port not in self.down]
        return bool(up) and all(self.fabric.ports[port].peer in self.silent for port in up)

    def next_ports(self, switch: int, host: int) -> tuple[int, ...]:
        """Egress ports of a switch (NodeId) towards a host; () without a route."""
        return self.tables.members(switch - self.tables.n_hosts, host)

    def written(self, switch: int, host: int) -> tuple[Cause, int]:
        """(what wrote the route, when, in ps)."""
        row = switch - self.tables.n_hosts
        return Cause(int(self.cause[row, host])), int(self.since_ps[row, host])

    def classes(self) -> dict[tuple[int, ...], list[Node]]:
        """Hosts with equal routes at every switch but for the last hop, by (column of the FIB, attached switches)."""
        fabric, n_hosts = self.fabric, self.tables.n_hosts
        local = np.zeros(self.tables.fib.shape, np.bool_)
        for host in fabric.hosts:
            for port in host.ports:
                local[fabric.peer_of(port).id - n_hosts, host.id] = True
        plain = np.where(local, -1, self.tables.fib)
        found: dict[tuple[int, ...], list[Node]] = {}
        _, inverse = np.unique(plain, axis=1, return_inverse=True)
        for host in fabric.hosts:
            attached = tuple(sorted({fabric.peer_of(port).id for port in host.ports}))
            found.setdefault((int(inverse.reshape(-1)[host.id]), *attached), []).append(host)
        return found

    def flows(
        self, src: Ints, dst: Ints, src_udp_port: Ints, dst_udp_port: Ints, port: Ints, qp: Ints | None = None
    ) -> Flows:
        """Columns for walk(). qp: numbers of the queue pairs; absent: one for each flow, counted from 0."""
        words = src_udp_port & 0xFFFF | (dst_udp_port & 0xFFFF) << 16
        return Flows(src, dst, words, port, np.arange(len(src)) if qp is None else qp)

    def queue_pairs(self) -> Flows:
        """The scenario's own queue pairs."""
        pairs = self.params.queue_pairs
        return self.flows(pairs.src, pairs.dst, pairs.src_udp_port, pairs.dst_udp_port, pairs.port)


def changes(edits: Sequence[Edit], fabric: Fabric, params: EngineParams, reroute_delay_ps: int | None) -> list[Change]:
    """All changes of routes, in the order in which the engine applies them.

    Parameters
    ----------
    edits : sequence of Edit
    fabric, params : what the engine is built from
    reroute_delay_ps : int or None    from a cable's change to new shortest paths; None: a control plane writes routes
    """
    cable, route = (
        (Cause.CONTROL_PLANE, Cause.CONTROL_PLANE) if reroute_delay_ps is None else (Cause.SHORTEST_PATH, Cause.EDIT)
    )
    found = []
    silent: set[int] = set()
    for edit in in_force(edits, fabric, params):
        if isinstance(edit, LinkState):
            found.append(Change(edit.time_ps, cable, cables=((edit.link, edit.up),)))
        elif isinstance(edit, LinkRate):
            found.append(Change(edit.time_ps, cable, rate=edit))
        elif isinstance(edit, FibRoute):
            found.append(Change(edit.time_ps, route, routes=((edit.switch, edit.host, edit.ports),)))
        elif isinstance(edit, StaticRoute):
            found.append(Change(edit.time_ps, Cause.EDIT, static=edit))
        elif isinstance(edit, CarrierNoticed):
            found.append(Change(edit.time_ps, cable, noticed=edit))
        elif isinstance(edit, TenantRoutes):
            found.append(Change(edit.time_ps, route, tenants=edit.routes))
        elif isinstance(edit, VtepRoutes):
            found.append(Change(edit.time_ps, route, tunnels=edit.routes))
        elif isinstance(edit, UnknownMac):
            found.append(Change(edit.time_ps, route, unknown=((edit.switch, edit.host, edit.unknown),)))
        elif isinstance(edit, DropEvery) and (edit.every == 1) != (edit.port in silent):
            silent ^= {edit.port}
            found.append(Change(edit.time_ps, cable, silent=((edit.port, edit.every == 1),)))
    if reroute_delay_ps is not None:
        moments = sorted({change.time_ps + reroute_delay_ps for change in found if change.cables})
        found += [Change(moment, Cause.SHORTEST_PATH, computed=True) for moment in moments]
    return sorted(found, key=lambda change: change.time_ps)


def forwarding_at(
    fabric: Fabric, params: EngineParams, timeline: Iterable[Change], time_ps: int, start: Cause = Cause.SHORTEST_PATH
) -> Forwarding:
    """The tables just after everything at `time_ps` has been applied.

    Parameters
    ----------
    fabric, params : what the engine is built from
    timeline : iterable of Change    as changes() orders them
    time_ps : int
    start : Cause    what wrote the routes at time 0; a control plane's are shortest paths, and changes dated 0

    Returns: Forwarding. Raises: nothing.
    """
    replay = _Replay(fabric, params)
    replay.shortest(0, start)
    for change in timeline:
        if change.time_ps > time_ps:
            break
        for link, up in change.cables:
            replay.cable(link, up=up)
        for port, lost in change.silent:
            replay.silence(port, lost=lost)
        if change.rate is not None:
            replay.rate(change.rate)
        replay.routes(change.routes, change.cause, change.time_ps)
        replay.route_tenants(change.tenants, change.tunnels)
        replay.learn(change.unknown)
        if change.static is not None:
            replay.static(change.static)
        if change.noticed is not None:
            replay.notice(change.noticed)
        if change.computed:
            replay.shortest(change.time_ps)
    return replay.forwarding(time_ps)


class _Replay:
    """The tables of the engine while changes are applied, by its own writer of routes; and what wrote each route."""

    def __init__(self, fabric: Fabric, params: EngineParams) -> None:
        shape = (len(fabric.switches), len(fabric.hosts))
        self._fabric, self._params, self._n_hosts = fabric, params, len(fabric.hosts)
        self._state = forwarding_state(fabric, params)
        self._writer = FibWriter(fabric, descending=params.ecmp_descending)
        self._down: set[int] = set()
        self._silent: set[int] = set()
        self._unknown: set[tuple[int, int]] = set()
        self._computed_by = np.zeros(shape, np.int8)
        """Cause of the computed route, beneath a static route too."""
        self._cause = np.zeros(shape, np.int8)
        self._since = np.zeros(shape, np.int64)

    def cable(self, link: int, *, up: bool) -> None:
        """A cable comes up or goes down."""
        ends = {int(self._fabric.links[link].a), int(self._fabric.links[link].b)}
        self._down = self._down - ends if up else self._down | ends

    def rate(self, edit: LinkRate) -> None:
        """A cable has another rate."""
        link = self._fabric.links[edit.link]
        self._state.ports["rate_bps"][[link.a, link.b]] = edit.rate_bps

    def silence(self, port: int, *, lost: bool) -> None:
        """A port loses every frame that arrives, or receives again what its peer sends."""
        sender = {int(self._fabric.ports[port].peer)}
        self._silent = self._silent | sender if lost else self._silent - sender

    def learn(self, unknown: Iterable[tuple[int, int, bool]]) -> None:
        """Leaves learn where hosts are, or forget it."""
        for leaf, host, is_unknown in unknown:
            (self._unknown.add if is_unknown else self._unknown.discard)((leaf, host))

    def shortest(self, time_ps: int, cause: Cause = Cause.SHORTEST_PATH) -> None:
        """All routes, over the cables that are up. A route that stays as it was keeps its date."""
        before = self._state.fib
        table = self._writer.table(equal_cost_ports(self._fabric, frozenset(self._down)))
        self._state = self._writer.write(self._state, table, self._down)
        self._computed_by[:] = cause
        causes = self._computed_by.copy()
        for switch, host in self._static_in_use():
            causes[switch - self._n_hosts, host] = Cause.EDIT
        changed = (self._state.fib != before).reshape(causes.shape) | (causes != self._cause)
        self._since[changed] = time_ps
        self._cause = causes

    def routes(self, routes: Iterable[tuple[int, int, tuple[int, ...]]], cause: Cause, time_ps: int) -> None:
        """Write single routes."""
        for switch, host, ports in routes:
            row, place = (switch, host), (switch - self._n_hosts, host)
            self._computed_by[place] = cause
            write = partial(self._writer.edit, routes=[(switch, host, ports)])
            if row in self._writer.static_rows:
                self._settle([row], time_ps, write)
            else:
                self._state = write(self._state)
                self._cause[place], self._since[place] = cause, time_ps

    def static(self, edit: StaticRoute) -> None:
        """A static route begins or ends."""
        row = (int(edit.switch), int(edit.host))
        self._settle([row], edit.time_ps, partial(self._writer.static, edit=edit))

    def notice(self, edit: CarrierNoticed) -> None:
        """A switch notices that a port has lost carrier, or has it again."""
        self._settle(self._writer.static_rows, edit.time_ps, partial(self._writer.notice, edit=edit))

    def _static_in_use(self) -> list[Row]:
        return [row for row in self._writer.static_rows if self._writer.is_static(row)]

    def _settle(self, rows: Sequence[Row], time_ps: int, write: Callable[[State], State]) -> None:
        """Write, and date the rows whose route or cause changes."""
        places = [(switch - self._n_hosts, host) for switch, host in rows]
        before = [(self._value(place), int(self._cause[place])) for place in places]
        self._state = write(self._state)
        for row, place, known in zip(rows, places, before, strict=True):
            cause = int(Cause.EDIT if self._writer.is_static(row) else self._computed_by[place])
            if (self._value(place), cause) != known:
                self._cause[place], self._since[place] = cause, time_ps

    def _value(self, place: tuple[int, int]) -> int:
        return int(self._state.fib[place[0] * self._n_hosts + place[1]])

    def route_tenants(
        self, tenants: Iterable[tuple[int, int, tuple[int, ...]]], tunnels: Iterable[tuple[int, int, tuple[int, ...]]]
    ) -> None:
        """Write routes between subnets, and routes to VTEPs."""
        for leaf, host, vteps in tenants:
            self._state = set_way(self._state, leaf, host, vteps)
        self._state = self._writer.edit_vteps(self._state, tunnels)

    def forwarding(self, time_ps: int) -> Forwarding:
        """What the tables are now."""
        return Forwarding(
            self._fabric,
            self._params,
            time_ps,
            Tables(self._state),
            frozenset(self._down),
            frozenset(self._silent),
            self._cause,
            self._since,
            frozenset(self._unknown),
        )
