"""`routing: given`: the `routes:` section -> FIB rows at time 0.

Rules
1. A destination is an IPv4 prefix or a host, which stands for its /32. The longest prefix that holds a host's address
   is in use (RFC 1812 section 5.2.4.3); a switch without one has no route to the host.
2. A host at a port of the switch is connected: its cable is in use, whatever prefixes hold its address.
3. A next hop is a port of the switch, or a neighbour, which stands for all cables to it. [] discards.
4. Nothing changes the routes: a failed cable loses what they send to it. Faults of kind route write beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.edits import FibRoute
from fabric.errors import Problem
from fabric.ids import PortId
from fabric.topology.model import Fabric, Node
from fabric.topology.paths import EcmpTable
from fabric.topology.select import nearest

Given = Mapping[str, Mapping[str, Sequence[str]]]
"""Switch -> destination -> next hops."""


def given_routes(
    given: Given, fabric: Fabric, host_ip: NDArray[np.int64], built: EcmpTable, path: str, problems: list[Problem]
) -> tuple[FibRoute, ...]:
    """Rows that differ from those with which the engine starts.

    Parameters
    ----------
    host_ip : (n_nodes,) addresses of hosts as integers
    built : shortest paths, with which the engine starts; of them only connected hosts are kept
    path : of the section; names that fit nothing, and routes without effect, are problems there
    """
    switches = {node.name: node for node in fabric.switches}
    tables: dict[int, dict[int, tuple[PortId, ...]]] = {}
    for name, routes in given.items():
        node = switches.get(name)
        if node is None:
            problems.append(Problem(f"{path}.{name}", f"no switch is called '{name}'", nearest(name, [*switches])))
            continue
        tables[node.id] = _table(node, routes, fabric, host_ip, f"{path}.{name}", problems)
    return tuple(_changes(tables, fabric, built)) if not problems else ()


def _changes(
    tables: Mapping[int, Mapping[int, Sequence[PortId]]], fabric: Fabric, built: EcmpTable
) -> Iterator[FibRoute]:
    for switch in fabric.switches:
        rows = tables.get(switch.id, {})
        for host in fabric.hosts:
            if (switch.id, host.id) in built.delivery:
                continue
            ports = tuple(rows.get(host.id, ()))
            if ports != tuple(built.ports_to(switch.id, host.id)):
                yield FibRoute(0, switch.id, host.id, ports)


def _table(
    node: Node,
    routes: Mapping[str, Sequence[str]],
    fabric: Fabric,
    host_ip: NDArray[np.int64],
    path: str,
    problems: list[Problem],
) -> dict[int, tuple[PortId, ...]]:
    """Host -> next hops of one switch."""
    prefixes: dict[IPv4Network, str] = {}
    for destination in routes:
        network = _network(destination, fabric, host_ip, f"{path}.{destination}", problems)
        if network is None:
            continue
        if network in prefixes:
            text = f"'{destination}' and '{prefixes[network]}' are one destination, {network}"
            problems.append(Problem(f"{path}.{destination}", text, "remove one of them"))
        prefixes[network] = destination
    own = {peer.id for _, peer in fabric.neighbours(node.id) if peer.is_host}
    remote = [host for host in fabric.hosts if host.id not in own]
    address = {host.id: IPv4Address(int(host_ip[host.id])) for host in remote}
    left = dict.fromkeys(address)
    found: dict[int, tuple[PortId, ...]] = {}
    for network, destination in sorted(prefixes.items(), key=lambda it: -it[0].prefixlen):
        ports = _ports(node, routes[destination], fabric, f"{path}.{destination}", problems)
        mine = [host for host in left if address[host] in network]
        for host in mine:
            del left[host]
            found[host] = ports
        if not mine:
            within = [host.name for host in fabric.hosts if IPv4Address(int(host_ip[host.id])) in network]
            text = "has no effect: " + (
                "no host has an address in it"
                if not within
                else f"longer prefixes and connected hosts take all of it ({', '.join(within[:3])})"
            )
            problems.append(Problem(f"{path}.{destination}", text, "remove it"))
    return found


def _network(
    destination: str, fabric: Fabric, host_ip: NDArray[np.int64], path: str, problems: list[Problem]
) -> IPv4Network | None:
    host = fabric.by_name.get(destination)
    if host is not None and host.is_host:
        return IPv4Network(int(host_ip[host.id]))
    if "/" not in destination:
        known = [node.name for node in fabric.hosts]
        hint = nearest(destination, known, "hosts") + ", or write a prefix such as 10.0.0.0/8"
        problems.append(Problem(path, f"no host is called '{destination}'", hint))
        return None
    try:
        return IPv4Network(destination)
    except (AddressValueError, NetmaskValueError, ValueError) as error:
        problems.append(Problem(path, f"is no IPv4 prefix: {error}", "write one such as 10.64.0.0/16"))
        return None


def _ports(node: Node, via: Sequence[str], fabric: Fabric, path: str, problems: list[Problem]) -> tuple[PortId, ...]:
    """Ports that next hops stand for, ascending."""
    cables = [(port, peer) for port, peer in fabric.neighbours(node.id) if not peer.is_host]
    found: set[PortId] = set()
    for name in via:
        ports = {port.id for port, peer in cables if name in (peer.name, port.name)}
        if not ports:
            other = fabric.by_name.get(name)
            at_host = any(name == port.name for port, _ in fabric.neighbours(node.id))
            text = f"{node.name} has no port or neighbour '{name}'"
            if at_host or (other is not None and other.is_host):
                text = f"'{name}' leads to a host, which does not forward"
            names = list(dict.fromkeys(peer.name for _, peer in cables))
            problems.append(Problem(path, text, nearest(name, names, "neighbours") or "name a port to a switch"))
        if ports & found:
            problems.append(Problem(path, f"'{name}' names a port that is named before", "remove it"))
        found |= ports
    return tuple(sorted(found))
