"""Names inside a run directory, atomic writes, and checksums that show later damage.

A file gets its name only when it is complete: it is written under another name, flushed to the disk, then renamed
(POSIX rename is atomic within a file system), and the folder entry is flushed as well. Its checksum is computed before
the flush. An index (manifest.json, checkpoint.json) holds the checksums of the other files and one over itself, so
every change of a file is detected (decisions/0035).

The content of the files is in schemas.py and dictionary.py.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from fabric.errors import InputErrors
from fabric.reading import MIB, json_value, read_bytes
from fabric.visible import in_json

MANIFEST: Final = "manifest.json"
SUMMARY: Final = "summary.json"
TOPOLOGY: Final = "topology.json"
MESSAGES: Final = "messages.parquet"
TRANSFERS: Final = "transfers.parquet"
TRANSFER_MESSAGES: Final = "transfer_messages.parquet"
SCHEDULE: Final = "schedule.parquet"
NEEDS: Final = "needs.parquet"
DATAGRAMS: Final = "datagrams.parquet"
COUNTERS: Final = "counters.parquet"
TIMESERIES: Final = "timeseries.parquet"
EVENTS: Final = "events.parquet"
TABLES: Final = "tables.npz"
TRUTH: Final = "truth.jsonl"
PARTS: Final = "parts"
CHECKPOINT: Final = "checkpoint"

PENDING_SUFFIX: Final = ".pending"


MAX_INDEX_BYTES: Final = 256 * MIB
SEAL: Final = "checksum"
"""Key of the checksum of an index over its other keys."""


class Sum(NamedTuple):
    """Size and checksum of a written file."""

    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> Self:
        """The checksum of a file now. Raises: OSError."""
        with path.open("rb") as file:
            return cls(os.fstat(file.fileno()).st_size, hashlib.file_digest(file, "sha256").hexdigest())

    @classmethod
    def of_bytes(cls, data: bytes) -> Self:
        """The checksum of a file with this content."""
        return cls(len(data), hashlib.sha256(data).hexdigest())

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The inverse of as_json(). Raises: KeyError, TypeError, ValueError."""
        return cls(int(value["bytes"]), str(value["sha256"]))

    def as_json(self) -> dict[str, Any]:
        """As JSON, for an index."""
        return {"bytes": self.size, "sha256": self.sha256}

    def fault(self, path: Path) -> str:
        """Damage of the file: 'missing', 'truncated to 12 of 400 bytes', ...; '' where there is none."""
        try:
            about = path.stat()
            if not stat.S_ISREG(about.st_mode):
                return "not a regular file"
            if about.st_size != self.size:
                return (
                    f"truncated to {about.st_size:,} of {self.size:,} bytes"
                    if about.st_size < self.size
                    else f"{about.st_size:,} bytes long instead of {self.size:,}"
                )
            return "" if Sum.of(path) == self else "changed since it was written (SHA-256 differs)"
        except FileNotFoundError:
            return "missing"
        except OSError as error:
            return f"unreadable: {error.strerror}"


Sums = MutableMapping[str, Sum]
"""Name of a file -> its checksum."""


def listing(sums: Mapping[str, Sum]) -> dict[str, dict[str, Any]]:
    """As JSON, for an index."""
    return {name: found.as_json() for name, found in sums.items()}


def listed(value: Mapping[str, Mapping[str, Any]]) -> dict[str, Sum]:
    """The inverse of listing(). Raises: KeyError, TypeError, ValueError, AttributeError."""
    if any(Path(name).name != name for name in value):
        raise ValueError(f"{', '.join(value)} are not all plain names")
    return {name: Sum.from_json(it) for name, it in value.items()}


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add this name to an OSError without a file's name, such as those of write(2)."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        number = error.errno or errno.EIO
        raise OSError(number, os.strerror(number), str(path)) from error


@contextmanager
def replacing(path: Path, sums: Sums | None = None) -> Iterator[Path]:
    """Yield a name to write to; on success the file becomes `path`, on an error it is removed.

    With `sums`, the file's checksum is added there under its name.
    Raises: OSError with the file's name where the file system refuses.
    """
    pending = path.with_name(path.name + PENDING_SUFFIX)
    try:
        with naming(path):
            yield pending
            found = None if sums is None else Sum.of(pending)
            sync(pending)
            pending.replace(path)
            sync(path.parent)
        if sums is not None and found is not None:
            sums[path.name] = found
    except BaseException:
        pending.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Flush a file's content, or a folder's entries, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str, sums: Sums | None = None) -> None:
    """Replace a text file as a whole."""
    with replacing(path, sums) as pending:
        pending.write_bytes(encoded(text))


def write_json(path: Path, value: Any, sums: Sums | None = None) -> None:  # noqa: ANN401  any JSON value
    """Replace a JSON file as a whole."""
    write_text(path, json_text(value), sums)


def json_text(value: Any) -> str:  # noqa: ANN401  any JSON value
    """JSON with two spaces of indentation, keys in their order, no NaN (RFC 8259 has none); hidden characters as
    escapes.
    """
    return in_json(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False)) + "\n"


def encoded(text: str) -> bytes:
    """UTF-8. A name that is not UTF-8 comes as lone surrogates (PEP 383), which become escapes, as JSON has them."""
    return text.encode("utf-8", errors="backslashreplace")


def write_index(path: Path, value: Mapping[str, Any]) -> None:
    """Replace an index as a whole, with a checksum over itself."""
    write_json(path, sealed(value))


def sealed(value: Mapping[str, Any]) -> dict[str, Any]:
    """The index with its checksum as the last key."""
    plain = {name: it for name, it in value.items() if name != SEAL}
    return {**plain, SEAL: _seal(plain)}


def read_index(path: Path) -> dict[str, Any]:
    """An index, before the check of its seal. Raises: OSError; DamageError where the file is not an index."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise DamageError("not a regular file")
    try:
        data = read_bytes(path, MAX_INDEX_BYTES)
    except InputErrors as error:
        raise DamageError(error.problems[0].text.removeprefix("is ")) from error
    try:
        value = json_value(data)
    except ValueError as error:
        raise DamageError(f"not JSON any more ({error})" if data else "empty") from error
    if not isinstance(value, dict):
        raise DamageError("not an object")
    return value


def check_seal(value: Mapping[str, Any]) -> None:
    """Raises: DamageError where the index differs from its checksum."""
    if SEAL not in value:
        raise DamageError("without its own checksum")
    if value[SEAL] != sealed(value)[SEAL]:
        raise DamageError("changed since it was written (its own checksum differs)")


class DamageError(ValueError):
    """A file of a run directory differs from the written one; the text names the damage, the caller the file."""


def _seal(plain: Mapping[str, Any]) -> str:
    """Checksum over the values, not over the layout of the text."""
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
