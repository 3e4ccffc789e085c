"""Waiting for an event instead of for a time: the limit is one that only a fault reaches, on a slow machine as well."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

LIMIT_S: Final = 300.0
_PAUSE_S: Final = 0.01
Found = TypeVar("Found")


def until(look: Callable[[], Found], what: str, limit_s: float = LIMIT_S, pause_s: float = _PAUSE_S) -> Found:
    """The first answer that is true. Raises AssertionError with `what` was waited for, and the last answer.

    pause_s : between two looks; 0 for what comes in microseconds and is waited for thousands of times
    """
    end_s = time.monotonic() + limit_s
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < end_s, f"waited {limit_s:g} s in vain until {what}; the last answer was {found!r}"
        time.sleep(pause_s)
