"""A recorded run as an OpenMetrics file with timestamps, for `promtool tsdb create-blocks-from openmetrics`.

The order is metric, series, time, as OpenMetrics 1.0 requires; one series at a time is in memory. The format has no
free comments, so the time scale is in the HELP text of fabric_sim_dilation_ratio, and is its value at every sample.

The file cannot mark the end of a series: unlike with a live run, Prometheus shows the last sample for its lookback
(5 minutes).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TextIO

import numpy as np
from numpy.typing import NDArray
from prometheus_client.core import Metric

from telemetry.catalogue.metrics import CATALOGUE
from telemetry.catalogue.spec import MetricSpec
from telemetry.export.clock import MS_PER_S, WallClock
from telemetry.export.compat.model import KEPT, Layer
from telemetry.export.compat.recorded import renamed
from telemetry.export.exposition import Shown, Writer, label_text
from telemetry.record.store import Labels, Series, Store

DILATION: Final = "fabric_sim_dilation_ratio"
_EOF: Final = "# EOF\n"
_BOUND: Final = "le"


@dataclass(frozen=True, slots=True)
class Written:
    """Result of an export."""

    series: int
    samples: int
    first_ms: int
    """Unix time of the first sample."""
    last_ms: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """One series in wall time."""

    name: str
    labels: Mapping[str, str]
    time_ms: NDArray[np.int64]
    """(n,) Unix time, strictly ascending."""
    value: NDArray[np.float64]
    """(n,)"""


class Recording:
    """A Store in wall time, with the labels that a scrape would have added.

    Parameters
    ----------
    store : Store
    clock : WallClock
    kept : (n,) int      positions in store.times_ns of the samples to export (telemetry/export/clock.py, scraped)
    target : mapping     labels of every series, such as job and instance; a metric's own label takes precedence
    layer : Layer        names of another exporter (telemetry/export/compat); None: native names
    """

    def __init__(
        self,
        store: Store,
        clock: WallClock,
        kept: NDArray[np.int64],
        target: Mapping[str, str],
        layer: Layer | None = None,
    ) -> None:
        self.store, self.clock, self.target, self.layer = store, clock, dict(target), layer
        self.time_ns = store.times_ns[kept]
        self.time_ms = clock.unix_ms(self.time_ns)

    def groups(self, spec: MetricSpec) -> Iterator[tuple[Recorded, ...]]:
        """Series of one metric; a histogram's series in groups of equal labels, buckets first."""
        if spec.name == DILATION:
            yield (Recorded(DILATION, self.target, self.time_ms, np.full(len(self.time_ms), self.clock.time_scale)),)
        elif spec.is_histogram:
            yield from self._histograms(spec)
        else:
            for labels, series in self.store.iter_series(spec.name):
                yield (self._placed(spec.name, labels, series),)

    def families(self) -> Iterator[tuple[Metric, Iterator[tuple[Recorded, ...]]]]:
        """(family without samples, its groups of series), as groups() has them, under native names or the layer's."""
        for spec in CATALOGUE:
            if self.layer is None or spec.family in KEPT:
                yield _described(spec, self.clock), self.groups(spec)
        if self.layer is not None:
            for family, found in renamed(self.layer, self.store):
                yield family, ((self._placed(name, labels, series),) for name, labels, series in found)

    def all(self) -> Iterator[Recorded]:
        """Every series."""
        for _, groups in self.families():
            for group in groups:
                yield from group

    def _placed(self, name: str, labels: Labels, series: Series) -> Recorded:
        time_ns, value = series
        mine = np.isin(time_ns, self.time_ns, assume_unique=True)
        return Recorded(name, self.target | dict(labels), self.clock.unix_ms(time_ns[mine]), value[mine])

    def _histograms(self, spec: MetricSpec) -> Iterator[tuple[Recorded, ...]]:
        parts = [f"{spec.family}_{part}" for part in spec.count_and_sum]
        ends = {name: dict(self.store.iter_series(name)) for name in parts}
        buckets: dict[Labels, list[Recorded]] = {}
        name = f"{spec.family}_bucket"
        for labels, series in self.store.iter_series(name):
            plain = tuple(pair for pair in labels if pair[0] != _BOUND)
            buckets.setdefault(plain, []).append(self._placed(name, labels, series))
        for plain, found in buckets.items():
            yield (*found, *(self._placed(part, plain, ends[part][plain]) for part in parts))


def write_openmetrics(recording: Recording, out: TextIO) -> Written:
    """Write the file, `# EOF` at its end."""
    stamps = {moment: f"{moment / MS_PER_S:.3f}" for moment in recording.time_ms.tolist()}
    shown = Shown()
    n_series = n_samples = 0
    for family, groups in recording.families():
        begun = False
        for group in groups:
            if not begun:
                out.write(Writer().text([family], openmetrics=True).removesuffix(_EOF))
                begun = True
            out.writelines(_lines(group, stamps, shown))
            n_series += len(group)
            n_samples += sum(len(it.value) for it in group)
    out.write(_EOF)
    return Written(n_series, n_samples, int(recording.time_ms[0]), int(recording.time_ms[-1]))


def _described(spec: MetricSpec, clock: WallClock) -> Metric:
    about = spec.help
    if spec.name == DILATION:
        about = (
            f"Seconds of wall clock per simulated second: {clock.time_scale:g} in this file, whose simulated time "
            f"begins at {clock.start.isoformat()}."
        )
    return Metric(spec.family, about, spec.kind.value, spec.unit)


def _lines(group: tuple[Recorded, ...], stamps: Mapping[int, str], shown: Shown) -> Iterator[str]:
    """Samples of a group in order of time: OpenMetrics requires a histogram's parts together."""
    heads = [f"{it.name}{label_text(it.labels)} " for it in group]
    values = [[shown[value] for value in it.value.tolist()] for it in group]
    for row, moment in enumerate(group[0].time_ms.tolist()):
        stamp = stamps[moment]
        for head, column in zip(heads, values, strict=True):
            yield f"{head}{column[row]} {stamp}\n"
