"""SIGINT, SIGTERM and SIGHUP while a laboratory is built: they unwind the stack, so that the laboratory is removed.

Steps that must not be interrupted, and the removal, defer them. SIGKILL cannot be deferred; the record covers it.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Final

_NUMBERS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Signals that arrive in the block take effect after it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _NUMBERS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def unwinding() -> Iterator[None]:
    """SIGTERM and SIGHUP raise SystemExit with 128 and their number, as SIGINT raises KeyboardInterrupt."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _frame: object) -> None:
        sys.exit(128 + number)

    before = {
        number: signal.signal(number, end)
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    }  # nohup(1)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
