"""Prefixes of a network: which switch delivers them, which route of a table matches, which port a next hop leaves by.

Destinations are what hosts live in, and loopbacks; the prefixes of links between switches are none. A default route
matches what nothing else does, but is no destination. Longest match: RFC 1812 section 5.2.4.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from ipaddress import ip_network
from typing import TYPE_CHECKING, Final

from fabric.configs.interface_address import interface_of
from fabric.configs.model import Device, StaticRoute
from fabric.configs.network import End
from fabric.configs.routes import Network, NextHop, Route

if TYPE_CHECKING:
    from fabric.validate.facts import Facts

_MANAGEMENT: Final = ("docker", "eth0", "mgmt", "management", "veth", "usb")
"""Interfaces of the management network, by the beginnings of their names."""


class Addresses:
    """What follows from interface addresses and tables."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def destinations(self) -> Iterator[tuple[Network, frozenset[str]]]:
        """Every prefix with the switches that deliver it: of the FIBs, or of static routes where there are none."""
        fibs = self._facts.network.fibs
        prefixes = (
            {route.prefix for table in fibs.values() for route in table}
            if fibs
            else {ip_network(route.prefix) for device in self._facts.devices for route in device.routes}
        )
        for prefix in sorted(prefixes, key=lambda it: (it.version, int(it.network_address), it.prefixlen)):
            ends = self._delivered.get(prefix, frozenset())
            if not ends and not fibs:
                ends = frozenset(
                    name for network, names in self._delivered.items() if _covers(network, prefix) for name in names
                )
            if prefix.prefixlen and ends and not prefix.is_link_local and prefix not in self._links:
                yield prefix, ends

    @cached_property
    def _delivered(self) -> dict[Network, frozenset[str]]:
        """Prefix to the switches that have it on an interface towards no switch and no management network."""
        found: dict[Network, set[str]] = {}
        for device in self._facts.devices:
            for network, name in self._networks.get(device.name, ()):
                if name not in self._transit(device):
                    found.setdefault(network, set()).add(device.name)
            for prefix, route in self._tables.get(device.name, {}).items():
                names = {hop.interface for hop in route.hops}
                if (
                    route.connected
                    and not names & self._transit(device)
                    and not any(name.lower().startswith(_MANAGEMENT) for name in names)
                ):
                    found.setdefault(prefix, set()).add(device.name)
        return {prefix: frozenset(names) for prefix, names in found.items()}

    @cached_property
    def _links(self) -> frozenset[Network]:
        """Prefixes of links between switches."""
        found = {
            network
            for device in self._facts.devices
            for network, name in self._networks.get(device.name, ())
            if name in self._transit(device)
        }
        for name, table in self._tables.items():
            transit = self._transit(self._facts.network.devices[name])
            found |= {
                prefix
                for prefix, route in table.items()
                if route.connected and transit & {hop.interface for hop in route.hops}
            }
        return frozenset(found)

    @cached_property
    def _networks(self) -> dict[str, list[tuple[Network, str]]]:
        return {
            device.name: [
                (interface_of(text).network, name) for name, texts in device.addresses.items() for text in texts
            ]
            for device in self._facts.devices
        }

    def _transit(self, device: Device) -> frozenset[str]:
        """Interfaces towards switches: ports and LAGs."""
        cached = self._transits.get(device.name)
        if cached is None:
            names = {
                port
                for port in device.ports
                if self._facts.peers.get((device.name, port), ("",))[0] in self._facts.network.devices
            }
            lags = {device.ports[port].lag or "" for port in names}
            cached = self._transits[device.name] = frozenset(names | lags)
        return cached

    @cached_property
    def _transits(self) -> dict[str, frozenset[str]]:
        return {}

    @cached_property
    def _tables(self) -> dict[str, dict[Network, Route]]:
        return {name: {route.prefix: route for route in table} for name, table in self._facts.network.fibs.items()}

    @cached_property
    def _lengths(self) -> dict[str, dict[int, list[int]]]:
        """Prefix lengths of each table by IP version, longest first."""
        return {
            name: {
                version: sorted({it.prefixlen for it in table if it.version == version}, reverse=True)
                for version in (4, 6)
            }
            for name, table in self._tables.items()
        }

    def match(self, name: str, prefix: Network) -> Route | None:
        """The route of a switch's table that packets to this prefix take."""
        table = self._tables[name]
        for length in self._lengths[name][prefix.version]:
            if length <= prefix.prefixlen:
                found = table.get(prefix.supernet(new_prefix=length))
                if found is not None:
                    return found
        return None

    def route_of(self, name: str, static: StaticRoute) -> Route:
        """A static route as a route."""
        device = self._facts.network.devices[name]
        hops = tuple(NextHop(gateway, interface) for gateway, interface in static.hops)
        return Route(ip_network(static.prefix), hops, device.place(static.where))

    @cached_property
    def _owners(self) -> dict[str, End]:
        """Address to (switch, interface)."""
        return {
            str(interface_of(text).ip): (device.name, name)
            for device in self._facts.devices
            for name, texts in device.addresses.items()
            for text in texts
        }

    def ports(self, name: str, hop: NextHop) -> list[End]:
        """The ports of a switch that a next hop leaves by: the interface, its LAG's members, or the gateway's ports."""
        device = self._facts.network.devices[name]
        if hop.interface in device.ports:
            return [(name, hop.interface)]
        members = [
            (name, port.name)
            for port in device.ports.values()
            if port.lag is not None and port.lag == hop.interface and port.admin_up
        ]
        if members or not hop.gateway:
            return members
        owner = self._owners.get(hop.gateway)
        if owner is None:
            return []
        return [
            out
            for out, into in self._facts.peers.items()
            if out[0] == name and into[0] == owner[0] and owner[1] in {into[1], self._lag(into)}
        ] or [out for out, into in self._facts.peers.items() if out[0] == name and into[0] == owner[0]]

    def _lag(self, end: End) -> str:
        line = self._facts.line(end)
        return "" if line is None else line.port.lag or ""


def _covers(network: Network, prefix: Network) -> bool:
    """Whether hosts of the prefix are on this network."""
    return (
        network.version == prefix.version
        and (
            int(network.network_address) >> (network.max_prefixlen - network.prefixlen)
            == int(prefix.network_address) >> (network.max_prefixlen - network.prefixlen)
        )
        and network.prefixlen <= prefix.prefixlen
    )
