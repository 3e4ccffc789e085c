"""Resolution of next hops: reachability and metric by longest match, RFC 4271 section 9.1.2.1.

Next hops resolve over routes outside BGP (connected, static, an interior protocol) and over the IPv4 unicast Loc-RIB. A
BGP default route does not count, as in FRR (`ip nht resolve-via-default` is off).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fabric.controlplane.bgp.afi import prefix_key
from fabric.controlplane.bgp.rib import Table


class NextHops:
    """Resolution of the next hops of one speaker; results are cached until a route below them changes."""

    def __init__(self, ipv4: Table) -> None:
        self._ipv4 = ipv4
        self._interior: dict[bytes, int] = {}
        self._known: dict[bytes, int | None] = {}

    def metric(self, next_hop: bytes) -> int | None:
        """Metric of a packed IPv4 next hop; None: unreachable. b'' (self) and IPv6 next hops have metric 0."""
        if len(next_hop) != 4:
            return 0
        if next_hop not in self._known:
            self._known[next_hop] = self._resolve(next_hop)
        return self._known[next_hop]

    def _resolve(self, next_hop: bytes) -> int | None:
        number = int.from_bytes(next_hop)
        for bits in range(32, 0, -1):
            key = bytes([bits]) + (number >> (32 - bits) << (32 - bits)).to_bytes(4)[: bits + 7 >> 3]
            if key in self._interior:
                return self._interior[key]
            group = self._ipv4.group_of.get(key)
            if group is not None and group.selection is not None:
                return 0
        return self._interior.get(b"\0")

    def set_interior(self, metrics: Mapping[str, int | None]) -> dict[bytes, None]:
        """Change routes outside BGP; None removes one. Returns the next hops whose metric changed."""
        for text, metric in metrics.items():
            key = prefix_key(text)
            if metric is None:
                self._interior.pop(key, None)
            else:
                self._interior[key] = metric
        return self._again(self._known)

    def changed(self, keys: Iterable[bytes]) -> dict[bytes, None]:
        """IPv4 unicast routes changed. Returns the next hops whose metric changed."""
        exact: dict[bytes, None] = {}
        for key in keys:
            if key[0] != 32:
                return self._again(self._known)
            if key[1:] in self._known:
                exact[key[1:]] = None
        return self._again(exact)

    def _again(self, next_hops: Iterable[bytes]) -> dict[bytes, None]:
        moved: dict[bytes, None] = {}
        for next_hop in list(next_hops):
            metric = self._resolve(next_hop)
            if metric != self._known.get(next_hop):
                moved[next_hop] = None
                self._known[next_hop] = metric
        return moved
