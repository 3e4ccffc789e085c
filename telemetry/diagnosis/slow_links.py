"""Cables that are slower than their peers from the start, and full while traffic needs them.

The topology says which they are (fabric/topology/peer_rates.py). One is a root where a port of it is busy, or marks
while it is half busy, in much of the time in which it sends. A cable that lost speed during the run is cables.py's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.topology.peer_rates import SlowCables, oversubscribed, slow_cables
from fabric.units import PS_PER_S, format_bit_rate, format_time_ps, listed
from telemetry.diagnosis.root import Kind, Meaning, Root
from telemetry.diagnosis.view import View

_MARKS: Final = "fabric_ecn_marked_packets_total"
_BUSY: Final = 0.8
"""Use in an interval from which on a link has more than it carries, as of queues.py."""
_HALF: Final = 0.5
"""Use from which on a link that marks is what its senders slow down for."""
_SHARE: Final = 0.3
"""Share of the time in which a port sends from which on it is full for long, as of queues that mark for long."""
_LEAST_INTERVALS: Final = 2
_PORTS: Final = 4
_OF_ONE_SWITCH: Final = Meaning(
    "the uplinks of one switch are full, and its peers have more of them for their hosts",
    "give it the uplinks that its peers have, or keep jobs off it (`fabric topology check`)",
)


@dataclass(frozen=True, slots=True)
class _Full:
    """A port of a slow cable that is full for long."""

    port: int
    intervals: NDArray[np.bool_]
    use_ratio: float
    """Over these intervals."""
    share: float
    """Their part of the time in which the port sends."""


def slow_link_roots(view: View) -> Iterator[Root]:
    """One root for each device whose cables differ from those of its peers, at the port that is full for longest."""
    for cables in slow_cables(view.fabric):
        links = [view.fabric.links[it] for it in cables.links]
        full = [it for link in links for port in (link.a, link.b) if (it := _full(view, int(port))) is not None]
        if full:
            yield _root(view, cables, full)


def of_one_switch(view: View, root: Root) -> Root:
    """A root of full uplinks in words of its own, where they are those of a switch that is oversubscribed unlike its
    peers; the root itself elsewhere.
    """
    if root.kind is not Kind.OVERSUBSCRIPTION:
        return root
    port = int(view.fabric.port_called[f"{root.device}:{root.port}"])
    ends = {root.device, view.device(view.peer(port))}
    texts = [it.text for it in oversubscribed(view.fabric) if it.device in ends]
    if not texts:
        return root
    return replace(root, special=_OF_ONE_SWITCH, evidence=(*texts, *root.evidence))


def is_at_slow_cable(view: View, root: Root, slow: Sequence[Root]) -> bool:
    """Whether the queue of a root leads into a slow cable that is a root itself, as slow_link_roots() has it."""
    if not root.port or not any(root.device in it.devices and it.began_ns <= root.ended_ns for it in slow):
        return False
    links = (view.fabric.links[it] for cables in slow_cables(view.fabric) for it in cables.links)
    return f"{root.device}:{root.port}" in {view.name(int(port)) for it in links for port in (it.a, it.b)}


def _full(view: View, port: int) -> _Full | None:
    """None where it is not."""
    if port not in view.busy_s or port not in view.sent:
        return None
    sending = (view.sent[port] > 0) & (view.interval_s > 0)
    use = np.divide(view.busy_s[port], view.interval_s, out=np.zeros(view.size), where=view.interval_s > 0)
    marked = np.zeros(view.size, np.bool_)
    for (at, _), marks in view.growth(_MARKS).items():
        if at == port:
            marked |= marks > 0
    rows = sending & ((use > _BUSY) | (marked & (use > _HALF)))
    seconds, of_all = float(view.interval_s[rows].sum()), float(view.interval_s[sending].sum())
    if np.count_nonzero(rows) < _LEAST_INTERVALS or seconds < _SHARE * of_all:
        return None
    return _Full(port, rows, float(view.busy_s[port][rows].sum()) / seconds, seconds / of_all)


def _root(view: View, cables: SlowCables, full: Sequence[_Full]) -> Root:
    worst = max(full, key=lambda it: float(view.busy_s[it.port][it.intervals].sum()))
    rows = np.any([it.intervals for it in full], axis=0)
    began, ended = view.span(rows)
    lasted = format_time_ps(round(float(view.interval_s[worst.intervals].sum()) * PS_PER_S))
    others = [view.name(it.port) for it in full if it is not worst]
    also = f"; full were {listed(others, _PORTS)}, too" if others else ""
    peers = _use_of_peers(view, cables, worst)
    beside = "" if peers is None else f", such ports at {format_bit_rate(cables.peers_bps)} for {peers:.0%}"
    evidence = (
        cables.text(view.fabric),
        f"{view.name(worst.port)} was in use for {worst.use_ratio:.0%} of {lasted}{beside}{also}",
    )
    own = worst.port if view.device(worst.port) == cables.device else view.peer(worst.port)
    return Root(
        Kind.SLOW_LINK, cables.device, began, ended, evidence, view.port(own).name,
        members=cables.neighbours(view.fabric), margin=worst.share / _SHARE,
    )  # fmt: skip


def _use_of_peers(view: View, cables: SlowCables, worst: _Full) -> float | None:
    """Mean use, in the same intervals, of ports between the same tiers that have the rate of the peers."""
    fabric = view.fabric
    tiers = fabric.node_of(worst.port).tier, fabric.peer_of(worst.port).tier
    slow = {
        port for it in slow_cables(fabric) for row in it.links for port in (fabric.links[row].a, fabric.links[row].b)
    }
    used = [
        float(view.busy_s[int(it.id)][worst.intervals].sum())
        for it in fabric.ports
        if (fabric.node_of(it.id).tier, fabric.peer_of(it.id).tier) == tiers
        and it.id not in slow and fabric.links[it.link].rate_bps == cables.peers_bps and int(it.id) in view.busy_s
    ]  # fmt: skip
    seconds = float(view.interval_s[worst.intervals].sum())
    return sum(used) / len(used) / seconds if used else None
