"""The one line of a long command: a bar on a terminal, a line now and then elsewhere, no output with --quiet."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Final, TextIO

from rich.progress import BarColumn, Progress, TaskID, TextColumn

from fabric.render.console import PlainConsole

LINE_EVERY_S: Final = 10.0
"""Wall time between lines where the output is not a terminal."""


class Bar:
    """Shows how much is done. When the output cannot be written, it becomes quiet and the command continues."""

    def __init__(self, out: TextIO, *, quiet: bool) -> None:
        self.quiet = quiet
        self._out = out
        self._console = PlainConsole(out)
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._shown_s = time.monotonic()

    @property
    def on_terminal(self) -> bool:
        """Whether it is a bar, with the share that is done."""
        return self._console.is_terminal

    def say(self, text: str) -> None:
        """One line above the bar."""
        if not self.quiet:
            with suppress(OSError):
                self._console.print(text, highlight=False, markup=False)

    def rest(self) -> None:
        """Begin the time to the next line now."""
        self._shown_s = time.monotonic()

    def show(self, done: int, total: int, text: str) -> None:
        """Set the bar to `done` of `total`, with a text beside it; elsewhere the text alone, every LINE_EVERY_S."""
        if self.quiet:
            return
        try:
            self._show(done, total, text)
        except OSError:
            self.quiet = True

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            with suppress(OSError):
                self._bar.stop()

    def _show(self, done: int, total: int, text: str) -> None:
        if self._console.is_terminal:
            if self._bar is None:
                self._bar = Progress(
                    BarColumn(bar_width=30),
                    TextColumn("{task.percentage:>3.0f}%  {task.fields[text]}"),
                    console=self._console,
                    transient=True,
                )
                self._task = self._bar.add_task("", total=total, text=text)
                self._bar.start()
            if self._task is not None:
                self._bar.update(self._task, completed=done, total=total, text=text)
        elif time.monotonic() - self._shown_s >= LINE_EVERY_S:
            self._shown_s = time.monotonic()
            print(text, file=self._out, flush=True)


class Repeated:
    """A bar whose last text a thread shows again, so that a step that takes minutes does not stop the lines."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._last: tuple[int, int, str] | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def start(self) -> None:
        """Begin, unless the bar is quiet."""
        if not self._bar.quiet:
            self._thread.start()

    def show(self, done: int, total: int, text: str) -> None:
        """As that of the bar."""
        self._bar.show(done, total, text)  # first, so that only one thread makes the bar
        self._last = done, total, text

    def stop(self) -> None:
        """End the thread, and remove the bar."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._bar.close()

    def _write(self) -> None:
        while not self._ended.wait(LINE_EVERY_S):
            if self._last is not None:
                self._bar.show(*self._last)
