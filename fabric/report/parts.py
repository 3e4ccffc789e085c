"""Streams of rows that grow while a run plays: numbered part files, and the one Parquet file they become.

A part is a Parquet file of plain integers (codes, not names), so writing one costs little and never depends on what
another part holds. A checkpoint names how many parts belong to it; parts beyond that are leftovers of a killed run and
are removed when it resumes. Joining cuts the rows into groups of a fixed size, so the final file's bytes do not depend
on where parts began or ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fabric.report import eventlog, files, schemas, series
from fabric.topology.model import Fabric

GROUP_ROWS: Final = 1 << 20
"""Rows per row group of a final file; also the most that joining holds in memory."""

COMPRESSION: Final = "zstd"


class Stream(NamedTuple):
    """One kind of rows: its coded rows, and how they become named columns."""

    name: str
    row: np.dtype[np.void]
    schema: pa.Schema
    decode: Callable[[pa.Table, Fabric], pa.Table]
    """Coded columns of `row` to columns of `schema`."""


SERIES: Final = Stream("series", series.ROW, schemas.TIMESERIES, series.decode)
EVENTS: Final = Stream("events", eventlog.ROW, schemas.EVENTS, eventlog.decode)


class PartWriter:
    """Collects rows of one stream and writes them as numbered parts.

    Parameters
    ----------
    folder : Path      the run directory
    stream : Stream    what the rows are
    count : int        parts that exist and belong to this run (after a resume)
    """

    def __init__(self, folder: Path, stream: Stream, count: int = 0) -> None:
        self._folder = folder / files.PARTS
        self._stream = stream
        self._rows: list[NDArray[np.void]] = []
        self.count = count
        for leftover in part_paths(folder, stream)[count:]:
            leftover.unlink()

    def append(self, rows: NDArray[np.void]) -> None:
        """Take rows; a part is written when GROUP_ROWS have come together."""
        if rows.size:
            self._rows.append(rows)
            if sum(held.size for held in self._rows) >= GROUP_ROWS:
                self.flush()

    def flush(self) -> None:
        """Write what is held as the next part."""
        if not self._rows:
            return
        rows = np.concatenate(self._rows)
        table = pa.table({name: np.ascontiguousarray(rows[name]) for name in self._stream.row.names or ()})
        self._folder.mkdir(exist_ok=True)
        with files.replacing(self._folder / _part_name(self._stream, self.count + 1)) as pending:
            pq.write_table(
                table,
                pending,
                compression=COMPRESSION,
                compression_level=1,
                use_dictionary=False,
                write_statistics=False,
            )
        self.count += 1
        self._rows = []


def part_paths(folder: Path, stream: Stream) -> list[Path]:
    """Existing parts of a stream, in order."""
    return sorted((folder / files.PARTS).glob(f"{stream.name}-*.parquet"))


def join(folder: Path, stream: Stream, count: int, target: Path, fabric: Fabric) -> int:
    """Write the final file of the first `count` parts; returns its rows. The parts stay."""
    rows = 0
    with (
        files.replacing(target) as pending,
        pq.ParquetWriter(pending, stream.schema, compression=COMPRESSION) as writer,
    ):
        for table in _groups(folder, stream, count):
            writer.write_table(stream.decode(table, fabric), row_group_size=GROUP_ROWS)
            rows += table.num_rows
    return rows


def read_all(folder: Path, stream: Stream, fabric: Fabric) -> pa.Table:
    """Rows of an unfinished run up to its last checkpoint, as columns of the stream's schema."""
    count = checkpointed(folder).get(stream.name, 0)
    tables = [stream.decode(table, fabric) for table in _groups(folder, stream, count)]
    return pa.concat_tables(tables).unify_dictionaries() if tables else stream.schema.empty_table()


def checkpointed(folder: Path) -> dict[str, int]:
    """Parts per stream that the last checkpoint names; empty where there is none."""
    path = folder / files.CHECKPOINT / "checkpoint.json"
    if not path.is_file():
        return {}
    return {str(name): int(count) for name, count in json.loads(path.read_text(encoding="utf-8"))["parts"].items()}


def _part_name(stream: Stream, number: int) -> str:
    return f"{stream.name}-{number:06}.parquet"


def _groups(folder: Path, stream: Stream, count: int) -> Iterator[pa.Table]:
    """The rows of all parts, GROUP_ROWS at a time."""
    held: list[pa.Table] = []
    for number in range(1, count + 1):
        held.append(pq.read_table(folder / files.PARTS / _part_name(stream, number)))
        while sum(table.num_rows for table in held) >= GROUP_ROWS:
            whole = pa.concat_tables(held)
            yield whole.slice(0, GROUP_ROWS)
            rest = whole.slice(GROUP_ROWS)
            held = [rest] if rest.num_rows else []
    if held:
        yield pa.concat_tables(held)
