"""Who waits for whom: pauses of each sample interval, followed to the port or host that they began at.

In an interval in which a port is paused in a class, its peer has sent XOFF, because packets from there wait in one of
the peer's egress queues. Of the queues by which traffic from there can leave (fabric/topology/feeds.py), the peer waits
for the one that is itself paused for at least a fifth as long, the deepest of them if there are several, else for the
deepest queue. A queue that is not paused, and a host, are where pauses begin. A way that comes back to itself is a
cycle.

This is what counters say. The event log of a run tells more (fabric/explain/pause_tree.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.topology.feeds import feeds
from fabric.topology.paths import equal_cost_ports
from telemetry.diagnosis.view import Place, Values, View

_SHARE: Final = 0.2
"""Share of a port's paused time from which on a queue of its peer, paused as well, is what it waits for."""


@dataclass(slots=True)
class Origin:
    """Where pauses began: a host's port, or an egress queue of a switch that was not paused itself."""

    place: Place
    is_host: bool
    paused_s: Values
    """(n,) paused time of all ports that waited for it, by interval."""
    victims: dict[Place, float] = field(default_factory=dict)
    """Paused ports and their seconds."""

    @property
    def total_s(self) -> float:
        """Paused time of all ports."""
        return float(self.paused_s.sum())


@dataclass(slots=True)
class Waits:
    """All origins, most paused time first, and cycles with the intervals in which they stood."""

    origins: list[Origin]
    cycles: dict[frozenset[Place], NDArray[np.bool_]]


def waits(view: View) -> Waits:
    """Follow every pause of a run."""
    paused = view.growth("fabric_pfc_receive_paused_seconds_total")
    depth = view.gauge("fabric_queue_watermark_bytes")
    reach = _reach(view)
    origins: dict[Place, Origin] = {}
    cycles: dict[frozenset[Place], NDArray[np.bool_]] = defaultdict(lambda: np.zeros(view.size, np.bool_))
    for row in np.flatnonzero(np.any([it > 0 for it in paused.values()], axis=0) if paused else []).tolist():
        now = {place: float(it[row]) for place, it in paused.items() if it[row] > 0}
        following = dict(_following(view, now, depth, reach, row))
        for place, seconds in now.items():
            way = [place]
            while way[-1] in following and following[way[-1]] not in way:
                way.append(following[way[-1]])
            if way[-1] in following:
                cycles[frozenset(way[way.index(following[way[-1]]) :])][row] = True
                continue
            last = way[-1]
            if last == place:
                continue  # nothing that its peer receives can leave: no traffic is known there
            found = origins.get(last)
            if found is None:
                found = origins[last] = Origin(last, view.fabric.node_of(last[0]).is_host, np.zeros(view.size))
            found.paused_s[row] += seconds
            found.victims[place] = found.victims.get(place, 0.0) + seconds
    return Waits(sorted(origins.values(), key=lambda it: (-it.total_s, it.place)), dict(cycles))


def _following(
    view: View, now: Mapping[Place, float], depth: Mapping[Place, Values], reach: Mapping[int, frozenset[int]], row: int
) -> Iterator[tuple[Place, Place]]:
    """(paused port, what it waits for)."""
    for (port, priority), seconds in now.items():
        peer = view.peer(port)
        if view.fabric.node_of(peer).is_host:
            yield (port, priority), (peer, priority)
            continue
        exits = [(it, priority) for it in sorted(reach.get(peer, ()))]
        blocked = [it for it in exits if now.get(it, 0.0) >= _SHARE * seconds]
        if blocked or exits:
            yield (port, priority), max(blocked or exits, key=lambda it: float(view.at(depth, it)[row]))


def _reach(view: View) -> dict[int, frozenset[int]]:
    """Ingress port -> ports by which what comes in there can leave, towards hosts that have received anything."""
    fabric = view.fabric
    receiving = [host.id for host in fabric.hosts if any(view.arrived[int(it)].sum() > 0 for it in host.ports)]
    found = feeds(fabric, equal_cost_ports(fabric), receiving)
    return {int(port): frozenset(int(it) for it in exits) for port, exits in found.items()}
