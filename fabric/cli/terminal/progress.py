"""Progress of a run: a bar on a terminal, periodic lines elsewhere, no output with --quiet."""

from __future__ import annotations

import threading
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Final, Self, TextIO

from fabric.cli.terminal.bar import Bar
from fabric.dataplane.state.compiled.jit import CompilerWatch, watching
from fabric.runs.session import Progress
from fabric.units import format_duration_s, format_per_s, format_time_ps

COMPILE_NOTE_S: Final = 1.0
"""Compilation time after which the wait is explained."""


class ProgressLine:
    """A context manager; update() takes the progress of the session."""

    def __init__(self, out: TextIO, *, quiet: bool) -> None:
        self._out = out
        self._bar = Bar(out, quiet=quiet)
        self._first = True
        self._note: threading.Timer | None = None
        self._explained = False
        self._watching = ExitStack()

    def __enter__(self) -> Self:
        if not self._bar.quiet:
            self._watching.enter_context(watching(CompilerWatch(self._compiler_begins, self._compiler_ends)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watching.close()
        self._compiler_ends()
        self._bar.close()

    def say(self, text: str) -> None:
        """One line between two runs."""
        self._bar.say(text)

    def first_answer(self) -> None:
        """The engine has returned for the first time: later compilation is short."""
        self._watching.close()
        self._compiler_ends()

    def update(self, at: Progress) -> None:
        """Show the progress of the run."""
        if self._first:  # the first call may include compilation, so its pace is ignored
            self._first = False
            self._bar.rest()
            return
        self._bar.show(at.now_ps, at.end_ps, standing_text(at))

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


def standing_text(at: Progress) -> str:
    """'3.2ms of 10ms, 4.1 M packet-hops/s, about 20 s left'; unknown parts are left out."""
    parts = [f"{format_time_ps(at.now_ps)} of {format_time_ps(at.end_ps)}"]
    if at.hops_per_s:  # none move where time passes between two bursts
        parts.append(format_per_s(at.hops_per_s, "packet-hops"))
    if at.eta_s is not None:
        parts.append(f"about {format_duration_s(at.eta_s)} left")
    return ", ".join(parts).replace("about less", "less")
