"""Small fabrics for laboratories, and dated events of them."""

from __future__ import annotations

from pathlib import Path

from fabric.controlplane.network import events as e
from fabric.controlplane.network.config import ControlConfig
from fabric.controlplane.network.fabric_plan import plan_of
from fabric.controlplane.network.plan import ControlPlan, Tenant
from fabric.topology.addressing import addressing
from fabric.topology.registry import build_topology
from fabric.topology.spec import LeafSpineSpec

S = 1_000_000_000


def two_by_two(config: ControlConfig, *, overlay: bool = True, leaves: int = 2, l3_vni: int = 0) -> ControlPlan:
    """Two hosts per leaf, one red and one blue. l3_vni: both are segments of a tenant with routing."""
    fabric = build_topology(
        LeafSpineSpec.model_validate(
            {
                "kind": "leaf-spine",
                "leaves": leaves,
                "spines": 2,
                "hosts_per_leaf": 2,
                "host_rate": "100G",
                "fabric_rate": "100G",
            }
        ),
        Path(),
    )
    hosts = [host.id for host in fabric.hosts]
    tenants = [Tenant("red", 10100, tuple(hosts[::2])), Tenant("blue", 10200, tuple(hosts[1::2]))] if overlay else []
    if l3_vni:
        tenants = [
            Tenant("both", it.vni, it.hosts, segment=it.name, l3_vni=l3_vni, gateway=f"172.16.{it.vni % 256}.1/24")
            for it in tenants
        ]
    return plan_of(fabric, addressing(fabric), config, tenants)


def smallest(config: ControlConfig) -> ControlPlan:
    """Two leaves with a host each, in one VNI, and one spine."""
    shape = {"leaves": 2, "spines": 1, "hosts_per_leaf": 1, "host_rate": "100G", "fabric_rate": "100G"}
    fabric = build_topology(LeafSpineSpec.model_validate({"kind": "leaf-spine", **shape}), Path())
    tenants = [Tenant("red", 10100, tuple(host.id for host in fabric.hosts))]
    return plan_of(fabric, addressing(fabric), config, tenants)


def moves(plan: ControlPlan, endpoint: int, leaf: str, port: str, *, arps: tuple[int, ...]) -> list[e.ControlEvent]:
    """Frames of an endpoint arrive at a port of a leaf: gratuitous ARPs at these seconds."""
    it = plan.endpoints[endpoint]
    return [e.HostSeen(second * S, it.mac, it.ip, it.vni, plan.by_name[leaf].row, port) for second in arps]
