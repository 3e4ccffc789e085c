"""`fabric path` between subnets of a tenant: at which leaf a packet is routed, through which L3 VNI, to which VTEP.

With a control plane the packet follows the outer address of the VTEP, so its way is that of other tables than a bridged
packet's: each switch's route to that address, and the last leaf's own port to the host. Without one it takes the routes
to its host, as bridged packets do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fabric.engine.edits import Edit, TenantRoutes
from fabric.report.explain_path import Asked
from fabric.report.flowhash import crc32
from fabric.report.model import Prose, Status
from fabric.state.params import EngineParams, TenantParams
from fabric.topology.addressing import ipv4_text
from fabric.topology.model import Fabric


@dataclass(frozen=True, slots=True)
class Crossing:
    """A packet between two subnets of one tenant."""

    tenant: TenantParams
    leaf: int
    """NodeId of the leaf that routes it first."""
    vteps: tuple[int, ...]
    """NodeIds of the leaves that the longest prefix leads to; the leaf itself alone: it is delivered there."""
    vtep: int | None
    """The one that this flow takes; None: no route, or without a control plane."""


def crossing(fabric: Fabric, params: EngineParams, edits: Sequence[Edit], time_ps: int,
             asked: Asked) -> Crossing | None:
    """How the leaf of the source routes the flow at a moment; None where both hosts are in one subnet, or apart."""
    tenant = _tenant_of(params, asked)
    if tenant is None:
        return None
    leaf = fabric.peer_of(asked.nic).id
    if tenant.by_host:
        return Crossing(tenant, leaf, (), None)
    vteps: tuple[int, ...] = ()
    for edit in edits:
        if isinstance(edit, TenantRoutes) and edit.time_ps <= time_ps:
            vteps = next((to for switch, host, to in edit.routes if (switch, host) == (leaf, asked.dst.id)), vteps)
    if vteps == (leaf,):
        return Crossing(tenant, leaf, vteps, leaf)
    return Crossing(tenant, leaf, vteps, _chosen(params, asked, vteps) if vteps else None)


def words(fabric: Fabric, loopback: Sequence[int], asked: Asked, found: Crossing,
          prefix: str) -> Prose:
    """In a sentence. loopback: address by NodeId; prefix: the route that matched, '' where nobody knows."""
    leaf, vni = fabric.nodes[found.leaf].name, found.tenant.l3_vni
    beside = {asked.src.id, asked.dst.id} <= {*found.tenant.routed} and any(
        peer.id == asked.dst.id for _, peer in fabric.neighbours(found.leaf))    # one connected prefix, a port each
    ends = f"{asked.src.name} and {asked.dst.name} are " + (
        f"on routed ports of {leaf}, in its subnet of one tenant" if beside else "in different subnets of one tenant")
    by = f" by {prefix}" if prefix else ""
    if found.tenant.by_host:
        same = any(peer.id == asked.dst.id for _, peer in fabric.neighbours(found.leaf))
        return Prose(f"Routed: {ends}; {leaf} " + (
            "routes between them without a tunnel." if same else
            f"routes into L3 VNI {vni}, and the leaf of {asked.dst.name} routes once more (RFC 9135 section 5)."))
    if not found.vteps:
        return Prose(f"Routed: {ends}, and {leaf} has no route{by} to {asked.dst.name} in L3 VNI {vni}: no host route, "
                     "and no prefix of another VTEP.", Status.BAD)
    if found.vteps == (found.leaf,):
        return Prose(f"Routed: {ends}; {leaf} has both and routes between them without a tunnel.")
    names = ", ".join(f"{ipv4_text(loopback[vtep])} ({fabric.nodes[vtep].name})" for vtep in found.vteps)
    which = "" if len(found.vteps) == 1 or found.vtep is None else (
        f"; this flow's hash chooses {fabric.nodes[found.vtep].name}")
    return Prose(f"Routed: {ends}; {leaf} routes{by} into L3 VNI {vni}, to VTEP {names}{which}, which routes once more "
                 "(RFC 9135 section 5).")


def _tenant_of(params: EngineParams, asked: Asked) -> TenantParams | None:
    if params.vxlan is None:
        return None
    column = {host: place for place, it in enumerate(params.vxlan.segments) for host in it.hosts}
    for tenant in params.vxlan.tenants:
        mine = [asked_host in tenant.routed or column.get(asked_host) in tenant.segments
                for asked_host in (asked.src.id, asked.dst.id)]
        one_segment = column.get(asked.src.id) == column.get(asked.dst.id) is not None
        if all(mine) and not one_segment:
            return tenant
    return None


def _chosen(params: EngineParams, asked: Asked, vteps: Sequence[int]) -> int:
    """One of equal VTEPs by the inner header, as fabric/switch/irb.py has it."""
    source, target, ports = (np.array([value], np.int64) for value in (
        int(params.host_ip[asked.src.id]), int(params.host_ip[asked.dst.id]), asked.src_port | asked.dst_port << 16))
    return vteps[int(crc32(source, target, ports, np.zeros(1, np.int64))[0]) % len(vteps)]
