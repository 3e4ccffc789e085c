"""What an overlay asks its owner to do, or tells it. Plain values, in order; the owner gives them their date.

Originate and Withdraw go to the switch's speaker. The others say what changed in the tables a data plane forwards by;
each carries many entries of one fate, so that a whole fabric's tables are a few thousand values and not millions.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric.overlay.evpn_nlri import EvpnKey, Payload
from fabric.overlay.mac import MacKind, NeighborKind
from fabric.routing.bgp.attributes import Attributes


@dataclass(frozen=True, slots=True)
class Originate:
    """speaker.originate(EVPN, keys, attributes, now, next_hop=next_hop, payload=payload)."""

    keys: tuple[EvpnKey, ...]
    attributes: Attributes
    next_hop: bytes
    payload: Payload | None


@dataclass(frozen=True, slots=True)
class Withdraw:
    """speaker.withdraw(EVPN, keys, now)."""

    keys: tuple[EvpnKey, ...]


@dataclass(frozen=True, slots=True)
class MacsChanged:
    """MACs of a VNI that are now all behind the same port or VTEP, or (`kind` None) are gone from the table."""

    vni: int
    macs: tuple[str, ...]
    kind: MacKind | None
    port: str = ""
    """Where `kind` is LOCAL."""
    vtep: str = ""
    """Where `kind` is REMOTE."""


@dataclass(frozen=True, slots=True)
class NeighborsChanged:
    """(IP, MAC) bindings of a VNI, all of one kind and VTEP, or (`kind` None) gone; suppression answers from them."""

    vni: int
    bindings: tuple[tuple[str, str], ...]
    kind: NeighborKind | None
    vtep: str = ""


@dataclass(frozen=True, slots=True)
class FloodListChanged:
    """To which VTEPs broadcast, unknown unicast and multicast of a VNI are replicated, complete and sorted."""

    vni: int
    vteps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TenantRoutesChanged:
    """Prefixes of a tenant whose way through the fabric changed; ask the table where to."""

    tenant: str
    prefixes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DuplicateMac:
    """A MAC moved too often (RFC 7432 section 15.1): an operator is to be alerted."""

    vni: int
    mac: str
    moves: int
    frozen: bool


@dataclass(frozen=True, slots=True)
class StickyMacMoved:
    """A MAC that is sticky elsewhere was seen here and not learned (RFC 7432 section 15.2): alert an operator."""

    vni: int
    mac: str
    port: str
    vtep: str


Action = (Originate | Withdraw | MacsChanged | NeighborsChanged | FloodListChanged | TenantRoutesChanged | DuplicateMac
          | StickyMacMoved)
