"""Routing of tenants' packets in a leaf: the egress VTEPs for every host of the tenants.

VrfTable.lookup answers for each address. A host route leads to one VTEP, a prefix to all VTEPs with the best
announcement. If only the leaf's own subnet matches, the host is unknown: the leaf would send an ARP request, and the
packet is lost. Only addresses of the plan are tracked, since only they appear in the data plane. A host on a routed
port of the leaf is reachable while that port has carrier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, NamedTuple

from fabric.controlplane.evpn.vrf import HopKind
from fabric.controlplane.evpn.vtep import Vtep
from fabric.controlplane.network.plan import ControlPlan, Router

if TYPE_CHECKING:
    from fabric.controlplane.network.switch import Switch

EgressVteps = tuple[int, ...]
"""Next-hop routers (ECMP). Own row only: locally attached. Empty: no route."""


class Reach(NamedTuple):
    """Hosts of a tenant that a leaf can and cannot reach."""

    switch: str
    tenant: str
    l3_vni: int
    hosts: int
    missing: tuple[str, ...]
    """Names of the hosts without a route."""


class TenantEgress:
    """Egress VTEPs of one leaf: host (NodeId) -> routers."""

    def __init__(self, plan: ControlPlan, router: Router, is_down: Callable[[int], bool]) -> None:
        """`is_down`: whether a port of the data plane has no carrier."""
        self._row = router.row
        self._by_loopback = plan.by_loopback
        self._is_down = is_down
        self._own = {host.node: host for host in plan.routed if host.router == router.row}
        self._tenant_of_vni = {
            vni.vni: vni.tenant for vni in router.vnis if any(vrf.name == vni.tenant for vrf in router.vrfs)
        }
        self._nodes: dict[str, dict[str, int]] = {vrf.name: plan.tenant_addresses[vrf.name] for vrf in router.vrfs}
        self.now: dict[int, EgressVteps] = {}

    def tenant_of(self, vni: int) -> str | None:
        """The tenant of a VNI that the leaf routes for; None: not routed."""
        return self._tenant_of_vni.get(vni)

    def at_port(self, port: int) -> Iterator[tuple[str, str]]:
        """(tenant, address) of hosts on a routed port of this leaf."""
        return ((host.tenant, host.ip) for host in self._own.values() if host.port == port)

    def addresses(self, tenant: str, prefixes: Iterable[str]) -> Iterator[str]:
        """Addresses of a tenant's hosts inside some prefixes."""
        nodes = self._nodes.get(tenant, {})
        for prefix in prefixes:
            address, _, length = prefix.partition("/")
            if length == "32":
                if address in nodes:
                    yield address
            elif ":" not in prefix:
                network = IPv4Network(prefix)
                yield from (it for it in nodes if IPv4Address(it) in network)

    def update(self, vtep: Vtep, tenant: str, addresses: Iterable[str]) -> Iterator[tuple[int, EgressVteps]]:
        """Look up some addresses again; yields the changes."""
        nodes = self._nodes.get(tenant, {})
        for address in addresses:
            node = nodes.get(address)
            if node is None:
                continue
            own = self._own.get(node)
            if own is None:
                vteps = self._lookup(vtep, tenant, address)
            else:
                vteps = () if self._is_down(own.port) else (self._row,)
            if vteps != self.now.get(node, ()):
                self.now[node] = vteps
                yield node, vteps

    def update_all(self, vtep: Vtep) -> Iterator[tuple[int, EgressVteps]]:
        """Look up every host of every tenant."""
        for tenant, nodes in self._nodes.items():
            yield from self.update(vtep, tenant, list(nodes))

    def clear(self) -> list[int]:
        """Remove all entries; returns the hosts that had a route, in order."""
        nodes = sorted(node for node, vteps in self.now.items() if vteps)
        self.now = {}
        return nodes

    def _lookup(self, vtep: Vtep, tenant: str, address: str) -> EgressVteps:
        found = vtep.lookup(tenant, address)
        if found.kind is HopKind.LOCAL:
            return (self._row,)
        if found.kind is not HopKind.REMOTE:
            return ()
        return tuple(sorted(self._by_loopback[int(IPv4Address(hop.vtep))].row for hop in found.hops))


def reach_within(switches: Iterable[Switch]) -> list[Reach]:
    """Hosts with and without a route, of every leaf and each tenant that it routes for. Changes no state."""
    found = []
    for switch in switches:
        if switch.vtep is None:
            continue
        egress = TenantEgress(switch.plan, switch.router, switch.forwarding.is_down)
        for _ in egress.update_all(switch.vtep):
            pass
        names = {it.node: it.name for it in switch.plan.endpoints} | {it.node: it.name for it in switch.plan.routed}
        for vrf in switch.router.vrfs:
            nodes = switch.plan.tenant_addresses[vrf.name].values()
            found.append(
                Reach(
                    switch.router.name,
                    vrf.name,
                    vrf.l3_vni,
                    len(nodes),
                    tuple(names[node] for node in nodes if not egress.now.get(node)),
                )
            )
    return found
