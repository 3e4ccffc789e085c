"""How many messages shared the port of a host: what a message may take is so many times its time alone.

Messages that meet at a host's port have its rate divided among them, whatever the network between does. Ports of
switches do not count: that many messages share one of several links may be the very thing that is wrong.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def sharing(src: NDArray[np.str_], dst: NDArray[np.str_], start_ns: Ints, end_ns: Ints) -> NDArray[np.float64]:
    """The number of messages, itself included, that shared the port of its sender or of its receiver, the larger one.

    Parameters
    ----------
    src, dst : (n,) names of hosts
    start_ns, end_ns : (n,) begin and end of each message; a begin below 0: it never began

    Returns: (n,) 1 or more: the harmonic mean over the message's time, so that its time divided by it is what a fair
    share of the port's rate adds up to.
    """
    found = np.ones(len(start_ns))
    for names in (src, dst):
        order = np.argsort(names, kind="stable")
        order = order[(start_ns[order] >= 0) & (end_ns[order] > start_ns[order])]
        bounds = np.flatnonzero(names[order][1:] != names[order][:-1]) + 1
        for rows in np.split(order, bounds):
            if rows.size > 1:
                found[rows] = np.maximum(found[rows], _at_one_port(start_ns[rows], end_ns[rows]))
    return found


def _at_one_port(start_ns: Ints, end_ns: Ints) -> NDArray[np.float64]:
    """(n,) harmonic mean of the number of messages at one port while each was under way."""
    moments = np.unique(np.concatenate([start_ns, end_ns]))
    begun = np.searchsorted(np.sort(start_ns), moments, side="right")
    ended = np.searchsorted(np.sort(end_ns), moments, side="right")
    number = (begun - ended)[:-1]
    shares = np.divide(np.diff(moments), number, out=np.zeros(len(number)), where=number > 0)
    share_ns = np.concatenate([[0.0], np.cumsum(shares)])
    own = share_ns[np.searchsorted(moments, end_ns)] - share_ns[np.searchsorted(moments, start_ns)]
    return np.asarray((end_ns - start_ns) / own)
