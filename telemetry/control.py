"""Facts of the control plane that metrics are made of. Whoever runs BGP and EVPN fills them in; this package never
looks at a speaker itself.

Rows keep their places from one set of facts to the next, and new ones come at the end: a peer that is gone stays, in
state idle, as its counters do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BGP_STATES: Final = ("idle", "connect", "active", "opensent", "openconfirm", "established")
"""RFC 4271 section 8.2.2."""

EVPN_TYPES: Final = ("ead", "macip", "multicast", "es", "prefix")
"""Route types 1 to 5 (RFC 7432 section 7, RFC 9136), in the words of FRR's `show bgp l2vpn evpn route type`."""


@dataclass(frozen=True, slots=True)
class BgpPeer:
    """One end of one session."""

    device: str
    peer: str
    """The device at the other end; with its port where two devices have several sessions."""
    state: str
    """One of BGP_STATES."""
    flaps: int = 0
    """Times that the session left Established."""


@dataclass(frozen=True, slots=True)
class BgpPrefixes:
    """Routes of one address family that a session brought in."""

    device: str
    peer: str
    family: str
    """'ipv4-unicast', 'l2vpn-evpn'."""
    accepted: int


@dataclass(frozen=True, slots=True)
class EvpnRoutes:
    """EVPN routes of one type that a device holds."""

    device: str
    route_type: str
    """One of EVPN_TYPES."""
    routes: int


@dataclass(frozen=True, slots=True)
class MacMoves:
    """Addresses of one VNI that a device came to believe elsewhere (RFC 7432 section 7.7)."""

    device: str
    vni: int
    moves: int
    """Since the start of the run."""


@dataclass(frozen=True, slots=True)
class ControlFacts:
    """The control plane at one moment."""

    peers: tuple[BgpPeer, ...] = ()
    prefixes: tuple[BgpPrefixes, ...] = ()
    evpn: tuple[EvpnRoutes, ...] = ()
    moves: tuple[MacMoves, ...] = ()
