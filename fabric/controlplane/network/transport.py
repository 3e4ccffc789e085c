"""TCP between two routers over one cable: bytes arrive in order after the cable's delay, and wait while it is silent.

Modelled: connection set-up (RFC 9293 section 3.5) with SYN retransmission, loss of carrier, silence, a crashed peer.
Not modelled: segments, windows, loss on a congested cable; BGP messages are not packets in the data plane's queues.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from fabric.controlplane.network.config import NS_PER_MS, NS_PER_S

SYN_RETRIES_NS: Final = (0, NS_PER_S, 3 * NS_PER_S, 7 * NS_PER_S)
"""Times of the SYNs of an attempt: initial RTO 1 s, doubled each time (RFC 6298 sections 2 and 5.5)."""
RETRANSMIT_NS: Final = 200 * NS_PER_MS
"""Time from the end of a silence to TCP's retransmission: the smallest RTO of Linux."""


@dataclass(slots=True, eq=False)
class Transport:
    """The connection, if any, over one cable. Side 0 is the cable's `a` end."""

    cable: int
    delay_ns: int
    routers: tuple[int, int]
    names: tuple[str, str]
    """Each side's name for its neighbour."""
    up: bool = True
    """Carrier at both ends."""
    silent: bool = False
    """Carrier up, but no frames cross."""
    losses: int = 0
    """Losses of carrier so far."""
    outages: int = 0
    """Spells so far in which no frames crossed."""
    generation: int = 0
    """Number of the present connection or attempt; calls with an older number are void."""
    open_at: list[int] = field(default_factory=lambda: [0, 0])
    """Per side: generation of the connection that the side has open; 0: none."""
    attempt: int = 0
    """Generation of the attempt in progress; 0: none."""
    opening: bool = False
    """The other end has answered the attempt; the session is not established yet."""
    dialling: int = 0
    """The side that makes the attempt."""
    waiting: list[tuple[int, bytes]] = field(default_factory=list)
    """(receiving side, bytes) sent during the silence, in order."""

    due_ns: list[int] = field(default_factory=lambda: [0, 0])
    """Per side: arrival time of the last bytes in flight to it; later bytes arrive no earlier."""

    @property
    def passes(self) -> bool:
        """Whether frames cross."""
        return self.up and not self.silent

    def void(self) -> None:
        """End every connection and attempt, without notice to the sides."""
        self.generation += 1
        self.attempt = 0
        self.opening = False
        self.waiting.clear()
        self.due_ns = [0, 0]
