"""What routing between a tenant's subnets adds to the dated edits of a control plane (scenario/routed.py)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from fabric.control.run import ControlRun
from fabric.control.tenant_rows import tenant_rows, vtep_rows
from fabric.engine.edits import Edit, TenantRoutes, VtepRoutes
from fabric.ids import NodeId, PortId
from fabric.units import PS_PER_NS


def tenant_edits(run: ControlRun, *, floods: bool) -> Iterator[Edit]:
    """Routes of leaves between subnets, and of all switches to VTEPs: all of time 0, then changes, one edit a moment.

    floods: whether hosts broadcast, and copies need routes to every VTEP. Without, nothing where no tenant routes.
    """
    def moment(row: Any) -> int:  # noqa: ANN401  either kind of row
        return int(row.time_ns)

    for time_ns, tunnels in groupby(vtep_rows(run, floods=floods), moment):
        yield VtepRoutes(time_ns * PS_PER_NS, tuple(
            (NodeId(row.switch), NodeId(row.leaf), tuple(PortId(port) for port in row.ports)) for row in tunnels))
    for time_ns, ways in groupby(tenant_rows(run), moment):
        yield TenantRoutes(time_ns * PS_PER_NS, tuple(
            (NodeId(row.switch), NodeId(row.host), tuple(NodeId(vtep) for vtep in row.vteps)) for row in ways))
