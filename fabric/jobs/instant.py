"""When each transfer of a schedule would end if only computations took time: the step without network.

Messages are posted, arrive and are acknowledged at once, send latencies and reductions included; what remains is the
longest path through computations and what waits for what.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fabric.collectives.transfers import Transfers

Ints = NDArray[np.int64]


def ends_without_network_ps(rows: Transfers) -> Ints:
    """(n,) end of each transfer's last message; all 0 where nothing computes.

    Raises: ValueError where transfers wait for each other.
    """
    computes = rows.src == rows.dst
    offset = np.concatenate([[0], np.cumsum(rows.count)])
    if not (computes & (rows.delay_ps > 0)).any():
        return np.zeros(len(rows), np.int64)
    earlier, later = _edges(rows, offset)
    n = int(offset[-1])
    transfer = np.repeat(np.arange(len(rows)), rows.count)
    waits = np.bincount(later, minlength=n).tolist()
    order = np.argsort(earlier, kind="stable")
    first = np.searchsorted(earlier[order], np.arange(n + 1)).tolist()
    followers = later[order].tolist()
    end = rows.start_ps[transfer].tolist()
    delay = np.where(computes, rows.delay_ps, 0)[transfer].tolist()
    ready = [message for message, count in enumerate(waits) if not count]
    left = n
    while ready:
        message = ready.pop()
        left -= 1
        end[message] += delay[message]
        moment = end[message]
        for place in range(first[message], first[message + 1]):
            other = followers[place]
            end[other] = max(end[other], moment)
            waits[other] -= 1
            if not waits[other]:
                ready.append(other)
    if left:
        raise ValueError(f"{left} messages wait for each other")
    return np.asarray(np.array(end, np.int64)[offset[1:] - 1], np.int64)


def _edges(rows: Transfers, offset: Ints) -> tuple[Ints, Ints]:
    """(earlier, later) messages by number: those of a transfer follow each other, and the needs between transfers."""
    n = int(offset[-1])
    inner = np.ones(n, np.bool_)
    inner[offset[:-1]] = False
    own = np.flatnonzero(inner)
    times = rows.count[rows.later]
    need = np.repeat(np.arange(len(rows.later)), times)
    k = np.arange(len(need)) - np.repeat(np.cumsum(times) - times, times)
    wanted = np.minimum(rows.lead[need] + rows.per[need] * k, rows.count[rows.earlier[need]])
    real = wanted > 0
    need, k, wanted = need[real], k[real], wanted[real]
    earlier = np.concatenate([own - 1, offset[rows.earlier[need]] + wanted - 1])
    return earlier, np.concatenate([own, offset[rows.later[need]] + k])
