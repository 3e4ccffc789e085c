"""Recorded metrics: every series of the catalogue over simulated time, in columns.

A value is stored where it differs from the previous one, so an idle fabric needs no space. Reading a series returns it
on the whole grid of samples, as a scraper has it. A series begins with its first sample. A series that ends (such as a
pause whose cause is gone) is stored with a final NaN, which readers do not see: the samples after it are missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fabric.errors import FabricError, InputErrors
from fabric.reading import open_bytes

Labels = tuple[tuple[str, str], ...]
"""(name, value) pairs in the catalogue's order."""

Series = tuple[NDArray[np.int64], NDArray[np.float64]]
"""time_ns (n,), strictly ascending, and value (n,)."""

_RESERVED: Final = ("metric", "time_ns", "value")


class StoreError(FabricError):
    """A file without recorded metrics."""


@dataclass(slots=True)
class Track:
    """All series of one sample name, as changes in order of time."""

    labels: list[Labels] = field(default_factory=list)
    samples: list[NDArray[np.int32]] = field(default_factory=list)
    """Positions in Store.times_ns."""
    series: list[NDArray[np.int32]] = field(default_factory=list)
    """Positions in labels."""
    values: list[NDArray[np.float64]] = field(default_factory=list)

    def append(self, sample: int, series: NDArray[np.int32], values: NDArray[np.float64]) -> None:
        """Add the changes of one sample; no array is copied."""
        self.samples.append(np.full(len(series), sample, np.int32))
        self.series.append(series)
        self.values.append(values)

    def joined(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """(sample, series, value) of all changes."""
        if not self.series:
            return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0)
        if len(self.series) > 1:
            self.samples, self.series, self.values = (
                [np.concatenate(self.samples)],
                [np.concatenate(self.series)],
                [np.concatenate(self.values)],
            )
        return self.samples[0], self.series[0], self.values[0]


class Store:
    """Every metric of one run over time. Filled by telemetry/record/sampler.py."""

    def __init__(self) -> None:
        self._times: list[int] = []
        self._tracks: dict[str, Track] = {}

    @property
    def times_ns(self) -> NDArray[np.int64]:
        """(n,) times of all samples, simulated time, ascending."""
        return np.array(self._times, np.int64)

    @property
    def samples(self) -> int:
        """Number of samples."""
        return len(self._times)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names that have a series, in order of first appearance; for a histogram the names of its parts."""
        return tuple(self._tracks)

    def begin(self, time_ns: int) -> int:
        """Begin a sample at a time after the last one; returns its number. Raises: ValueError."""
        if self._times and time_ns <= self._times[-1]:
            raise ValueError(f"a sample at {time_ns} ns cannot follow one at {self._times[-1]} ns")
        self._times.append(time_ns)
        return len(self._times) - 1

    def track(self, metric: str) -> Track:
        """The Track of a sample name."""
        return self._tracks.setdefault(metric, Track())

    def series(self, metric: str, **match: str) -> dict[Labels, Series]:
        """Series of a sample name on the grid of samples, from their first sample on; none for an unknown name.

        Parameters
        ----------
        metric : str     such as 'fabric_queue_bytes' or 'fabric_flow_completion_seconds_bucket'
        match : str      only series whose labels have these values: device="leaf1"
        """
        return dict(self.iter_series(metric, **match))

    def iter_series(self, metric: str, **match: str) -> Iterator[tuple[Labels, Series]]:
        """The same, one at a time."""
        track = self._tracks.get(metric)
        if track is None:
            return
        sample, series, value = track.joined()
        times_ns = self.times_ns
        order = np.argsort(series, kind="stable")
        sample, value = sample[order], value[order]
        bounds = np.searchsorted(series[order], np.arange(len(track.labels) + 1))
        wanted = set(match.items())
        for row, labels in enumerate(track.labels):
            if wanted <= set(labels):
                here = slice(bounds[row], bounds[row + 1])
                yield labels, _dense(times_ns, sample[here], value[here])

    def until(self, time_ns: int) -> Store:
        """The samples up to a time, as a reader at that time has them."""
        found = Store()
        found._times = [it for it in self._times if it <= time_ns]
        for name, track in self._tracks.items():
            sample, series, value = track.joined()
            kept = sample < len(found._times)
            found._tracks[name] = Track(track.labels, [sample[kept]], [series[kept]], [value[kept]])
        return found

    def last(self, samples: int) -> Store:
        """The last samples (all where there are fewer), as a reader that began then has them: the first of them has the
        value of every series that it finds.
        """
        first = max(len(self._times) - samples, 0)
        found = Store()
        found._times = self._times[first:]
        for name, track in self._tracks.items():
            sample, series, value = track.joined()
            held = np.full(len(track.labels), np.nan)
            early = sample < first
            held[series[early]] = value[early]  # of equal positions the last one counts, which is the latest change
            held[series[sample == first]] = np.nan  # the first sample kept has a change of its own
            begun = np.flatnonzero(~np.isnan(held)).astype(np.int32)
            late = ~early
            found._tracks[name] = Track(
                list(track.labels),
                [np.zeros(len(begun), np.int32), sample[late] - np.int32(first)],
                [begun, series[late]],
                [held[begun], value[late]],
            )
        return found

    def changes(self) -> Iterator[tuple[str, list[Labels], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]]:
        """Per sample name: (name, labels, time_ns, series, value) of every change, NaN where a series ended."""
        times_ns = self.times_ns
        for metric, track in self._tracks.items():
            sample, series, value = track.joined()
            yield metric, track.labels, times_ns[sample], series, value

    def write(self, path: Path) -> None:
        """One Parquet file: metric, a column per label name (null where a metric has it not), time_ns, value."""
        names = sorted({name for track in self._tracks.values() for labels in track.labels for name, _ in labels})
        tables = [_table(names, *found) for found in self.changes()]
        table = (
            pa.concat_tables(tables)
            if tables
            else _table(names, "", [], np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0))
        )
        samples = self.times_ns.tobytes()
        with path.open("wb") as out:  # an open file: of paths Parquet's writer takes only UTF-8
            pq.write_table(
                table.unify_dictionaries().replace_schema_metadata({_SAMPLES: samples}), out, compression="zstd"
            )

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file of write(). Raises: StoreError."""
        try:
            with open_bytes(path) as file:
                # Not read_table(), whose threads may abort a process that ends soon: fabric/runs/parquet.py.
                table = pq.ParquetFile(file).read(use_threads=False)
        except InputErrors as error:
            raise StoreError(f"{path} {error.problems[0].text}", _HINT) from error
        except (pa.ArrowException, OSError) as error:
            raise StoreError(f"{path} cannot be read: {error}", _HINT) from error
        samples = (table.schema.metadata or {}).get(_SAMPLES)
        if samples is None or len(samples) % 8 or not _is_recorded(table):
            raise StoreError(f"{path} holds no recorded metrics", _HINT)
        store = cls()
        store._times = np.frombuffer(samples, np.int64).tolist()
        names = [name for name in table.schema.names if name not in _RESERVED]
        series, metrics, labels = _series_of(table, names)
        sample = np.searchsorted(store.times_ns, table["time_ns"].to_numpy()).astype(np.int32)
        value = table["value"].to_numpy()
        order = np.argsort(series, kind="stable")
        bounds = np.searchsorted(series[order], np.arange(len(metrics) + 1))
        for row, metric in enumerate(metrics):
            here = order[bounds[row] : bounds[row + 1]]
            track = store.track(metric)
            track.samples.append(sample[here])
            track.series.append(np.full(len(here), len(track.labels), np.int32))
            track.values.append(value[here])
            track.labels.append(labels[row])
        return store


_SAMPLES: Final = b"fabric.samples_ns"
"""Metadata key of the file: times of all samples, int64, little-endian."""


_HINT: Final = "give a file that was written from a run"


def _is_recorded(table: pa.Table) -> bool:
    """Whether the columns are those of Store.write()."""
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    text = pa.dictionary(pa.int32(), pa.string())
    if len(types) < len(table.schema.names) or not set(_RESERVED) <= set(types):
        return False
    whole = all(table[name].null_count == 0 for name in _RESERVED)
    wanted = {"time_ns": pa.int64(), "value": pa.float64()}
    return whole and all(
        kind in {wanted.get(name, text), wanted.get(name, pa.string())} for name, kind in types.items()
    )


def _dense(times_ns: NDArray[np.int64], sample: NDArray[np.int32], value: NDArray[np.float64]) -> Series:
    """Changes of one series -> its value at every sample from the first one on; gaps where it had ended."""
    if not len(sample):
        return np.empty(0, np.int64), np.empty(0)
    held = np.repeat(value, np.diff(np.append(sample, len(times_ns))))
    times_ns = times_ns[sample[0] :]
    alive = ~np.isnan(held)
    return (times_ns, held) if alive.all() else (times_ns[alive], held[alive])


def _table(
    names: Iterable[str],
    metric: str,
    labels: list[Labels],
    times_ns: NDArray[np.int64],
    series: NDArray[np.int32],
    value: NDArray[np.float64],
) -> pa.Table:
    maps: list[Mapping[str, str]] = [dict(it) for it in labels]
    columns = {"metric": _constant(metric, len(series))}
    for name in names:
        texts = sorted({it[name] for it in maps if name in it})
        place = {text: row for row, text in enumerate(texts)}
        of_series = np.array([place.get(it.get(name, ""), -1) if name in it else -1 for it in maps], np.int32)
        codes = of_series[series] if maps else np.empty(0, np.int32)
        columns[name] = pa.DictionaryArray.from_arrays(
            pa.array(codes, pa.int32(), mask=codes < 0), pa.array(texts, pa.string())
        )
    return pa.table({**columns, "time_ns": pa.array(times_ns), "value": pa.array(value)})


def _series_of(table: pa.Table, names: list[str]) -> tuple[NDArray[np.int64], list[str], list[Labels]]:
    """(n,) series number of each line, and metric and labels by that number; in order of first appearance."""
    columns = {name: table[name].combine_chunks().dictionary_encode() for name in ("metric", *names)}
    texts = {name: [*it.dictionary.to_pylist(), None] for name, it in columns.items()}
    codes = {name: it.indices.fill_null(len(texts[name]) - 1).to_numpy() for name, it in columns.items()}
    key = np.zeros(table.num_rows, np.int64)
    for name in columns:  # renumbered at every step to keep the products small
        key = np.unique(key * len(texts[name]) + codes[name], return_inverse=True)[1]
    _, first, series = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.argsort(order)
    picked = {name: [texts[name][code] for code in codes[name][first[order]].tolist()] for name in columns}
    labels: list[Labels] = (
        [
            tuple((name, value) for name, value in zip(names, row, strict=True) if value is not None)
            for row in zip(*(picked[name] for name in names), strict=True)
        ]
        if names
        else [()] * len(first)
    )
    return place[series].astype(np.int64), picked["metric"], labels


def _constant(text: str, count: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([text], pa.string()))
