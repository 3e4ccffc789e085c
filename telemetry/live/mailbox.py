"""Requests of other threads to the thread that plays the fabric, carried out between two moments of the run.

So no other thread touches the engine, and no request needs a lock. Rules

1. Looks (scrapes, status, views) go before changes (faults, configuration), each kind in the order of asking.
2. One call of `work` carries out the looks that were there when it began, and one change at most: the run goes on
   between two changes, and a look waits for one change at most, however many are asked for.
3. What waits is bounded: a look or change beyond MAX_LOOKS or MAX_CHANGES is refused at once, and one that has not
   begun in time is taken back.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from fabric.errors import FabricError

ANSWER_TIMEOUT_S: Final = 4.0
"""Two such times, for a scrape that waits for the one before it, are less than Prometheus' default scrape_timeout of
10 s, so that the answer says why before Prometheus gives up."""
MAX_LOOKS: Final = 64
MAX_CHANGES: Final = 32

T = TypeVar("T")


class BusyError(FabricError):
    """The run did not come to the request in time; it has not been carried out and will not be."""


class _Request(Generic[T]):
    """One thing asked for."""

    def __init__(self, work: Callable[[], T]) -> None:
        self.work = work
        self.done = threading.Event()
        self.result: T | None = None
        self.error: BaseException | None = None

    def carry_out(self) -> None:
        """By the playing thread."""
        try:
            self.result = self.work()
        except BaseException as error:  # noqa: BLE001  it belongs to whoever asked
            self.error = error
        self.done.set()


class Mailbox:
    """Requests of other threads to the one that calls `work`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._looks: deque[_Request[Any]] = deque()
        self._changes: deque[_Request[Any]] = deque()

    def ask(self, work: Callable[[], T], timeout_s: float = ANSWER_TIMEOUT_S, *, change: bool = False) -> T:
        """Have `work` done by the playing thread, and return or raise what it does.

        `change`: it changes the run, and may take long.

        Raises: BusyError where it has not begun in time; then it never will.
        """
        request = _Request(work)
        waiting, most = (self._changes, MAX_CHANGES) if change else (self._looks, MAX_LOOKS)
        with self._changed:
            if len(waiting) >= most:
                raise BusyError(f"{most} {'changes' if change else 'requests'} are waiting for the run already",
                                "ask again, with fewer at a time")
            waiting.append(request)
            self._changed.notify_all()
        if not request.done.wait(timeout_s):
            with self._changed:
                if request in waiting:
                    waiting.remove(request)
                    raise BusyError(f"the run gave no answer within {timeout_s:g} s",
                                    "ask again; if it stays so, raise the dilation")
            request.done.wait()     # it has begun: it will end
        if request.error is not None:
            raise request.error
        return request.result       # type: ignore[return-value]  # None only where T is

    def work(self, timeout_s: float | None) -> bool:
        """Do what is asked for; wait for it up to timeout_s (None: for ever). Returns whether there was anything."""
        with self._changed:
            self._changed.wait_for(lambda: self._looks or self._changes, timeout_s)
            found = list(self._looks)
            self._looks.clear()
            if self._changes:
                found.append(self._changes.popleft())
        for request in found:
            request.carry_out()
        return bool(found)
