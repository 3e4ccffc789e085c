"""Which prefixes a switch puts into BGP: network statements with a route of that length, redistribution, aggregates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Network, ip_network
from typing import TYPE_CHECKING

from fabric.configs.identity import Aggregate
from fabric.configs.interface_address import interface_of
from fabric.configs.model import Device
from fabric.configs.policy import Use, matches
from fabric.configs.text.spelling import prefix_of

if TYPE_CHECKING:
    from fabric.configs.model import Where


def has_route(device: Device, text: str) -> bool:
    """Whether a switch has a route for a network statement: an interface in the prefix, or a static route.

    EOS, NX-OS and FRR (`bgp network import-check`, on by default) advertise a prefix that the routing table has; an
    interface of another VRF is not in it. A file without addresses is a part of one, and decides nothing.
    """
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        return False
    others = device.identity.interface_vrfs
    connected = (
        interface_of(it).network for name, its in device.addresses.items() if not others.get(name) for it in its
    )
    own = (interface_of(it).ip for its in device.addresses.values() for it in its)
    gateways = {str(prefix_of(it.address)) for it in device.identity.gateways}
    if not device.addresses or all(it.version != network.version or it not in network for it in own):
        return True  # a prefix of routes that other protocols bring
    return network in connected or str(network) in gateways or any(it.prefix == str(network) for it in device.routes)


def dropped_by(device: Device, text: str) -> tuple[str, Where] | None:
    """The route map that keeps the prefix of a network statement out of BGP, with its place."""
    stated = device.identity.network_maps.get(text)
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        return None
    if stated is None or not isinstance(network, IPv4Network) or lets(device, *stated, network):
        return None
    return stated


def lets(device: Device, name: str, where: Where, network: IPv4Network, tag: str = "") -> bool:
    """Whether a route map lets a route of this switch into BGP; what it does not say, or is not read, it does."""
    policies = device.identity.policies
    for clause in policies.clauses(Use("ipv4", False, name, where)) or ():
        found = matches(policies, clause, "ipv4", network, tag)
        if found and clause.as_paths:  # a route of the switch has an empty AS_PATH
            rules = [it for path in clause.as_paths for it in policies.as_path_lists.get(path, ())]
            found = next((permits for permits, pattern in rules if re.search(pattern, "")), False)
        if found is None or (found and not clause.communities):
            return found is None or clause.permit
    return name not in policies.route_maps


def hidden(device: Device, network: IPv4Network) -> Iterator[Aggregate]:
    """Aggregates of a switch that keep a more specific route from its neighbours (RFC 4271 section 9.2.2.2)."""
    for it in device.identity.aggregates:
        whole = ip_network(it.prefix, strict=False)
        inside = isinstance(whole, IPv4Network) and network.subnet_of(whole) and network != whole
        if it.hides and inside and (not it.hidden_by or lets(device, it.hidden_by, it.where, network)):
            yield it
