"""The output of a run while it is simulated, and the final files at the end.

During the run samples and events become part files. A checkpoint flushes them and keeps the state of the recorder (last
written values, rows held back, counts), so that a resumed run writes exactly the rows of an uninterrupted run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fabric.runs import eventlog, files, parts, schemas, series
from fabric.runs.content import Content
from fabric.runs.files import Sum
from fabric.runs.transfers import MessageLog
from fabric.topology.model import Fabric

if TYPE_CHECKING:  # annotations only: reading results must not load the compiler
    from fabric.dataplane.engine.counters import Snapshot


class Recorder:
    """Streams of one run.

    Parameters
    ----------
    folder : Path                  the run directory
    fabric : Fabric                names of devices and ports
    cap : int                      event rows recorded per category
    sums : mapping, optional       stream -> checksums of the parts that belong to the run (after a resume)
    messages : bool                messages of transfers are recorded as a separate stream
    """

    def __init__(
        self,
        folder: Path,
        fabric: Fabric,
        cap: int = eventlog.DEFAULT_CAP,
        sums: Mapping[str, Sequence[Sum]] | None = None,
        *,
        messages: bool = False,
    ) -> None:
        self._folder = folder
        self._fabric = fabric
        self._sampler = series.Sampler()
        self._log = eventlog.EventLog(cap)
        known = sums or {}
        self._series = parts.PartWriter(folder, parts.SERIES, known.get(parts.SERIES.name, ()))
        self._events = parts.PartWriter(folder, parts.EVENTS, known.get(parts.EVENTS.name, ()))
        self._messages = MessageLog() if messages else None
        self._ended = parts.PartWriter(folder, parts.MESSAGES, known.get(parts.MESSAGES.name, ()))

    @property
    def records_messages(self) -> bool:
        """Whether the times of messages of transfers are results."""
        return self._messages is not None

    def sample(self, now: Snapshot) -> None:
        """Record every observable that changed since the last sample."""
        self._series.append(self._sampler.sample(now))

    def pass_over(self, now: Snapshot, times_ps: range) -> None:
        """Record samples at these times, up to which nothing changes since the last one, `now`."""
        for rows in self._sampler.pass_over(now, times_ps):
            self._series.append(rows)

    def take_events(self, rows: NDArray[np.void], complete_ps: int) -> None:
        """Take trace rows (TRACE); `complete_ps` is the time up to which every device has been simulated."""
        self._events.append(self._log.take(rows, complete_ps))

    def take_messages(self, rows: NDArray[np.void], complete_ps: int) -> None:
        """Take ended messages of transfers (ISSUED_MESSAGE), with the same meaning of `complete_ps`."""
        if self._messages is not None:
            self._ended.append(self._messages.take(rows, complete_ps))

    def last_messages(self, under_way: NDArray[np.void]) -> None:
        """Take the messages under way at the end of the run: the stream ends with them."""
        if self._messages is not None:
            self._ended.append(self._messages.finish(under_way))

    @property
    def recorded(self) -> dict[str, int]:
        """Event rows written, by category."""
        return self._log.recorded

    @property
    def unrecorded(self) -> dict[str, int]:
        """Event rows beyond the cap, by category."""
        return self._log.unrecorded

    def flush(self) -> dict[str, list[Sum]]:
        """Write the held rows as parts; returns the checksums of all parts per stream."""
        self._series.flush()
        self._events.flush()
        found = {parts.SERIES.name: self._series.sums, parts.EVENTS.name: self._events.sums}
        if self._messages is not None:
            self._ended.flush()
            found[parts.MESSAGES.name] = self._ended.sums
        return found

    def save(self) -> dict[str, NDArray[Any]]:
        """State for a checkpoint."""
        return {
            **self._sampler.save(),
            **self._log.save(),
            **(self._messages.save() if self._messages is not None else {}),
        }

    def load(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state of save()."""
        self._sampler.load(saved)
        self._log.load(saved)
        if self._messages is not None:
            self._messages.load(saved)

    def finish(
        self, now: Snapshot, content: Content | None = None, results: files.Sums | None = None
    ) -> dict[str, int]:
        """Write the final Parquet files of events, time series and counters; the parts stay. Returns rows per file.

        `content` gets the rows for the digest of the run, `results` the checksums of the files.
        """
        self._events.append(self._log.finish())
        sums = self.flush()
        streams = [(files.TIMESERIES, parts.SERIES), (files.EVENTS, parts.EVENTS)]
        if self._messages is not None:
            streams.append((files.TRANSFER_MESSAGES, parts.MESSAGES))
        rows = {
            name: parts.join(
                self._folder, stream, sums[stream.name], self._folder / name, self._fabric, content, results
            )
            for name, stream in streams
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
