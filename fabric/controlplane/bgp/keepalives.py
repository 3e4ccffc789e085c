"""KEEPALIVE timing of a speaker: KEEPALIVEs that are due at about the same time are sent together, as in FRR."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fabric.controlplane.bgp.config import KEEPALIVE_TOLERANCE_NS
from fabric.controlplane.bgp.fsm import Event
from fabric.controlplane.bgp.peer import Peer
from fabric.controlplane.bgp.session import Session
from fabric.controlplane.bgp.timers import Timers


def send_due(peers: Iterable[Peer], session: Session, now_ns: int) -> None:
    """Send the due KEEPALIVE of `session`, and those of other neighbours that are due within the tolerance."""
    session.handle(Event.KEEPALIVE_EXPIRES, now_ns)
    for peer in peers:
        for other in peer.sessions.values():
            due_ns = other.keepalive_timer.deadline_ns
            if due_ns is not None and due_ns - now_ns < KEEPALIVE_TOLERANCE_NS and other is not session:
                other.handle(Event.KEEPALIVE_EXPIRES, now_ns)


def shift(peers: Iterable[Peer], timers: Timers, phase: Callable[[str], float], now_ns: int) -> None:
    """Set the next KEEPALIVE to each neighbour to `phase` (0 to 1) of its interval from now."""
    for peer in peers:
        session = peer.established
        if session is not None and session.agreed is not None and session.agreed.keepalive_ns:
            timers.set(session.keepalive_timer, now_ns + int(session.agreed.keepalive_ns * phase(peer.neighbor.name)))
