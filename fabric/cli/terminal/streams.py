"""Standard output and error that accept every character, and that external text cannot control.

Characters outside the terminal's encoding are written in ASCII. Hidden characters (fabric/visible.py) are spelled out,
except newlines and tabs, because a terminal interprets them. Only rich writes escape sequences; its consoles
(fabric/render/console.py) use the stream below this one.

A finished run must not fail because LANG=C has no 'µ', or because a file name is not UTF-8 (PEP 383 represents its
bytes as lone surrogates, which no encoding accepts). Written files are UTF-8 on every terminal.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TextIO, cast

from fabric.visible import visible

ERRORS: Final = "fabric.spelled"
"""Name of the error handler, for TextIOWrapper.reconfigure()."""
_SPELLED: Final = {
    "µ": "u",
    "μ": "u",
    "×": "x",
    "²": "^2",
    "–": "-",
    "—": "-",
    "…": "...",
    "≥": ">=",
    "≤": "<=",
    "→": "->",
    "←": "<-",
    "↔": "<->",
    "·": ".",
    "✓": "yes",
    "✗": "no",
    "●": "*",
    "○": "o",
    "▶": ">",
    "─": "-",
    "━": "-",
    "│": "|",
    "├": "|",
    "└": "`",
    "█": "#",
    "░": ".",
}
"""Characters of tables and units. Other characters become backslash escapes."""


STDOUT: Final = "standard output"
"""File name in errors of writing to standard output."""


class _Named(io.TextIOWrapper):
    """Standard output with its name in errors; write(2) does not give one."""

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
    except BrokenPipeError:  # the reader ended: not an error
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, STDOUT) from error


def name_them() -> None:
    """Replace sys.stdout by a stream with its name in errors. Only for the process's own stream, once."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        old = sys.stdout
        encoding, buffering = old.encoding, old.line_buffering
        sys.stdout = _Named(old.detach(), encoding=encoding, errors="strict", line_buffering=buffering)


class Guarded:
    """A text stream that spells hidden characters out; `raw` is the stream itself."""

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str, /) -> int:
        """Like TextIO; returns the number of characters of `text`."""
        self.raw.write(visible(text, lines=True))
        return len(text)

    def writelines(self, texts: Iterable[str], /) -> None:
        """As TextIO."""
        self.raw.writelines(visible(text, lines=True) for text in texts)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.raw.close()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  any attribute of the stream
        return getattr(self.raw, name)


def prepare() -> None:
    """Make sys.stdout and sys.stderr accept every character, and spell out hidden ones.

    Output to a closed stream (`>&-`) is discarded.
    """
    codecs.register_error(ERRORS, _spell)
    if sys.stdout is None:
        sys.stdout = _nowhere()
    if sys.stderr is None:
        sys.stderr = _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ERRORS)
    if not isinstance(sys.stdout, Guarded):
        sys.stdout = cast("TextIO", Guarded(sys.stdout))
    if not isinstance(sys.stderr, Guarded):
        sys.stderr = cast("TextIO", Guarded(sys.stderr))


@contextmanager
def guarded() -> Iterator[None]:
    """prepare(), and restore the streams afterwards."""
    before = sys.stdout, sys.stderr
    prepare()
    try:
        yield
    finally:
        for now, name in zip(before, ("stdout", "stderr"), strict=True):
            if now is not None:  # a stream that was closed stays replaced
                setattr(sys, name, now)


def write_utf8() -> None:
    """Make standard output UTF-8 on every terminal: for a format whose standard requires UTF-8."""
    stream = sys.stdout.raw if isinstance(sys.stdout, Guarded) else sys.stdout
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def discard() -> None:
    """Discard the rest of standard output: Python flushes it at exit, and would fail again (docs.python.org, signal:
    note on SIGPIPE).
    """
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """Print a line on standard error; errors are ignored if it is closed."""
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def _spell(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = []
    for letter in error.object[error.start : error.end]:
        plain = _SPELLED.get(letter)
        found.append(plain if plain is not None else letter.encode("ascii", "backslashreplace").decode("ascii"))
    return "".join(found), error.end
