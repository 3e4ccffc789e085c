"""Insertion order: the parent of an event, that is the event that scheduled it, kept as far back as it is needed.

A rate timer that is caught up later (transport/ns3_dcqcn) was never in the global event list. Its order against the
present event of the same instant depends on which of the two was scheduled first:
1. The high bits of a sequence number are the nanosecond in which it was taken; an earlier one decides.
2. If both were scheduled in the same nanosecond, the order of their parents decides: the timer's previous expiry and
   the other event's parent. So rules 1 and 2 apply again, one period earlier.
Rule 2 needs the parent only of an event that was scheduled exactly one timer period ahead. Only these parents are kept,
in a ring; most runs have few or none.
"""

from __future__ import annotations

from typing import Final

from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.types import State

_BITS: Final = 22
"""Sequence numbers per nanosecond: four million. Times end at 2**50 ps (state/types), so the sum fits 62 bits."""
_NS: Final = 1000


@hot
def first_number(time_ps: int) -> int:
    """The least sequence number of a nanosecond."""
    return time_ps // _NS << _BITS


@hot
def scheduled_ps(order: int) -> int:
    """The nanosecond in which a sequence number was taken, in ps; 0 for the numbers of messages."""
    return (order >> _BITS) * _NS


@hot
def note(state: State, order: int, time_ps: int) -> None:
    """A sequence number was taken for an event at time_ps: note its parent if rule 2 may need it."""
    config = state.config[0]
    ahead_ps = time_ps - i64(config["now_ps"])
    if (
        ahead_ps == config["alpha_timer_ps"]
        or ahead_ps == config["increase_timer_ps"]
        or (ahead_ps == config["decrease_interval_ps"] or ahead_ps == config["decrease_interval_ps"] + _NS)
    ):
        count = i64(config["ancestry_count"])
        row = state.ancestry[count % i64(config["ancestry_rows"])]
        row["order"], row["parent"] = order, config["event_order"]
        config["ancestry_count"] = count + 1


@kernel
def parent_of(state: State, order: int) -> int:
    """Sequence number of the event that took `order`; -1 if it has been overwritten."""
    config = state.config[0]
    rows, end = i64(config["ancestry_rows"]), i64(config["ancestry_count"])
    first = max(end - rows, 0)
    while first < end:
        middle = (first + end) >> 1
        if state.ancestry[middle % rows]["order"] < order:
            first = middle + 1
        else:
            end = middle
    if first < config["ancestry_count"] and state.ancestry[first % rows]["order"] == order:
        return i64(state.ancestry[first % rows]["parent"])
    return -1
