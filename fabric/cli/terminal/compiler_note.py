"""The wait for the compiler, explained: what is going on, about how long, and how long it has taken so far.

Nothing is printed where the kernels come from the disk cache.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Final, Self, TextIO

from fabric.cli.terminal.bar import LINE_EVERY_S
from fabric.dataplane.state.compiled.jit import CompilerWatch, watching
from fabric.studies.code import is_first_use
from fabric.units import format_duration_s

NOTE_AFTER_S: Final = 1.0
"""Compilation time after which the wait is explained."""
FIRST_LINE: Final = "compiling the engine, once per version: about a minute, several on a busy machine"
ANOTHER_PART: Final = (
    "compiling what the cache lacks, once per version: seconds for a part of the engine, a minute for all"
)
BEFORE_OTHERS: Final = "the engine is compiled first, once per version: about a minute more, several on a busy machine"
"""For commands whose runs are in other processes."""


class CompilerNote:
    """A context manager: within it, a line when the compiler has worked for a second, and one now and then after it."""

    def __init__(self, out: TextIO, *, quiet: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._out, self._quiet, self._clock = out, quiet, clock
        self._timer: threading.Timer | None = None
        self._began_s: float | None = None
        self._first_line = FIRST_LINE
        self._explained = False
        self._lock = threading.Lock()  # the timer's thread against the compiler's
        self._watching = ExitStack()

    def __enter__(self) -> Self:
        if not self._quiet:
            self._watching.enter_context(watching(CompilerWatch(self._begins, self._ends)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """The engine has answered, or ended: later compilation is short, and is not mentioned."""
        self._watching.close()
        self._ends()

    def _begins(self) -> None:
        """The kernels are compiled one after the other: the time is that since the first."""
        if self._began_s is None:
            self._began_s = self._clock()
            self._first_line = FIRST_LINE if is_first_use() else ANOTHER_PART
        self._wait(LINE_EVERY_S if self._explained else NOTE_AFTER_S)

    def _ends(self) -> None:
        with self._lock:
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _wait(self, seconds: float) -> None:
        with self._lock:
            self._begin_timer(seconds)

    def _begin_timer(self, seconds: float) -> None:
        timer = threading.Timer(seconds, lambda: self._explain(timer))
        timer.daemon = True
        self._timer = timer
        timer.start()

    def _explain(self, timer: threading.Timer) -> None:
        if self._timer is not timer:  # the compiler ended in the meantime
            return
        so_far = format_duration_s(self._clock() - (self._began_s or 0.0))
        text = f"compiling the engine: {so_far} so far" if self._explained else self._first_line
        self._explained = True
        with suppress(OSError):
            print(text, file=self._out, flush=True)
        with self._lock:
            if self._timer is timer:
                self._begin_timer(LINE_EVERY_S)
