"""The tenants of `vxlan:` placed on a fabric: hosts of each VNI, their subnets, gateways and addresses.

Hosts of a tenant without an L3 VNI keep the addresses of the plan (fabric/topology/addressing.py), in which every leaf
has a subnet. A routed segment is one subnet on any number of leaves, so its hosts get new addresses: in the subnet that
the user gave, or in a free one of 172.16.0.0/12, in the order of the fabric, after the gateway. Hosts on routed ports
keep the addresses of the plan, in the subnet of their leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Network
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.controlplane.network.plan import RoutedHosts, Tenant
from fabric.errors import Problem
from fabric.scenario.schema.endpoints import VxlanSpec
from fabric.scenario.schema.tenant_spec import TenantSpec
from fabric.topology.addressing import Addressing, addressing
from fabric.topology.model import Fabric, Node
from fabric.topology.select import match_hosts, such

DEFAULT_VNI: Final = 10_000
"""VNI of all hosts where no tenants are named."""
_SPACE: Final = IPv4Network("172.16.0.0/12")
_SMALLEST_BITS: Final = 8
MAX_SILENT_FABRIC: Final = 65_536
"""Largest number of hosts of a fabric with silent hosts."""


@dataclass(frozen=True)
class Tenancy:
    """All tenants of a fabric."""

    segments: tuple[Tenant, ...] = ()
    """Layer-2 VNIs, in the order of the file."""
    routed: tuple[RoutedHosts, ...] = ()
    """Hosts on routed ports, by tenant."""
    address: Mapping[int, int] = field(default_factory=dict)
    """NodeId of a host in a routed segment -> its address."""

    def addresses(self, fabric: Fabric) -> Addressing:
        """The address plan of the fabric with the subnets of the tenants."""
        plan = addressing(fabric)
        if not self.address:
            return plan
        host_ip, port_ip, lengths = plan.host_ip.copy(), plan.port_ip.copy(), plan.port_prefix_len.copy()
        gateway = {host: tenant.gateway for tenant in self.segments if tenant.gateway for host in tenant.hosts}
        for host, address in self.address.items():
            host_ip[host] = address
            its_gateway, _, length = gateway[host].partition("/")
            for port in fabric.nodes[host].ports:
                ends = [port, fabric.ports[port].peer]
                port_ip[ends] = address, int(IPv4Address(its_gateway))
                lengths[ends] = int(length)
        return replace(plan, host_ip=host_ip, port_ip=port_ip, port_prefix_len=lengths)


def tenancy_of(vxlan: VxlanSpec, fabric: Fabric, path: str, problems: list[Problem]) -> Tenancy:
    """All tenants; all hosts share one VNI where no tenant is named. Problems of names, numbers and addresses are
    appended.
    """
    placed = _tenants(vxlan, fabric, path, problems)
    silent = (
        frozenset(host.id for host in match_hosts(fabric, vxlan.silent, f"{path}vxlan.silent", problems))
        if vxlan.silent
        else frozenset()
    )
    routed = silent - {host for it in placed.segments if not it.l3_vni for host in it.hosts}
    if routed:
        problems.append(
            Problem(
                f"{path}vxlan.silent",
                f"the leaf of {fabric.nodes[min(routed)].name} routes for its "
                f"segment{such(len(routed), 'host')}; it would ask for a silent host by ARP, which is "
                "not modelled",
                "name hosts of segments without l3_vni",
            )
        )
    if silent and len(fabric.hosts) > MAX_SILENT_FABRIC:
        problems.append(
            Problem(
                f"{path}vxlan.silent",
                f"{len(fabric.hosts):,} hosts are more than {MAX_SILENT_FABRIC:,}",
                "take a smaller fabric: a flooded frame names its host by 16 bits",
            )
        )
    return replace(placed, segments=tuple(replace(it, silent=silent & {*it.hosts}) for it in placed.segments))


def _tenants(vxlan: VxlanSpec, fabric: Fabric, path: str, problems: list[Problem]) -> Tenancy:
    if not vxlan.tenants:
        hosts = tuple(host.id for host in fabric.hosts)
        return Tenancy((Tenant("default", DEFAULT_VNI, hosts, vxlan.arp_suppression == "on"),))
    place = _Placing(fabric, f"{path}vxlan.tenants", problems)
    place.given = [network for spec in vxlan.tenants for it in spec.segments if (network := it.network) is not None]
    for number, spec in enumerate(vxlan.tenants):
        place.tenant(number, spec)
    place.numbers(vxlan.tenants)
    left = [host.name for host in fabric.hosts if host.id not in place.taken]
    if left:
        problems.append(
            Problem(f"{path}vxlan.tenants", f"{left[0]} is in no tenant{such(len(left), 'host')}", "add it to one")
        )
    return Tenancy(tuple(place.segments), tuple(place.routed), place.address)


class _Placing:
    """One pass over the tenants."""

    def __init__(self, fabric: Fabric, path: str, problems: list[Problem]) -> None:
        self.segments: list[Tenant] = []
        self.routed: list[RoutedHosts] = []
        self.address: dict[int, int] = {}
        self.taken: dict[int, str] = {}
        """NodeId -> tenant."""
        self._fabric = fabric
        self._path = path
        self._problems = problems
        self._next = int(_SPACE.network_address)
        self.given: list[IPv4Network] = []
        """Subnets that the file gives: no other subnet may overlap them."""

    def numbers(self, specs: Sequence[TenantSpec]) -> None:
        """VNIs and names of the whole file."""
        for name in ("name", "vni"):
            values = [getattr(spec, name) for spec in specs]
            self._problems += [
                Problem(
                    f"{self._path}[{number}].{name}",
                    f"{value} is another tenant's {name}",
                    f"give each tenant its own {name}",
                )
                for number, value in enumerate(values)
                if value is not None and value in values[:number]
            ]
        used = [spec.vni for spec in specs if spec.vni is not None]
        seen = dict.fromkeys(used, "a tenant's vni")
        for where, vni, what in self._vnis(specs):
            if vni in seen:
                self._problems.append(
                    Problem(
                        f"{self._path}{where}",
                        f"{vni} is {seen[vni]} already",
                        "give every VNI, of layer 2 or 3, another number",
                    )
                )
            seen.setdefault(vni, what)

    @staticmethod
    def _vnis(specs: Sequence[TenantSpec]) -> Iterator[tuple[str, int, str]]:
        for number, spec in enumerate(specs):
            for index, segment in enumerate(spec.segments):
                yield (
                    f"[{number}].segments[{index}].vni",
                    segment.vni,
                    f"the vni of segment '{segment.name}' of tenant '{spec.name}'",
                )
            if spec.l3_vni is not None:
                yield f"[{number}].l3_vni", spec.l3_vni, f"the l3_vni of tenant '{spec.name}'"

    def tenant(self, number: int, spec: TenantSpec) -> None:
        """Place one tenant."""
        where = f"{self._path}[{number}]"
        if spec.vni is not None and spec.hosts is not None:
            hosts = self._hosts(spec.hosts, f"{where}.hosts", spec.name)
            self.segments.append(Tenant(spec.name, spec.vni, hosts, spec.arp_suppression == "on"))
            return
        subnets: list[tuple[str, IPv4Network]] = []
        for index, segment in enumerate(spec.segments):
            at = f"{where}.segments[{index}]"
            hosts = self._hosts(segment.hosts, f"{at}.hosts", spec.name)
            gateway = ""
            if spec.l3_vni is not None:
                network = segment.network or self._free(at, len(hosts))
                if network is not None:
                    subnets.append((f"{at}.subnet", network))
                    its = network[1] if segment.gateway is None else IPv4Address(segment.gateway)
                    self._number(at, network, its, hosts)
                    gateway = f"{its}/{network.prefixlen}"
            self.segments.append(
                Tenant(
                    spec.name,
                    segment.vni,
                    hosts,
                    segment.arp_suppression == "on",
                    segment.name,
                    gateway,
                    spec.l3_vni or 0,
                )
            )
        if spec.routed is not None and spec.l3_vni is not None:
            hosts = self._hosts(spec.routed, f"{where}.routed", spec.name)
            self._single_homed(hosts, f"{where}.routed")
            plan = addressing(self._fabric).subnet
            leaves = dict.fromkeys(self._fabric.peer_of(self._fabric.nodes[host].first_port).id for host in hosts)
            subnets += [(f"{where}.routed", IPv4Network(plan[leaf])) for leaf in leaves]
            self.routed.append(RoutedHosts(spec.name, spec.l3_vni, hosts))
        for index, (at, network) in enumerate(subnets):
            other = next((it for _, it in subnets[:index] if it.overlaps(network)), None)
            if other is not None:
                self._problems.append(
                    Problem(at, f"{network} overlaps {other} of the same tenant", "give each segment another subnet")
                )

    def _hosts(self, patterns: Sequence[str], where: str, tenant: str) -> tuple[int, ...]:
        hosts = match_hosts(self._fabric, patterns, where, self._problems)
        twice: list[Node] = [host for host in hosts if host.id in self.taken]
        if twice:
            self._problems.append(
                Problem(
                    where,
                    f"{twice[0].name} is in tenant '{self.taken[twice[0].id]}' already",
                    "a host belongs to one tenant, and to one place in it"
                    if self.taken[twice[0].id] == tenant
                    else "a host belongs to one tenant",
                )
            )
        self.taken.update((host.id, tenant) for host in hosts)
        return tuple(host.id for host in hosts)

    def _single_homed(self, hosts: Sequence[int], where: str) -> None:
        several = [
            self._fabric.nodes[host].name
            for host in hosts
            if len({self._fabric.peer_of(port).id for port in self._fabric.nodes[host].ports}) > 1
        ]
        if several:
            self._problems.append(
                Problem(
                    where,
                    f"{several[0]} has cables to several leaves{such(len(several), 'host')}",
                    "a routed port is one leaf's; put such hosts into a segment",
                )
            )

    def _free(self, where: str, n_hosts: int) -> IPv4Network | None:
        """The next subnet of the plan that is large enough and overlaps no subnet of the file; None: a problem."""
        bits = max(_SMALLEST_BITS, (n_hosts + 2).bit_length())
        while True:
            first = -(-self._next >> bits) << bits
            self._next = first + (1 << bits)
            if self._next - 1 > int(_SPACE.broadcast_address):
                self._problems.append(
                    Problem(
                        f"{where}.subnet",
                        f"{_SPACE} has no room left for {n_hosts} host{'' if n_hosts == 1 else 's'}",
                        "give subnets, which may be of any space",
                    )
                )
                return None
            network = IPv4Network((first, 32 - bits))
            if not any(network.overlaps(given) for given in self.given):
                return network

    def _number(self, where: str, network: IPv4Network, gateway: IPv4Address, hosts: Sequence[int]) -> None:
        """Give the hosts their addresses."""
        if network.num_addresses < len(hosts) + 3:
            self._problems.append(
                Problem(
                    f"{where}.subnet",
                    f"{network} has room for {network.num_addresses - 3} "
                    f"beside its gateway, and the segment has {len(hosts)} hosts",
                    "give a larger subnet",
                )
            )
            return
        own = np.arange(1, len(hosts) + 2) + int(network.network_address)
        free = [address for address in own.tolist() if address != int(gateway)]
        self.address.update(zip(hosts, free, strict=False))


def check_tenants(
    tenancy: Tenancy, fabric: Fabric, ends: NDArray[np.int64], place: Callable[[int], str], problems: list[Problem]
) -> None:
    """Report messages between tenants, or between subnets without routing: they could only be lost.

    ends: (2, n) sources and destinations, NodeIds. place: row of a message -> its place in the file.
    """
    segment_of = {host: tenant for tenant in tenancy.segments for host in tenant.hosts}
    tenant_of = {host: tenant.name for host, tenant in segment_of.items()}
    tenant_of |= {host: group.tenant for group in tenancy.routed for host in group.hosts}
    pairs: dict[tuple[int, int], int] = {}  # (source, destination) -> their first message
    for row, pair in enumerate(zip(*ends.tolist(), strict=True)):
        pairs.setdefault(pair, row)
    crossing = [(src, dst) for src, dst in pairs if tenant_of.get(src) != tenant_of.get(dst)]
    if crossing and all(host in tenant_of for host in crossing[0]):
        names = [f"{fabric.nodes[host].name} (tenant '{tenant_of[host]}')" for host in crossing[0]]
        problems.append(
            Problem(
                place(pairs[crossing[0]]),
                f"messages from {names[0]} to {names[1]} cross tenants{such(len(crossing), 'pair')}",
                "send within a tenant, or put both hosts into one",
            )
        )
    apart = [
        (src, dst)
        for src, dst in pairs
        if src in segment_of
        and dst in segment_of
        and segment_of[src] is not segment_of[dst]
        and tenant_of[src] == tenant_of[dst]
        and not segment_of[src].l3_vni
    ]
    if apart:
        names = [f"{fabric.nodes[host].name} (segment '{segment_of[host].segment}')" for host in apart[0]]
        problems.append(
            Problem(
                place(pairs[apart[0]]),
                f"messages from {names[0]} to {names[1]} cross subnets of tenant "
                f"'{tenant_of[apart[0][0]]}', which has no l3_vni{such(len(apart), 'pair')}",
                "give the tenant an l3_vni, or send within a segment",
            )
        )
