"""Whether workers pay off: the work that they did against the time spent waiting for them, over a decaying window."""

from __future__ import annotations

from fabric.dataplane.state.compiled.jit import i64, kernel
from fabric.dataplane.state.types import State

_LEAST_EVENTS = 1 << 13
"""Least events for a decision: over fewer, one interruption outweighs the work."""
_DECAY_EVENTS = 1 << 20
"""Events, some tens of milliseconds, above which the statistics are halved."""


@kernel
def begin_payoff(state: State) -> None:
    """Clear the unprofitable flag; halve old statistics."""
    row = state.threads[0]
    row["unprofitable"] = 0
    if row["shared_events"] > _DECAY_EVENTS:
        row["shared_windows"] = i64(row["shared_windows"]) // 2
        row["shared_events"] = i64(row["shared_events"]) // 2
        row["own_events"] = i64(row["own_events"]) // 2
        row["own_ticks"] = i64(row["own_ticks"]) // 2
        row["waited_ticks"] = i64(row["waited_ticks"]) // 2


@kernel
def is_unprofitable(state: State) -> bool:
    """Whether waiting for workers costs more than half of the time that they save."""
    row = state.threads[0]
    if row["shared_events"] < _LEAST_EVENTS:
        return False
    own_ticks, waited_ticks = 1.0 * i64(row["own_ticks"]), 1.0 * i64(row["waited_ticks"])  # products pass 2**63
    saved = own_ticks * (i64(row["shared_events"]) - i64(row["own_events"]))
    return 2 * waited_ticks * i64(row["own_events"]) > saved
