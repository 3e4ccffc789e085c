"""One kind of input file, and how its commands are run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.reliability.command import Answer, call


class Kind(NamedTuple):
    """One kind of file: its name, content, and the commands that read it, by the folder it lies in."""

    file: str
    content: bytes
    commands: Callable[[Path], Sequence[tuple[str | Path, ...]]]
    variable: str = ""
    """Variable of the environment that names the file; '' where a command does."""

    def answers(self, home: Path) -> Iterator[tuple[tuple[str | Path, ...], Answer]]:
        """How each command ends."""
        for words in self.commands(home):
            with _set(self.variable, str(home / self.file)):
                answer = call(*words)
            yield words, answer


@contextlib.contextmanager
def _set(variable: str, value: str) -> Iterator[None]:
    before = os.environ.get(variable)
    if variable:
        os.environ[variable] = value
    try:
        yield
    finally:
        if variable and before is None:
            del os.environ[variable]
        elif variable and before is not None:
            os.environ[variable] = before
