"""Whether helpers pay: what they played against how long they were waited for, since what was long ago."""

from __future__ import annotations

from fabric.state.jit import i64, kernel
from fabric.state.types import State

_ENOUGH_TO_JUDGE = 1 << 13
"""Events; a moment's hiccup in fewer says nothing."""
_LONG_AGO = 1 << 20
"""Events, some tens of milliseconds."""


@kernel
def begin_to_judge(state: State) -> None:
    """Nobody is dear yet; what was long ago counts half."""
    row = state.threads[0]
    row["dear"] = 0
    if row["shared_events"] > _LONG_AGO:
        row["shared_windows"] = i64(row["shared_windows"]) // 2
        row["shared_events"] = i64(row["shared_events"]) // 2
        row["own_events"] = i64(row["own_events"]) // 2
        row["own_ticks"] = i64(row["own_ticks"]) // 2
        row["waited_ticks"] = i64(row["waited_ticks"]) // 2


@kernel
def is_dear(state: State) -> bool:
    """Whether waiting for helpers eats more than half of what they save: the time for what they played."""
    row = state.threads[0]
    if row["shared_events"] < _ENOUGH_TO_JUDGE:
        return False
    own_ticks, waited_ticks = 1.0 * i64(row["own_ticks"]), 1.0 * i64(row["waited_ticks"])   # products pass 2**63
    saved = own_ticks * (i64(row["shared_events"]) - i64(row["own_events"]))
    return 2 * waited_ticks * i64(row["own_events"]) > saved
