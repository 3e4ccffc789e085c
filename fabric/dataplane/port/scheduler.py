"""The transmission selection: strict priority first, then deficit round robin by bytes (SONiC SCHEDULER: STRICT, DWRR).

Deficit round robin after Shreedhar and Varghese, SIGCOMM 1995: a class adds its quantum at its turn and sends
while its deficit lasts; a class that is empty loses its deficit. The model of the public ns-3 RDMA simulator has plain
round robin per packet instead (state/semantics).
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state import semantics
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State

HIGHEST = np.array(
    [max((bit for bit in range(8) if mask >> bit & 1), default=0) for mask in range(256)], dtype=np.int64
)
"""Highest set bit of every bitmap of eight classes: the choice of a strict scheduler."""


@kernel
def _round_robin(state: State, port: int, eligible: int) -> int:
    row = state.ports[port]
    chosen = i64(row["rr_class"])
    for _ in range(8):
        chosen = (chosen + 1) & 7
        if eligible >> chosen & 1:
            break
    row["rr_class"] = chosen
    return chosen


@kernel
def _deficit(state: State, port: int, eligible: int, full_frame_bytes: int) -> int:
    row = state.ports[port]
    chosen = i64(row["rr_class"])
    while True:
        if eligible >> chosen & 1:
            queue = state.queues[port * 8 + chosen]
            size_bytes = full_frame_bytes
            if queue["head"] != 0:
                size_bytes = i64(state.packets[queue["head"]]["size"])
            if queue["deficit_bytes"] >= size_bytes:
                queue["deficit_bytes"] -= size_bytes
                row["rr_class"] = chosen
                return chosen
        chosen = (chosen + 1) & 7
        if eligible >> chosen & 1:
            state.queues[port * 8 + chosen]["deficit_bytes"] += state.queues[port * 8 + chosen]["quantum_bytes"]


@hot
def pick(state: State, port: int, eligible: int, full_frame_bytes: int) -> int:
    """Choose a class from the non-empty bitmap `eligible`; full_frame_bytes: the size of a frame not made yet."""
    if eligible & (eligible - 1) == 0:
        return i64(HIGHEST[eligible])
    strict = eligible & i64(state.ports[port]["strict"])
    if strict != 0:
        return i64(HIGHEST[strict])
    if semantics.alternates_by_packet(state):
        return _round_robin(state, port, eligible)
    return _deficit(state, port, eligible, full_frame_bytes)


@hot
def emptied(state: State, port: int, chosen: int) -> None:
    """A class is empty: clear its bit and its deficit."""
    state.ports[port]["nonempty"] = i64(state.ports[port]["nonempty"]) & ~(1 << chosen) & 0xFF
    state.queues[port * 8 + chosen]["deficit_bytes"] = 0
