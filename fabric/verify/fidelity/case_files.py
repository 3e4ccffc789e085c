"""Files of recorded runs: JSON, as it is or compressed by gzip."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import Final

from fabric.errors import InputErrors, Problem
from fabric.reading import read_bytes

_SUFFIXES: Final = (".json.gz", ".json")


def case_files(reference: Path) -> list[Path]:
    """The cases of a folder of recorded runs, by name."""
    files = [file for suffix in _SUFFIXES for file in (reference / "cases").glob(f"*{suffix}")]
    return sorted(files, key=name_of)


def name_of(file: Path) -> str:
    """Name of the case of a file."""
    for suffix in _SUFFIXES:
        if file.name.endswith(suffix):
            return file.name.removesuffix(suffix)
    return file.stem


def plain_text(file: Path, limit_bytes: int, missing: str) -> str:
    """The text of a file, decompressed; at most limit_bytes. Raises: InputErrors."""
    data = read_bytes(file, limit_bytes, missing=missing)
    if file.suffix == ".gz":
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
                data = stream.read(limit_bytes + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise _refused(file, f"is not compressed by gzip: {error}", missing) from error
        if len(data) > limit_bytes:
            raise _refused(file, "is larger than the maximum when decompressed", missing)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refused(file, f"is not UTF-8 text: {error}", missing) from error


def _refused(file: Path, text: str, hint: str) -> InputErrors:
    return InputErrors("reading recorded runs", [Problem(str(file), text, hint)])
