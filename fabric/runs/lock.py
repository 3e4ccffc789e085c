"""The lock of a run directory: one process writes to it at a time, and readers can find out which.

Rules 1. The lock is flock(2) on DIR/.lock. The kernel releases it when its process ends, in any way, so the file of a
killed process
   locks nothing.
2. Only the process that holds the lock removes the file, and only while the name still refers to the locked file.
   Removing it without the lock would let a third process lock a new file of that name beside the first.
3. After locking, a process checks that the name still refers to the locked file: the last owner may have removed it
   between opening and locking. Then the new file of that name is tried.

The file holds the process id and the host, for messages only.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from fabric.errors import RunDirError

NAME: Final = ".lock"
_TRIES: Final = 25
_PAUSE_S: Final = 0.02
"""A reader that looks for the writer holds a shared lock for some microseconds, so one refusal is not final."""


@contextmanager
def held(folder: Path) -> Iterator[Callable[[], None]]:
    """Hold the lock of an existing directory; yields a check that the lock still holds.

    Raises: RunDirError where another process holds it; the check raises it where the directory was removed or replaced.
    """
    path = folder / NAME
    handle = _acquire(folder)

    def check() -> None:
        if not _stands_for(path, handle):
            raise RunDirError(
                f"{folder} was removed or replaced while this process wrote to it", "run again with another --out"
            )

    try:
        yield check
    finally:
        if _stands_for(path, handle):
            path.unlink(missing_ok=True)
        os.close(handle)


def writer(folder: Path) -> str | None:
    """The process that writes to a directory, as words ('process 4711 on host1'); None where there is none."""
    try:
        handle = os.open(folder / NAME, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _owner(handle)
    else:
        return None
    finally:
        os.close(handle)


def _acquire(folder: Path) -> int:
    path = folder / NAME
    for _ in range(_TRIES):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _owner(handle)
            os.close(handle)
            time.sleep(_PAUSE_S)
            continue
        except OSError as error:
            os.close(handle)
            raise OSError(error.errno, error.strerror, str(path)) from error
        if _stands_for(path, handle):
            with suppress(OSError):  # the content is for messages; the lock holds without it
                os.truncate(handle, 0)
                os.write(handle, f"process {os.getpid()} on {socket.gethostname()}".encode())
            return handle
        os.close(handle)
        owner = "another process"
    raise RunDirError(f"{folder} is being written by {owner}", "wait for it, or give another --out")


def _stands_for(path: Path, handle: int) -> bool:
    """Whether the name still refers to the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _owner(handle: int) -> str:
    text = os.pread(handle, 200, 0).decode(errors="replace")
    return text if text.startswith("process ") and text.isprintable() else "another process"
