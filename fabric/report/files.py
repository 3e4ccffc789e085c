"""Names inside a run directory, writes that a crash cannot tear, and checksums that show later damage.

Every file appears under its name only when it is whole: it is written beside it, flushed to the disk, then renamed
(POSIX rename is atomic within a file system), and the folder's entry is flushed as well. Its checksum is taken before
it is flushed, while its bytes are those that were written. An index (manifest.json, checkpoint.json) holds the
checksums of the other files and one over itself, so no change of any file goes unnoticed (decisions/0035).

Not a format: what the files hold is said in schemas.py and dictionary.py.
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


SEAL: Final = "checksum"
"""Key of an index's checksum over its own other keys."""


class Sum(NamedTuple):
    """What is known of a file that was written."""

    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> Self:
        """Of a file as it is now. Raises: OSError."""
        with path.open("rb") as file:
            return cls(os.fstat(file.fileno()).st_size, hashlib.file_digest(file, "sha256").hexdigest())

    @classmethod
    def of_bytes(cls, data: bytes) -> Self:
        """Of a file with this content."""
        return cls(len(data), hashlib.sha256(data).hexdigest())

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The inverse of as_json(). Raises: KeyError, TypeError, ValueError."""
        return cls(int(value["bytes"]), str(value["sha256"]))

    def as_json(self) -> dict[str, Any]:
        """For an index."""
        return {"bytes": self.size, "sha256": self.sha256}

    def fault(self, path: Path) -> str:
        """What is wrong with the file: 'missing', 'truncated to 12 of 400 bytes', ...; '' where nothing is."""
        try:
            about = path.stat()
            if not stat.S_ISREG(about.st_mode):
                return "not a regular file"
            if about.st_size != self.size:
                return (f"truncated to {about.st_size:,} of {self.size:,} bytes" if about.st_size < self.size
                        else f"{about.st_size:,} bytes long instead of {self.size:,}")
            return "" if Sum.of(path) == self else "changed since it was written (SHA-256 differs)"
        except FileNotFoundError:
            return "missing"
        except OSError as error:
            return f"unreadable: {error.strerror}"


Sums = MutableMapping[str, Sum]
"""Name of a file -> its checksum."""


def listing(sums: Mapping[str, Sum]) -> dict[str, dict[str, Any]]:
    """For an index."""
    return {name: found.as_json() for name, found in sums.items()}


def listed(value: Mapping[str, Mapping[str, Any]]) -> dict[str, Sum]:
    """The inverse of listing(). Raises: KeyError, TypeError, ValueError, AttributeError."""
    if any(Path(name).name != name for name in value):
        raise ValueError(f"{', '.join(value)} are not all plain names")
    return {name: Sum.from_json(it) for name, it in value.items()}


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """An OSError without a file's name leaves with this one: write(2) and its like do not know it."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        number = error.errno or errno.EIO
        raise OSError(number, os.strerror(number), str(path)) from error


@contextmanager
def replacing(path: Path, sums: Sums | None = None) -> Iterator[Path]:
    """Yield a name to write to; on success it becomes `path`, on an error nothing is left of it.

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
    """Wait until a file's content, or a folder's entries, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str, sums: Sums | None = None) -> None:
    """Replace a text file as a whole."""
    with replacing(path, sums) as pending:
        pending.write_bytes(encoded(text))


def write_json(path: Path, value: Any, sums: Sums | None = None) -> None:  # noqa: ANN401  whatever JSON can say
    """Replace a JSON file as a whole."""
    write_text(path, json_text(value), sums)


def json_text(value: Any) -> str:  # noqa: ANN401  whatever JSON can say
    """Two spaces, keys in the order given, no NaN (RFC 8259 has none)."""
    return json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


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
    """An index, whose seal is still to be checked. Raises: OSError; DamageError where it is not an index any more."""
    if path.exists() and not path.is_file():
        raise DamageError("not a regular file")
    data = path.read_bytes()
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamageError(f"not JSON any more ({error})" if data else "empty") from error
    if not isinstance(value, dict):
        raise DamageError("not an object")
    return value


def check_seal(value: Mapping[str, Any]) -> None:
    """Raises: DamageError where an index that was read is not as it was written."""
    if SEAL not in value:
        raise DamageError("without its own checksum")
    if value[SEAL] != sealed(value)[SEAL]:
        raise DamageError("changed since it was written (its own checksum differs)")


class DamageError(ValueError):
    """A file of a run directory is not as it was written; the text says how, the caller which."""


def _seal(plain: Mapping[str, Any]) -> str:
    """Over the values, not over the layout of the text."""
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
