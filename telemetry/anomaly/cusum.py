"""Tabular CUSUM: detects small lasting shifts of the mean by accumulating deviations.

S+ = max(0, S+ + z - slack) and likewise downwards, z being the deviation from the learnt mean in learnt standard
deviations; an alarm at `limit` (Page, Biometrika 1954; Montgomery, Introduction to Statistical Quality Control, section
9.1). After an alarm the detector learns the new level and continues.
"""

from __future__ import annotations

from telemetry.anomaly.base import LEARNING, Baseline, Clock, Score


class Cusum:
    """Parameters
    ----------
    slack : float     half of the smallest shift of interest, in standard deviations
    limit : float     sum at which it alarms
    learn : int       samples from which level and spread are learnt
    clip : float      limit of one sample's contribution, in standard deviations: an outlier is not a shift
    """

    def __init__(self, slack: float = 1.0, limit: float = 12.0, learn: int = 30, clip: float = 6.0) -> None:
        self._slack = slack
        self._limit = limit
        self._learn = learn
        self._clip = clip
        self._clock = Clock()
        self._restart()

    def _restart(self) -> None:
        self._baseline = Baseline()
        self._up = self._down = 0.0

    def update(self, time_ns: int, value: float) -> Score:
        """As Detector."""
        self._clock.tick(time_ns, value)
        if self._baseline.count < self._learn:
            self._baseline.add(value)
            return LEARNING
        z = min(max((value - self._baseline.mean) / self._baseline.spread, -self._clip), self._clip)
        self._up = max(0.0, self._up + z - self._slack)
        self._down = max(0.0, self._down - z - self._slack)
        score = Score(max(self._up, self._down) / self._limit, self._baseline.mean)
        if score.alarm:
            self._restart()
        return score
