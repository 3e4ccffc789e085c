"""`fabric path` between subnets of a tenant: at which leaf a packet is routed, through which L3 VNI, to which VTEP.

With a control plane the packet follows the outer address of the VTEP, so its path follows other tables than that of
a bridged packet: the route of each switch to that address, and the port of the last leaf to the host. Without a control
plane it takes the routes to its host, as bridged packets do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabric.dataplane.state.params import EngineParams, TenantParams
from fabric.forwarding.flowpath import one_flow
from fabric.forwarding.path_view import FlowQuery
from fabric.forwarding.tables import Forwarding
from fabric.forwarding.walk import walk
from fabric.render.document import Prose, Status
from fabric.topology.addressing import ipv4_text
from fabric.topology.model import Fabric


@dataclass(frozen=True, slots=True)
class Crossing:
    """A packet between two subnets of one tenant."""

    tenant: TenantParams
    leaf: int
    """NodeId of the leaf that routes it first."""
    vteps: tuple[int, ...]
    """NodeIds of the leaves that the longest prefix leads to. The routing leaf alone: it delivers the packet."""
    vtep: int | None
    """The VTEP of this flow; None: no route, or no control plane."""


def crossing(at: Forwarding, query: FlowQuery, tenant: TenantParams) -> Crossing:
    """How the leaf of the source routes the flow; tenant: tenant_between() of its hosts."""
    leaf, n_hosts = at.fabric.peer_of(query.nic).id, at.tables.n_hosts
    if tenant.by_host:
        return Crossing(tenant, leaf, (), None)
    vteps = at.tables.vteps(leaf - n_hosts, query.dst.id)
    if vteps is None:
        return Crossing(tenant, leaf, (leaf,), leaf)
    flow = one_flow(at, query.src, query.dst, query.src_port, query.dst_port, query.nic)
    chosen = int(walk(at.tables, flow).vtep[0, 1]) + n_hosts if vteps else None
    return Crossing(tenant, leaf, tuple(vtep + n_hosts for vtep in vteps), chosen)


def crossing_text(fabric: Fabric, loopback: Sequence[int], query: FlowQuery, found: Crossing, prefix: str) -> Prose:
    """The crossing in a sentence. loopback: address by NodeId; prefix: the route that matched, '' if not known."""
    leaf, vni = fabric.nodes[found.leaf].name, found.tenant.l3_vni
    beside = {query.src.id, query.dst.id} <= {*found.tenant.routed} and any(
        peer.id == query.dst.id for _, peer in fabric.neighbours(found.leaf)
    )  # one connected prefix, a port each
    ends = f"{query.src.name} and {query.dst.name} are " + (
        f"on routed ports of {leaf}, in its subnet of one tenant" if beside else "in different subnets of one tenant"
    )
    by = f" by {prefix}" if prefix else ""
    if found.tenant.by_host:
        same = any(peer.id == query.dst.id for _, peer in fabric.neighbours(found.leaf))
        return Prose(
            f"Routed: {ends}; {leaf} "
            + (
                "routes between them without a tunnel."
                if same
                else f"routes into L3 VNI {vni}, and the leaf of {query.dst.name} routes once more (RFC 9135 "
                f"section 5)."
            )
        )
    if not found.vteps:
        return Prose(
            f"Routed: {ends}, and {leaf} has no route{by} to {query.dst.name} in L3 VNI {vni}: no host route, "
            "and no prefix of another VTEP.",
            Status.BAD,
        )
    if found.vteps == (found.leaf,):
        return Prose(f"Routed: {ends}; {leaf} has both and routes between them without a tunnel.")
    names = ", ".join(f"{ipv4_text(loopback[vtep])} ({fabric.nodes[vtep].name})" for vtep in found.vteps)
    which = (
        ""
        if len(found.vteps) == 1 or found.vtep is None
        else (f"; this flow's hash chooses {fabric.nodes[found.vtep].name}")
    )
    return Prose(
        f"Routed: {ends}; {leaf} routes{by} into L3 VNI {vni}, to VTEP {names}{which}, which routes once more "
        "(RFC 9135 section 5)."
    )


def tenant_between(params: EngineParams, query: FlowQuery) -> TenantParams | None:
    """The tenant of two hosts in different subnets of it; None where they are in one subnet, or in two tenants."""
    if params.vxlan is None:
        return None
    column = {host: place for place, it in enumerate(params.vxlan.segments) for host in it.hosts}
    for tenant in params.vxlan.tenants:
        members = [
            host in tenant.routed or column.get(host) in tenant.segments for host in (query.src.id, query.dst.id)
        ]
        one_segment = column.get(query.src.id) == column.get(query.dst.id) is not None
        if all(members) and not one_segment:
            return tenant
    return None
