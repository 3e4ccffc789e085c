"""Forwarding table of one switch in hardware: prefixes to ports, without the ports that are down."""

from __future__ import annotations

from collections.abc import Iterable

Ports = tuple[int, ...]
"""Rows of ports in the data plane, ascending; (): no route."""


def prefix_key(address: int, length: int) -> bytes:
    """(0x0A000001, 32) -> the route key of IPv4 unicast: length and significant bytes (RFC 4271 section 4.3)."""
    return bytes([length]) + address.to_bytes(4, "big")[: length + 7 >> 3]


class Forwarding:
    """Prefix -> ports. BGP routes, connected routes (which win) and carrier are stored separately.

    A port that loses carrier leaves its ECMP groups at once, without the routing daemon. So traffic moves to the other
    members before BGP reacts, and only groups without another member become black holes.
    """

    def __init__(self) -> None:
        self._installed: dict[bytes, Ports] = {}
        self._connected: dict[bytes, Ports] = {}
        self._down: set[int] = set()
        self._through: dict[int, set[bytes]] = {}

    def connect(self, key: bytes, ports: Ports) -> None:
        """Add a permanent connected route; it is in force while one of its ports has carrier."""
        self._connected[key] = ports
        for port in ports:
            self._through.setdefault(port, set()).add(key)

    def install(self, key: bytes, ports: Ports) -> bool:
        """Install a BGP route (() removes it); returns whether forwarding changed."""
        before = self.ports(key)
        connected = self._connected.get(key, ())
        for port in self._installed.get(key, ()):
            if port not in connected:
                self._through[port].discard(key)
        if ports:
            self._installed[key] = ports
            for port in ports:
                self._through.setdefault(port, set()).add(key)
        else:
            self._installed.pop(key, None)
        return self.ports(key) != before

    def ports(self, key: bytes) -> Ports:
        """Ports to which a prefix is forwarded."""
        return self._up_ports(self._connected.get(key, ())) or self._up_ports(self._installed.get(key, ()))

    def _up_ports(self, ports: Ports) -> Ports:
        if self._down and not self._down.isdisjoint(ports):
            return tuple(port for port in ports if port not in self._down)
        return ports

    def carrier(self, port: int, *, up: bool) -> list[bytes]:
        """A port gains or loses carrier; returns the prefixes whose forwarding may have changed, in order."""
        if up == (port not in self._down):
            return []
        (self._down.discard if up else self._down.add)(port)
        return sorted(self._through.get(port, ()))

    def is_down(self, port: int) -> bool:
        """Whether a port has no carrier."""
        return port in self._down

    def clear(self) -> list[bytes]:
        """Remove all BGP routes (a switch restarts); returns their prefixes, in order."""
        keys = sorted(self._installed)
        for key in keys:
            self.install(key, ())
        return keys

    def keys(self) -> Iterable[bytes]:
        """Prefixes with a route, installed or connected."""
        return self._connected.keys() | self._installed.keys()
