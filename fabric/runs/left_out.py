"""What a figure leaves out, and how this is said beside it: messages without a completion time, and packets that
drops.lossless does not count, because a watchdog, a dead link or a fault lost them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

OF_COMPLETED: Final = ("fct.", "slowdown.")
"""Metrics of completed messages alone. Those of steps and requests (step., inference.) leave out other things, which no
metric counts."""
_FAILED_TOO: Final = ("goodput.",)
"""Metrics whose time includes failures, and in which failed messages have no or few bytes."""


def left_out(metric: str, metrics: Mapping[str, Any]) -> str:
    """'2 of 3 messages failed, 1 not done': what a reader of this metric must know; '' where nothing is left out.

    metrics : of a run, with messages.total, messages.failed and messages.unfinished
    """
    if metric == "drops.lossless":
        beside = int(metrics.get("drops.lossless_any") or 0) - int(metrics.get("drops.lossless") or 0)
        return f"{beside:,} more lost otherwise, counted by drops.lossless_any" if beside > 0 else ""
    names = {"failed": "messages.failed", "not done": "messages.unfinished"}
    if metric.startswith(_FAILED_TOO):
        del names["not done"]
    elif not metric.startswith(OF_COMPLETED):
        return ""
    counts = {word: int(metrics.get(name) or 0) for word, name in names.items()}
    parts = [f"{count:,} {word}" for word, count in counts.items() if count]
    if not parts:
        return ""
    total = int(metrics["messages.total"] or 0)
    first, *others = parts
    number, _, word = first.partition(" ")
    return ", ".join([f"{number} of {total:,} messages {word}", *others])
