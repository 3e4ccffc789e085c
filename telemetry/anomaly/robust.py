"""Deviation from a running median, in running median absolute deviations (MAD), so that outliers do not widen the
spread.

Median and MAD start as those of the first samples and then follow by small steps of constant size, up or down, as
"frugal streaming" does (Ma, Muthukrishnan and Sandler, 2013); 1.4826 MAD is a standard deviation of normal noise.
"""

from __future__ import annotations

from statistics import median
from typing import Final

from telemetry.anomaly.base import LEARNING, TINY, Clock, Score

NORMAL: Final = 1.4826


class RobustZ:
    """Parameters
    ----------
    limit : float      standard deviations at which it alarms
    pace : float       step of the median and of the MAD, in MADs
    learn : int        samples before the first score; they are stored until then
    """

    def __init__(self, limit: float = 7.0, pace: float = 0.02, learn: int = 30) -> None:
        self._limit = limit
        self._pace = pace
        self._learn = learn
        self._clock = Clock()
        self._first: list[float] = []
        self._count = 0
        self._median = 0.0
        self._mad = 0.0

    def update(self, time_ns: int, value: float) -> Score:
        """As Detector."""
        self._clock.tick(time_ns, value)
        if self._count < self._learn:
            self._first.append(value)
            self._count += 1
            if self._count == self._learn:
                self._median = median(self._first)
                self._mad = median(abs(it - self._median) for it in self._first)
                self._first.clear()
            return LEARNING
        floor = max(self._mad, abs(self._median) / 1000, TINY)
        off = value - self._median
        score = Score(abs(off) / (self._limit * NORMAL * floor), self._median)
        step = self._pace * floor
        self._median += step if off > 0 else -step if off < 0 else 0.0
        self._mad = max(self._mad + (step if abs(off) > self._mad else -step), 0.0)
        return score
