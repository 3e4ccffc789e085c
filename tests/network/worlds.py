"""Small fabrics with a control plane, and queries of their state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fabric.controlplane.bgp.afi import IPV4_UNICAST
from fabric.controlplane.bgp.attributes import path_text
from fabric.controlplane.network import events as e
from fabric.controlplane.network.config import NS_PER_MS, ControlConfig
from fabric.controlplane.network.fabric_plan import plan_of
from fabric.controlplane.network.forwarding import Ports, prefix_key
from fabric.controlplane.network.network import Network
from fabric.controlplane.network.plan import ControlPlan, Tenant
from fabric.controlplane.network.rows import RowChange, Rows
from fabric.controlplane.network.run import ControlRun, run_control
from fabric.topology.addressing import addressing
from fabric.topology.model import Fabric
from fabric.topology.paths import equal_cost_ports
from fabric.topology.registry import build_topology
from fabric.topology.spec import Clos3Spec, DualTorSpec, LeafSpineSpec, RailSpec

MS = NS_PER_MS
SPECS = {"leaf-spine": LeafSpineSpec, "clos3": Clos3Spec, "dual-tor": DualTorSpec, "rail": RailSpec}


def fabric_of(kind: str = "leaf-spine", **numbers: object) -> Fabric:
    """Two leaves, two spines, two hosts a leaf by default."""
    given = {"leaves": 2, "spines": 2, "hosts_per_leaf": 2} if kind == "leaf-spine" else {}
    raw = {"kind": kind, "host_rate": "100G", "fabric_rate": "100G", **given, **numbers}
    return build_topology(SPECS[kind].model_validate(raw), Path())


@dataclass
class World:
    """A fabric, its plan, and functions to simulate it."""

    fabric: Fabric
    config: ControlConfig
    overlay: bool = True

    @cached_property
    def plan(self) -> ControlPlan:
        tenants = [Tenant("all", 10_000, tuple(host.id for host in self.fabric.hosts))] if self.overlay else []
        return plan_of(self.fabric, addressing(self.fabric), self.config, tenants)

    def network(self, events: Iterable[e.ControlEvent] = (), until_ms: float = 0) -> Network:
        network = Network(self.plan, self.config)
        network.converge()
        network.schedule(events)
        network.advance(int(until_ms * MS))
        return network

    def run(self, events: Sequence[e.ControlEvent] = (), until_ms: float = 2_000, seed: int = 1) -> ControlRun:
        return run_control(self.plan, self.config, events, int(until_ms * MS), seed)

    @cached_property
    def local(self) -> dict[tuple[int, int], Ports]:
        return {
            (int(switch), int(host)): tuple(map(int, ports))
            for (switch, host), ports in equal_cost_ports(self.fabric).delivery.items()
        }

    def rows(self, run: ControlRun) -> tuple[dict[tuple[int, int], Ports], list[RowChange]]:
        rows = Rows(run, self.local)
        return rows.at_start(), list(rows.changes())

    def cable(self, a: str, b: str) -> int:
        """Row of the first cable of a pair."""
        for cable in self.plan.cables:
            ends = {self.plan.routers[self.plan.interfaces[row].router].name for row in (cable.a, cable.b)}
            if ends == {a, b}:
                return cable.row
        raise KeyError((a, b))

    def row(self, name: str) -> int:
        return self.plan.by_name[name].row

    def via(self, network: Network, node: str, towards: str) -> list[str]:
        """Next hops of a switch to another's loopback, in order of their names."""
        ports = network.switches[self.row(node)].forwarding.ports(self.loopback(towards))
        return sorted(self.fabric.peer_of(port).name for port in ports)

    def loopback(self, name: str) -> bytes:
        return prefix_key(self.plan.by_name[name].loopback, 32)

    def as_paths(self, network: Network, node: str, towards: str) -> list[str]:
        """AS_PATHs of the multipath set."""
        selection = network.switches[self.row(node)].speaker.selection(IPV4_UNICAST, self.loopback(towards))
        return [] if selection is None else sorted(path_text(path.attributes.as_path) for path in selection.multipath)


def world(
    kind: str = "leaf-spine", config: ControlConfig | None = None, *, overlay: bool = True, **numbers: object
) -> World:
    return World(fabric_of(kind, **numbers), config or ControlConfig(), overlay)
