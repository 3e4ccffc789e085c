"""What a speaker keeps about one neighbour, beyond its sessions."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address

from fabric.routing.bgp.afi import AddressFamily
from fabric.routing.bgp.config import Neighbor, PeerFamily
from fabric.routing.bgp.export import UpdateGroup
from fabric.routing.bgp.importing import Importer, Rejected
from fabric.routing.bgp.rib import Source
from fabric.routing.bgp.session import Owner, Reset, Session, Traffic
from fabric.routing.bgp.timers import Timer


class Peer:
    """A configured neighbour: its sessions (two while a collision lasts), routes in and out, and its history."""

    def __init__(self, owner: Owner, neighbor: Neighbor, purge: Callable[[Peer, int], None]) -> None:
        self.neighbor = neighbor
        self.traffic = Traffic()
        self.primary = Session(owner, neighbor, self.traffic)
        self.sessions: dict[int, Session] = {}
        """Live transport connections."""
        self.established: Session | None = None
        self.families: dict[AddressFamily, PeerFamily] = dict(neighbor.families)
        """Configuration in force; policies can change while the speaker runs."""
        self.source = Source("", 0, external=True, router_id=0, address=b"")
        self.importers: dict[AddressFamily, Importer] = {}
        self.groups: dict[AddressFamily, UpdateGroup] = {}
        self.stale_timer = Timer(lambda now_ns: purge(self, now_ns))
        self.graceful_shutdown = False
        self.cause = 0
        """The owner's number of the event that last changed the link below."""
        self.shut = False
        """Administratively down: nothing but start() connects again."""
        self.has_way = True
        """The neighbour's address can be reached, as far as its link goes."""
        self.waits_for_way = False
        """What ended the last session, or keeps the next from coming, is that there is none."""
        self.end_of_rib_sent: dict[AddressFamily, int] = {}
        """When, per family."""
        self.end_of_rib_received: dict[AddressFamily, int] = {}
        self.rejected: dict[Rejected, int] = {}
        """Routes refused on import since start, by reason."""
        self.flaws = 0
        """UPDATEs with attributes that were discarded or treated as withdrawn (RFC 7606)."""
        self.hostname = ""
        """What the neighbour called itself when the session last came up."""
        self.limited = neighbor.max_attribute_bytes is not None or any(
            it.max_prefixes is not None for it in neighbor.families.values())
        """Whether there is a limit to what it may send."""
        self.over_limit = False
        """A limit has ended the last session."""
        self.attribute_bytes = 0
        """At most so many bytes of attributes do its routes hold."""
        self.recount_bytes = neighbor.max_attribute_bytes or 0
        """Above this they are counted exactly."""
        self.connections_established = 0
        self.connections_dropped = 0
        self.last_reset: Reset | None = None
        self.local_bytes = packed(neighbor.local_address)
        self.remote_bytes = packed(neighbor.remote_address)

    @property
    def session(self) -> Session:
        """The session to show: the established one, or the one that is trying."""
        return self.established or self.primary


def packed(address: str) -> bytes:
    """'10.0.0.1' -> 4 bytes, 'fe80::1' -> 16."""
    return ip_address(address).packed
