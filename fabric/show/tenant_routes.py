"""A leaf's table for one tenant, `show ip route vrf NAME`: gateways, local hosts and EVPN routes."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import AddressValueError, IPv4Network, NetmaskValueError
from typing import Any

from fabric.controlplane.network.network import Network
from fabric.controlplane.network.plan import ControlPlan, Router
from fabric.controlplane.network.switch import Switch
from fabric.errors import InputErrors, Problem
from fabric.render.document import Column, Document, Section, Table, Unit, Value, worst
from fabric.show.ip_route import ip_route_vrf
from fabric.show.tenant_why import Behind
from fabric.topology.select import nearest


def vrf_of(plan: ControlPlan) -> dict[int, str]:
    """NodeId of every host of a tenant with an L3 VNI -> the tenant."""
    routing = {vrf.name for router in plan.routers for vrf in router.vrfs}
    tenant_of = {it.vni: it.tenant for router in plan.routers for it in router.vnis}
    hosts = {it.node: tenant_of[it.vni] for it in plan.endpoints if it.node >= 0} | {
        it.node: it.tenant for it in plan.routed
    }
    return {host: tenant for host, tenant in hosts.items() if tenant in routing}


def elsewhere(plan: ControlPlan, router: Router) -> dict[int, str]:
    """NodeId of hosts for which a leaf needs no row in its default table -> the reason as text.

    A leaf bridges within its own VNIs and routes for its own tenants by their tables. It sees no packet of others.
    """
    if not router.vnis and not router.vrfs:  # not a leaf: it forwards packets of all tenants
        return {}
    mine, routes = {it.vni for it in router.vnis}, {vrf.name for vrf in router.vrfs}
    tenant_of = {it.vni: it.tenant for other in plan.routers for it in other.vnis}
    vrf = vrf_of(plan)
    found = {}
    for host, name, is_mine in (
        *((it.node, tenant_of[it.vni], it.vni in mine) for it in plan.endpoints if it.node >= 0),
        *((it.node, it.tenant, it.router == router.row) for it in plan.routed),
    ):
        if is_mine:
            continue
        if host in vrf and name in routes:
            found[host] = f"in VRF {name}: use --vrf {name}"
        else:
            found[host] = f"of tenant {name}, which has no host on {router.name}"
    return found


def tenant_table(
    network: Network, switch: Switch, tenant: str, target: str | None, addresses: Mapping[str, str]
) -> dict[str, Any]:
    """FRR's JSON of the VRF; with a target, the longest match of an address, a prefix or a host (name -> address).

    Raises: InputErrors if the switch has no such VRF, or no route matches.
    """
    names = [] if switch.vtep is None else list(switch.vtep.vrfs)
    if tenant not in names:
        raise InputErrors(
            "options",
            [
                Problem(
                    "--vrf",
                    f"{switch.router.name} does not route for a tenant '{tenant}'",
                    nearest(tenant, names, "tenants")
                    if names
                    else "name a leaf with hosts of a tenant that has an l3_vni",
                )
            ],
        )
    table = ip_route_vrf(network, switch, tenant)
    if target is None:
        return table
    try:
        wanted = IPv4Network(addresses.get(target, target), strict=False)
    except (AddressValueError, NetmaskValueError, ValueError) as error:
        raise InputErrors(
            "command line",
            [Problem("PREFIX", f"'{target}' is no host, address or prefix", nearest(target, list(addresses), "hosts"))],
        ) from error
    covering = [prefix for prefix in table if wanted.subnet_of(IPv4Network(prefix))]
    if not covering:
        raise InputErrors(
            "command line",
            [
                Problem(
                    "PREFIX",
                    f"{switch.router.name} has no route to {wanted} in '{tenant}'",
                    "leave it out to see them all",
                )
            ],
        )
    best = max(covering, key=lambda prefix: IPv4Network(prefix).prefixlen)
    return {best: table[best]}


def tenant_document(
    switch: Switch, tenant: str, table: Mapping[str, Any], when: str, behind: Behind | None = None
) -> Document:
    """The same as text; behind: control plane state of the requested route."""
    rows: list[tuple[Value, ...]] = []
    for prefix, routes in table.items():
        for number, route in enumerate(routes):
            rows += [
                (
                    prefix if number == 0 and hop is route["nexthops"][0] else "",
                    route["protocol"],
                    route["distance"],
                    "yes" if route["selected"] else "no",
                    hop.get("ip", "directly connected"),
                    hop["interfaceName"],
                    hop.get("rmac", "-"),
                )
                for hop in route["nexthops"]
            ]
    columns = (
        Column("prefix", "Prefix"),
        Column("protocol", "Protocol"),
        Column("distance", "Distance", Unit.COUNT),
        Column("selected", "Selected"),
        Column("nexthop", "Next hop"),
        Column("interface", "Interface"),
        Column("rmac", "Router MAC"),
    )
    vrf = switch.vtep.vrfs[tenant].config if switch.vtep is not None else None
    vni = "" if vrf is None else f", L3 VNI {vrf.l3_vni}"
    count = f"{len(table)} prefix{'' if len(table) == 1 else 'es'}" if behind is None else f"{next(iter(table))}"
    reasons = () if behind is None else behind.reasons
    paths = () if behind is None else behind.paths
    return Document(
        f"Routes of {switch.router.name} for {tenant}",
        when,
        worst([it.status for it in reasons]),
        f"{count} in VRF {tenant}{vni}.",
        reasons,
        (
            Section("routes", "Routes", (Table("routes", "", columns, tuple(rows)),)),
            *([Section("paths", "Behind it", paths)] if paths else []),
        ),
    )
