"""Detectors over a finished run: every series of a few metrics, each with a suitable detector."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from telemetry.anomaly.base import Score
from telemetry.anomaly.registry import DETECTORS
from telemetry.record.store import Store

NS_PER_S: Final = 10**9

Track = tuple[NDArray[np.int64], NDArray[np.float64]]
"""time_ns (n,), value (n,)."""


def _share(times_ns: NDArray[np.int64], values: NDArray[np.float64]) -> Track:
    """A counter of seconds as the share of each sampling interval."""
    return times_ns[1:], np.diff(values) * NS_PER_S / np.diff(times_ns)


def _as_is(times_ns: NDArray[np.int64], values: NDArray[np.float64]) -> Track:
    return times_ns, values


WATCHED: Final[tuple[tuple[str, str, Callable[[NDArray[np.int64], NDArray[np.float64]], Track]], ...]] = (
    ("fabric_pfc_receive_paused_seconds_total", "burst", _share),
    ("fabric_queue_watermark_bytes", "page-hinkley", _as_is),
)
"""(metric, detector, transformation of the series for the detector)."""


@dataclass(frozen=True, slots=True)
class Anomaly:
    """The time at which a detector began to alarm; consecutive alarms are one anomaly."""

    metric: str
    labels: Mapping[str, str]
    detector: str
    time_ns: int
    value: float
    score: float

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        return {
            "metric": self.metric,
            "labels": dict(self.labels),
            "detector": self.detector,
            "time_ns": self.time_ns,
            "value": self.value,
            "score": self.score,
        }


def scan(store: Store) -> list[Anomaly]:
    """Every anomaly of a run, in order of time."""
    found = [
        it
        for metric, detector, shown in WATCHED
        for names, track in store.iter_series(metric)
        for it in _anomalies(metric, dict(names), detector, shown(*track))
    ]
    return sorted(found, key=lambda it: (it.time_ns, it.metric, sorted(it.labels.items())))


def _anomalies(metric: str, names: Mapping[str, str], detector: str, track: Track) -> Iterator[Anomaly]:
    watch = DETECTORS[detector]()
    before = Score(0.0, 0.0)
    for time_ns, value in zip(track[0].tolist(), track[1].tolist(), strict=True):
        score = watch.update(time_ns, value)
        if score.alarm and not before.alarm:
            yield Anomaly(metric, names, detector, time_ns, value, score.value)
        before = score
