"""Facts of the control plane for metrics. The caller that runs BGP and EVPN fills them in; this package never reads a
speaker.

Rows keep their positions from one set of facts to the next, and new rows are appended. A peer that is gone keeps its
row, in state idle, with its counters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BGP_STATES: Final = ("idle", "connect", "active", "opensent", "openconfirm", "established")
"""RFC 4271 section 8.2.2."""

EVPN_TYPES: Final = ("ead", "macip", "multicast", "es", "prefix")
"""Route types 1 to 5 (RFC 7432 section 7, RFC 9136), in the terms of FRR's `show bgp l2vpn evpn route type`."""


@dataclass(frozen=True, slots=True)
class BgpPeer:
    """One end of one session."""

    device: str
    peer: str
    """The remote device; with its port where two devices have several sessions."""
    state: str
    """One of BGP_STATES."""
    flaps: int = 0
    """Times that the session left Established."""


@dataclass(frozen=True, slots=True)
class BgpPrefixes:
    """Routes of one address family that a session received."""

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
    """Addresses of one VNI that moved to another VTEP, as learnt by a device (RFC 7432 section 7.7)."""

    device: str
    vni: int
    moves: int
    """Since the start of the run."""


@dataclass(frozen=True, slots=True)
class ControlFacts:
    """The control plane at one time."""

    peers: tuple[BgpPeer, ...] = ()
    prefixes: tuple[BgpPrefixes, ...] = ()
    evpn: tuple[EvpnRoutes, ...] = ()
    moves: tuple[MacMoves, ...] = ()
