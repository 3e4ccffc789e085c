"""What a leaf does with the packets that it routes for its tenants: behind which VTEP it believes every host of theirs.

The answer is VrfTable.lookup's for each address: a host route leads to one VTEP, a prefix to all VTEPs that announce it
best, and where only the leaf's own subnet matches nobody is known to be there (the leaf would ask by ARP; a packet is
lost). Only addresses of the plan are followed, since only they appear in the data plane. A host on a routed port of the
leaf is there while that port has carrier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, NamedTuple

from fabric.control.plan import ControlPlan, Router
from fabric.overlay.vrf import HopKind
from fabric.overlay.vtep import Vtep

if TYPE_CHECKING:
    from fabric.control.switch import Switch

Way = tuple[int, ...]
"""Routers whose VTEPs are equal ways; the router itself alone: the host is at a port of its own; (): no route."""


class Reach(NamedTuple):
    """What a leaf knows of a tenant that it routes for."""

    switch: str
    tenant: str
    l3_vni: int
    hosts: int
    missing: tuple[str, ...]
    """Names of those that it has no route to."""


class TenantWays:
    """Of one leaf: host (NodeId) -> way."""

    def __init__(self, plan: ControlPlan, router: Router, is_dark: Callable[[int], bool]) -> None:
        """`is_dark`: whether a port of the data plane has no carrier."""
        self._row = router.row
        self._by_loopback = plan.by_loopback
        self._is_dark = is_dark
        self._own = {host.node: host for host in plan.routed if host.router == router.row}
        self._tenant_of_vni = {vni.vni: vni.tenant for vni in router.vnis
                               if any(vrf.name == vni.tenant for vrf in router.vrfs)}
        self._nodes: dict[str, dict[str, int]] = {vrf.name: plan.tenant_addresses[vrf.name] for vrf in router.vrfs}
        self.now: dict[int, Way] = {}

    def tenant_of(self, vni: int) -> str | None:
        """The tenant whose leaf routes for a VNI; None: nobody does."""
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

    def look(self, vtep: Vtep, tenant: str, addresses: Iterable[str]) -> Iterator[tuple[int, Way]]:
        """Ask again for some addresses; yields what has changed."""
        nodes = self._nodes.get(tenant, {})
        for address in addresses:
            node = nodes.get(address)
            if node is None:
                continue
            own = self._own.get(node)
            way = (self._way(vtep, tenant, address) if own is None else
                   () if self._is_dark(own.port) else (self._row,))
            if way != self.now.get(node, ()):
                self.now[node] = way
                yield node, way

    def look_everywhere(self, vtep: Vtep) -> Iterator[tuple[int, Way]]:
        """Ask for every host of every tenant."""
        for tenant, nodes in self._nodes.items():
            yield from self.look(vtep, tenant, list(nodes))

    def clear(self) -> list[int]:
        """Forget everything; returns the hosts that had a way, in order."""
        nodes = sorted(node for node, way in self.now.items() if way)
        self.now = {}
        return nodes

    def _way(self, vtep: Vtep, tenant: str, address: str) -> Way:
        found = vtep.lookup(tenant, address)
        if found.kind is HopKind.LOCAL:
            return (self._row,)
        if found.kind is not HopKind.REMOTE:
            return ()
        return tuple(sorted(self._by_loopback[int(IPv4Address(hop.vtep))].row for hop in found.hops))


def reach_within(switches: Iterable[Switch]) -> list[Reach]:
    """Of every leaf and tenant that it routes for: hosts with and without a route. Changes nothing."""
    found = []
    for switch in switches:
        if switch.vtep is None:
            continue
        ways = TenantWays(switch.plan, switch.router, switch.forwarding.is_dark)
        for _ in ways.look_everywhere(switch.vtep):
            pass
        names = {it.node: it.name for it in switch.plan.endpoints} | {it.node: it.name for it in switch.plan.routed}
        for vrf in switch.router.vrfs:
            nodes = switch.plan.tenant_addresses[vrf.name].values()
            found.append(Reach(switch.router.name, vrf.name, vrf.l3_vni, len(nodes),
                               tuple(names[node] for node in nodes if not ways.now.get(node))))
    return found
