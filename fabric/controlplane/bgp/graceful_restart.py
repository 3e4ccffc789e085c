"""Helper for graceful restart of a neighbour (RFC 4724 section 4.2). Each function returns whether routes changed."""

from __future__ import annotations

from collections.abc import Mapping

from fabric.controlplane.bgp.afi import AddressFamily
from fabric.controlplane.bgp.capabilities import FORWARDING_STATE
from fabric.controlplane.bgp.peer import Peer
from fabric.controlplane.bgp.rib import Table
from fabric.controlplane.bgp.session import Session
from fabric.controlplane.bgp.timers import Timers

Tables = Mapping[AddressFamily, Table]


def resume(tables: Tables, timers: Timers, peer: Peer, session: Session, until_ns: int) -> bool:
    """The neighbour is back: keep the families that it still forwards, until End-of-RIB or `until_ns`."""
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
    """End-of-RIB of one family: remove the routes that are still stale."""
    for family, table in tables.items():
        if family.id == marker:
            peer.end_of_rib_received[family] = now_ns
            return table.remove_source(peer.neighbor.name, stale_only=True)
    return False


def purge(tables: Tables, peer: Peer) -> bool:
    """Remove the stale routes of a neighbour that is not back in time."""
    changed = False
    for table in tables.values():
        changed |= table.remove_source(peer.neighbor.name, stale_only=True)
    return changed
