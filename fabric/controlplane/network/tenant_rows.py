"""Egress VTEPs of routed packets, and routes to VTEPs -> rows of the data plane, in order of time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fabric.controlplane.network.forwarding import Ports, prefix_key
from fabric.controlplane.network.run import ControlRun


class TenantRow(NamedTuple):
    """A leaf routes a host's packets to these leaves from now on; rows of the data plane."""

    time_ns: int
    switch: int
    host: int
    vteps: tuple[int, ...]


class VtepRow(NamedTuple):
    """A switch forwards to a leaf's VTEP by these ports from now on; rows of the data plane."""

    time_ns: int
    switch: int
    leaf: int
    ports: Ports


def tenant_rows(run: ControlRun) -> Iterator[TenantRow]:
    """Egress VTEPs at time 0 (hosts with a route), and every later change in order of time."""
    nodes = [router.node for router in run.plan.routers]
    for router, egresses in enumerate(run.egresses_at_start):
        for host, vteps in sorted(egresses.items()):
            if vteps:
                yield TenantRow(0, nodes[router], host, tuple(nodes[vtep] for vtep in vteps))
    for change in run.egresses:
        yield TenantRow(change.time_ns, nodes[change.router], change.host, tuple(nodes[vtep] for vtep in change.vteps))


def vtep_rows(run: ControlRun, *, floods: bool = False) -> Iterator[VtepRow]:
    """Routes to VTEPs that route for tenants, at time 0 and later in order of time; `floods`: to all VTEPs."""
    leaf_of = {
        prefix_key(router.loopback, 32): router.node
        for router in run.plan.routers
        if router.vrfs or (floods and router.vnis)
    }
    for router, routes in zip(run.plan.routers, run.routes_at_start, strict=True):
        for key, leaf in leaf_of.items():
            ports = routes.get(key, ())
            if ports:
                yield VtepRow(0, router.node, leaf, ports)
    for change in run.routes:
        leaf_changed = leaf_of.get(change.key)
        if leaf_changed is not None:
            yield VtepRow(change.time_ns, run.plan.routers[change.router].node, leaf_changed, change.ports)
