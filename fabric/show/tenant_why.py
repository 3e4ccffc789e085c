"""`fabric route NODE PREFIX --vrf TENANT`: the reasons of a tenant's route, and the underlay routes to its VTEPs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_network
from typing import Any

from fabric.controlplane.bgp.afi import prefix_key
from fabric.controlplane.evpn.evpn_nlri import EVPN, RouteType
from fabric.controlplane.evpn.rd import rd_text
from fabric.controlplane.evpn.vrf import HopKind, VrfTable
from fabric.controlplane.network.network import Network
from fabric.controlplane.network.switch import Switch
from fabric.render.document import Block, Prose, Status
from fabric.show import bgp as frr_bgp
from fabric.show.control_tables import path_table
from fabric.topology.model import Fabric


@dataclass(frozen=True, slots=True)
class Behind:
    """Control plane state behind one route of a tenant."""

    reasons: tuple[Prose, ...]
    paths: tuple[Block, ...]
    """Every path of the EVPN routes from which it derives."""


def behind_tenant_route(
    network: Network, switch: Switch, tenant: str, table: Mapping[str, Any], address: str, fabric: Fabric
) -> Behind:
    """State behind the only route in `table`; address: of the requested host or network."""
    vrf = switch.vtep.vrfs[tenant] if switch.vtep is not None else None
    if vrf is None:
        raise KeyError(tenant)
    [(prefix, routes)] = table.items()
    reasons = []
    if routes[0]["protocol"] == "connected":
        reasons.append(_connected(switch, vrf, prefix, routes[0], address))
        if len(routes) > 1:
            reasons.append(Prose("Other leaves announce it as well; connected wins (administrative distance 0)."))
    else:
        types = sorted({key.type for key in vrf.imports[prefix]})
        names = " and ".join(f"Type-{it} ({'host' if it == RouteType.MAC_IP else 'prefix'})" for it in types)
        reasons.append(
            Prose(
                f"Written by BGP from EVPN {names} routes; packets go into L3 VNI {vrf.config.l3_vni}, "
                "and take the underlay's route to the address of the VTEP."
            )
        )
        name_of = {str(IPv4Address(router.loopback)): router.name for router in network.plan.routers}
        reasons += [_tunnel(switch, hop["ip"], name_of, fabric) for hop in routes[0]["nexthops"]]
    paths = tuple(
        path_table(frr_bgp.reasons(switch.speaker, EVPN, key), f"{rd_text(key.rd)} {key.text}")
        for key in sorted(vrf.imports.get(prefix, {}) if switch.daemon_up else ())
    )
    return Behind(tuple(reasons), paths)


def _connected(switch: Switch, vrf: VrfTable, prefix: str, route: Mapping[str, Any], address: str) -> Prose:
    name = switch.router.name
    if prefix in vrf.config.prefixes:
        ports = ", ".join(hop["interfaceName"] for hop in route["nexthops"])
        return Prose(f"Connected: the subnet of routed ports of {name} ({ports}).")
    target = ip_network(address, strict=False)
    if target.prefixlen == target.max_prefixlen:
        found = vrf.lookup(str(target.network_address))
        if found.kind is HopKind.LOCAL:
            return Prose(
                f"Connected: {name} is its gateway, and {target.network_address} ({found.mac}, VNI "
                f"{found.vni}) is at {found.port}."
            )
        return Prose(
            f"Connected: {name} is its gateway, and has no entry for host {target.network_address}.", Status.WARNING
        )
    return Prose(f"Connected: {name} is its gateway.")


def _tunnel(switch: Switch, vtep: str, name_of: Mapping[str, str], fabric: Fabric) -> Prose:
    """The underlay route to one VTEP."""
    ports = switch.forwarding.ports(prefix_key(f"{vtep}/32"))
    target_text = f"{vtep} ({name_of.get(vtep, '?')})"
    if not ports:
        return Prose(
            f"{target_text}: no route in the underlay; packets for it are lost here (drop reason no_route).", Status.BAD
        )
    next_hops = ", ".join(f"{fabric.ports[port].name} to {fabric.peer_of(port).name}" for port in ports)
    return Prose(f"{target_text}: by {next_hops}" + ("; flows are divided by hash." if len(ports) > 1 else "."))
