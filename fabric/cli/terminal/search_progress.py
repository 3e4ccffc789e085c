"""Progress of a search: a bar on a terminal, a line now and then elsewhere, nothing with --quiet."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self, TextIO

from fabric.cli.terminal.bar import Bar, Repeated
from fabric.units import format_duration_s


class SearchProgress:
    """A context manager; update() takes the work done, all of it, and what comes next. One step can take minutes."""

    def __init__(self, out: TextIO, *, quiet: bool) -> None:
        self._bar = Bar(out, quiet=quiet)
        self._lines = Repeated(self._bar)
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        self._lines.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lines.stop()

    def update(self, done: int, total: int, text: str) -> None:
        """Show what comes next, and the time that the rest takes at the same pace."""
        notes = [] if self._bar.on_terminal else [f"{done / max(1, total):.0%}"]
        if done:
            left_s = (time.monotonic() - self._began) / done * (total - done)
            notes.append(f"about {format_duration_s(left_s)} left".replace("about less", "less"))
        shown = f" ({', '.join(notes)})" if notes else ""
        self._lines.show(done, max(1, total), f"search: {text}{shown}")
