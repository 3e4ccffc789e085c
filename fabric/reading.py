"""Reading of files that a user names, or that lie in a folder that a user names.

Only regular files are read, up to a stated limit. A device or a pipe may have no end, and reading from a pipe waits for
a writer. Every refusal names the file and the remedy. Error texts never quote the content of a file of the wrong kind:
the path may be wrong and the file secret.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from pathlib import Path
from typing import Any, BinaryIO, Final

from fabric.errors import InputErrors, Problem
from fabric.units import format_size_bytes

MIB: Final = 2**20
MAX_JSON_DEPTH: Final = 100
"""Levels of lists and objects in a JSON text; what works on its value may recurse."""
_KINDS: Final = {
    stat.S_IFDIR: "a directory",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


def read_bytes(
    path: Path,
    limit_bytes: int,
    *,
    place: str = "",
    stage: str = "reading files",
    too_large: str = "give a smaller file",
    missing: str = "check the name and the permissions",
) -> bytes:
    """The content of a regular file.

    Parameters
    ----------
    path : Path
    limit_bytes : int      larger files are refused before they are read
    place : str            place of the problem: a field of a scenario, an option; the path where empty
    stage : str            stage of the error
    too_large, missing : str   remedies

    Raises: InputErrors with one problem.
    """

    def refused(text: str, hint: str) -> InputErrors:
        return InputErrors(stage, [Problem(place or str(path), f"{path}: {text}" if place else text, hint)])

    with open_bytes(path, place=place, stage=stage, missing=missing) as file:
        try:
            size_bytes = os.fstat(file.fileno()).st_size
            # Files of /proc report the size 0, and reading one may block (/proc/kmsg).
            data = file.read(limit_bytes + 1) if 0 < size_bytes <= limit_bytes else b""
        except OSError as error:
            raise refused(f"cannot be read: {error.strerror}", missing) from error
    if max(size_bytes, len(data)) > limit_bytes:
        raise refused(f"is larger than {format_size_bytes(limit_bytes)}, the maximum", too_large)
    return data


def open_bytes(
    path: Path, *, place: str = "", stage: str = "reading files", missing: str = "check the name and the permissions"
) -> BinaryIO:
    """A regular file, open for reading in parts; the caller closes it and limits what is read.

    Raises: InputErrors with one problem.
    """

    def refused(text: str, hint: str) -> InputErrors:
        return InputErrors(stage, [Problem(place or str(path), f"{path}: {text}" if place else text, hint)])

    try:
        # Without O_NONBLOCK, opening a pipe waits for its writer.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = error.strerror if isinstance(error, OSError) else "the name holds a NUL character"
        raise refused(f"cannot be read: {why}", missing) from error
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        os.close(handle)
        raise refused(
            f"is {_KINDS.get(stat.S_IFMT(about.st_mode), 'no file')}, not a regular file",
            "name one file" if stat.S_ISDIR(about.st_mode) else "save its content as a file, and name that",
        )
    return os.fdopen(handle, "rb")


def read_text(
    path: Path,
    limit_bytes: int,
    *,
    place: str = "",
    stage: str = "reading files",
    too_large: str = "give a smaller file",
    missing: str = "check the name and the permissions",
) -> str:
    """The same as UTF-8 text; a byte order mark is left out. Raises: InputErrors with one problem."""
    data = read_bytes(path, limit_bytes, place=place, stage=stage, too_large=too_large, missing=missing)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputErrors(
            stage,
            [
                Problem(
                    place or f"{path}:{line}",
                    f"{f'{path.name} line {line}: ' if place else ''}not UTF-8 text: byte "
                    f"{error.start} is {data[error.start]:#04x}",
                    "save it as UTF-8",
                )
            ],
        ) from error


def json_value(text: str | bytes) -> Any:  # noqa: ANN401  any JSON value
    """The value of a JSON text.

    Raises: ValueError where it is no JSON, has a number of thousands of digits, or is nested more than MAX_JSON_DEPTH
    levels deep.
    """
    deep = f"it is nested more than {MAX_JSON_DEPTH} levels deep"
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError(deep) from error
    level = [value]
    for _ in range(MAX_JSON_DEPTH):
        level = [
            child
            for it in level
            for child in (it.values() if isinstance(it, dict) else it if isinstance(it, list) else ())
            if isinstance(child, dict | list)
        ]
        if not level:
            return value
    raise ValueError(deep)


def inflate(data: bytes, limit_bytes: int) -> bytes:
    """The content of data that zlib compressed (RFC 1950).

    Raises: ValueError where it is damaged, cut off, or larger than the limit, beyond which nothing is unpacked.
    """
    unpacking = zlib.decompressobj()
    try:
        found = unpacking.decompress(data, limit_bytes + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if len(found) > limit_bytes:
        raise ValueError(f"it is larger than {format_size_bytes(limit_bytes)}, the maximum")
    if not unpacking.eof:
        raise ValueError("it is cut off")
    return found
