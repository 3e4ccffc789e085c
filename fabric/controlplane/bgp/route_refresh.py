"""Route refresh (RFC 2918), and the markers of its begin and end (RFC 7313)."""

from __future__ import annotations

from collections.abc import Mapping

from fabric.controlplane.bgp.afi import AddressFamily
from fabric.controlplane.bgp.distribution import Distributor
from fabric.controlplane.bgp.message import RouteRefresh, encode_refresh
from fabric.controlplane.bgp.peer import Peer
from fabric.controlplane.bgp.rib import Table
from fabric.controlplane.bgp.session import Session
from fabric.wire.iana import RefreshSubtype


def request(peer: Peer, family: AddressFamily, now_ns: int) -> None:
    """Request the routes of a neighbour again. No effect if the neighbour lacks the capability."""
    session = peer.established
    if session is not None and session.agreed is not None and session.agreed.refresh and family in peer.groups:
        _send(session, family, RefreshSubtype.REQUEST, now_ns)


def handle(
    tables: Mapping[AddressFamily, Table],
    out: Distributor,
    peer: Peer,
    session: Session,
    message: RouteRefresh,
    now_ns: int,
) -> bool:
    """Answer a request, or apply a marker (RFC 7313 section 4). True if routes have to be decided about."""
    family = next((one for one in peer.groups if one.id == (message.afi, message.safi)), None)
    if family is None or session.agreed is None:
        return False  # RFC 2918 section 4: not negotiated, ignored
    enhanced = session.agreed.enhanced_refresh
    if message.subtype == RefreshSubtype.REQUEST:
        if peer.neighbor.name not in peer.groups[family].synced:
            return False  # the initial table is not sent yet
        if enhanced:
            _send(session, family, RefreshSubtype.BEGIN, now_ns)
        out.send_dump(peer, session, family, now_ns)
        if enhanced:
            _send(session, family, RefreshSubtype.END, now_ns)
        return False
    if enhanced and message.subtype == RefreshSubtype.BEGIN:
        tables[family].mark_stale(peer.neighbor.name)
        return True
    return bool(
        enhanced
        and message.subtype == RefreshSubtype.END
        and tables[family].remove_source(peer.neighbor.name, stale_only=True)
    )


def _send(session: Session, family: AddressFamily, subtype: int, now_ns: int) -> None:
    session.traffic.sent.route_refreshes += 1
    session.send(encode_refresh(RouteRefresh(family.afi, family.safi, subtype)), now_ns)
