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


def refuse(text: str) -> None:
    raise ValueError(text)
