"""Discarding a frame: counted by port, class and reason, logged with the numbers that decided it."""

from __future__ import annotations

import numpy as np

from fabric.state import pool, trace
from fabric.state.codes import N_DROP_REASONS, EventKind, TraceBit
from fabric.state.jit import i64, kernel
from fabric.state.types import State

_DROP = int(EventKind.DROP)
_TRACE = int(TraceBit.DROP)


@kernel
def count(state: State, port: int, prio: int, reason: int, pkts: int, size_bytes: int) -> None:
    """Add to the counters of a port."""
    cell = state.drops[(port * 8 + prio) * N_DROP_REASONS + reason]
    cell["pkts"] += pkts
    cell["bytes"] += size_bytes
    row = state.ports[port]
    row["dropped_pkts"] += pkts
    row["dropped_bytes"] += size_bytes


@kernel
def discard(state: State, device: int, port: int, packet: np.uint32, reason: int, now_ps: int, b: int, c: int,
            d: int) -> None:
    """Discard one frame at a port and free its row."""
    frame = state.packets[packet]
    size_bytes, prio = i64(frame["size"]), i64(frame["tc"])
    count(state, port, prio, reason, 1, size_bytes)
    trace.emit(state, _TRACE, device, now_ps, _DROP, port, prio, reason, i64(frame["qp"]), size_bytes, b, c, d)
    pool.give(state, device, packet)
