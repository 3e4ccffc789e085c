"""Names inside a run directory, and writes that a crash cannot tear.

Every file appears under its name only when it is whole: it is written beside it, flushed to the disk, then renamed
(POSIX rename is atomic within a file system), and the folder's entry is flushed as well. Not a format: what the files
hold is said in schemas.py and dictionary.py.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

MANIFEST: Final = "manifest.json"
SUMMARY: Final = "summary.json"
TOPOLOGY: Final = "topology.json"
MESSAGES: Final = "messages.parquet"
COUNTERS: Final = "counters.parquet"
TIMESERIES: Final = "timeseries.parquet"
EVENTS: Final = "events.parquet"
TABLES: Final = "tables.npz"
TRUTH: Final = "truth.jsonl"
PARTS: Final = "parts"
CHECKPOINT: Final = "checkpoint"

PENDING_SUFFIX: Final = ".pending"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a name to write to; on success it becomes `path`, on an error nothing is left of it.

    Raises: OSError where the file system refuses.
    """
    pending = path.with_name(path.name + PENDING_SUFFIX)
    try:
        yield pending
        sync(pending)
        pending.replace(path)
        sync(path.parent)
    except BaseException:
        pending.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's entries, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Replace a text file as a whole."""
    with replacing(path) as pending:
        pending.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401  whatever JSON can say
    """Replace a JSON file as a whole: two spaces, keys in the order given, no NaN (RFC 8259 has none)."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False) + "\n")
