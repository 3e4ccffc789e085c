"""Functions that workers of tests carry out; without imports that take their time."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def double(number: int) -> int:
    return 2 * number


def slow_double(number: int) -> int:
    time.sleep(0.05)
    return 2 * number


def die_once(marker: str) -> str:
    """Kill the worker the first time, return the second time."""
    path = Path(marker)
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def die(_: object) -> None:
    """Kill the worker each time."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_without_argument(found: object) -> object:
    """Kill the worker where there is no argument."""
    if found is None:
        die(found)
    return found


def span(_: object) -> tuple[float, float]:
    """Begin and end, by a clock that all processes share."""
    began = time.monotonic()
    time.sleep(0.05)
    return began, time.monotonic()


def refuse(text: str) -> None:
    raise ValueError(text)
