"""One router: sessions, tables and update groups behind a door of bytes, times and actions. Sans-I/O.

    speaker = Speaker(config, families)
    actions = speaker.start(now_ns)                  -> Connect(peer) for every active neighbour
    actions = speaker.connected(peer, now_ns)        the transport is up (either side opened it)
    actions = speaker.received(peer, data, now_ns)   any cut of the byte stream
    actions = speaker.closed(peer, now_ns)           the transport went down or could not be opened
    actions = speaker.link_down(peer, now_ns)        carrier lost (FRR: fast external fallover); bfd_down likewise
    actions = speaker.tick(now_ns)                   at, or any time after, next_deadline_ns()
    actions = speaker.originate(family, keys, attributes, now_ns, next_hop=..., payload=...)
    actions = speaker.withdraw(family, keys, now_ns)

Every call returns the list of actions to execute in order. Time never goes backwards between calls. The same calls with
the same arguments give the same actions, byte for byte.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from fabric.routing.bgp.actions import Action
from fabric.routing.bgp.afi import AddressFamily
from fabric.routing.bgp.attributes import Attributes
from fabric.routing.bgp.config import SpeakerConfig
from fabric.routing.bgp.rib import Path, Selection


class Speaker:
    """One BGP router. See the module's docstring for the protocol between it and its owner."""

    def __init__(self, config: SpeakerConfig) -> None:
        self.config = config

    def start(self, now_ns: int) -> list[Action]:
        """ManualStart for every neighbour (RFC 4271 section 8.1.2, event 1, or 4 for passive ones)."""
        raise NotImplementedError

    def stop(self, now_ns: int) -> list[Action]:
        """ManualStop for every neighbour: Cease / Administrative Shutdown."""
        raise NotImplementedError

    def connected(self, peer: str, now_ns: int, connection: int = 0, *, outgoing: bool = True) -> list[Action]:
        """A transport connection to `peer` is up. `connection` tells two at once apart (RFC 4271 section 6.8)."""
        raise NotImplementedError

    def received(self, peer: str, data: bytes, now_ns: int, connection: int = 0) -> list[Action]:
        """Bytes from `peer`; any cut of the stream."""
        raise NotImplementedError

    def closed(self, peer: str, now_ns: int, connection: int = 0) -> list[Action]:
        """The connection went down, or could not be opened."""
        raise NotImplementedError

    def link_down(self, peer: str, now_ns: int) -> list[Action]:
        """The link below the session lost carrier: the session ends at once, without NOTIFICATION. Next: link_up()."""
        raise NotImplementedError

    def link_up(self, peer: str, now_ns: int) -> list[Action]:
        """The link is back: connect again."""
        raise NotImplementedError

    def bfd_down(self, peer: str, now_ns: int) -> list[Action]:
        """Fast detection says the neighbour is gone (RFC 5882 section 10.2); reconnecting waits for link_up()."""
        raise NotImplementedError

    def tick(self, now_ns: int) -> list[Action]:
        """Run every timer that is due: hold, keepalive, connect retry, decision process, advertisement."""
        raise NotImplementedError

    def next_deadline_ns(self) -> int | None:
        """When tick() must be called next; None: never. O(1)."""
        raise NotImplementedError

    def originate(self, family: AddressFamily, keys: Sequence[bytes], attributes: Attributes, now_ns: int, *,
                  next_hop: bytes = b"", payload: Hashable = None) -> list[Action]:
        """Announce routes of this speaker, in one block; replaces an earlier origination of the same keys.

        `next_hop` packed; b'' means 'self' (each peer is told this end's address of its session).
        """
        raise NotImplementedError

    def withdraw(self, family: AddressFamily, keys: Sequence[bytes], now_ns: int) -> list[Action]:
        """Take back routes of this speaker. Keys that were not originated are ignored."""
        raise NotImplementedError

    def graceful_shutdown(self, now_ns: int, *, on: bool, peer: str | None = None) -> list[Action]:
        """RFC 8326: (un)mark everything advertised to `peer` (None: to all) with the GRACEFUL_SHUTDOWN community."""
        raise NotImplementedError

    def request_refresh(self, peer: str, family: AddressFamily, now_ns: int) -> list[Action]:
        """Ask `peer` for its routes again (RFC 2918)."""
        raise NotImplementedError

    def interior_routes(self, metrics: dict[str, int | None], now_ns: int) -> list[Action]:
        """Prefix -> metric of non-BGP routes that next hops resolve over (an IGP, static); None takes one away."""
        raise NotImplementedError

    def selection(self, family: AddressFamily, key: bytes) -> Selection | None:
        """What is selected for one route."""
        raise NotImplementedError

    def loc_rib(self, family: AddressFamily) -> Iterator[tuple[tuple[bytes, ...], Selection]]:
        """Every selected route of a family: (keys that share it, selection)."""
        raise NotImplementedError

    def candidates(self, family: AddressFamily, key: bytes) -> tuple[Path, ...]:
        """All paths known for one route, the newest first."""
        raise NotImplementedError
