"""The plan of a control plane: routers, their interfaces and networks, and the endpoints behind them.

A plan is plain data without an engine; `plan_of` (fabric_plan.py) derives it from a fabric and its address plan, and
fabric/validate from configurations. Every cable between switches carries one BGP session, so parallel cables are
parallel sessions with ECMP over them.

Without VXLAN a leaf announces the subnet of its hosts; a host with cables to several leaves is announced by each leaf
as a /32, as in dual-ToR racks. With VXLAN, IPv4 unicast carries loopbacks only and hosts are EVPN routes; a host with
several cables is an active-backup bond, whose first port with carrier is active.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

Prefix = tuple[int, int]
"""(address, length) of an IPv4 network."""


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """How one end of a session differs from the design's default."""

    ipv4: bool = True
    evpn: bool = True
    """Whether the address family is activated, as far as the plan has it."""
    allowas_in: int = 0
    """How often the own AS number may stand in a received AS_PATH."""
    reflects: bool | None = None
    """The other end is a client of this reflector (RFC 4456); None: where the design says so."""
    next_hop_self: bool | None = None
    """This end sets itself as next hop of IPv4 routes on an internal session, too; None: where the design says so."""


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
    """MAC address of the port; its link-local address derives from it. Needed for unnumbered sessions."""
    session: SessionEnd = SessionEnd()


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
    """Anycast gateway '172.16.10.1/24' of its subnet; '': not routed."""
    import_targets: tuple[str, ...] = ()
    export_targets: tuple[str, ...] = ()
    """Route targets; (): derived (targets.py)."""


@dataclass(frozen=True, slots=True)
class VrfPlan:
    """A tenant with symmetric IRB at a leaf (RFC 9135 section 5)."""

    name: str
    l3_vni: int
    prefixes: tuple[str, ...] = ()
    """Subnets on routed ports: announced as Type-5 routes, like the subnets of its gateways."""


@dataclass(frozen=True, slots=True)
class RoutedHost:
    """A host on a routed port of a leaf: it belongs to a tenant but to no VNI."""

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
    """A host in the overlay: a MAC and an IP address in a VNI, behind a port of a leaf."""

    name: str
    mac: str
    ip: str
    vni: int
    attachments: tuple[tuple[int, str, int], ...]
    """(router, name of its port, row of that port in the data plane), the preferred one first."""
    node: int = -1
    """Row of the host in the data plane; -1: it exists in the control plane only."""
    silent: bool = False
    """It sends nothing before it receives a packet: leaves learn its MAC only then, and never its IP address."""


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
    """Reflects routes among its iBGP clients (RFC 4456), as the design says it of its tier."""
    interfaces: tuple[int, ...]
    """Rows."""
    networks: tuple[Prefix, ...]
    """IPv4 prefixes that it originates, the loopback first."""
    vnis: tuple[VniPlan, ...] = ()
    """VNIs of its VTEP, in the order of their index within the switch."""
    vrfs: tuple[VrfPlan, ...] = ()
    """Tenants that it routes for."""
    mac: str = ""
    """MAC of the switch; also its router MAC if it routes for tenants (RFC 9135 section 5.1)."""
    host_routes: tuple[tuple[Prefix, tuple[int, ...]], ...] = ()
    """The host routes among `networks`, with the data-plane ports to the host: announced while one port is up."""
    interior: tuple[Prefix, ...] = ()
    """Prefixes that an interior protocol leads to: next hops resolve over them."""
    cluster_id: int = 0
    """Cluster of a reflector (RFC 4456 section 7); 0: its router ID."""
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
    """Row of a host in the data plane -> the prefix that leads to it, in a fabric without overlay."""
    routed: tuple[RoutedHost, ...] = ()

    @cached_property
    def by_name(self) -> Mapping[str, Router]:
        """Router by its name."""
        return {router.name: router for router in self.routers}

    @cached_property
    def by_loopback(self) -> Mapping[int, Router]:
        """Router by its loopback, which is the VTEP address."""
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
        """Routed tenant -> address of a host -> row of the host in the data plane."""
        names = {vni.vni: vni.tenant for router in self.routers for vni in router.vnis if vni.gateway}
        found: dict[str, dict[str, int]] = {vrf.name: {} for router in self.routers for vrf in router.vrfs}
        for endpoint in self.endpoints:
            if endpoint.vni in names and endpoint.node >= 0:
                found[names[endpoint.vni]][endpoint.ip] = endpoint.node
        for host in self.routed:
            found[host.tenant][host.ip] = host.node
        return found

    def name_of(self, row: int | None) -> str | None:
        """Name of a router; None for None."""
        return None if row is None else self.routers[row].name

    def peer(self, interface: int) -> Router:
        """The router at the other end of an interface's cable."""
        return self.routers[self.interfaces[self.interfaces[interface].peer].router]

    @cached_property
    def internal_ends(self) -> bool:
        """Whether some session is an internal one whose ends say themselves how they pass routes on."""
        return any(it.session.next_hop_self is not None for it in self.interfaces)

    def is_client(self, router: Router, peer: Router) -> bool:
        """Whether `peer` is a client of the reflector `router`: clients are in the lower tier (RFC 4456 section 6)."""
        return router.reflector and peer.tier < router.tier


@dataclass(frozen=True, slots=True)
class Tenant:
    """Hosts that share a VNI: a tenant, or a segment of a tenant."""

    name: str
    vni: int
    hosts: tuple[int, ...]
    """Rows of hosts in the data plane."""
    suppress_arp: bool = True
    segment: str = ""
    """Name within the tenant; '': the whole tenant."""
    gateway: str = ""
    """'172.16.10.1/24': address of the anycast gateway, in the subnet; '': not routed."""
    l3_vni: int = 0
    """VNI through which the tenant's leaves route; 0: none."""
    silent: frozenset[int] = frozenset()
    """The silent hosts among them (see Endpoint.silent)."""


@dataclass(frozen=True, slots=True)
class RoutedHosts:
    """Hosts of a tenant on routed ports of their leaves, each in its leaf's subnet of the address plan."""

    tenant: str
    l3_vni: int
    hosts: tuple[int, ...]
    """Rows of hosts in the data plane."""
