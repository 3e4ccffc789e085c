"""When KEEPALIVEs of a speaker go out: those of several neighbours together where they are due at about one time."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fabric.routing.bgp.config import KEEPALIVE_TOLERANCE_NS
from fabric.routing.bgp.fsm import Event
from fabric.routing.bgp.peer import Peer
from fabric.routing.bgp.session import Session
from fabric.routing.bgp.timers import Timers


def send_due(peers: Iterable[Peer], session: Session, now_ns: int) -> None:
    """Send the KEEPALIVE of `session`, which is due, and those of other neighbours that are within the tolerance."""
    session.handle(Event.KEEPALIVE_EXPIRES, now_ns)
    for peer in peers:
        for other in peer.sessions.values():
            due_ns = other.keepalive_timer.deadline_ns
            if due_ns is not None and due_ns - now_ns < KEEPALIVE_TOLERANCE_NS and other is not session:
                other.handle(Event.KEEPALIVE_EXPIRES, now_ns)


def shift(peers: Iterable[Peer], timers: Timers, phase: Callable[[str], float], now_ns: int) -> None:
    """Let the next KEEPALIVE to each neighbour go out when `phase` (0 to 1) of its interval from now has passed."""
    for peer in peers:
        session = peer.established
        if session is not None and session.agreed is not None and session.agreed.keepalive_ns:
            timers.set(session.keepalive_timer, now_ns + int(session.agreed.keepalive_ns * phase(peer.neighbor.name)))
