"""The terminal's view of a live run: ports by the share of time for which they are paused, queues by depth.

Shares are of simulated time over about the last second of wall clock, like the CPU shares of top(1): a view is compared
with a Snapshot of at least BASELINE_S ago, the first view with the beginning of the pass.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.units import PS_PER_S

BASELINE_S: Final = 0.9
"""A second, less the jitter of a client that polls every second."""
DEFAULT_ROWS: Final = 100
MAX_ROWS: Final = 1000

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Reading:
    wall_s: float
    number: int
    time_ps: int
    paused_ps: NDArray[np.int64]
    """(n_ports, 8)"""
    busy_ps: NDArray[np.int64]
    """(n_ports,)"""


class ViewMaker:
    """Makes views; thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._old: _Reading | None = None
        self._new: _Reading | None = None

    def view(self, number: int, now: Snapshot, rows: int = DEFAULT_ROWS) -> dict[str, Any]:
        """The most important rows of pass `number`.

        Returns: window_seconds (simulated), ports and queues as lists of rows, highest values first.
        """
        reading = _Reading(self._clock(), number, now.time_ps, now.prios["rx_paused_ps"], now.ports["busy_ps"])
        with self._lock:
            before = self._before(reading)
        window_ps = reading.time_ps - before.time_ps
        return {
            "window_seconds": window_ps / PS_PER_S,
            "ports": _ports(now, reading, before, rows),
            "queues": _queues(now, rows),
        }

    def _before(self, reading: _Reading) -> _Reading:
        if self._new is None or self._new.number != reading.number:
            # The beginning of the pass: the reference of the views of its first second.
            self._old = _Reading(
                reading.wall_s, reading.number, 0, np.zeros_like(reading.paused_ps), np.zeros_like(reading.busy_ps)
            )
            self._new = reading
        elif reading.wall_s - self._new.wall_s >= BASELINE_S and reading.time_ps > self._new.time_ps:
            self._old, self._new = self._new, reading
        return self._old if self._old is not None else reading


def _ports(now: Snapshot, reading: _Reading, before: _Reading, count: int) -> list[Row]:
    fabric, window_ps = now.fabric, max(reading.time_ps - before.time_ps, 1)
    lossless = now.flow_controlled | (reading.paused_ps > 0)
    port, class_ = np.nonzero(lossless)
    paused = (reading.paused_ps - before.paused_ps)[port, class_] / window_ps
    # A frame counts as sent from its beginning, so a window may have slightly more than its length.
    busy = np.minimum((reading.busy_ps - before.busy_ps)[port] / window_ps, 1.0)
    order = np.lexsort((port, -busy, -reading.paused_ps[port, class_], -paused))[:count]
    still = now.paused
    return [
        {
            "device": fabric.node_of(at).name,
            "port": fabric.ports[at].name,
            "priority": c,
            "peer": fabric.port_name(fabric.ports[at].peer),
            "up": bool(now.ports["up"][at]),
            "paused": bool(still[at, c]),
            "paused_ratio": round(share, 6),
            "paused_seconds": int(reading.paused_ps[at, c]) / PS_PER_S,
            "pausing": bool(now.pausing[at, c]),
            "transmit_ratio": round(load, 6),
        }
        for at, c, share, load in zip(
            port[order].tolist(), class_[order].tolist(), paused[order].tolist(), busy[order].tolist(), strict=True
        )
    ]


def _queues(now: Snapshot, count: int) -> list[Row]:
    fabric, queues = now.fabric, now.queues
    used = (queues["enqueued_pkts"] > 0) | (queues["dropped_pkts"] > 0)
    used &= (now.ports["node"] >= len(now.hosts))[:, np.newaxis]  # a host's queue is the backlog of its application
    port, class_ = np.nonzero(used)
    at = (port, class_)
    order = np.lexsort((port, -queues["peak_bytes"][at], -queues["depth_bytes"][at]))[:count]
    rows = queues[at][order]
    return [
        {
            "device": fabric.node_of(p).name,
            "port": fabric.ports[p].name,
            "queue": c,
            "bytes": int(row["depth_bytes"]),
            "peak_bytes": int(row["peak_bytes"]),
            "marked_packets": int(row["marked_pkts"]),
            "dropped_packets": int(row["dropped_pkts"]),
            "stormed": bool(row["wd_state"]),
        }
        for p, c, row in zip(port[order].tolist(), class_[order].tolist(), rows, strict=True)
    ]


def still_hosts(now: Snapshot) -> int:
    """Hosts that are paused in some class now."""
    host_ports = now.ports["node"] < len(now.hosts)
    return int(np.unique(now.ports["node"][host_ports & now.paused.any(axis=1)]).size)
