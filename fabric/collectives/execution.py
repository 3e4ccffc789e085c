"""Carries out a table of transfers in any order that its needs allow; the order is the caller's choice.

Rules (transfers.py): messages of a transfer are posted in order and arrive in order; a message of 0 bytes arrives with
its predecessor; a need counts messages of the earlier transfer. Nothing here knows of time or data.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabric.collectives.transfers import NEED_COLUMNS, Event, Transfers


class Execution:
    """Counts of messages posted, arrived and completed, by transfer.

    `ready` says whether the next message of a transfer may be posted. Each of `post`, `arrive` and `complete` takes
    one more message of a transfer and returns the transfers whose next message may have become ready.
    """

    def __init__(self, transfers: Transfers) -> None:
        n = len(transfers)
        self.count: Sequence[int] = transfers.count.tolist()
        self.done: tuple[list[int], list[int], list[int]] = ([0] * n, [0] * n, [0] * n)
        """Messages by Event: arrived, completed, posted."""
        self.needs: list[list[tuple[int, int, int, int]]] = [[] for _ in range(n)]
        """(earlier, lead, per, event) of each transfer."""
        self.waiting: tuple[list[list[int]], ...] = tuple([[] for _ in range(n)] for _ in Event)
        """By Event and transfer, the transfers that need this event of it."""
        columns = (getattr(transfers, name).tolist() for name in NEED_COLUMNS)
        for earlier, later, lead, per, event in zip(*columns, strict=True):
            self.needs[later].append((earlier, lead, per, event))
            behind = self.waiting[event][earlier]
            if not behind or behind[-1] != later:
                behind.append(later)

    def ready(self, row: int) -> bool:
        """Whether all needs of the next message of `row` are met, and there is one."""
        k = self.done[Event.POSTED][row]
        if k >= self.count[row]:
            return False
        count, done = self.count, self.done
        for earlier, lead, per, event in self.needs[row]:
            needed = lead + per * k
            if done[event][earlier] < needed and done[event][earlier] < count[earlier]:
                return False
        return True

    def advance(self, row: int, event: Event) -> list[int]:
        """One more message of `row` was posted, arrived or was completed; returns the transfers to look at."""
        self.done[event][row] += 1
        behind = self.waiting[event][row]
        return [row, *behind] if event is Event.POSTED else behind

    def unfinished(self) -> list[int]:
        """Transfers with messages that were not posted: with needs that nothing meets."""
        return [row for row, count in enumerate(self.count) if self.done[Event.POSTED][row] < count]
