"""Ways of routed packets, and routes to VTEPs -> rows of the data plane, grouped by moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fabric.control.forwarding import Ports, prefix_key
from fabric.control.run import ControlRun


class TenantRow(NamedTuple):
    """A leaf routes a host's packets to these leaves from now on; rows of the data plane."""

    time_ns: int
    switch: int
    host: int
    vteps: tuple[int, ...]


class VtepRow(NamedTuple):
    """A switch reaches a leaf's VTEP by these ports from now on; rows of the data plane."""

    time_ns: int
    switch: int
    leaf: int
    ports: Ports


def tenant_rows(run: ControlRun) -> Iterator[TenantRow]:
    """Ways at time 0 (those that there are), and every later change in order of time."""
    nodes = [router.node for router in run.plan.routers]
    for router, ways in enumerate(run.ways_at_start):
        for host, way in sorted(ways.items()):
            if way:
                yield TenantRow(0, nodes[router], host, tuple(nodes[vtep] for vtep in way))
    for change in run.ways:
        yield TenantRow(change.time_ns, nodes[change.router], change.host, tuple(nodes[vtep] for vtep in change.way))


def vtep_rows(run: ControlRun, *, floods: bool = False) -> Iterator[VtepRow]:
    """Routes to VTEPs that route for tenants, at time 0 and later in order of time; floods: to all others as well."""
    leaf_of = {prefix_key(router.loopback, 32): router.node for router in run.plan.routers
               if router.vrfs or (floods and router.vnis)}
    for router, routes in zip(run.plan.routers, run.routes_at_start, strict=True):
        for key, leaf in leaf_of.items():
            ports = routes.get(key, ())
            if ports:
                yield VtepRow(0, router.node, leaf, ports)
    for change in run.routes:
        leaf_changed = leaf_of.get(change.key)
        if leaf_changed is not None:
            yield VtepRow(change.time_ns, run.plan.routers[change.router].node, leaf_changed, change.ports)
