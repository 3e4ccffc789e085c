"""The plan of a control plane, derived from a fabric and its address plan."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from fabric.controlplane.network.config import ControlConfig, Design, SpineAsn
from fabric.controlplane.network.plan import (
    Cable,
    ControlPlan,
    Endpoint,
    Interface,
    Prefix,
    RoutedHost,
    RoutedHosts,
    Router,
    Tenant,
    VniPlan,
    VrfPlan,
)
from fabric.topology.addressing import Addressing, ipv4_text, mac_text
from fabric.topology.model import Fabric, Node, Role
from fabric.units import PS_PER_NS

DISTINCT_ASN_BASE: Final = 64_512
"""First private AS number (RFC 6996 section 5); with SpineAsn.DISTINCT, switches above the leaves count from here."""
DISTINCT_ASN_LIMIT: Final = 65_000
"""First AS number of the address plan."""
DISTINCT_ASN_BASE_4: Final = 4_250_000_000
"""Base if more than 488 are needed: above the 4-byte numbers of the address plan."""
IBGP_ASN: Final = 65_000


def plan_of(
    fabric: Fabric,
    addresses: Addressing,
    config: ControlConfig,
    tenants: Sequence[Tenant] = (),
    routed: Sequence[RoutedHosts] = (),
) -> ControlPlan:
    """The plan of a fabric.

    Parameters
    ----------
    fabric : Fabric
    addresses : Addressing      of the same fabric
    config : ControlConfig      decides AS numbers and route reflectors
    tenants : sequence of Tenant    empty: no overlay; each leaf has the VNIs of its hosts
    routed : sequence of RoutedHosts    hosts of tenants outside layer-2 VNIs

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
        routers.append(
            Router(
                row=row,
                name=switch.name,
                asn=asns[switch.id],
                router_id=loopback,
                loopback=loopback,
                tier=switch.tier,
                reflector=config.design is Design.IBGP_RR and switch.role is not Role.LEAF,
                interfaces=tuple(interface.row for interface in interfaces if interface.router == row),
                networks=((loopback, 32), *networks.get(switch.id, ())),
                vnis=tuple(
                    VniPlan(tenant.vni, tenant.name, tenant.suppress_arp, tenant.gateway)
                    for tenant in sorted(tenants, key=lambda it: it.vni)
                    if tenant.vni in here
                ),
                vrfs=_vrfs(
                    [tenant for tenant in tenants if tenant.vni in here],
                    routed,
                    {host.tenant for host in on_ports if host.router == row},
                    addresses.subnet.get(switch.id),
                ),
                mac=mac_text(addresses.mac[switch.id]),
                host_routes=_host_routes(fabric, switch.id, networks.get(switch.id, ()), addresses),
                node=switch.id,
            )
        )
    return ControlPlan(tuple(routers), tuple(interfaces), tuple(cables), tuple(endpoints), host_prefix, tuple(on_ports))


def _wiring(fabric: Fabric, addresses: Addressing, row_of: Mapping[int, int]) -> tuple[list[Interface], list[Cable]]:
    interfaces: list[Interface] = []
    cables: list[Cable] = []
    for link in fabric.links:
        ends = [fabric.ports[port] for port in (link.a, link.b)]
        if any(port.node not in row_of for port in ends):
            continue
        first = len(interfaces)
        interfaces += [
            Interface(
                first + side,
                row_of[port.node],
                port.name,
                int(addresses.port_ip[port.id]),
                int(addresses.port_prefix_len[port.id]),
                len(cables),
                first + 1 - side,
                port.id,
                mac_text(addresses.port_mac[port.id]),
            )
            for side, port in enumerate(ends)
        ]
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


def _endpoint(fabric: Fabric, addresses: Addressing, host: int, tenant: Tenant, row_of: Mapping[int, int]) -> Endpoint:
    node: Node = fabric.nodes[host]
    attachments = []
    for port in node.ports:
        remote = fabric.ports[fabric.ports[port].peer]
        attachments.append((row_of[remote.node], remote.name, int(remote.id)))
    return Endpoint(
        node.name,
        mac_text(addresses.mac[host]),
        ipv4_text(addresses.host_ip[host]),
        tenant.vni,
        tuple(attachments),
        host,
        host in tenant.silent,
    )


def _routed_host(
    fabric: Fabric, addresses: Addressing, host: int, group: RoutedHosts, row_of: Mapping[int, int]
) -> RoutedHost:
    node = fabric.nodes[host]
    remote = fabric.ports[fabric.ports[node.first_port].peer]
    return RoutedHost(
        node.name,
        ipv4_text(addresses.host_ip[host]),
        group.tenant,
        row_of[remote.node],
        int(remote.id),
        remote.name,
        host,
    )


def _vrfs(
    here: Sequence[Tenant], routed: Sequence[RoutedHosts], on_ports: Collection[str], subnet: Prefix | None
) -> tuple[VrfPlan, ...]:
    """Tenants for which a leaf routes: tenants with a gateway there, and tenants with hosts on its routed ports."""
    l3_vni = {tenant.name: tenant.l3_vni for tenant in here if tenant.l3_vni}
    l3_vni |= {group.tenant: group.l3_vni for group in routed if group.tenant in on_ports}
    text = "" if subnet is None else f"{ipv4_text(subnet[0])}/{subnet[1]}"
    return tuple(
        VrfPlan(name, vni, (text,) if name in on_ports else ())
        for name, vni in sorted(l3_vni.items(), key=lambda it: it[1])
    )


def _host_networks(fabric: Fabric, addresses: Addressing) -> tuple[dict[int, list[Prefix]], dict[int, Prefix]]:
    """(switch -> prefixes of its hosts, host -> prefix that leads to the host)."""
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


def _host_routes(
    fabric: Fabric, switch: int, networks: Sequence[Prefix], addresses: Addressing
) -> tuple[tuple[Prefix, tuple[int, ...]], ...]:
    ports: dict[Prefix, list[int]] = {prefix: [] for prefix in networks if prefix[1] == 32}
    for port, peer in fabric.neighbours(switch) if ports else ():
        route = (int(addresses.host_ip[peer.id]), 32)
        if peer.is_host and route in ports:
            ports[route].append(port.id)
    return tuple((prefix, tuple(found)) for prefix, found in ports.items())
