"""The rows that calls keep as JSON: read with errors that name the file, written as a whole after each measurement."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Final, Self

from bench.configs.estimate import Pair
from bench.configs.measure import Measured, of_json
from fabric.errors import FabricError
from fabric.reading import json_value, read_text
from fabric.runs.files import write_text

MOST_BYTES: Final = 2**29
SHIPPED: Final = Path(__file__).with_name("results.json")
"""Rows of docs/benchmark.md, from which estimates are computed."""


def read_rows(path: Path) -> list[Measured]:
    """Rows that earlier calls kept; none where there is no file. Raises: FabricError."""
    if not path.exists():
        return []
    try:
        value = json_value(read_text(path, MOST_BYTES))
        if not isinstance(value, list):
            raise TypeError("a list of rows is expected")  # noqa: TRY301  one message for every damage
        return [of_json(it) for it in value]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FabricError(f"{path} holds no results of this benchmark: {error}", "name another --results") from error


class Kept:
    """Rows of a file, or of this call alone."""

    def __init__(self, path: Path | None, rows: Iterable[Measured] = ()) -> None:
        self._path = path
        self._rows = {(it.language, it.switches): it for it in rows}

    @classmethod
    def read(cls, path: Path | None) -> Self:
        """Of a file, if one is given. Raises: FabricError."""
        return cls(path, () if path is None else read_rows(path))

    @property
    def rows(self) -> list[Measured]:
        """All of them."""
        return list(self._rows.values())

    def has(self, pair: Pair) -> bool:
        """Whether it was measured, with at least as many mutants asked for."""
        row = self._rows.get((pair.language, pair.switches))
        return row is not None and max(row.asked, len(row.rows)) >= pair.mutants

    def add(self, row: Measured) -> None:
        """Keep a row in place of the one before, and replace the file: a call that is killed leaves the rows before.

        Raises: FabricError.
        """
        self._rows[row.language, row.switches] = row
        if self._path is not None:
            _write(self._path, json.dumps([asdict(it) for it in self.rows], indent=1) + "\n", "--results")


def write_page(path: Path, content: str) -> None:
    """Write docs/benchmark.md. Raises: FabricError."""
    _write(path, content, "--write")


def _write(path: Path, content: str, option: str) -> None:
    try:
        write_text(path, content)
    except OSError as error:
        raise FabricError(f"{path} cannot be written: {error.strerror or error}", f"name another {option}") from error
