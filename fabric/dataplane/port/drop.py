"""Discarding a frame: counted by port, class and reason, recorded as an event with the numbers that decided it."""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state import pool, trace
from fabric.dataplane.state.codes import N_DROP_REASONS, EventKind, PacketKind, TraceBit
from fabric.dataplane.state.compiled.jit import i64, kernel
from fabric.dataplane.state.types import State

_DATAGRAM = int(PacketKind.DATAGRAM)
_DROP = int(EventKind.DROP)
_TRACE = int(TraceBit.DROP)


@kernel
def count(state: State, port: int, packet: np.uint32, reason: int) -> None:
    """Count a discarded frame at a port, in its class and by its reason; datagrams also in a separate table."""
    frame = state.packets[packet]
    size_bytes = i64(frame["size"])
    place = (port * 8 + i64(frame["tc"])) * N_DROP_REASONS + reason
    cell = state.drops[place]
    cell["pkts"] += 1
    cell["bytes"] += size_bytes
    row = state.ports[port]
    row["dropped_pkts"] += 1
    row["dropped_bytes"] += size_bytes
    if frame["kind"] == _DATAGRAM:
        cell = state.datagram_drops[place]
        cell["pkts"] += 1
        cell["bytes"] += size_bytes


@kernel
def discard(
    state: State, device: int, port: int, packet: np.uint32, reason: int, now_ps: int, b: int, c: int, d: int
) -> None:
    """Discard one frame at a port and free its row."""
    frame = state.packets[packet]
    size_bytes, prio = i64(frame["size"]), i64(frame["tc"])
    count(state, port, packet, reason)
    trace.emit(state, _TRACE, device, now_ps, _DROP, port, prio, reason, i64(frame["qp"]), size_bytes, b, c, d)
    pool.give(state, device, packet)
