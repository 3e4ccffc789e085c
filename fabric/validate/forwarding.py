"""Where each switch sends packets of each prefix, by the connected, static and BGP routes of the configurations.

A route of BGP is what the speakers converged to (reachability.py), a static one what the file says, with its distance
(eBGP has 20). Prefixes are those that some switch originates or has a static route for, the default route among them.
Sources: RFC 1812 section 5.2.4.3 (longest match); RFC 4271 section 9.1; administrative distances of FRR, EOS and NX-OS.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network, ip_address, ip_network

from fabric.configs.interface_address import interface_of
from fabric.configs.model import Device, StaticRoute
from fabric.controlplane.network.forwarding import prefix_key
from fabric.validate.facts import Facts
from fabric.validate.paths import EBGP_DISTANCE
from fabric.validate.reachability import Reachability


@dataclass(frozen=True, slots=True)
class Step:
    """What a switch does with packets of a prefix."""

    to: tuple[str, ...] = ()
    """The switches of its next hops."""
    ends: bool = False
    """It delivers, discards on purpose, or passes them to what is in no file."""
    static: StaticRoute | None = None
    """The route, where it is a static one."""
    unresolved: str = ""
    """A gateway to which the switch itself has no route."""

    @property
    def missing(self) -> bool:
        """Whether the switch has no route."""
        return not self.to and not self.ends


class ForwardingPlan:
    """The steps of every switch for every prefix."""

    def __init__(self, facts: Facts, reach: Reachability) -> None:
        self._facts = facts
        self._reach = reach

    @cached_property
    def prefixes(self) -> tuple[IPv4Network, ...]:
        """Every IPv4 prefix that is originated or has a static route, in order."""
        found = {IPv4Network(prefix) for router in self._reach.plan.routers for prefix in router.networks}
        found |= {it for device in self._facts.devices for it in self._static[device.name]}
        return tuple(sorted(found))

    @cached_property
    def _static(self) -> dict[str, dict[IPv4Network, StaticRoute]]:
        """The nearest static route for each prefix."""
        found: dict[str, dict[IPv4Network, StaticRoute]] = {}
        for device in self._facts.devices:
            table = found.setdefault(device.name, {})
            for route in device.routes:
                prefix = ip_network(route.prefix)
                if isinstance(prefix, IPv4Network) and (prefix not in table or route.distance < table[prefix].distance):
                    table[prefix] = route
        return found

    @cached_property
    def _connected(self) -> dict[str, frozenset[IPv4Network]]:
        found = {}
        for device in self._facts.devices:
            vrfs = device.identity.interface_vrfs
            texts = [text for name, its in device.addresses.items() if name not in vrfs for text in its]
            texts += device.identity.management
            texts += [it.address for it in device.identity.gateways if it.vlan not in device.identity.vrfs]
            networks = set()
            for text in texts:
                try:
                    network = interface_of(text).network
                except ValueError:
                    continue
                if isinstance(network, IPv4Network):
                    networks.add(network)
            found[device.name] = frozenset(networks)
        return found

    @cached_property
    def _lengths(self) -> tuple[int, ...]:
        connected = {it.prefixlen for its in self._connected.values() for it in its}
        return tuple(sorted({it.prefixlen for it in self.prefixes} | connected, reverse=True))

    def step(self, device: Device, prefix: IPv4Network, *, depth: int = 0) -> Step:
        """What a switch does with packets of a prefix."""
        for length in self._lengths:
            if length > prefix.prefixlen:
                continue
            network = prefix.supernet(new_prefix=length)
            if network in self._connected[device.name]:
                return Step(ends=True)
            static = self._static[device.name].get(network)
            learned = self._learned(device.name, network)
            if static is not None and (learned is None or static.distance < EBGP_DISTANCE):
                return self._resolved(device, static, depth)
            if learned is not None:
                return Step(learned) if learned else Step(ends=True)
        return Step()

    def _learned(self, name: str, network: IPv4Network) -> tuple[str, ...] | None:
        """The switches that BGP sends it to; () where the switch originates it, None where it has no route."""
        return self._reach.next_switches(name, prefix_key(int(network.network_address), network.prefixlen))

    def _resolved(self, device: Device, static: StaticRoute, depth: int) -> Step:
        """Next hops of a static route. One that only another route leads to is looked up once more."""
        to: dict[str, None] = {}
        for gateway, interface in static.hops:
            if not gateway or not _is_ipv4(gateway):
                peer = self._facts.peers.get((device.name, interface), ("", ""))[0]
                if peer not in self._facts.network.devices:
                    return Step(ends=True, static=static)
                to[peer] = None
                continue
            owner = self._facts.owners.get(gateway)
            at = IPv4Address(gateway)
            if interface or any(at in network for network in self._connected[device.name]):
                if owner is None or owner is device:
                    return Step(ends=True, static=static)
                to[owner.name] = None
                continue
            inner = self.step(device, IPv4Network(at), depth=depth + 1) if depth < _MAX_DEPTH else Step()
            through_itself = inner.static is static
            if inner.missing or through_itself:
                return Step(static=static, unresolved=gateway)
            to.update(dict.fromkeys(inner.to))
        return Step(tuple(to), ends=not to, static=static)

    def graph(self, prefix: IPv4Network) -> Iterator[tuple[Device, Step]]:
        """The step of every switch."""
        for device in self._facts.devices:
            yield device, self.step(device, prefix)


_MAX_DEPTH = 4


def _is_ipv4(text: str) -> bool:
    try:
        return ip_address(text).version == 4
    except ValueError:
        return False
