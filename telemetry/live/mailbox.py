"""One thread plays the fabric; what others want of it they ask for, and it does so between two moments of the run.

So nobody else ever touches the engine: a scrape, a pause and a fault are the same kind of thing, done in the order in
which they were asked for, and none needs a lock.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from fabric.errors import FabricError

ANSWER_TIMEOUT_S: Final = 5.0
"""Half of Prometheus' default scrape_timeout, so that the answer says why before Prometheus gives up."""

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


class Mailbox:
    """Requests of other threads to the one that calls `work`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[_Request[Any]] = deque()

    def ask(self, work: Callable[[], T], timeout_s: float = ANSWER_TIMEOUT_S) -> T:
        """Have `work` done by the playing thread, and return or raise what it does.

        Raises: BusyError where it has not begun in time; then it never will.
        """
        request = _Request(work)
        with self._changed:
            self._waiting.append(request)
            self._changed.notify_all()
        if not request.done.wait(timeout_s):
            with self._changed:
                if request in self._waiting:
                    self._waiting.remove(request)
                    raise BusyError(f"the run gave no answer within {timeout_s:g} s",
                                    "ask again; if it stays so, raise the dilation")
            request.done.wait()     # it has begun: it will end
        if request.error is not None:
            raise request.error
        return request.result       # type: ignore[return-value]  # None only where T is

    def work(self, timeout_s: float | None) -> bool:
        """Do what is asked for; wait for it up to timeout_s (None: for ever). Returns whether there was anything."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting, timeout_s)
        done = False
        while True:
            with self._changed:
                if not self._waiting:
                    return done
                request = self._waiting.popleft()
            done = True
            try:
                request.result = request.work()
            except BaseException as error:  # noqa: BLE001  it belongs to whoever asked
                request.error = error
            request.done.set()
