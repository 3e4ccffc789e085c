"""Page-Hinkley test: finds the time at which the mean of a series changes, without a known mean.

The running mean covers all samples since the last change. The sum of deviations from it, less a tolerance, drifts away
from its minimum (maximum) only when the mean has moved (Page 1954; Hinkley, Biometrika 1971). No seasonality is
assumed.
"""

from __future__ import annotations

from telemetry.anomaly.base import LEARNING, Baseline, Clock, Score


class PageHinkley:
    """Parameters
    ----------
    tolerance : float     drift that is not of interest, in standard deviations per sample
    limit : float         distance from the extreme at which the mean has moved, in standard deviations
    learn : int           samples before the first score
    clip : float          as for Cusum
    """

    def __init__(self, tolerance: float = 1.0, limit: float = 15.0, learn: int = 30, clip: float = 6.0) -> None:
        self._tolerance = tolerance
        self._limit = limit
        self._learn = learn
        self._clip = clip
        self._clock = Clock()
        self._restart()

    def _restart(self) -> None:
        self._baseline = Baseline()
        self._rise = self._fall = self._lowest = self._highest = 0.0

    def update(self, time_ns: int, value: float) -> Score:
        """As Detector."""
        self._clock.tick(time_ns, value)
        known = self._baseline
        if known.count < self._learn:
            known.add(value)
            return LEARNING
        expected = known.mean
        z = min(max((value - expected) / known.spread, -self._clip), self._clip)
        known.add(expected + z * known.spread)
        self._rise += z - self._tolerance
        self._fall += z + self._tolerance
        self._lowest, self._highest = min(self._lowest, self._rise), max(self._highest, self._fall)
        score = Score(max(self._rise - self._lowest, self._highest - self._fall) / self._limit, expected)
        if score.alarm:
            self._restart()
        return score
