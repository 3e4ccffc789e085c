"""Standard output and error that take every character: what a terminal's encoding lacks is spelled in ASCII.

A run that is done must not fail because LANG=C has no 'µ', nor because a file's name is not UTF-8 (PEP 383 carries its
bytes as lone surrogates, which no encoding takes). Files that are written are UTF-8 whatever the terminal is.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO

ERRORS: Final = "fabric.spelled"
"""Name of the error handler, for TextIOWrapper.reconfigure()."""
_SPELLED: Final = {"µ": "u", "μ": "u", "×": "x", "²": "^2", "–": "-", "—": "-", "…": "...", "≥": ">=", "≤": "<=",
                   "→": "->", "←": "<-", "↔": "<->", "·": ".", "✓": "yes", "✗": "no", "●": "*", "○": "o", "▶": ">",
                   "─": "-", "━": "-", "│": "|", "├": "|", "└": "`", "█": "#", "░": "."}
"""Characters of our own tables and units. Any other becomes a backslash escape."""


STDOUT: Final = "standard output"
"""Stands for a file's name in errors of writing there."""


class _Named(io.TextIOWrapper):
    """Standard output whose errors say what could not be written; write(2) itself does not know it."""

    def write(self, text: str, /) -> int:
        """As TextIOWrapper. Raises: OSError with STDOUT as the name of the file."""
        with _naming():
            return super().write(text)

    def flush(self) -> None:
        """As write()."""
        with _naming():
            super().flush()


@contextmanager
def _naming() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:         # the reader went away: no error of ours
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, STDOUT) from error


def name_them() -> None:
    """Make sys.stdout a stream that is named in errors. For the process's own stream only, once."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        old = sys.stdout
        encoding, buffering = old.encoding, old.line_buffering
        sys.stdout = _Named(old.detach(), encoding=encoding, errors="strict", line_buffering=buffering)


def prepare() -> None:
    """Let sys.stdout and sys.stderr take every character; what is written to a closed one (`>&-`) is discarded."""
    codecs.register_error(ERRORS, _spell)
    if sys.stdout is None:
        sys.stdout = _nowhere()
    if sys.stderr is None:
        sys.stderr = _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ERRORS)


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def discard() -> None:
    """Send what is still to be written on standard output nowhere: Python flushes it once more at exit, and would fail
    again (docs.python.org, signal: note on SIGPIPE).
    """
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """A line on standard error; where nobody can read it, nothing happens."""
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def _spell(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = []
    for letter in error.object[error.start: error.end]:
        plain = _SPELLED.get(letter)
        found.append(plain if plain is not None else letter.encode("ascii", "backslashreplace").decode("ascii"))
    return "".join(found), error.end
