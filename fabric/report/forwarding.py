"""Every switch's forwarding table at one moment of a scenario, and why each route is as it is; nothing is played.

Routes change at known moments only: those of dated edits (fabric/engine/edits.py) and, with `routing: shortest-path`,
`run.reroute_delay` after a cable's state has changed. So the tables of any moment follow from the compiled scenario,
and are the same as the engine's; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from fabric.engine.edits import (
    CarrierNoticed,
    DropEvery,
    Edit,
    FibRoute,
    LinkState,
    StaticRoute,
    TenantRoutes,
    UnknownMac,
    VtepRoutes,
)
from fabric.engine.holds import in_force
from fabric.engine.static_routes import Row, StaticRoutes
from fabric.report.tenant_walk import TenantTables, membership
from fabric.report.walk import Flows, Ints, Tables
from fabric.state.params import EngineParams
from fabric.state.types import BY_HOST, HERE, NOWHERE
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
    """(PortId, whether every frame that arrives there is lost from now on): a hung switch, a cable cut unnoticed."""
    routes: tuple[tuple[int, int, tuple[int, ...]], ...] = ()
    """(switch, host, ports)."""
    computed: bool = False
    """All shortest paths are computed anew."""
    tenants: tuple[tuple[int, int, tuple[int, ...]], ...] = ()
    """(leaf, host, VTEPs) of packets between a tenant's subnets."""
    tunnels: tuple[tuple[int, int, tuple[int, ...]], ...] = ()
    """(switch, leaf, ports) towards the leaf's VTEP."""
    unknown: tuple[tuple[int, int, bool], ...] = ()
    """(leaf, host, whether the leaf floods what is for it from now on): silent hosts."""
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
    """Ports whose cable has light and loses every frame that they send."""
    cause: NDArray[np.int8]
    """(n_switches, n_hosts) Cause of the route."""
    since_ps: Ints
    """(n_switches, n_hosts) when it was written; 0: before the run."""
    unknown: frozenset[tuple[int, int]] = frozenset()
    """(leaf, host): the leaf does not know the host's MAC and floods what local hosts of the segment send to it."""

    @property
    def dead(self) -> frozenset[int]:
        """Ports by which nothing arrives."""
        return self.down | self.silent

    def loss(self, port: int) -> str:
        """Why nothing arrives by a port; '' where something does."""
        return "cable is down" if port in self.down else "other end loses every frame" if port in self.silent else ""

    def deaf(self, switch: Node) -> bool:
        """Whether every frame that arrives at a switch is lost: it hangs."""
        heard = [port for port in switch.ports if port not in self.down]
        return bool(heard) and all(self.fabric.ports[port].peer in self.silent for port in heard)

    def next_ports(self, switch: int, host: int) -> tuple[int, ...]:
        """Egress ports of a switch (NodeId) towards a host; () without a route."""
        return self.tables.members(switch - self.tables.n_hosts, host)

    def written(self, switch: int, host: int) -> tuple[Cause, int]:
        """(what wrote the route, when, in ps)."""
        row = switch - self.tables.n_hosts
        return Cause(int(self.cause[row, host])), int(self.since_ps[row, host])

    def classes(self) -> dict[tuple[int, ...], list[Node]]:
        """Hosts by what every switch does with their packets, but for the last hop: (attached switches, rows) alike."""
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

    def flows(self, src: Ints, dst: Ints, src_udp_port: Ints, dst_udp_port: Ints, port: Ints) -> Flows:
        """Columns for walk()."""
        return Flows(src, dst, src_udp_port & 0xFFFF | (dst_udp_port & 0xFFFF) << 16, port)

    def queue_pairs(self) -> Flows:
        """The scenario's own queue pairs."""
        pairs = self.params.queue_pairs
        return self.flows(pairs.src, pairs.dst, pairs.src_udp_port, pairs.dst_udp_port, pairs.port)


def changes(edits: Sequence[Edit], fabric: Fabric, params: EngineParams, reroute_delay_ps: int | None) -> list[Change]:
    """Everything that will move routes, in the order in which the engine applies it.

    Parameters
    ----------
    edits : sequence of Edit
    fabric, params : what the engine is built from
    reroute_delay_ps : int or None    from a cable's change to shortest paths anew; None: a control plane writes routes
    """
    cable, route = ((Cause.CONTROL_PLANE, Cause.CONTROL_PLANE) if reroute_delay_ps is None else
                    (Cause.SHORTEST_PATH, Cause.EDIT))
    found = []
    silent: set[int] = set()
    for edit in in_force(edits, fabric, params):
        if isinstance(edit, LinkState):
            found.append(Change(edit.time_ps, cable, cables=((edit.link, edit.up),)))
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


def forwarding_at(fabric: Fabric, params: EngineParams, timeline: Iterable[Change], time_ps: int,
                  start: Cause = Cause.SHORTEST_PATH) -> Forwarding:
    """The tables just after everything at `time_ps` has been applied.

    Parameters
    ----------
    fabric, params : what the engine is built from
    timeline : iterable of Change    as changes() orders them
    time_ps : int
    start : Cause    who has written the routes at time 0; a control plane's are shortest paths, changed at time 0 where
        it found others

    Returns: Forwarding. Raises: nothing.
    """
    builder = _Builder(fabric, params)
    builder.shortest(0, start)
    for change in timeline:
        if change.time_ps > time_ps:
            break
        for link, up in change.cables:
            builder.cable(link, up=up)
        for port, lost in change.silent:
            builder.hear(port, lost=lost)
        builder.write(change.routes, change.cause, change.time_ps)
        builder.route_tenants(change.tenants, change.tunnels)
        builder.learn(change.unknown)
        if change.static is not None:
            builder.static(change.static)
        if change.noticed is not None:
            builder.notice(change.noticed)
        if change.computed:
            builder.shortest(change.time_ps)
    return builder.done(time_ps)


class _Builder:
    """FIB rows while changes are applied; groups are interned as engine/fib.py does, in its order."""

    def __init__(self, fabric: Fabric, params: EngineParams) -> None:
        shape = (len(fabric.switches), len(fabric.hosts))
        self._fabric, self._params, self._n_hosts = fabric, params, len(fabric.hosts)
        self._down: set[int] = set()
        self._silent: set[int] = set()
        self._unknown: set[tuple[int, int]] = set()
        self._groups: dict[tuple[int, ...], int] = {}
        self._fib = np.zeros(shape, np.int64)
        self._cause = np.zeros(shape, np.int8)
        self._since = np.zeros(shape, np.int64)
        self._by_host = params.vxlan is None or all(tenant.by_host for tenant in params.vxlan.tenants)
        self._tenant_fib = np.full(shape, BY_HOST if self._by_host else NOWHERE, np.int64)
        self._ways: dict[tuple[int, ...], int] = {}
        self._way_rows: list[int] = [0, 0]
        self._vtep_fib = np.zeros((shape[0], shape[0]), np.int64)
        self._static = StaticRoutes()
        self._computed: dict[Row, tuple[int, int]] = {}
        """(FIB value, cause) that routing computes, of every row with a static route."""

    def cable(self, link: int, *, up: bool) -> None:
        """A cable comes up or goes down."""
        ends = {int(self._fabric.links[link].a), int(self._fabric.links[link].b)}
        self._down = self._down - ends if up else self._down | ends

    def hear(self, port: int, *, lost: bool) -> None:
        """A port loses all that arrives, or hears again: what its peer sends."""
        sender = {int(self._fabric.ports[port].peer)}
        self._silent = self._silent | sender if lost else self._silent - sender

    def learn(self, unknown: Iterable[tuple[int, int, bool]]) -> None:
        """Leaves learn where hosts are, or forget it."""
        for leaf, host, is_unknown in unknown:
            (self._unknown.add if is_unknown else self._unknown.discard)((leaf, host))

    def write(self, routes: Iterable[tuple[int, int, tuple[int, ...]]], cause: Cause, time_ps: int) -> None:
        """Single routes."""
        for switch, host, ports in routes:
            if (switch, host) in self._computed:
                self._computed[switch, host] = (self._group(ports), cause)
                self._settle([(switch, host)], time_ps)
            else:
                self._put((switch, host), self._group(ports), cause, time_ps)

    def static(self, edit: StaticRoute) -> None:
        """A static route begins or ends."""
        row = (int(edit.switch), int(edit.host))
        place = (row[0] - self._n_hosts, row[1])
        if edit.ends:
            self._static.end(row, edit.fault)
        else:
            self._computed.setdefault(row, (int(self._fib[place]), int(self._cause[place])))
            self._static.begin(row, edit.fault, edit.ports)
        self._settle([row] if row in self._computed else [], edit.time_ps)
        if row not in self._static.rows:
            self._computed.pop(row, None)

    def notice(self, edit: CarrierNoticed) -> None:
        """A switch learns that a port has lost carrier, or has it again."""
        self._static.notice_port(edit.port, up=edit.up)
        self._settle(self._static.rows, edit.time_ps)

    def _settle(self, rows: Iterable[Row], time_ps: int) -> None:
        """Write what is in use now: the static route, else the computed one. What stays keeps its date."""
        for row in rows:
            ports = self._static.chosen(row)
            value, cause = self._computed[row] if ports is None else (self._group(ports), int(Cause.EDIT))
            place = (row[0] - self._n_hosts, row[1])
            if (int(self._fib[place]), int(self._cause[place])) != (value, cause):
                self._put(row, value, cause, time_ps)

    def _put(self, row: Row, value: int, cause: int, time_ps: int) -> None:
        place = (row[0] - self._n_hosts, row[1])
        self._fib[place], self._cause[place], self._since[place] = value, cause, time_ps

    def route_tenants(self, tenants: Iterable[tuple[int, int, tuple[int, ...]]],
                      tunnels: Iterable[tuple[int, int, tuple[int, ...]]]) -> None:
        """Ways of packets between subnets, and routes to VTEPs."""
        for leaf, host, vteps in tenants:
            if vteps and vteps != (leaf,) and vteps not in self._ways:
                self._ways[vteps] = len(self._way_rows)
                self._way_rows += [len(vteps), *(vtep - self._n_hosts for vtep in vteps)]
            self._tenant_fib[leaf - self._n_hosts, host] = (
                NOWHERE if not vteps else HERE if vteps == (leaf,) else self._ways[vteps])
        for switch, leaf, ports in tunnels:
            self._vtep_fib[switch - self._n_hosts, leaf - self._n_hosts] = self._group(ports)

    def shortest(self, time_ps: int, cause: Cause = Cause.SHORTEST_PATH) -> None:
        """All routes, over the cables that are up. A route that stays as it was keeps its date."""
        fabric = self._fabric
        table = equal_cost_ports(fabric, frozenset(self._down))
        of_group = np.array([*(self._group(ports) for ports in table.groups), 0, 0], np.int64)
        # UNREACHABLE (-1) and DELIVER (-2) index the two zeros.
        switches = [switch.id for switch in fabric.switches]
        fib = of_group[table.group_of[switches][:, table.class_of_host[: self._n_hosts]]]
        for (switch, host), ports in sorted(table.delivery.items()):
            fib[switch - self._n_hosts, host] = self._group(ports)
        self._static.notice(self._down)
        causes = np.full_like(self._cause, cause)
        for row in self._static.rows:
            place = (row[0] - self._n_hosts, row[1])
            self._computed[row] = (int(fib[place]), int(cause))
            static = self._static.chosen(row)
            if static is not None:
                fib[place], causes[place] = self._group(static), Cause.EDIT
        changed = (fib != self._fib) | (self._cause != causes)
        self._since[changed] = time_ps
        self._fib, self._cause = fib, causes

    def done(self, time_ps: int) -> Forwarding:
        fabric, params = self._fabric, self._params
        groups = list(self._groups) or [(0,)]
        switches = [params.switches[switch.id] for switch in fabric.switches]
        return Forwarding(
            fabric, params, time_ps,
            Tables(
                n_hosts=self._n_hosts,
                peer_node=np.array([fabric.ports[port.peer].node for port in fabric.ports], np.int64),
                fib=self._fib,
                group_first=np.cumsum([0, *(len(ports) for ports in groups)])[:-1].astype(np.int64),
                group_count=np.array([len(ports) for ports in groups], np.int64),
                member=np.array([port for ports in groups for port in ports], np.int64),
                hash_algorithm=np.array([it.hash_algorithm for it in switches], np.int64),
                hash_seed=np.array([it.hash_seed for it in switches], np.int64),
                load_balance=np.array([it.load_balance for it in switches], np.int64),
                is_vtep=np.array([params.vxlan is not None and any(peer.is_host for _, peer in
                                                                   fabric.neighbours(switch.id))
                                  for switch in fabric.switches], np.bool_),
                switch_ip=params.host_ip[self._n_hosts :].astype(np.int64),
                host_ip=params.host_ip[: self._n_hosts].astype(np.int64),
                leaf=np.array([fabric.peer_of(host.first_port).id - self._n_hosts for host in fabric.hosts],
                              np.int64),
                tenants=self._tenants()),
            frozenset(self._down), frozenset(self._silent), self._cause, self._since, frozenset(self._unknown))

    def _tenants(self) -> TenantTables | None:
        if self._params.vxlan is None or not self._params.vxlan.tenants:
            return None
        tenant, subnet = membership(self._params)
        return TenantTables(tenant, subnet, self._tenant_fib, np.array(self._way_rows, np.int64), self._vtep_fib,
                            self._params.host_ip[: self._n_hosts].astype(np.int64))

    def _group(self, ports: Sequence[int]) -> int:
        """FIB value of a next-hop set; 0 for the empty one."""
        if not ports:
            return 0
        members = tuple(int(port) for port in ports)
        if self._params.ecmp_descending:
            members = tuple(sorted(members, key=lambda port: (-self._fabric.peer_of(port).id, port)))
        return self._groups.setdefault(members, len(self._groups)) + 1
