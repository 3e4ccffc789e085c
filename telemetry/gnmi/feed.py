"""Readings shared by all clients: one at a time, so that many subscribers cost the run no more than one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from telemetry.export.http_server import Lane
from telemetry.gnmi.reading import Reading

SPACING_S: Final = 0.05
"""Least time between two readings."""
REST: Final = 3
"""Readings take at most one part in REST + 1 of the time, however large the fabric is."""


class Feed:
    """Belongs to one event loop.

    Parameters
    ----------
    read : callable     makes a reading; called in a thread, blocks, and may raise FabricError
    """

    def __init__(self, read: Callable[[], Reading]) -> None:
        self._read = read
        self._lane = Lane("gnmi", 1, 1)
        self._last: Reading | None = None
        self._last_s = -1.0
        self._next_s = 0.0
        self._pending: asyncio.Task[None] | None = None

    async def since(self, time_s: float) -> Reading:
        """A reading begun at this time of the event loop's clock or later. Raises: what `read` raises."""
        while self._last is None or self._last_s < time_s:
            if self._pending is None:
                self._pending = asyncio.get_running_loop().create_task(self._take())
            await asyncio.shield(self._pending)
        return self._last

    async def _take(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            await asyncio.sleep(max(self._next_s - loop.time(), 0.0))
            began_s = loop.time()
            try:
                self._last = await self._lane.do(self._read)
                self._last_s = began_s
            finally:
                self._next_s = loop.time() + max(SPACING_S, REST * (loop.time() - began_s))
        finally:
            self._pending = None

    def close(self) -> None:
        """End the thread."""
        self._lane.close()
