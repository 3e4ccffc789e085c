"""One switch's forwarding tables as its hardware has them: prefixes to ports, without ports that have no carrier."""

from __future__ import annotations

from collections.abc import Iterable

Ports = tuple[int, ...]
"""Rows of ports in the data plane, ascending; () is no route."""


def prefix_key(address: int, length: int) -> bytes:
    """(0x0A000001, 32) -> the route key of IPv4 unicast: length and significant bytes (RFC 4271 section 4.3)."""
    return bytes([length]) + address.to_bytes(4, "big")[: length + 7 >> 3]


class Forwarding:
    """Prefix -> ports. What BGP installs is kept apart from connected routes, which win, and from carrier.

    A port that loses light leaves its ECMP groups at once, without the routing daemon's help: traffic moves to the
    other members long before BGP has reacted, and only groups without another member become black holes.
    """

    def __init__(self) -> None:
        self._installed: dict[bytes, Ports] = {}
        self._connected: dict[bytes, Ports] = {}
        self._dark: set[int] = set()
        self._through: dict[int, set[bytes]] = {}

    def connect(self, key: bytes, ports: Ports) -> None:
        """Put a connected route; it stays for ever and holds while one of its ports has carrier."""
        self._connected[key] = ports
        for port in ports:
            self._through.setdefault(port, set()).add(key)

    def install(self, key: bytes, ports: Ports) -> bool:
        """Put a route of BGP (() takes it away); returns whether forwarding changed."""
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
        """Ports that forward a prefix now."""
        return self._lit(self._connected.get(key, ())) or self._lit(self._installed.get(key, ()))

    def _lit(self, ports: Ports) -> Ports:
        if self._dark and not self._dark.isdisjoint(ports):
            return tuple(port for port in ports if port not in self._dark)
        return ports

    def carrier(self, port: int, *, up: bool) -> list[bytes]:
        """A port gains or loses light; returns the prefixes whose forwarding may have changed, in order."""
        if up == (port not in self._dark):
            return []
        (self._dark.discard if up else self._dark.add)(port)
        return sorted(self._through.get(port, ()))

    def is_dark(self, port: int) -> bool:
        """Whether a port has no carrier."""
        return port in self._dark

    def clear(self) -> list[bytes]:
        """Forget what BGP installed (a switch that starts anew); returns the prefixes that were there, in order."""
        keys = sorted(self._installed)
        for key in keys:
            self.install(key, ())
        return keys

    def keys(self) -> Iterable[bytes]:
        """Prefixes with a route, installed or connected."""
        return self._connected.keys() | self._installed.keys()
