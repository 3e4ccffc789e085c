"""Deviation from an exponentially weighted mean, in weighted standard deviations.

Mean and variance are updated in one step (Finch, "Incremental calculation of weighted mean and variance", 2009, section
9). An outlier is clipped to the limit before it updates the mean, so that it neither hides the next outlier nor becomes
the new mean at once. The mean follows a lasting change after some time: the detector finds steps, not states.
"""

from __future__ import annotations

import math

from telemetry.anomaly.base import LEARNING, TINY, Baseline, Clock, Score


class Ewma:
    """Parameters
    ----------
    weight : float     of a new sample, 0 to 1
    limit : float      standard deviations at which it alarms
    learn : int        samples before the first score
    """

    def __init__(self, weight: float = 0.05, limit: float = 6.0, learn: int = 30) -> None:
        self._weight = weight
        self._limit = limit
        self._learn = learn
        self._clock = Clock()
        self._baseline = Baseline()
        self._mean = 0.0
        self._variance = 0.0

    def update(self, time_ns: int, value: float) -> Score:
        """As Detector."""
        self._clock.tick(time_ns, value)
        if self._baseline.count < self._learn:
            self._baseline.add(value)
            self._mean, self._variance = self._baseline.mean, self._baseline.spread**2
            return LEARNING
        spread = max(math.sqrt(self._variance), abs(self._mean) / 1000, TINY)
        score = Score(abs(value - self._mean) / (self._limit * spread), self._mean)
        bound = self._limit * spread
        off = min(max(value - self._mean, -bound), bound)
        self._mean += self._weight * off
        self._variance = (1 - self._weight) * (self._variance + self._weight * off * off)
        return score
