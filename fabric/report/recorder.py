"""What a run writes while it plays, and what it turns into at the end.

While playing, samples and events become part files; a checkpoint flushes them and keeps the recorder's memory (what was
last written, rows held back, counts), so that a resumed run writes exactly what an uninterrupted one would have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fabric.report import eventlog, files, parts, schemas, series
from fabric.report.content import Content
from fabric.report.files import Sum
from fabric.topology.model import Fabric

if TYPE_CHECKING:  # annotations only: reading results must not load the compiler
    from fabric.engine.counters import Snapshot


class Recorder:
    """Streams of one run.

    Parameters
    ----------
    folder : Path                  the run directory
    fabric : Fabric                names of devices and ports
    cap : int                      event rows recorded per category
    sums : mapping, optional       stream -> checksums of the parts that belong to the run (after a resume)
    """

    def __init__(
        self, folder: Path, fabric: Fabric, cap: int = eventlog.DEFAULT_CAP,
        sums: Mapping[str, Sequence[Sum]] | None = None
    ) -> None:
        self._folder = folder
        self._fabric = fabric
        self._sampler = series.Sampler()
        self._log = eventlog.EventLog(cap)
        known = sums or {}
        self._series = parts.PartWriter(folder, parts.SERIES, known.get(parts.SERIES.name, ()))
        self._events = parts.PartWriter(folder, parts.EVENTS, known.get(parts.EVENTS.name, ()))

    def sample(self, now: Snapshot) -> None:
        """Record every observable that changed since the last sample."""
        self._series.append(self._sampler.sample(now))

    def take_events(self, rows: NDArray[np.void], complete_ps: int) -> None:
        """Take trace rows (TRACE); `complete_ps` is the moment up to which every device has played."""
        self._events.append(self._log.take(rows, complete_ps))

    @property
    def recorded(self) -> dict[str, int]:
        """Event rows written, by category."""
        return self._log.recorded

    @property
    def unrecorded(self) -> dict[str, int]:
        """Event rows beyond the cap, by category."""
        return self._log.unrecorded

    def flush(self) -> dict[str, list[Sum]]:
        """Write what is held as parts; returns the checksums of all parts per stream."""
        self._series.flush()
        self._events.flush()
        return {parts.SERIES.name: self._series.sums, parts.EVENTS.name: self._events.sums}

    def save(self) -> dict[str, NDArray[Any]]:
        """Memory for a checkpoint."""
        return {**self._sampler.save(), **self._log.save()}

    def load(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Take up where save() was."""
        self._sampler.load(saved)
        self._log.load(saved)

    def finish(self, now: Snapshot, content: Content | None = None, results: files.Sums | None = None
               ) -> dict[str, int]:
        """Write the final Parquet files of events, time series and counters; the parts stay. Returns rows per file.

        `content` takes the rows for the run's digest, `results` the checksums of the files.
        """
        self._events.append(self._log.finish())
        sums = self.flush()
        rows = {
            name: parts.join(self._folder, stream, sums[stream.name], self._folder / name, self._fabric, content,
                             results)
            for name, stream in ((files.TIMESERIES, parts.SERIES), (files.EVENTS, parts.EVENTS))
        }
        table = counters(now)
        if content is not None:
            content.add_table(files.COUNTERS, table)
        write_table(self._folder / files.COUNTERS, table, results)
        return {**rows, files.COUNTERS: table.num_rows}


def counters(now: Snapshot) -> pa.Table:
    """The table of schemas.COUNTERS: every value of a snapshot that is not 0."""
    coded = series.snapshot_rows(now)
    columns = pa.table({name: np.ascontiguousarray(coded[name]) for name in series.ROW.names or ()})
    return series.decode(columns, now.fabric).select(schemas.COUNTERS.names).cast(schemas.COUNTERS)


def write_table(path: Path, table: pa.Table, sums: files.Sums | None = None) -> None:
    """Write one Parquet file as a whole."""
    with files.replacing(path, sums) as pending, pending.open("wb") as out:
        pq.write_table(table, out, compression=parts.COMPRESSION, row_group_size=parts.GROUP_ROWS)
