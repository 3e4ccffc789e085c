"""How far a run is: a bar on a terminal, a line now and then elsewhere, nothing when told to be quiet."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Final, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from fabric.report.session import Progress as Standing
from fabric.state.jit import CompilerWatch, watching
from fabric.units import format_duration_s, format_per_s, format_time_ps

LINE_EVERY_S: Final = 10.0
"""Wall time between lines where standard error is no terminal."""
COMPILE_NOTE_S: Final = 1.0
"""How long the compiler has been at work when the wait is explained."""


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
        self._note: threading.Timer | None = None
        self._explained = False
        self._watching = ExitStack()

    def __enter__(self) -> Self:
        if not self._quiet:
            self._watching.enter_context(watching(CompilerWatch(self._compiler_begins, self._compiler_ends)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watching.close()
        self._compiler_ends()
        if self._bar is not None:
            with suppress(OSError):
                self._bar.stop()

    def first_answer(self) -> None:
        """The engine has returned for the first time: what may be compiled later is not waited for."""
        self._watching.close()
        self._compiler_ends()

    def update(self, at: Standing) -> None:
        """Show where the run stands."""
        if self._quiet or self._first:  # the first call may have compiled; its pace says nothing
            self._first, self._said = False, time.monotonic()
            return
        try:
            self._show(at)
        except OSError:         # nobody can see it any more; the run goes on
            self._quiet = True

    def _show(self, at: Standing) -> None:
        text = standing_text(at)
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

    def _compiler_begins(self) -> None:
        if not self._explained:
            self._note = threading.Timer(COMPILE_NOTE_S, self._explain_wait)
            self._note.daemon = True
            self._note.start()

    def _compiler_ends(self) -> None:
        if self._note is not None:
            self._note.cancel()
            self._note = None

    def _explain_wait(self) -> None:
        self._explained = True
        with suppress(OSError):
            print("compiling the engine; this happens once per version", file=self._out, flush=True)


def standing_text(at: Standing) -> str:
    """'3.2ms of 10ms, 4.1 M packet-hops/s, about 20 s left'; what is not known is left out."""
    parts = [f"{format_time_ps(at.now_ps)} of {format_time_ps(at.end_ps)}"]
    if at.hops_per_s:       # none move where time passes between two bursts
        parts.append(format_per_s(at.hops_per_s, "packet-hops"))
    if at.eta_s is not None:
        parts.append(f"about {format_duration_s(at.eta_s)} left")
    return ", ".join(parts).replace("about less", "less")
