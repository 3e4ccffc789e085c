"""Dated edits for routing between the subnets of a tenant, beside those of scenario/compile/routed.py."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from fabric.controlplane.network.run import ControlRun
from fabric.controlplane.network.tenant_rows import tenant_rows, vtep_rows
from fabric.dataplane.engine.edits import Edit, TenantRoutes, VtepRoutes
from fabric.ids import NodeId, PortId
from fabric.units import PS_PER_NS


def tenant_edits(run: ControlRun, *, floods: bool) -> Iterator[Edit]:
    """Routes of leaves between subnets, and of all switches to VTEPs: all at time 0, then one edit for each time of a
    change.

    floods: whether hosts broadcast, so that copies need routes to every VTEP. If not, and no tenant routes: no edits.
    """

    def moment(row: Any) -> int:  # noqa: ANN401  either kind of row
        return int(row.time_ns)

    for time_ns, tunnels in groupby(vtep_rows(run, floods=floods), moment):
        yield VtepRoutes(
            time_ns * PS_PER_NS,
            tuple((NodeId(row.switch), NodeId(row.leaf), tuple(PortId(port) for port in row.ports)) for row in tunnels),
        )
    for time_ns, ways in groupby(tenant_rows(run), moment):
        yield TenantRoutes(
            time_ns * PS_PER_NS,
            tuple((NodeId(row.switch), NodeId(row.host), tuple(NodeId(vtep) for vtep in row.vteps)) for row in ways),
        )
