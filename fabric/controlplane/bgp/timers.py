"""Timers as numbers: the owner asks for the next deadline, and calls run() at that time.

To postpone a timer (a hold timer, with every message) costs one assignment: its entry in the heap is moved only when
the entry comes up and turns out to be too early.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from heapq import heappop, heappush
from typing import Final

from fabric.controlplane.bgp.cause import Cause

JITTER_LEAST: Final = 0.75
"""RFC 4271 section 10."""


class Timer:
    """One timer. `deadline_ns` None: stopped."""

    __slots__ = ("cause", "deadline_ns", "expire", "queued_ns")

    def __init__(self, expire: Callable[[int], None]) -> None:
        self.expire = expire
        self.deadline_ns: int | None = None
        self.cause = 0
        """Cause when the timer was set; see cause.py."""
        self.queued_ns: int | None = None
        """Earliest entry in the heap."""


class TimerJitter:
    """Jitter of timers: a factor of 0.75 to 1.0, drawn each time a timer is set (RFC 4271 section 10)."""

    def __init__(self, key: int | None) -> None:
        """`key` of the random numbers; None: no jitter."""
        self._key = key
        self._drawn = 0

    def __call__(self, interval_ns: int) -> int:
        """The interval with jitter."""
        if self._key is None or not interval_ns:
            return interval_ns
        self._drawn += 1
        word = int.from_bytes(blake2b(f"{self._key}/{self._drawn}".encode(), digest_size=8).digest())
        return int(interval_ns * (JITTER_LEAST + (1 - JITTER_LEAST) * word / 2**64))


class Timers:
    """All timers of a speaker, in order of (deadline, order of setting)."""

    def __init__(self, cause: Cause) -> None:
        self._cause = cause
        self._heap: list[tuple[int, int, Timer]] = []
        self._count = 0

    def set(self, timer: Timer, deadline_ns: int) -> None:
        """Start or restart."""
        timer.deadline_ns, timer.cause = deadline_ns, self._cause.now
        if timer.queued_ns is None or deadline_ns < timer.queued_ns:
            self._push(timer, deadline_ns)

    @staticmethod
    def stop(timer: Timer) -> None:
        """Stop; no effect if it is not running."""
        timer.deadline_ns = None

    def _push(self, timer: Timer, deadline_ns: int) -> None:
        timer.queued_ns = deadline_ns
        self._count += 1
        heappush(self._heap, (deadline_ns, self._count, timer))

    def next_ns(self) -> int | None:
        """Earliest deadline, None if no timer runs."""
        heap = self._heap
        while heap:
            queued_ns, _, timer = heap[0]
            if timer.deadline_ns == queued_ns:
                return queued_ns
            heappop(heap)
            if timer.queued_ns == queued_ns:
                timer.queued_ns = None
                if timer.deadline_ns is not None:
                    self._push(timer, timer.deadline_ns)
        return None

    def run(self, now_ns: int) -> None:
        """Expire every due timer, including due timers that an expiry starts."""
        while (due_ns := self.next_ns()) is not None and due_ns <= now_ns:
            _, _, timer = heappop(self._heap)
            timer.queued_ns = None
            timer.deadline_ns = None
            self._cause.now = timer.cause
            timer.expire(now_ns)
