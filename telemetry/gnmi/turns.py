"""Who makes messages when: one stream at a time, in turn, and all together in half of a processor at most.

Messages are made in Python, which the simulation thread needs, too; without a bound, clients that ask for everything
ten times a second would slow the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

SHORT_S: Final = 0.001
"""Work that is not followed by a pause."""

T = TypeVar("T")


class Turns:
    """Belongs to one event loop."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()  # first come, first served

    async def do(self, work: Callable[[], T]) -> T:
        """The result of `work`; then nobody works for as long as it took."""
        async with self._turn:
            clock = asyncio.get_running_loop().time
            began_s = clock()
            result = work()
            took_s = clock() - began_s
            if took_s > SHORT_S:
                await asyncio.sleep(took_s)
        return result
