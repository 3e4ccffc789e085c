"""Files that a user names: one way to read them, whatever they hold.

Only regular files are read, and no more than a stated limit. A device or a pipe may have no end, and reading from a
pipe waits for a writer that may never come. Every refusal names the file and the remedy. The content of a file that
turns out to be something else is never repeated in a message: a path may be wrong, and what it names may be secret.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from fabric.errors import InputErrors, Problem
from fabric.units import format_size_bytes

MIB: Final = 2**20
_KINDS: Final = {stat.S_IFDIR: "a directory", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
                 stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def read_bytes(path: Path, limit_bytes: int, *, place: str = "", stage: str = "reading files",
               too_large: str = "give a smaller file", missing: str = "check the name and the permissions") -> bytes:
    """The content of a regular file.

    Parameters
    ----------
    path : Path
    limit_bytes : int      more is refused before it is read
    place : str            of the problem: a field of a scenario, an option; the path where empty
    stage : str            of the error
    too_large, missing : str   remedies

    Raises: InputErrors with one problem.
    """
    def refused(text: str, hint: str) -> InputErrors:
        return InputErrors(stage, [Problem(place or str(path), f"{path}: {text}" if place else text, hint)])

    try:
        # Without O_NONBLOCK, opening a pipe waits for its writer.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:           # ValueError: a NUL in the name
        why = error.strerror if isinstance(error, OSError) else "the name holds a NUL character"
        raise refused(f"cannot be read: {why}", missing) from error
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        os.close(handle)
        raise refused(f"is {_KINDS.get(stat.S_IFMT(about.st_mode), 'no file')}, not a regular file",
                      "name one file" if stat.S_ISDIR(about.st_mode) else "save its content as a file, and name that")
    with os.fdopen(handle, "rb") as file:
        try:
            data = file.read(limit_bytes + 1)
        except OSError as error:
            raise refused(f"cannot be read: {error.strerror}", missing) from error
    if len(data) > limit_bytes:
        raise refused(f"is larger than {format_size_bytes(limit_bytes)}, the most that is read", too_large)
    return data


def read_text(path: Path, limit_bytes: int, *, place: str = "", stage: str = "reading files",
              too_large: str = "give a smaller file", missing: str = "check the name and the permissions") -> str:
    """The same as UTF-8 text; a byte order mark is left out. Raises: InputErrors with one problem."""
    data = read_bytes(path, limit_bytes, place=place, stage=stage, too_large=too_large, missing=missing)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputErrors(stage, [Problem(
            place or f"{path}:{line}", f"{f'{path.name} line {line}: ' if place else ''}not UTF-8 text: byte "
            f"{error.start} is {data[error.start]:#04x}", "save it as UTF-8")]) from error
