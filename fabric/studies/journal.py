"""The journal of a study: a line for each finished run, with its checksum, on disk before the next one is asked for.

A line is the first 16 hexadecimal digits of the SHA-256 of its text, a space, and the text: one JSON value. A line that
was cut off by a kill or a full disk is the last one and does not count: its run is done again. A line before it that
differs from its checksum was changed later, and is an error.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from fabric.errors import InputErrors, RunDirError
from fabric.reading import MIB, json_value, read_bytes
from fabric.runs import files

NAME: Final = "journal.jsonl"
MAX_BYTES: Final = 1024 * MIB
_DIGITS: Final = 16


class Journal:
    """A journal that this process writes.

    Parameters
    ----------
    path : Path
    content : bytes     whole lines that it has already, as read() returned them
    """

    def __init__(self, path: Path, content: bytes = b"") -> None:
        self._path = path
        with files.replacing(path) as pending:
            pending.write_bytes(content)
        with files.naming(path):
            self._file: BinaryIO = path.open("ab")

    def add(self, value: Any) -> None:  # noqa: ANN401  any JSON value
        """Append one line. When this returns, it is on the disk."""
        with files.naming(self._path):
            self._file.write(line(value))
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; add() is not possible afterwards."""
        self._file.close()


def line(value: Any) -> bytes:  # noqa: ANN401  any JSON value
    """One value as a line."""
    text = json.dumps(value, separators=(",", ":"))
    return f"{_sum(text.encode())} {text}\n".encode()


def read(path: Path) -> tuple[list[Any], bytes]:
    """The values of a journal, and the bytes of its whole lines; none where there is no file.

    Raises: RunDirError where it is no file, or a line before the last one is damaged.
    """
    try:
        data = read_bytes(path, MAX_BYTES) if os.path.lexists(path) else b""
    except InputErrors as error:
        raise RunDirError(f"{path} {error.problems[0].text}", "restore the file, or remove it") from error
    values = []
    whole = 0
    for number, found, last in _lines(data):
        text = _text(found)
        if text is None:
            if last:
                break
            raise RunDirError(
                f"{path}, line {number}: changed since it was written", "remove the line; its run is done again"
            )
        try:
            values.append(json_value(text))
        except ValueError as error:
            raise RunDirError(
                f"{path}, line {number}: cannot be read: {error}", "remove the line; its run is done again"
            ) from error
        whole += len(found)
    return values, data[:whole]


def fault(path: Path) -> str:
    """Damage of a journal: 'line 3 changed since it was written'; '' where there is none. A cut last line is none."""
    if not os.path.lexists(path):
        return "missing"
    try:
        data = read_bytes(path, MAX_BYTES)
    except InputErrors as error:
        return f"unreadable: {error.problems[0].text}"
    broken = [number for number, found, last in _lines(data) if not last and _text(found) is None]
    return f"line {broken[0]} changed since it was written" if broken else ""


def _lines(data: bytes) -> Iterator[tuple[int, bytes, bool]]:
    """(number from 1, the line, whether it is the last)."""
    lines = data.splitlines(keepends=True)
    for number, found in enumerate(lines, start=1):
        yield number, found, number == len(lines)


def _text(found: bytes) -> bytes | None:
    """The JSON of a line; None where the line is cut off or damaged."""
    mark, _, text = found.partition(b" ")
    if not found.endswith(b"\n") or _sum(text.rstrip(b"\n")).encode() != mark:
        return None
    return text


def _sum(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:_DIGITS]
