"""One subscription of a Subscribe RPC: when it is due, and which leaves it sends then (gNMI specification section 3.5).

A subscription keeps the last value that it sent of each leaf, and nothing else: a client that reads slowly gets the
latest values when it is ready for them, and values in between are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from fabric.units import NS_PER_S
from telemetry.gnmi.leaf import Form
from telemetry.gnmi.query import Item, Query
from telemetry.gnmi.reading import Reading
from telemetry.gnmi.refusal import Code, Refusal

LOWEST_S: Final = 0.1
"""Least sample interval: the engine stops for readers every 0.05 s (telemetry/live/simulation.py)."""
TARGET_DEFINED_S: Final = 10.0
"""Sample interval of counters where the target is to choose one, as SONiC reads its queues."""
_COUNTED: Final = frozenset({Form.UINT64, Form.UINT32})


@dataclass(slots=True)
class Subscription:
    """What to send, and how often."""

    query: Query
    period_s: float
    """Time between two looks."""
    changes_only: bool
    heartbeat_s: float
    """Everything is sent again after this time; 0: never."""
    forms: frozenset[Form] | None = None
    """Only leaves of these types; None: all."""
    due_s: float = 0.0
    _beat_s: float = 0.0
    _sent: dict[object, object] = field(default_factory=dict)

    def begin(self, now_s: float, reading: Reading, *, send: bool) -> list[Item]:
        """The initial values (section 3.5.1.5.2); with updates_only they count as sent (section 3.5.1.2)."""
        items = list(self._items(reading))
        if self.changes_only:
            self._sent.update((item.key, item.value) for item in items)
        self.due_s, self._beat_s = now_s + self.period_s, now_s + self.heartbeat_s
        return items if send else []

    def take(self, now_s: float, reading: Reading) -> list[Item]:
        """The items to send now; sets the next time. A time that was missed is left out."""
        self.due_s = max(self.due_s + self.period_s, now_s)
        items = list(self._items(reading))
        if not self.changes_only:
            return items
        if self.heartbeat_s and now_s >= self._beat_s:
            self._beat_s = max(self._beat_s + self.heartbeat_s, now_s)
        else:
            items = [item for item in items if self._sent.get(item.key) != item.value]
        self._sent.update((item.key, item.value) for item in items)
        return items

    def _items(self, reading: Reading) -> Iterator[Item]:
        for item in self.query.leaves(reading):
            if self.forms is None or (item.leaf is not None and item.leaf.form in self.forms):
                yield item


def subscriptions(asked: Any, mode: str, query: Query) -> list[Subscription]:  # noqa: ANN401  gnmi.Subscription
    """The subscriptions of one entry of the list. Raises: Refusal for an interval that cannot be kept."""
    heartbeat_s = _seconds(asked.heartbeat_interval, "heartbeat_interval")
    period_s = _seconds(asked.sample_interval, "sample_interval") or LOWEST_S
    if mode == "SAMPLE":
        if heartbeat_s and not asked.suppress_redundant:
            heartbeat_s = 0.0  # every sample is sent, and a heartbeat would add nothing
        return [Subscription(query, period_s, asked.suppress_redundant, heartbeat_s)]
    if mode == "ON_CHANGE":
        return [Subscription(query, LOWEST_S, True, heartbeat_s)]
    if query.database:  # SONiC streams what changes
        return [Subscription(query, LOWEST_S, True, heartbeat_s)]
    counted_s = period_s if asked.sample_interval else TARGET_DEFINED_S
    return [
        Subscription(query, counted_s, False, 0.0, _COUNTED),
        Subscription(query, LOWEST_S, True, heartbeat_s, frozenset(Form) - _COUNTED),
    ]


def _seconds(interval_ns: int, name: str) -> float:
    """0 stays 0. Raises: Refusal (section 3.5.1.5.2)."""
    if 0 < interval_ns < LOWEST_S * NS_PER_S:
        raise Refusal(Code.INVALID_ARGUMENT, f"{name} of {interval_ns} ns is too short; least is {LOWEST_S:g} s")
    return interval_ns / NS_PER_S
