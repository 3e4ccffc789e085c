"""One Snapshot as columns, one per sample name: the source of scrapes, recorded series and names of other exporters.

Labels are made once and shared by all later snapshots. The identity of the list tells a caller whether a series was
added; callers must not change it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray
from prometheus_client.core import GaugeHistogramMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

from fabric.dataplane.engine.counters import Snapshot
from telemetry.catalogue.collectives import COLLECTIVE_OBSERVED, COLLECTIVE_VALUES
from telemetry.catalogue.derive import DERIVED, FACTS, OBSERVED, PASSING, RunInfo, Values
from telemetry.catalogue.jobs import JOB_OBSERVED, JOB_VALUES, JobProgress
from telemetry.catalogue.metrics import BY_NAME, CATALOGUE, WALL_CLOCK
from telemetry.catalogue.rows import RowSet
from telemetry.catalogue.spec import Kind, MetricSpec

LabelRows = list[dict[str, str]]


def column(snapshot: Snapshot, source: str) -> Values:
    """The array of a catalogue source, in the shape of its table."""
    if source in DERIVED:
        return DERIVED[source](snapshot)
    table, field = source.split(".")
    values: Values = getattr(snapshot, table)[field]
    return values


@dataclass(frozen=True, slots=True)
class Column:
    """All series of one sample name at one time."""

    spec: MetricSpec
    name: str
    """The metric's name; for a histogram, the name of a part (`_bucket`, `_count`, `_sum`, `_gcount`, `_gsum`)."""
    labels: LabelRows
    """One per series. The same list object as before unless a series was added or removed."""
    values: NDArray[np.float64]
    """(len(labels),)"""


@dataclass(frozen=True, slots=True)
class _Counted:
    """A histogram: (n,) series of (n, buckets) cumulative counts and (n,) sums."""

    labels: LabelRows
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]


class SnapshotMetrics:
    """All metrics of one run, or only the named ones. Keeps labels between snapshots; not thread-safe."""

    def __init__(self, info: RunInfo, only: Iterable[str] | None = None) -> None:
        self._info = info
        names = BY_NAME if only is None else set(only)
        self._wanted = [spec for spec in CATALOGUE if spec.name in names and spec.source not in WALL_CLOCK]
        rows = dict.fromkeys(spec.rows for spec in self._wanted if spec.source not in PASSING)
        self._rows = {it: RowSet(it) for it in rows}
        self._progress = JobProgress(info.jobs)
        self._passing: dict[str, LabelRows] = {}
        self._facts: dict[str, tuple[LabelRows, LabelRows]] = {}
        self._buckets: dict[str, tuple[LabelRows, LabelRows]] = {}

    def columns(self, snapshot: Snapshot) -> Iterator[Column]:
        """Every metric that follows from a Snapshot alone, in the catalogue's order, without metrics that have no
        series.
        """
        for spec in self._specs(snapshot):
            if spec.is_histogram:
                counted = self._counted(spec, snapshot)
                if counted is not None:
                    yield from self._parts(spec, counted)
            else:
                yield from self._plain(spec, snapshot)

    def families(self, snapshot: Snapshot) -> Iterator[Metric]:
        """The same as families of prometheus_client."""
        for spec in self._specs(snapshot):
            family = self._histogram(spec, snapshot) if spec.is_histogram else self._family(spec, snapshot)
            if family is not None and family.samples:
                yield family

    def _specs(self, snapshot: Snapshot) -> list[MetricSpec]:
        self._progress.update(snapshot)
        for rows in self._rows.values():
            rows.update(snapshot, self._info, self._progress)
        return self._wanted

    def _family(self, spec: MetricSpec, snapshot: Snapshot) -> Metric:
        family = Metric(spec.family, spec.help, spec.kind.value, spec.unit)
        for it in self._plain(spec, snapshot):
            family.samples.extend(map(Sample, repeat(it.name), it.labels, it.values.tolist()))
        return family

    def _plain(self, spec: MetricSpec, snapshot: Snapshot) -> Iterator[Column]:
        if spec.source in PASSING:
            labels = self._kept(spec, PASSING[spec.source](snapshot))
            if labels:
                yield Column(spec, spec.name, labels, np.ones(len(labels)))
            return
        rows = self._rows[spec.rows]
        if spec.kind is Kind.INFO:
            labels = self._with_facts(spec, snapshot, rows.labels())
            if labels:
                yield Column(spec, spec.name, labels, np.ones(len(labels)))
            return
        values = spec.values if spec.variant else ("",)
        for source, value in zip(spec.sources(), values, strict=True):
            labels = rows.labels(spec.variant, value)
            if labels:
                numbers = self._values(snapshot, source)[rows.index]
                yield Column(spec, spec.name, labels, np.asarray(numbers / spec.per, np.float64))

    def _values(self, snapshot: Snapshot, source: str) -> Values:
        if source in COLLECTIVE_VALUES:
            return COLLECTIVE_VALUES[source](snapshot, self._info, self._progress)
        if source in JOB_VALUES:
            return JOB_VALUES[source](self._progress)
        return column(snapshot, source)

    def _observed(self, snapshot: Snapshot, source: str) -> tuple[Values, Values] | None:
        if source in COLLECTIVE_OBSERVED:
            return COLLECTIVE_OBSERVED[source](snapshot, self._info, self._progress)
        if source in JOB_OBSERVED:
            return JOB_OBSERVED[source](self._progress)
        return OBSERVED[source](snapshot, self._info)

    def _kept(self, spec: MetricSpec, now: LabelRows) -> LabelRows:
        """The earlier list where it is equal."""
        before = self._passing.setdefault(spec.name, now)
        if before != now:
            self._passing[spec.name] = now
        return self._passing[spec.name]

    def _with_facts(self, spec: MetricSpec, snapshot: Snapshot, plain: LabelRows) -> LabelRows:
        if not spec.extra:
            return plain
        known = self._facts.get(spec.name)
        if known is None or known[0] is not plain:
            facts = FACTS[spec.source](snapshot, self._info)
            known = plain, [{**labels, **fact} for labels, fact in zip(plain, facts, strict=True)]
            self._facts[spec.name] = known
        return known[1]

    def _counted(self, spec: MetricSpec, snapshot: Snapshot) -> _Counted | None:
        observed = self._observed(snapshot, spec.source)
        if observed is None:
            return None
        of, values = observed[0], observed[1] / spec.per
        rows = self._rows[spec.rows]
        shown, n_buckets = rows.index[0], len(spec.buckets) + 1
        n_rows = int(shown.max(initial=-1)) + 1
        # le: a value equal to a bound belongs to that bucket.
        places = np.searchsorted(spec.buckets, values, side="left")
        inside = of < n_rows
        counts = np.bincount(of[inside] * n_buckets + places[inside], minlength=n_rows * n_buckets)
        sums = np.bincount(of[inside], values[inside], n_rows)
        cumulative = counts.reshape(-1, n_buckets).cumsum(axis=1)
        return _Counted(rows.labels(), cumulative[shown], sums[shown].astype(np.float64))

    def _parts(self, spec: MetricSpec, counted: _Counted) -> Iterator[Column]:
        if not counted.labels:
            return
        count, total = spec.count_and_sum
        yield Column(
            spec,
            f"{spec.family}_bucket",
            self._with_bounds(spec, counted.labels),
            counted.counts.reshape(-1).astype(np.float64),
        )
        yield Column(spec, f"{spec.family}_{count}", counted.labels, counted.counts[:, -1].astype(np.float64))
        yield Column(spec, f"{spec.family}_{total}", counted.labels, counted.sums)

    def _with_bounds(self, spec: MetricSpec, plain: LabelRows) -> LabelRows:
        known = self._buckets.get(spec.name)
        if known is None or known[0] is not plain:
            bounds = _bounds(spec)
            known = plain, [{**labels, "le": bound} for labels in plain for bound in bounds]
            self._buckets[spec.name] = known
        return known[1]

    def _histogram(self, spec: MetricSpec, snapshot: Snapshot) -> Metric | None:
        """One series after the other, because OpenMetrics requires the parts of a histogram together."""
        counted = self._counted(spec, snapshot)
        if counted is None:
            return None
        kind = HistogramMetricFamily if spec.kind is Kind.HISTOGRAM else GaugeHistogramMetricFamily
        family = kind(spec.family, spec.help, labels=list(spec.labels), unit=spec.unit)
        bounds = _bounds(spec)
        for labels, counts, total in zip(counted.labels, counted.counts.tolist(), counted.sums.tolist(), strict=True):
            family.add_metric(list(labels.values()), list(zip(bounds, counts, strict=True)), total)
        return family


def _bounds(spec: MetricSpec) -> list[str]:
    return [*map(floatToGoString, spec.buckets), "+Inf"]
