"""Initial values of routing between subnets: which subnets share a tenant, and the next hops of routed packets.

Subnets are numbered as ADDRESS.vni has them: 0 to n_vnis - 1 are columns of State.segments (layer-2 VNIs, then L3
VNIs, in which no host is), and from there on there is one for every host on a routed port.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fabric.dataplane.state import types as t
from fabric.dataplane.state.params import EngineParams
from fabric.errors import InvariantError
from fabric.topology.model import Fabric


def routed_tables(fabric: Fabric, params: EngineParams) -> tuple[int, int, int, int]:
    """(subnets, tenants that route, rows of tenant_fib, rows of vtep_fib); 1 row where a table is never read."""
    if params.vxlan is None:
        return 1, 0, 1, 1
    tenants, n_switches = params.vxlan.tenants, len(fabric.switches)
    tunnels = n_switches * n_switches if params.vxlan.tunnels else 1
    if not tenants:
        return 1, 0, 1, tunnels
    if n_switches >= t.ANY_VTEP:
        raise InvariantError(f"{n_switches} switches; a packet names its VTEP in 16 bits")
    subnets = len(params.vxlan.vnis) + sum(len(tenant.routed) for tenant in tenants)
    return subnets, len(tenants), n_switches * len(fabric.hosts), tunnels


def fill_tenants(state: t.State, params: EngineParams) -> None:
    """Write hosts' subnets and which subnets share a tenant; without a control plane every leaf has all routes."""
    state.domains[:] = t.NO_TENANT
    if params.vxlan is None:
        return
    n_hosts, subnet = len(state.addresses), len(params.vxlan.vnis)
    for column, segment in enumerate(params.vxlan.segments):
        state.addresses["vni"][list(segment.hosts)] = column
    fib = state.tenant_fib.reshape(-1, n_hosts) if params.vxlan.tenants else None
    for number, tenant in enumerate(params.vxlan.tenants):
        column = len(params.vxlan.segments) + number
        state.domains[list(tenant.segments)] = column
        for host in tenant.routed:
            state.addresses["vni"][host] = subnet
            state.domains[subnet] = column
            subnet += 1
        if tenant.by_host and fib is not None:
            mine = [host for place in tenant.segments for host in params.vxlan.segments[place].hosts]
            fib[:, [*mine, *tenant.routed]] = t.BY_HOST


def set_way(state: t.State, switch: int, host: int, vteps: Sequence[int]) -> t.State:
    """Set a leaf's route for a tenant's packets to a host: one of these leaves (NodeIds); (): no route.

    The leaf's own id only: locally attached. Sets of VTEPs are stored once and never removed.
    """
    n_hosts = len(state.addresses)
    value = t.NOWHERE
    if tuple(vteps) == (switch,):
        value = t.HERE
    elif vteps:
        wanted = [vtep - n_hosts for vtep in vteps]
        found = _place(state, wanted)
        if found is None:
            found = len(state.ways)
            state = state._replace(ways=np.concatenate([state.ways, np.array([len(wanted), *wanted], np.uint32)]))
        value = found
    state.tenant_fib[(switch - n_hosts) * n_hosts + host] = value
    return state


def _place(state: t.State, wanted: Sequence[int]) -> int | None:
    """Place of a set of VTEPs in State.ways; None: not stored."""
    at = 2
    while at < len(state.ways):
        count = int(state.ways[at])
        if count == len(wanted) and state.ways[at + 1 : at + 1 + count].tolist() == list(wanted):
            return at
        at += 1 + count
    return None
