"""Sampling: records Snapshots of a run in a Store. The catalogue defines the recorded metrics.

Values come from SnapshotMetrics, as for a scrape, so a recorded series equals a scraped one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.units import PS_PER_NS
from telemetry.catalogue.columns import Column, LabelRows, SnapshotMetrics
from telemetry.catalogue.derive import RunInfo
from telemetry.record.store import Labels, Store, Track

_NO_LABELS: Final[LabelRows] = []


class Sampler:
    """Fills a Store.

    Parameters
    ----------
    info : RunInfo                facts of the run that are not in a Snapshot
    only : iterable, optional     names of the metrics to record; all by default
    """

    def __init__(self, info: RunInfo, only: Iterable[str] | None = None) -> None:
        self.store = Store()
        self.changes = 0
        """Values that the store holds."""
        self._metrics = SnapshotMetrics(info, only)
        self._lines: dict[str, _Line] = {}

    def sample(self, now: Snapshot) -> None:
        """Record the changes since the last sample. Raises: ValueError where `now` is not later."""
        number = self.store.begin(now.time_ps // PS_PER_NS)
        found: dict[str, list[Column]] = {}
        for column in self._metrics.columns(now):
            found.setdefault(column.name, []).append(column)
        for name in {**self._lines, **found}:
            line = self._lines.get(name)
            if line is None:
                line = self._lines[name] = _Line(self.store.track(name))
            self.changes += line.take(number, found.get(name, []))

    def forget(self, samples: int) -> None:
        """Drop the earliest samples; the store, which is a new one, begins with the values that they left."""
        self.store = self.store.last(self.store.samples - samples)
        self.changes = 0
        for name, line in self._lines.items():
            self.changes += line.go_on(self.store.track(name))


def record(snapshots: Iterable[Snapshot], info: RunInfo, only: Iterable[str] | None = None) -> Store:
    """Record a whole run; returns its Store."""
    sampler = Sampler(info, only)
    for snapshot in snapshots:
        sampler.sample(snapshot)
    return sampler.store


class _Line:
    """The last values of one sample name."""

    def __init__(self, track: Track) -> None:
        self._track = track
        self._place: dict[Labels, int] = {}
        self._seen: list[LabelRows] = []
        self._rows = np.empty(0, np.int32)
        self._last = np.empty(0)
        """By series; NaN: absent."""

    def go_on(self, track: Track) -> int:
        """Record in another Track with the same labels from now on; returns how many values it has."""
        self._track = track
        return sum(map(len, track.series))

    def take(self, sample: int, columns: list[Column]) -> int:
        """Record every value that differs from the last one, and the end of every removed series; returns how many."""
        if len(columns) != len(self._seen) or any(
            it.labels is not seen for it, seen in zip(columns, self._seen, strict=True)
        ):
            self._seen = [it.labels for it in columns]
            self._rows = self._placed([labels for it in columns for labels in it.labels])
        now = np.full(len(self._last), np.nan)
        now[self._rows] = np.concatenate([it.values for it in columns]) if columns else np.empty(0)
        with np.errstate(invalid="ignore"):
            changed = (now != self._last) & ~(np.isnan(now) & np.isnan(self._last))
        rows = np.flatnonzero(changed).astype(np.int32)
        if len(rows):
            self._track.append(sample, rows, now[rows])
        self._last = now
        return len(rows)

    def _placed(self, rows: LabelRows) -> NDArray[np.int32]:
        keys = [tuple(labels.items()) for labels in rows]
        for key in keys:
            if key not in self._place:
                self._place[key] = len(self._track.labels)
                self._track.labels.append(key)
        self._last = np.append(self._last, np.full(len(self._track.labels) - len(self._last), np.nan))
        return np.array([self._place[key] for key in keys], np.int32)
