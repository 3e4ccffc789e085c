"""How far a run is: a bar on a terminal, a line now and then elsewhere, nothing when told to be quiet."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Final, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from fabric.report.session import Progress as Standing
from fabric.units import format_time_ps

LINE_EVERY_S: Final = 10.0
"""Wall time between lines where standard error is no terminal."""
COMPILE_NOTE_S: Final = 1.0
"""Silence after which the wait for the compiler is explained."""


class ProgressLine:
    """A context manager; update() takes what the session tells."""

    def __init__(self, out: TextIO, *, quiet: bool) -> None:
        self._out = out
        self._quiet = quiet
        self._console = Console(file=out, highlight=False)
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._said = time.monotonic()
        self._first = True
        self._note = threading.Timer(COMPILE_NOTE_S, self._explain_wait)

    def __enter__(self) -> Self:
        if not self._quiet:
            self._note.daemon = True
            self._note.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._note.cancel()
        if self._bar is not None:
            self._bar.stop()

    def first_answer(self) -> None:
        """The engine has returned for the first time: nothing is being compiled any more."""
        self._note.cancel()

    def update(self, at: Standing) -> None:
        """Show where the run stands."""
        if self._quiet or self._first:  # the first call may have compiled; its pace says nothing
            self._first = False
            return
        eta = "" if at.eta_s is None else f", at most {_clock(at.eta_s)} left"
        where = f"{format_time_ps(at.now_ps)} of {format_time_ps(at.end_ps)}"
        text = f"{where}, {at.hops_per_s / 1e6:.1f} M packet-hops/s{eta}"
        if self._console.is_terminal:
            if self._bar is None:
                self._bar = Progress(
                    BarColumn(bar_width=30),
                    TextColumn("{task.percentage:>3.0f}%  {task.fields[text]}"),
                    console=self._console,
                    transient=True,
                )
                self._task = self._bar.add_task("", total=at.end_ps, text=text)
                self._bar.start()
            if self._task is not None:
                self._bar.update(self._task, completed=at.now_ps, text=text)
        elif time.monotonic() - self._said >= LINE_EVERY_S:
            self._said = time.monotonic()
            print(text, file=self._out, flush=True)

    def _explain_wait(self) -> None:
        print("compiling the engine; this happens once per version", file=self._out, flush=True)


def _clock(seconds: float) -> str:
    whole = round(seconds)
    return (
        f"{whole} s"
        if whole < 60
        else f"{whole // 60} min {whole % 60} s"
        if whole < 3600
        else f"{whole // 3600} h {whole % 3600 // 60} min"
    )
