"""Streams of rows that grow during a run: numbered part files, joined to one Parquet file at the end.

A part is a Parquet file of plain integers (codes, not names), so writing one is cheap and independent of other
parts. A checkpoint lists the parts that belong to it with their checksums; parts beyond
that are leftovers of a killed run and are removed when it resumes. A part is compared with its checksum whenever it is
read. Joining cuts the rows into groups of a fixed size, so the bytes of the final file do not depend on the boundaries
of parts. Parquet's reader and writer get open files, because they accept only UTF-8 paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fabric.errors import RunDirError
from fabric.runs import eventlog, files, parquet, schemas, series, transfers
from fabric.runs.content import Content
from fabric.runs.files import Sum
from fabric.topology.model import Fabric

GROUP_ROWS: Final = 1 << 20
"""Rows per row group of a final file; also the most that joining holds in memory."""

COMPRESSION: Final = "zstd"

_REMEDY: Final = "run the scenario again with --force"


class Stream(NamedTuple):
    """One kind of rows: its coded rows, and how they become named columns."""

    name: str
    row: np.dtype[np.void]
    schema: pa.Schema
    decode: Callable[[pa.Table, Fabric], pa.Table]
    """Coded columns of `row` to columns of `schema`."""


SERIES: Final = Stream("series", series.ROW, schemas.TIMESERIES, series.decode)
EVENTS: Final = Stream("events", eventlog.ROW, schemas.EVENTS, eventlog.decode)
MESSAGES: Final = Stream("transfer_messages", transfers.ROW, schemas.TRANSFER_MESSAGES, transfers.decode)


class PartWriter:
    """Collects rows of one stream and writes them as numbered parts.

    Parameters
    ----------
    folder : Path      the run directory
    stream : Stream    the kind of rows
    sums : sequence of Sum    of parts that exist and belong to this run (after a resume), in order
    """

    def __init__(self, folder: Path, stream: Stream, sums: Sequence[Sum] = ()) -> None:
        self._folder = folder / files.PARTS
        self._stream = stream
        self._rows: list[NDArray[np.void]] = []
        self._held = 0
        self.sums = list(sums)
        """Checksums of all parts, in order."""
        belong = {part_path(folder, stream, number) for number in range(1, len(sums) + 1)}
        for path in part_paths(folder, stream):
            if path not in belong:
                path.unlink()

    def append(self, rows: NDArray[np.void]) -> None:
        """Add rows; a part is written for every GROUP_ROWS rows."""
        if rows.size:
            self._rows.append(rows)
            self._held += rows.size
            if self._held >= GROUP_ROWS:
                self.flush()

    def flush(self) -> None:
        """Write the held rows as the next part."""
        if not self._rows:
            return
        rows = np.concatenate([held.view(np.uint8) for held in self._rows]).view(self._stream.row)
        table = pa.table({name: np.ascontiguousarray(rows[name]) for name in self._stream.row.names or ()})
        self._folder.mkdir(exist_ok=True)
        target = part_path(self._folder.parent, self._stream, len(self.sums) + 1)
        sums: dict[str, Sum] = {}
        with files.replacing(target, sums) as pending, pending.open("wb") as out:
            pq.write_table(
                table, out, compression=COMPRESSION, compression_level=1, use_dictionary=False, write_statistics=False
            )
        self.sums.append(sums[target.name])
        self._rows, self._held = [], 0


def part_paths(folder: Path, stream: Stream) -> list[Path]:
    """Existing parts of a stream, in order."""
    return sorted((folder / files.PARTS).glob(f"{stream.name}-*.parquet"))


def join(
    folder: Path,
    stream: Stream,
    sums: Sequence[Sum],
    target: Path,
    fabric: Fabric,
    content: Content | None = None,
    results: files.Sums | None = None,
) -> int:
    """Write the final file of these parts; returns its rows. The parts stay.

    Parameters
    ----------
    content : Content, optional    takes the coded rows, for the run's digest
    results : Sums, optional       takes the checksum of the final file

    Raises: RunDirError where a part is damaged.
    """
    rows = 0
    with (
        files.replacing(target, results) as pending,
        pending.open("wb") as out,
        pq.ParquetWriter(out, stream.schema, compression=COMPRESSION) as writer,
    ):
        for table in _groups(folder, stream, sums):
            if content is not None:
                content.add_rows(stream.name, table)
            writer.write_table(stream.decode(table, fabric), row_group_size=GROUP_ROWS)
            rows += table.num_rows
    return rows


def read_all(folder: Path, stream: Stream, sums: Sequence[Sum], fabric: Fabric) -> pa.Table:
    """The rows of these parts, as columns of the stream's schema. Raises: RunDirError where one is damaged."""
    tables = [stream.decode(table, fabric) for table in _groups(folder, stream, sums)]
    return pa.concat_tables(tables).unify_dictionaries() if tables else stream.schema.empty_table()


def part_path(folder: Path, stream: Stream, number: int) -> Path:
    """The file of a part; the first is number 1."""
    return folder / files.PARTS / f"{stream.name}-{number:06}.parquet"


def _read(path: Path, known: Sum) -> pa.Table:
    """One part, parsed from the same bytes whose checksum was compared."""
    data = path.read_bytes() if path.is_file() else b""
    if Sum.of_bytes(data) != known:
        raise RunDirError(f"{path} is {known.fault(path) or 'changed while it was read'}", _REMEDY)
    return parquet.read(pa.BufferReader(data))


def _groups(folder: Path, stream: Stream, sums: Sequence[Sum]) -> Iterator[pa.Table]:
    """The rows of all parts, GROUP_ROWS at a time."""
    held: list[pa.Table] = []
    for number, known in enumerate(sums, start=1):
        held.append(_read(part_path(folder, stream, number), known))
        while sum(table.num_rows for table in held) >= GROUP_ROWS:
            whole = pa.concat_tables(held)
            yield whole.slice(0, GROUP_ROWS)
            rest = whole.slice(GROUP_ROWS)
            held = [rest] if rest.num_rows else []
    if held:
        yield pa.concat_tables(held)
