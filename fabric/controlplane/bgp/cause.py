"""The event that causes a speaker's work: a number that the owner chooses and this package propagates.

The owner sets `Cause.now` before each call. Everything that a call leaves pending (a timer, a route that waits for the
decision process, an action) stores the number, and restores it when it runs. 0: no event, as for keepalives.

If two events affect one batch of UPDATEs, the batch has the higher number. If they affect one route, the route has the
number of the last change.
"""

from __future__ import annotations


class Cause:
    """The current number. One object for all speakers of a network."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0
