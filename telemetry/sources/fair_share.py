"""How much longer a message takes because others use the ports of its hosts meanwhile, whatever the network does.

Messages that meet at a host's port share its rate. The fair share is that of an ideal port, at which all that have
begun and are not done get the same rate (processor sharing; Kleinrock, Queueing Systems II, 1976, section 4.4). It
follows from when messages begin and how long each takes alone, not from when they ended: messages that a fault holds
back do not excuse each other. Ports of switches do not count: that many messages share one of several links may be the
very thing that is wrong.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def sharing(src: NDArray[np.str_], dst: NDArray[np.str_], start_ns: Ints, ideal_ns: Ints) -> NDArray[np.float64]:
    """How many times its time alone each message takes, at the port of its sender or of its receiver, the larger one.

    Parameters
    ----------
    src, dst : (n,) names of hosts
    start_ns : (n,) begin of each message; below 0: it never began
    ideal_ns : (n,) time of each alone

    Returns: (n,) 1 or more.
    """
    found = np.ones(len(start_ns))
    for names in (src, dst):
        order = np.lexsort((start_ns, names))
        order = order[(start_ns[order] >= 0) & (ideal_ns[order] > 0)]
        bounds = np.flatnonzero(names[order][1:] != names[order][:-1]) + 1
        for rows in np.split(order, bounds):
            if rows.size > 1:
                took = _at_one_port(start_ns[rows].tolist(), ideal_ns[rows].tolist()) / ideal_ns[rows]
                found[rows] = np.maximum(found[rows], took)
    return found


def _at_one_port(start_ns: list[int], ideal_ns: list[int]) -> NDArray[np.float64]:
    """(n,) times that messages take at a port of their own, in order of their begin.

    Each that is under way is served at 1 / n: in terms of the service that one has had since the first began, a message
    ends when it has had its own time more than at its begin.
    """
    took = np.zeros(len(start_ns))
    ends: list[tuple[float, int]] = []
    now, served = 0.0, 0.0
    for number, (start, ideal) in enumerate([*zip(start_ns, ideal_ns, strict=True), (None, 0)]):
        while ends and (start is None or now + (ends[0][0] - served) * len(ends) <= start):
            end, first = ends[0]
            now += (end - served) * len(ends)
            served = end
            heappop(ends)
            took[first] = now - start_ns[first]
        if start is not None:
            if ends:
                served += (start - now) / len(ends)
            now = float(start)
            heappush(ends, (served + ideal, number))
    return took
