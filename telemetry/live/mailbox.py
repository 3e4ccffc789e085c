"""Requests of other threads to the simulation thread, carried out between two steps of the run.

No other thread accesses the engine, so requests need no lock. Rules

1. Reads (scrapes, status, views) have priority over changes (faults, configuration); each kind is first in, first out.
2. One call of `work` carries out the reads that were queued when it began, and at most one change: the run advances
   between two changes, and a read waits for at most one change.
3. The queues are bounded: a read or change beyond MAX_READS or MAX_CHANGES is refused at once, and a request that has
   not begun in time is cancelled.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from fabric.errors import FabricError

ANSWER_TIMEOUT_S: Final = 4.0
"""A scrape may wait for the previous one, so twice this time is less than Prometheus' default scrape_timeout of 10 s:
Prometheus gets the error text before it gives up."""
MAX_READS: Final = 64
MAX_CHANGES: Final = 32

T = TypeVar("T")


class BusyError(FabricError):
    """The request did not begin in time; it was cancelled."""


class _Request(Generic[T]):
    """One request."""

    def __init__(self, work: Callable[[], T]) -> None:
        self.work = work
        self.done = threading.Event()
        self.result: T | None = None
        self.error: BaseException | None = None

    def carry_out(self) -> None:
        """Called by the simulation thread."""
        try:
            self.result = self.work()
        except BaseException as error:  # noqa: BLE001  raised again in the requesting thread
            self.error = error
        self.done.set()


class Mailbox:
    """Requests of other threads to the thread that calls `work`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._reads: deque[_Request[Any]] = deque()
        self._changes: deque[_Request[Any]] = deque()

    def ask(self, work: Callable[[], T], timeout_s: float = ANSWER_TIMEOUT_S, *, change: bool = False) -> T:
        """Run `work` in the simulation thread, and return or raise its result.

        `change`: the work changes the run, and may take long.

        Raises: BusyError where the work has not begun in time; it is then cancelled.
        """
        request = _Request(work)
        waiting, most = (self._changes, MAX_CHANGES) if change else (self._reads, MAX_READS)
        with self._changed:
            if len(waiting) >= most:
                raise BusyError(
                    f"{most} {'changes' if change else 'requests'} are waiting for the run already",
                    "retry with fewer concurrent requests",
                )
            waiting.append(request)
            self._changed.notify_all()
        if not request.done.wait(timeout_s):
            with self._changed:
                if request in waiting:
                    waiting.remove(request)
                    raise BusyError(
                        f"the run gave no answer within {timeout_s:g} s",
                        "retry; if the error persists, raise the dilation",
                    )
            request.done.wait()  # the work has begun and will end
        if request.error is not None:
            raise request.error
        return request.result  # type: ignore[return-value]  # None only where T is

    def work(self, timeout_s: float | None) -> bool:
        """Carry out requests; wait for one up to timeout_s (None: forever). Returns whether there was any."""
        with self._changed:
            self._changed.wait_for(lambda: self._reads or self._changes, timeout_s)
            found = list(self._reads)
            self._reads.clear()
            if self._changes:
                found.append(self._changes.popleft())
        for request in found:
            request.carry_out()
        return bool(found)
