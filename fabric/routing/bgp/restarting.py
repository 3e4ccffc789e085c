"""Graceful restart of a neighbour (RFC 4724 section 4.2): this end helps. Each function says whether routes changed."""

from __future__ import annotations

from collections.abc import Mapping

from fabric.routing.bgp.afi import AddressFamily
from fabric.routing.bgp.capabilities import FORWARDING_STATE
from fabric.routing.bgp.peer import Peer
from fabric.routing.bgp.rib import Table
from fabric.routing.bgp.session import Session
from fabric.routing.bgp.timers import Timers

Tables = Mapping[AddressFamily, Table]


def resume(tables: Tables, timers: Timers, peer: Peer, session: Session, until_ns: int) -> bool:
    """The neighbour is back: keep what it says it still forwards, until End-of-RIB or `until_ns`."""
    agreed, changed = session.agreed, False
    listed = agreed.peer.restart_families if agreed is not None else ()
    forwarding = {(afi, safi) for afi, safi, flags in listed if flags & FORWARDING_STATE}
    timers.stop(peer.stale_timer)
    for family, table in tables.items():
        if family.id not in forwarding:
            changed |= table.remove_source(peer.neighbor.name, stale_only=True)
    if forwarding:
        timers.set(peer.stale_timer, until_ns)
    return changed


def end_of_rib(tables: Tables, peer: Peer, marker: tuple[int, int], now_ns: int) -> bool:
    """The neighbour has told all it has in one family."""
    for family, table in tables.items():
        if family.id == marker:
            peer.end_of_rib_received[family] = now_ns
            return table.remove_source(peer.neighbor.name, stale_only=True)
    return False


def purge(tables: Tables, peer: Peer) -> bool:
    """Drop what was kept for a neighbour that is not back in time."""
    changed = False
    for table in tables.values():
        changed |= table.remove_source(peer.neighbor.name, stale_only=True)
    return changed
