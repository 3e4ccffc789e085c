"""Progress of proofs: a bar on a terminal, a line now and then elsewhere, nothing with --quiet."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self, TextIO

from fabric.cli.terminal.bar import Bar, Repeated
from fabric.units import count, format_duration_s
from fabric.validate.proofs import Proof, counted


class ProofProgress:
    """A context manager; update() takes the proofs so far. One proof can take minutes."""

    def __init__(self, out: TextIO, total: int, *, quiet: bool) -> None:
        self._bar = Bar(out, quiet=quiet)
        self._lines = Repeated(self._bar)
        self._total = total
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        if self._total and not self._bar.quiet:
            self._bar.say(f"{count(self._total, 'finding')} to simulate; the first one can wait for the compiler")
            self._began = time.monotonic()
            self._lines.show(0, self._total, f"0 of {count(self._total, 'finding')} simulated")
            self._lines.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lines.stop()

    def update(self, found: Sequence[Proof]) -> None:
        """Set how many findings are done, and the time that the rest takes at the same pace."""
        done = len(found)
        left_s = (time.monotonic() - self._began) / done * (self._total - done)
        left = f", about {format_duration_s(left_s)} left".replace("about less", "less") if done < self._total else ""
        text = f"{done} of {count(self._total, 'finding')} simulated ({counted(found)}){left}"
        self._lines.show(done, self._total, text)
