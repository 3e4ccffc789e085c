"""Which event a speaker's work is put down to: a number that the owner chooses and this package carries.

The owner sets `Cause.now` before each call. Whatever a call leaves behind (a timer, a route that waits for the decision
process, an action) remembers the number, and brings it back when its time comes. 0: no event, as for keepalives.

Where two events meet in one route or in one batch of UPDATEs, the later number counts for the batch, and for the route
the one whose news came last.
"""

from __future__ import annotations


class Cause:
    """The number that is current. One object for all speakers of a network."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0
