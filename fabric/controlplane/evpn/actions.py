"""Actions that an overlay returns: requests and reports, as plain values in order. The owner adds the time.

Originate and Withdraw go to the switch's speaker. The others report changes of the forwarding tables. Each holds many
entries with the same new state, so that the tables of a whole fabric are a few thousand values and not millions.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.evpn.evpn_nlri import EvpnKey, Payload
from fabric.controlplane.evpn.mac import MacKind, NeighborKind


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
    """MACs of a VNI that are now behind one port or VTEP, or (`kind` None) were removed from the table."""

    vni: int
    macs: tuple[str, ...]
    kind: MacKind | None
    port: str = ""
    """If `kind` is LOCAL."""
    vtep: str = ""
    """If `kind` is REMOTE."""


@dataclass(frozen=True, slots=True)
class NeighborsChanged:
    """(IP, MAC) bindings of a VNI with one kind and VTEP, or (`kind` None) removed. Suppression answers from them."""

    vni: int
    bindings: tuple[tuple[str, str], ...]
    kind: NeighborKind | None
    vtep: str = ""


@dataclass(frozen=True, slots=True)
class FloodListChanged:
    """Flood list of a VNI (VTEPs for broadcast, unknown unicast and multicast), complete and sorted."""

    vni: int
    vteps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TenantRoutesChanged:
    """Prefixes of a tenant whose next hops changed; VrfTable.hops has the new ones."""

    tenant: str
    prefixes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DuplicateMac:
    """A MAC moved too often (RFC 7432 section 15.1): alert an operator."""

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


Action = (
    Originate
    | Withdraw
    | MacsChanged
    | NeighborsChanged
    | FloodListChanged
    | TenantRoutesChanged
    | DuplicateMac
    | StickyMacMoved
)
