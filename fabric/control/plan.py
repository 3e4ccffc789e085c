"""Who is who in the control plane: routers, their interfaces and networks, and the endpoints behind them.

A plan is plain data and knows nothing of engines; `plan_of` makes it from a fabric and its address plan. Every cable
between switches carries one BGP session, so parallel cables are parallel sessions and ECMP over them comes by itself.

Without VXLAN a leaf announces the subnet of its hosts; a host with cables to several leaves is announced by each of
them as a /32, as dual-ToR racks do. With VXLAN, IPv4 unicast carries loopbacks alone and hosts are EVPN routes; a host
with several cables is an active-backup bond whose first port that is up is the active one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from fabric.control.config import ControlConfig, Design, SpineAsn
from fabric.topology.addressing import Addressing, ipv4_text, mac_text
from fabric.topology.model import Fabric, Node, Role
from fabric.units import PS_PER_NS

Prefix = tuple[int, int]
"""(address, length) of an IPv4 network."""

DISTINCT_ASN_BASE: Final = 64_512
"""First private AS number (RFC 6996 section 5); switches above the leaves count from here when each has its own."""
DISTINCT_ASN_LIMIT: Final = 65_000
"""The address plan's own numbers begin here."""
DISTINCT_ASN_BASE_4: Final = 4_250_000_000
"""Where more than 488 are needed: far above the address plan's 4-byte numbers."""
IBGP_ASN: Final = 65_000


@dataclass(frozen=True, slots=True)
class Interface:
    """One end of a cable between two routers."""

    row: int
    router: int
    name: str
    address: int
    prefix_len: int
    cable: int
    peer: int
    """Row of the interface at the other end."""
    port: int
    """Row of the port in the data plane."""
    mac: str = ""
    """MAC address of the port, from which its link-local address follows; needed for unnumbered sessions."""


@dataclass(frozen=True, slots=True)
class Cable:
    """One link between two routers, and the session over it."""

    row: int
    a: int
    b: int
    """Rows of its interfaces."""
    delay_ns: int
    """One-way propagation."""
    link: int
    """Row of the link in the data plane."""


@dataclass(frozen=True, slots=True)
class VniPlan:
    """One layer-2 VNI (RFC 7348) of a tenant."""

    vni: int
    tenant: str
    suppress_arp: bool = True
    gateway: str = ""
    """Anycast gateway '172.16.10.1/24' of its subnet; '': nobody routes here."""


@dataclass(frozen=True, slots=True)
class VrfPlan:
    """A tenant with symmetric IRB at a leaf (RFC 9135 section 5)."""

    name: str
    l3_vni: int
    prefixes: tuple[str, ...] = ()
    """Subnets on routed ports: announced as Type-5 routes beside those of its gateways."""


@dataclass(frozen=True, slots=True)
class RoutedHost:
    """A host on a routed port of a leaf: part of a tenant by its address alone."""

    name: str
    ip: str
    tenant: str
    router: int
    port: int
    """Row of the leaf's port in the data plane."""
    interface: str
    """Name of that port."""
    node: int


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A host as the overlay sees it: a MAC and an IP address in a VNI, behind a port of a leaf."""

    name: str
    mac: str
    ip: str
    vni: int
    attachments: tuple[tuple[int, str, int], ...]
    """(router, name of its port, row of that port in the data plane), the preferred one first."""
    node: int = -1
    """Row of the host in the data plane; -1: it lives in the control plane only."""
    silent: bool = False
    """It says nothing until it is spoken to: leaves do not know it before, and never learn its IP address."""


@dataclass(frozen=True, slots=True)
class Router:
    """One switch that speaks BGP."""

    row: int
    name: str
    asn: int
    router_id: int
    loopback: int
    tier: int
    reflector: bool
    """Reflects routes among its iBGP clients (RFC 4456)."""
    interfaces: tuple[int, ...]
    """Rows."""
    networks: tuple[Prefix, ...]
    """IPv4 prefixes it originates, its loopback first."""
    vnis: tuple[VniPlan, ...] = ()
    """VNIs it has a VTEP for, in the order in which they get their number within the switch."""
    vrfs: tuple[VrfPlan, ...] = ()
    """Tenants that it routes for."""
    mac: str = ""
    """MAC of the switch; its router MAC, where it routes for tenants (RFC 9135 section 5.1)."""
    host_routes: tuple[tuple[Prefix, tuple[int, ...]], ...] = ()
    """Those of `networks` that lead to one host each, with the data-plane ports to it: announced while one is lit."""
    node: int = -1
    """Row in the data plane."""


@dataclass(frozen=True)
class ControlPlan:
    """All routers of one fabric."""

    routers: tuple[Router, ...]
    interfaces: tuple[Interface, ...]
    cables: tuple[Cable, ...]
    endpoints: tuple[Endpoint, ...]
    host_prefix: Mapping[int, Prefix] = field(default_factory=dict)
    """Row of a host in the data plane -> the prefix that leads to it, where there is no overlay."""
    routed: tuple[RoutedHost, ...] = ()

    @cached_property
    def by_name(self) -> Mapping[str, Router]:
        """Router by its name."""
        return {router.name: router for router in self.routers}

    @cached_property
    def by_loopback(self) -> Mapping[int, Router]:
        """Router by its loopback, which is its VTEP address."""
        return {router.loopback: router for router in self.routers}

    @cached_property
    def cable_of_link(self) -> Mapping[int, int]:
        """Row of a link in the data plane -> row of the cable here."""
        return {cable.link: cable.row for cable in self.cables}

    @cached_property
    def overlay(self) -> bool:
        """Whether any router has a VNI."""
        return any(router.vnis or router.vrfs for router in self.routers)

    @cached_property
    def tenant_addresses(self) -> Mapping[str, dict[str, int]]:
        """Tenant that is routed for -> address of a host -> its row in the data plane."""
        names = {vni.vni: vni.tenant for router in self.routers for vni in router.vnis if vni.gateway}
        found: dict[str, dict[str, int]] = {vrf.name: {} for router in self.routers for vrf in router.vrfs}
        for endpoint in self.endpoints:
            if endpoint.vni in names and endpoint.node >= 0:
                found[names[endpoint.vni]][endpoint.ip] = endpoint.node
        for host in self.routed:
            found[host.tenant][host.ip] = host.node
        return found

    def name_of(self, row: int | None) -> str | None:
        """Name of a router; None for none."""
        return None if row is None else self.routers[row].name

    def peer(self, interface: int) -> Router:
        """The router at the other end of an interface's cable."""
        return self.routers[self.interfaces[self.interfaces[interface].peer].router]

    def is_client(self, router: Router, peer: Router) -> bool:
        """Whether `peer` is a route reflection client of `router`: the lower tier is (RFC 4456 section 6)."""
        return router.reflector and peer.tier < router.tier


@dataclass(frozen=True, slots=True)
class Tenant:
    """Hosts that share a VNI: a tenant, or one segment of it."""

    name: str
    vni: int
    hosts: tuple[int, ...]
    """Rows of hosts in the data plane."""
    suppress_arp: bool = True
    segment: str = ""
    """Name within the tenant; '': it is all of it."""
    gateway: str = ""
    """'172.16.10.1/24': address of the anycast gateway, in the subnet; '': nobody routes here."""
    l3_vni: int = 0
    """VNI that the tenant's leaves route through; 0: none."""
    silent: frozenset[int] = frozenset()
    """Those of its hosts that say nothing before they are spoken to."""


@dataclass(frozen=True, slots=True)
class RoutedHosts:
    """Hosts of a tenant on routed ports of their leaves, each in the leaf's own subnet of the address plan."""

    tenant: str
    l3_vni: int
    hosts: tuple[int, ...]
    """Rows of hosts in the data plane."""


def plan_of(fabric: Fabric, addresses: Addressing, config: ControlConfig,
            tenants: Sequence[Tenant] = (), routed: Sequence[RoutedHosts] = ()) -> ControlPlan:
    """The plan of a fabric.

    Parameters
    ----------
    fabric : Fabric
    addresses : Addressing      of the same fabric
    config : ControlConfig      decides AS numbers and who reflects
    tenants : sequence of Tenant    none: no overlay; each leaf has the VNIs of the hosts that hang on it
    routed : sequence of RoutedHosts    hosts of tenants that are in no VNI of layer 2

    Returns: ControlPlan; routers in the order of Fabric.switches.
    """
    row_of: dict[int, int] = {switch.id: row for row, switch in enumerate(fabric.switches)}
    asns = _asns(fabric, addresses, config)
    interfaces, cables = _wiring(fabric, addresses, row_of)
    endpoints = [_endpoint(fabric, addresses, host, tenant, row_of) for tenant in tenants for host in tenant.hosts]
    on_ports = [_routed_host(fabric, addresses, host, group, row_of) for group in routed for host in group.hosts]
    networks, host_prefix = ({}, {}) if tenants or routed else _host_networks(fabric, addresses)
    routers = []
    for row, switch in enumerate(fabric.switches):
        loopback = int(addresses.loopback[switch.id])
        here = {endpoint.vni for endpoint in endpoints if any(at[0] == row for at in endpoint.attachments)}
        routers.append(Router(
            row=row, name=switch.name, asn=asns[switch.id], router_id=loopback, loopback=loopback, tier=switch.tier,
            reflector=config.design is Design.IBGP_RR and switch.role is not Role.LEAF,
            interfaces=tuple(interface.row for interface in interfaces if interface.router == row),
            networks=((loopback, 32), *networks.get(switch.id, ())),
            vnis=tuple(VniPlan(tenant.vni, tenant.name, tenant.suppress_arp, tenant.gateway)
                       for tenant in sorted(tenants, key=lambda it: it.vni) if tenant.vni in here),
            vrfs=_vrfs([tenant for tenant in tenants if tenant.vni in here], routed,
                       {host.tenant for host in on_ports if host.router == row}, addresses.subnet.get(switch.id)),
            mac=mac_text(addresses.mac[switch.id]),
            host_routes=_host_routes(fabric, switch.id, networks.get(switch.id, ()), addresses), node=switch.id))
    return ControlPlan(tuple(routers), tuple(interfaces), tuple(cables), tuple(endpoints), host_prefix,
                       tuple(on_ports))


def _wiring(fabric: Fabric, addresses: Addressing, row_of: Mapping[int, int]) -> tuple[list[Interface], list[Cable]]:
    interfaces: list[Interface] = []
    cables: list[Cable] = []
    for link in fabric.links:
        ends = [fabric.ports[port] for port in (link.a, link.b)]
        if any(port.node not in row_of for port in ends):
            continue
        first = len(interfaces)
        interfaces += [Interface(first + side, row_of[port.node], port.name, int(addresses.port_ip[port.id]),
                                 int(addresses.port_prefix_len[port.id]), len(cables), first + 1 - side, port.id,
                                 mac_text(addresses.port_mac[port.id]))
                       for side, port in enumerate(ends)]
        cables.append(Cable(len(cables), first, first + 1, max(link.delay_ps // PS_PER_NS, 1), link.id))
    return interfaces, cables


def _asns(fabric: Fabric, addresses: Addressing, config: ControlConfig) -> dict[int, int]:
    if config.design is Design.IBGP_RR:
        return {int(switch.id): IBGP_ASN for switch in fabric.switches}
    asns = {int(switch.id): int(addresses.asn[switch.id]) for switch in fabric.switches}
    if config.spine_asn is SpineAsn.DISTINCT:
        upper = [switch.id for switch in fabric.switches if switch.role is not Role.LEAF]
        fits = DISTINCT_ASN_BASE + len(upper) <= DISTINCT_ASN_LIMIT
        base = DISTINCT_ASN_BASE if fits else DISTINCT_ASN_BASE_4
        asns |= {node: base + index for index, node in enumerate(upper)}
    return asns


def _endpoint(fabric: Fabric, addresses: Addressing, host: int, tenant: Tenant,
              row_of: Mapping[int, int]) -> Endpoint:
    node: Node = fabric.nodes[host]
    attachments = []
    for port in node.ports:
        far = fabric.ports[fabric.ports[port].peer]
        attachments.append((row_of[far.node], far.name, int(far.id)))
    return Endpoint(node.name, mac_text(addresses.mac[host]), ipv4_text(addresses.host_ip[host]), tenant.vni,
                    tuple(attachments), host, host in tenant.silent)


def _routed_host(fabric: Fabric, addresses: Addressing, host: int, group: RoutedHosts,
                 row_of: Mapping[int, int]) -> RoutedHost:
    node = fabric.nodes[host]
    far = fabric.ports[fabric.ports[node.first_port].peer]
    return RoutedHost(node.name, ipv4_text(addresses.host_ip[host]), group.tenant, row_of[far.node], int(far.id),
                      far.name, host)


def _vrfs(here: Sequence[Tenant], routed: Sequence[RoutedHosts], on_ports: Collection[str],
          subnet: Prefix | None) -> tuple[VrfPlan, ...]:
    """Tenants that a leaf routes for: those with a gateway there, and those with hosts on its routed ports."""
    l3_vni = {tenant.name: tenant.l3_vni for tenant in here if tenant.l3_vni}
    l3_vni |= {group.tenant: group.l3_vni for group in routed if group.tenant in on_ports}
    text = "" if subnet is None else f"{ipv4_text(subnet[0])}/{subnet[1]}"
    return tuple(VrfPlan(name, vni, (text,) if name in on_ports else ())
                 for name, vni in sorted(l3_vni.items(), key=lambda it: it[1]))


def _host_networks(fabric: Fabric, addresses: Addressing) -> tuple[dict[int, list[Prefix]], dict[int, Prefix]]:
    """(switch -> prefixes of its hosts, host -> the prefix that leads to it)."""
    networks: dict[int, list[Prefix]] = {switch: [prefix] for switch, prefix in addresses.subnet.items()}
    host_prefix: dict[int, Prefix] = {}
    for host in fabric.hosts:
        switches = list(dict.fromkeys(fabric.peer_of(port).id for port in host.ports))
        if len(switches) == 1:
            host_prefix[host.id] = addresses.subnet[switches[0]]
            continue
        route = (int(addresses.host_ip[host.id]), 32)
        host_prefix[host.id] = route
        for switch in switches:
            networks[switch].append(route)
    return networks, host_prefix


def _host_routes(fabric: Fabric, switch: int, networks: Sequence[Prefix],
                 addresses: Addressing) -> tuple[tuple[Prefix, tuple[int, ...]], ...]:
    ports: dict[Prefix, list[int]] = {prefix: [] for prefix in networks if prefix[1] == 32}
    for port, peer in fabric.neighbours(switch) if ports else ():
        route = (int(addresses.host_ip[peer.id]), 32)
        if peer.is_host and route in ports:
            ports[route].append(port.id)
    return tuple((prefix, tuple(found)) for prefix, found in ports.items())
