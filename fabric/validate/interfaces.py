"""Addresses of a switch's interfaces, parsed once: who owns one, and which interface is in a neighbour's subnet.

A fabric of 256 switches has 12,000 sessions, each of which asks for both; a search over all addresses of a switch for
each of them takes a minute.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Final

from fabric.configs.interface_address import interface_of
from fabric.configs.model import Device
from fabric.validate.facts import Facts

_NOTE: Final = "addresses of interfaces"


class Interfaces:
    """The addresses of one switch, the first interface of each first."""

    def __init__(self, device: Device) -> None:
        self.own: dict[str, str] = {}
        """Address without length to its interface."""
        self.networks: dict[str, list[IPv4Network | IPv6Network]] = {}
        """Address without length to its subnet at each interface that has it."""
        self._subnets: dict[tuple[int, int], dict[int, list[tuple[int, str, str, str]]]] = {}
        """(IP version, bits of the host part) to network to (order, interface, address, address with its length)."""
        order = 0
        for name, texts in device.addresses.items():
            for text in texts:
                its = interface_of(text)
                own, host_bits = str(its.ip), its.max_prefixlen - its.network.prefixlen
                self.own.setdefault(own, name)
                self.networks.setdefault(own, []).append(its.network)
                of_length = self._subnets.setdefault((its.version, host_bits), {})
                of_length.setdefault(int(its.ip) >> host_bits, []).append((order, name, own, text))
                order += 1

    def facing(self, address: str) -> tuple[str, str]:
        """(interface, own address) in whose subnet an address of a neighbour is; ('', '') where there is none."""
        return next(((name, own) for name, own, _ in self.beside(address)), ("", ""))

    def beside(self, address: str) -> list[tuple[str, str, str]]:
        """(interface, own address, the same with its length) of all in whose subnet another switch's address is."""
        try:
            other = ip_address(address)
        except ValueError:
            return []  # a name, or nothing
        found = [
            row
            for (version, host_bits), networks in self._subnets.items()
            if version == other.version
            for row in networks.get(int(other) >> host_bits, ())
            if row[2] != str(other)
        ]
        return [row[1:] for row in sorted(found)]


def interfaces_of(facts: Facts, device: Device) -> Interfaces:
    """The addresses of a switch; kept with the facts."""
    known: dict[str, Interfaces] = facts.notes.setdefault(_NOTE, {})
    if device.name not in known:
        known[device.name] = Interfaces(device)
    return known[device.name]
