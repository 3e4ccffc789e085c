"""TCP between two routers over one cable: bytes in order after the cable's delay, or kept while nothing crosses it.

Modelled: connection set-up (RFC 9293 section 3.5) with SYN retransmission, loss of carrier, silence, a peer that is
gone. Not modelled: segments, windows, loss on a busy cable; BGP messages are no packets in the data plane's queues.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from fabric.control.config import NS_PER_MS, NS_PER_S

SYN_RETRIES_NS: Final = (0, NS_PER_S, 3 * NS_PER_S, 7 * NS_PER_S)
"""Moments of an attempt at which a SYN is sent: initial RTO 1 s, doubled each time (RFC 6298 sections 2 and 5.5)."""
RETRANSMIT_NS: Final = 200 * NS_PER_MS
"""How soon after a silence TCP repeats what was lost: Linux's smallest RTO."""


@dataclass(slots=True, eq=False)
class Transport:
    """The connection, if any, over one cable. Side 0 is the cable's `a` end."""

    cable: int
    delay_ns: int
    routers: tuple[int, int]
    names: tuple[str, str]
    """What each side calls its neighbour."""
    lit: bool = True
    """Carrier at both ends."""
    silent: bool = False
    """Carrier, and nothing crosses."""
    generation: int = 0
    """Number of the present connection or attempt; whatever carries an older one is void."""
    open_at: list[int] = field(default_factory=lambda: [0, 0])
    """Per side: generation of the connection it believes in; 0: none."""
    attempt: int = 0
    """Generation of the attempt under way; 0: none."""
    opening: bool = False
    """The other end has answered the attempt, and the sessions are not established yet."""
    dialling: int = 0
    """The side that makes it."""
    waiting: list[tuple[int, bytes]] = field(default_factory=list)
    """(side it is for, bytes) sent into the silence, in order."""

    due_ns: list[int] = field(default_factory=lambda: [0, 0])
    """Per side: when the last bytes under way to it arrive; what is sent later arrives no earlier."""

    def void(self) -> None:
        """End every connection and attempt, whatever the sides believe."""
        self.generation += 1
        self.attempt = 0
        self.opening = False
        self.waiting.clear()
        self.due_ns = [0, 0]
