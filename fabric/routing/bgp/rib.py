"""Routes a speaker knows: paths, what is selected among them, and tables that keep routes of one fate together.

    Path        one way to reach some routes: from whom, with which attributes, next hop and payload, since when
    Selection   what the decision process chose: best path, multipath set

Nothing here decides or sends.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fabric.routing.bgp.attributes import Attributes


class Source(NamedTuple):
    """Where paths come from, as the decision process and views need it. One object per session, or for local routes."""

    name: str
    """Neighbour's name; '' for routes of this speaker."""
    asn: int
    """Neighbour's AS; the own one for local routes."""
    external: bool
    """True for eBGP."""
    router_id: int
    """BGP identifier."""
    address: bytes
    """Packed address of the neighbour; b'' for local routes."""

    @property
    def local(self) -> bool:
        """True for routes this speaker originated."""
        return not self.name


@dataclass(slots=True, eq=False)
class Path:
    """One way to reach one or more routes, as it stands in the Adj-RIB-In after import policy. Compared by identity."""

    source: Source
    attributes: Attributes
    next_hop: bytes
    """Packed; 4, 16 or 32 bytes; b'' for local routes without one ('self')."""
    payload: Hashable
    """See afi.Block."""
    received_ns: int
    weight: int = 0
    """FRR's: 32768 for local routes; policy may set it."""
    stale: bool = field(default=False)
    """Kept for a peer that restarts gracefully, RFC 4724 section 4.2."""


class Selection(NamedTuple):
    """What the decision process chose for a route."""

    best: Path
    multipath: tuple[Path, ...]
    """All equal-cost paths, the best first."""

    @property
    def next_hops(self) -> tuple[bytes, ...]:
        """Packed next hops, in the order of `multipath`, without repetition."""
        return tuple(dict.fromkeys(path.next_hop for path in self.multipath))
