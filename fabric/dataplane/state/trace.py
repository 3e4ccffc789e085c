"""The event log of a run: handlers append facts, the driver drains them. Not for control flow.

Each thread has its own region; rows of one device keep their order, and the driver sorts by (time, device) when it
drains, so the log is the same for any number of threads. A device is never entered with fewer than `margin` rows free.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.compiled.prefetch import prefetch
from fabric.dataplane.state.types import State

u = np.uint32
NO_PORT = 0xFFFFFFFF
NO_QP = 0xFFFFFFFF


@kernel
def _append(
    state: State,
    device: int,
    time_ps: int,
    kind: int,
    port: int,
    prio: int,
    reason: int,
    qp: int,
    a: int,
    b: int,
    c: int,
    d: int,
) -> None:
    worker = i64(state.devices[device]["thread"])
    thread = state.threads[worker]
    count = i64(thread["trace_count"])
    place = worker * i64(state.config[0]["trace_rows"]) + count
    row = state.trace[place]
    prefetch(state.trace, u(place + 2))  # the driver has read it since, possibly on another processor
    row["time_ps"], row["device"], row["port"], row["kind"] = time_ps, device, port, kind
    row["prio"], row["reason"] = prio, reason
    row["qp"], row["a"], row["b"], row["c"], row["d"] = qp, a, b, c, d
    thread["trace_count"] = count + 1


@hot
def emit(
    state: State,
    category: int,
    device: int,
    time_ps: int,
    kind: int,
    port: int,
    prio: int,
    reason: int,
    qp: int,
    a: int,
    b: int,
    c: int,
    d: int,
) -> None:
    """Record one EventKind if its TraceBit category is recorded (0: always)."""
    if category == 0 or i64(state.config[0]["trace_mask"]) & category:
        _append(state, device, time_ps, kind, port, prio, reason, qp, a, b, c, d)


@hot
def margin(n_ports: int, reserve: int) -> int:
    """Rows that one event of a device may write: three per port and class (a watchdog that empties queues), and two per
    copy of a broadcast.
    """
    return 24 * n_ports + 2 * reserve + 64
