"""Progress of a run: a bar on a terminal, periodic lines elsewhere, no output with --quiet."""

from __future__ import annotations

from types import TracebackType
from typing import Self, TextIO

from fabric.cli.terminal.bar import Bar
from fabric.cli.terminal.compiler_note import CompilerNote
from fabric.runs.session import Progress
from fabric.units import format_duration_s, format_per_s, format_time_ps


class ProgressLine:
    """A context manager; update() takes the progress of the session."""

    def __init__(self, out: TextIO, *, quiet: bool) -> None:
        self._bar = Bar(out, quiet=quiet)
        self._first = True
        self._compiler = CompilerNote(out, quiet=quiet)

    def __enter__(self) -> Self:
        self._compiler.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._compiler.close()
        self._bar.close()

    def say(self, text: str) -> None:
        """One line between two runs."""
        self._bar.say(text)

    def first_answer(self) -> None:
        """The engine has returned for the first time: later compilation is short."""
        self._compiler.close()

    def update(self, at: Progress) -> None:
        """Show the progress of the run."""
        if self._first:  # the first call may include compilation, so its pace is ignored
            self._first = False
            self._bar.rest()
            return
        self._bar.show(at.now_ps, at.end_ps, standing_text(at))


def standing_text(at: Progress) -> str:
    """'3.2ms of 10ms, 4.1 M packet-hops/s, about 20 s left'; unknown parts are left out."""
    parts = [f"{format_time_ps(at.now_ps)} of {format_time_ps(at.end_ps)}"]
    if at.hops_per_s:  # none move where time passes between two bursts
        parts.append(format_per_s(at.hops_per_s, "packet-hops"))
    if at.eta_s is not None:
        parts.append(f"about {format_duration_s(at.eta_s)} left")
    return ", ".join(parts).replace("about less", "less")
