"""State of one neighbour of a speaker, beyond its sessions."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address

from fabric.controlplane.bgp.afi import AddressFamily
from fabric.controlplane.bgp.config import Neighbor, PeerFamily
from fabric.controlplane.bgp.export import UpdateGroup
from fabric.controlplane.bgp.importing import Importer, Rejected
from fabric.controlplane.bgp.rib import Source
from fabric.controlplane.bgp.session import Owner, Reset, Session, Traffic
from fabric.controlplane.bgp.timers import Timer


class Peer:
    """A configured neighbour: sessions (two during a collision), import and export state, counters."""

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
        """Cause number (cause.py) of the last event of the link."""
        self.shut = False
        """Administratively down: only start() connects again."""
        self.reachable = True
        """The neighbour's address is reachable: its link is up."""
        self.waits_for_next_hop = False
        """The last session ended, or the next one cannot start, because the address is unreachable."""
        self.end_of_rib_sent: dict[AddressFamily, int] = {}
        """Time per family, ns."""
        self.end_of_rib_received: dict[AddressFamily, int] = {}
        self.rejected: dict[Rejected, int] = {}
        """Routes rejected on import since start, by reason."""
        self.flaws = 0
        """UPDATEs with attributes that were discarded or treated as withdrawn (RFC 7606)."""
        self.hostname = ""
        """Hostname capability of the neighbour in its last session."""
        self.limited = neighbor.max_attribute_bytes is not None or any(
            config.max_prefixes is not None for config in neighbor.families.values()
        )
        """Whether any limit (limits.py) is configured."""
        self.over_limit = False
        """A limit ended the last session."""
        self.attribute_bytes = 0
        """Upper bound of the attribute bytes of its routes."""
        self.recount_bytes = neighbor.max_attribute_bytes or 0
        """Above this bound they are counted exactly."""
        self.connections_established = 0
        self.connections_dropped = 0
        self.last_reset: Reset | None = None
        self.local_bytes = packed(neighbor.local_address)
        self.remote_bytes = packed(neighbor.remote_address)

    @property
    def session(self) -> Session:
        """The session to show: the established one, else the one that tries to connect."""
        return self.established or self.primary


def packed(address: str) -> bytes:
    """'10.0.0.1' -> 4 bytes, 'fe80::1' -> 16."""
    return ip_address(address).packed
