"""Where the tests write: in memory, where there is room, because they write thousands of small files.

A run folder is written as an operator's is: each file waits until it is on the disk (fsync(2)), which takes
milliseconds on a disk and nothing in memory. The folder has its owner's name, and what a killed run left is removed
by the next one (tests/lab/leftovers.py).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.lab.leftovers import is_abandoned, new_name

MEMORY: Final = Path("/dev/shm")  # noqa: S108  the folder below it has an owner's name and nobody else's access
ROOM_BYTES: Final = 6_000_000_000
"""The fast tests leave 0.5 GB; the memory is also that of their processes."""


@contextlib.contextmanager
def in_memory(memory: Path = MEMORY, room_bytes: int = ROOM_BYTES) -> Iterator[Path | None]:
    """Temporary files of this process and its children are in memory; None: there is no room, and they are not."""
    for path in memory.iterdir() if memory.is_dir() else ():
        if is_abandoned(path.name):
            shutil.rmtree(path, ignore_errors=True)
    if not memory.is_dir() or min(shutil.disk_usage(memory).free, _available_bytes()) < room_bytes:
        yield None
        return
    folder = memory / new_name()
    folder.mkdir(mode=0o700)
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"], tempfile.tempdir = str(folder), None
    try:
        yield folder
    finally:
        os.environ.pop("TMPDIR")
        if before is not None:
            os.environ["TMPDIR"] = before
        tempfile.tempdir = None
        shutil.rmtree(folder, ignore_errors=True)


def _available_bytes() -> int:
    """Memory that is free or can be freed (proc(5)); 0 where that is not told."""
    told = Path("/proc/meminfo")
    lines = told.read_text(encoding="ascii").splitlines() if told.exists() else []
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
