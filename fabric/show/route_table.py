"""`fabric route`: the forwarding table of one switch, as prefixes with next hops and the reason of each row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Network, NetmaskValueError
from typing import Any, Final

import numpy as np

from fabric.errors import InputErrors, Problem
from fabric.forwarding.tables import Cause, Forwarding
from fabric.render.document import Block, Column, Document, Prose, Section, Status, Table, Unit, Value
from fabric.topology.addressing import Addressing, addressing, ipv4_text
from fabric.topology.model import Node
from fabric.topology.paths import equal_cost_ports
from fabric.topology.select import nearest
from fabric.units import format_time_ps

_PROTOCOL: Final = {Cause.SHORTEST_PATH: "shortest-path", Cause.EDIT: "static", Cause.CONTROL_PLANE: "bgp"}
_DISTANCE: Final = {"connected": 0, "static": 1, "shortest-path": 110, "bgp": 20, "evpn": 20}
"""Administrative distances of FRR (shortest-path: OSPF's)."""
_INTERNAL: Final = 200


@dataclass(frozen=True, slots=True)
class Route:
    """One row: a subnet whose hosts have the same ports, or a single host."""

    network: IPv4Network
    hosts: tuple[int, ...]
    """NodeIds of the hosts in it; empty for the address of a switch."""
    ports: tuple[int, ...]
    """Egress ports; (): black hole."""
    protocol: str
    """connected, shortest-path, static (a route fault), bgp, or evpn: hosts of an overlay."""
    since_ps: int


@dataclass(frozen=True, slots=True)
class Underlay:
    """BGP routes of a switch to addresses of switches, and the names of next hops."""

    known: Mapping[bytes, tuple[tuple[int, ...], int]]
    """Route key (afi.prefix_key) -> (ports, time of installation in ps)."""
    link_local: Mapping[int, str]
    """PortId -> IPv6 link-local address of the neighbour there, in an unnumbered fabric (RFC 8950); else empty."""
    internal: bool
    """iBGP: administrative distance 200."""
    overlay: bool = False
    """Hosts are EVPN routes; the rows towards them derive from Type-2 routes."""
    host_prefix: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """NodeId -> (network, length) of the route to a host, without overlay."""
    vrf_of: Mapping[int, str] = field(default_factory=dict)
    """NodeId of a host -> its tenant, if leaves route between the tenant's subnets."""
    elsewhere: Mapping[int, str] = field(default_factory=dict)
    """NodeId of a host for which the switch needs no row in this table -> text with the tenant and the reason."""


NONE: Final = Underlay({}, {}, internal=False)
"""Without a control plane."""


def routes(at: Forwarding, switch: Node, underlay: Underlay = NONE) -> list[Route]:
    """Every row of a switch towards hosts, by prefix."""
    plan = addressing(at.fabric)
    planned = bool(np.array_equal(plan.host_ip[: at.tables.n_hosts], at.tables.host_ip))
    found = []
    for (network, length), hosts in _subnets(at, plan, underlay, planned=planned):
        alike: dict[tuple[tuple[int, ...], str, int], list[int]] = {}
        shown = [host for host in hosts if not absent(at, switch, host, underlay)]
        for host in shown:
            alike.setdefault(_treatment(at, switch, host, underlay), []).append(host)
        for (ports, protocol, since_ps), mine in alike.items():
            if len(mine) == len(hosts) and protocol != "connected":
                found.append(Route(IPv4Network((network, length)), tuple(mine), ports, protocol, since_ps))
            else:
                found += [
                    Route(IPv4Network((int(at.tables.host_ip[host]), 32)), (host,), ports, protocol, since_ps)
                    for host in mine
                ]
    return sorted(found, key=lambda route: route.network)


def absent(at: Forwarding, switch: Node, host: int, underlay: Underlay) -> bool:
    """Whether a switch needs no row for a host: its tenant has another table here, or no host here."""
    return (
        host in underlay.elsewhere
        and not at.next_ports(switch.id, host)
        and at.written(switch.id, host)[0] is not Cause.EDIT
    )


def underlay_routes(at: Forwarding, switch: Node, underlay: Underlay, rows: Sequence[Route]) -> list[Route]:
    """Rows that a control plane adds to routes(): cables between switches, BGP routes to addresses of switches."""
    plan, fabric = addressing(at.fabric), at.fabric
    found = [
        Route(IPv4Network((int(plan.port_ip[port.id]) & ~1, 31)), (), (int(port.id),), "connected", 0)
        for port, peer in fabric.neighbours(switch.id)
        if not peer.is_host and port.id not in at.down and not underlay.link_local
    ]
    covered = {row.network for row in rows}
    for key, (ports, since_ps) in underlay.known.items():
        network = IPv4Network((int.from_bytes(key[1:].ljust(4, b"\0"), "big"), key[0]))
        if not any(network.supernet_of(it) or network.subnet_of(it) for it in covered):
            found.append(Route(network, (), ports, "bgp", since_ps))
    return sorted(found, key=lambda route: route.network)


def _subnets(
    at: Forwarding, plan: Addressing, underlay: Underlay, *, planned: bool
) -> list[tuple[tuple[int, int], list[int]]]:
    """(network, length) -> hosts with an address in it; single hosts for addresses outside of the address plan."""
    if not planned:
        return [((int(at.tables.host_ip[host.id]), 32), [host.id]) for host in at.fabric.hosts]
    subnet_of = {
        host.id: underlay.host_prefix.get(host.id, plan.subnet[at.fabric.peer_of(host.first_port).id])
        for host in at.fabric.hosts
    }
    found: dict[tuple[int, int], list[int]] = {}
    for host, subnet in subnet_of.items():
        found.setdefault(subnet, []).append(host)
    return list(found.items())


def _treatment(at: Forwarding, switch: Node, host: int, underlay: Underlay) -> tuple[tuple[int, ...], str, int]:
    ports = at.next_ports(switch.id, host)
    cause, since_ps = at.written(switch.id, host)
    direct = bool(ports) and all(at.fabric.peer_of(port).id == host for port in ports)
    protocol = "evpn" if cause is Cause.CONTROL_PLANE and underlay.overlay else _PROTOCOL[cause]
    return ports, "connected" if direct else protocol, since_ps


def longest_match(rows: Sequence[Route], target: str, at: Forwarding) -> Route:
    """The row for packets to a host name, an address or a prefix. Raises: InputErrors."""
    host = at.fabric.by_name.get(target)
    if host is not None and host.is_host:
        return next(row for row in rows if host.id in row.hosts)
    try:
        wanted = IPv4Network(target, strict=False)
    except (AddressValueError, NetmaskValueError, ValueError) as error:
        names = [node.name for node in at.fabric.hosts]
        raise InputErrors(
            "command line",
            [Problem("PREFIX", f"'{target}' is no host, address or prefix", nearest(target, names, "hosts"))],
        ) from error
    covering = [row for row in rows if wanted.subnet_of(row.network)]
    if not covering:
        shown = ", ".join(str(row.network) for row in rows[:4])
        raise InputErrors(
            "command line",
            [
                Problem(
                    "PREFIX",
                    f"nothing here covers {wanted}",
                    f"prefixes begin with {shown}; leave it out to see them all",
                )
            ],
        )
    return max(covering, key=lambda row: row.network.prefixlen)


def absent_document(at: Forwarding, switch: Node, target: str, title: str, underlay: Underlay) -> Document | None:
    """The answer for a host, or its address, for which the switch needs no row; None for other targets."""
    node = at.fabric.by_name.get(target)
    found = [
        host
        for host in underlay.elsewhere
        if absent(at, switch, host, underlay)
        and (
            node.id == host
            if node is not None
            else ipv4_text(int(at.tables.host_ip[host])) == target.removesuffix("/32")
        )
    ]
    if not found:
        return None
    name = at.fabric.nodes[found[0]].name
    return Document(
        f"Routes of {switch.name}",
        title,
        Status.NEUTRAL,
        f"No route here, and none needed: {name} is {underlay.elsewhere[found[0]]}.",
        (),
        (),
    )


def next_hop_ip(plan: Addressing, at: Forwarding, port: int, underlay: Underlay = NONE) -> str:
    """Address of the neighbour (switch or host) at a port."""
    if port in underlay.link_local:
        return underlay.link_local[port]
    peer = at.fabric.ports[port].peer
    node = at.fabric.node_of(peer)
    return ipv4_text(int(at.tables.host_ip[node.id]) if node.is_host else int(plan.port_ip[peer]))


def route_document(
    at: Forwarding,
    switch: Node,
    rows: Sequence[Route],
    title: str,
    target: Route | None,
    underlay: Underlay = NONE,
    behind: tuple[Block, ...] = (),
) -> Document:
    """A switch's table, or one row of it with its reasons; `behind`: control plane state of the row."""
    shown = list(rows) if target is None else [target]
    others = Counter(text for host, text in underlay.elsewhere.items() if absent(at, switch, host, underlay))
    holes = sum(len(row.hosts) for row in rows if not row.ports)
    dead = {port for row in rows for port in row.ports if port in at.dead}
    if target is None:
        status = Status.BAD if holes or dead else Status.GOOD
        verdict = f"{len(rows)} routes"
        verdict += f", {holes} host{'' if holes == 1 else 's'} without a route" if holes else ""
        verdict += f", next hops by which nothing arrives: {_ports(at, sorted(dead))}" if dead else ""
        notes = tuple(_no_receive_note(at, switch))
        status = Status.BAD if notes else status
        reasons: tuple[Prose, ...] = (
            *notes,
            *(Prose(f"{count} host{'' if count == 1 else 's'} {text}.") for text, count in others.items()),
        )
    else:
        reasons = (*_no_receive_note(at, switch), *_reasons(at, switch, target, underlay))
        status = max(
            (it.status for it in reasons),
            key=[Status.NEUTRAL, Status.GOOD, Status.WARNING, Status.BAD].index,
            default=Status.GOOD,
        )
        verdict = f"{target.network}: {target.protocol}, " + (
            f"{len(target.ports)} next hop{'' if len(target.ports) == 1 else 's'}"
            if target.ports
            else "flooded"
            if target.hosts and (switch.id, target.hosts[0]) in at.unknown
            else "black hole"
        )
    return Document(
        f"Routes of {switch.name}",
        title,
        status,
        f"{verdict}.",
        reasons,
        (
            Section("routes", "Routes", (_table(at, shown, underlay),)),
            *([Section("control", "Behind it", behind)] if behind else []),
        ),
    )


def _no_receive_note(at: Forwarding, switch: Node) -> list[Prose]:
    text = f"Every frame that arrives at {switch.name} is lost, for any route: it hangs, or its cables are "
    return [Prose(text + "cut unnoticed.", Status.BAD)] if at.deaf(switch) else []


def _ports(at: Forwarding, ports: Sequence[int]) -> str:
    return ", ".join(at.fabric.ports[port].name for port in ports)


def _table(at: Forwarding, rows: Sequence[Route], underlay: Underlay) -> Table:
    plan = addressing(at.fabric)
    columns = (
        Column("prefix", "Prefix"),
        Column("hosts", "Hosts", Unit.COUNT),
        Column("protocol", "Protocol"),
        Column("nexthop", "Next hop"),
        Column("interface", "Port"),
        Column("neighbour", "Neighbour"),
        Column("state", "State"),
        Column("since", "Since"),
    )
    lines: list[tuple[Value, ...]] = []
    statuses = []
    for row in rows:
        since = format_time_ps(row.since_ps) if row.since_ps else "start"
        head: tuple[Value, ...] = (str(row.network), len(row.hosts) or None, row.protocol)
        for port in row.ports:
            loss = at.loss(port)
            lines.append(
                (
                    *head,
                    next_hop_ip(plan, at, port, underlay),
                    at.fabric.ports[port].name,
                    at.fabric.peer_of(port).name,
                    loss or "up",
                    since,
                )
            )
            statuses.append(Status.BAD if loss else Status.NEUTRAL)
            head = ("", None, "")
        if not row.ports:
            lines.append((*head, "-", "-", "-", "no route", since))
            statuses.append(Status.BAD)
    return Table("routes", "", columns, tuple(lines), "", tuple(statuses))


def _reasons(at: Forwarding, switch: Node, row: Route, underlay: Underlay) -> list[Prose]:
    """Reasons of the row, and its faults."""
    found = _why(at, switch, row) if row.hosts else [_why_switch(at, row)]
    vrf = underlay.vrf_of.get(row.hosts[0]) if row.hosts else None
    if vrf is not None and row.protocol == "static":
        found.append(
            Prose(
                f"Packets from other subnets of tenant {vrf} do not take it, unless {switch.name} is their "
                "last leaf: they follow the address of a VTEP."
            )
        )
    for loss in dict.fromkeys(filter(None, map(at.loss, row.ports))):
        ports = [port for port in row.ports if at.loss(port) == loss]
        found.append(
            Prose(
                f"{_ports(at, ports)}: {loss}, and the route still leads there: packets of the flows that "
                "hash to it are lost until routes change.",
                Status.BAD,
            )
        )
    if not row.ports and row.hosts and (switch.id, row.hosts[0]) in at.unknown:
        found.append(
            Prose(
                "Unknown unicast: the host is silent and its MAC not known here. Packets from local hosts "
                "of its segment are flooded to every port and every VTEP of the VNI."
            )
        )
    elif not row.ports:
        found.append(Prose("Black hole: packets for it are dropped here (drop reason no_route).", Status.BAD))
    return found


def _why_switch(at: Forwarding, row: Route) -> Prose:
    since = f" since {format_time_ps(row.since_ps)}" if row.since_ps else ""
    if row.protocol == "connected":
        return Prose(f"The cable to {at.fabric.peer_of(row.ports[0]).name}.")
    return Prose(f"Written by BGP{since}.")


def _divided(row: Route) -> str:
    return f"; flows are divided over {len(row.ports)} next hops by hash" if len(row.ports) > 1 else ""


def _why(at: Forwarding, switch: Node, row: Route) -> list[Prose]:
    """Reasons of a route to hosts."""
    fabric, host = at.fabric, row.hosts[0]
    names = ", ".join(fabric.nodes[it].name for it in row.hosts[:3]) + (
        f" and {len(row.hosts) - 3} more" if len(row.hosts) > 3 else ""
    )
    healthy = equal_cost_ports(fabric)
    best = tuple(int(port) for port in healthy.ports_to(switch.id, host))
    since = f" since {format_time_ps(row.since_ps)}" if row.since_ps else ""
    found = []
    if row.protocol == "connected":
        found.append(Prose(f"{names} is attached to {switch.name} at {_ports(at, row.ports)}."))
    elif row.protocol == "shortest-path" and row.ports:
        cables = int(healthy.distance[switch.id, healthy.class_of_host[host]]) + 1
        same = set(row.ports) == set(best)
        found.append(
            Prose(
                f"Shortest path{since}: {names} {'is' if len(row.hosts) == 1 else 'are'} "
                f"{cables} cables away with every cable up"
                f"{'' if same else ', and these are the shortest paths over those that are up now'}"
                f"{_divided(row)}."
            )
        )
    elif row.protocol == "static":
        found.append(
            Prose(
                f"A route fault of the scenario wrote it{since}; shortest paths would leave by "
                f"{_ports(at, best) or 'nowhere'}.",
                Status.WARNING,
            )
        )
    elif row.protocol in {"bgp", "evpn"} and row.ports:
        found.append(Prose(f"Written by {row.protocol.upper()}{since}{_divided(row)}."))
    missing = [port for port in best if port not in row.ports and port in at.down]
    if missing:
        found.append(Prose(f"Left out: {_ports(at, missing)}, whose cable is down."))
    return found


def frr_json(at: Forwarding, rows: Sequence[Route], underlay: Underlay = NONE) -> dict[str, Any]:
    """The format of FRR's `show ip route json`: prefix -> list of routes, with their next hops."""
    plan = addressing(at.fabric)
    distance = _DISTANCE | ({"bgp": _INTERNAL, "evpn": _INTERNAL} if underlay.internal else {})
    return {
        str(row.network): [
            {
                "prefix": str(row.network),
                "prefixLen": row.network.prefixlen,
                "protocol": row.protocol,
                "vrfId": 0,
                "vrfName": "default",
                "selected": True,
                "destSelected": True,
                "distance": distance[row.protocol],
                "metric": 0,
                "installed": bool(row.ports),
                "table": 254,
                "internalNextHopNum": len(row.ports),
                "internalNextHopActiveNum": sum(port not in at.dead for port in row.ports),
                "uptime": _uptime(at.time_ps - row.since_ps),
                "nexthops": [
                    _next_hop(at, port, "" if row.protocol == "connected" else next_hop_ip(plan, at, port, underlay))
                    for port in row.ports
                ],
            }
        ]
        for row in rows
    }


def _next_hop(at: Forwarding, port: int, address: str) -> dict[str, Any]:
    """address: of the neighbour; '' for a connected route."""
    up = port not in at.down  # the switch sees a silent cable as up
    where = {"ip": address, "afi": "ipv6" if ":" in address else "ipv4"} if address else {"directlyConnected": True}
    return {
        "flags": 3 if up else 0,
        "fib": up,
        **where,
        "interfaceIndex": at.fabric.ports[port].index + 2,
        "interfaceName": at.fabric.ports[port].name,
        "active": up,
        **({"weight": 1} if address else {}),
    }


def _uptime(age_ps: int) -> str:
    """As FRR writes it: hh:mm:ss."""
    seconds = max(age_ps, 0) // 10**12
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
