"""A share that is above a level for some time: pause ratios, marked shares, utilisations, where 0 is the norm.

Nothing is learnt, so it works from the first sample and for a fabric that has never been healthy. Two levels keep it
from chattering: it goes on until the share falls below the lower one.
"""

from __future__ import annotations

from telemetry.anomaly.base import Clock, Score


class Burst:
    """Parameters
    ----------
    level : float      alarm when above
    release : float    until below; less than level
    hold : int         samples in a row that must be above
    """

    def __init__(self, level: float = 0.05, release: float = 0.02, hold: int = 3) -> None:
        self._level = level
        self._release = release
        self._hold = hold
        self._clock = Clock()
        self._above = 0
        self._lasting = False

    def update(self, time_ns: int, value: float) -> Score:
        """As Detector."""
        self._clock.tick(time_ns, value)
        self._above = min(self._above + 1, self._hold) if value > self._level else 0
        self._lasting = self._above >= self._hold or (self._lasting and value > self._release)
        share = value / self._level
        return Score(max(share, 1.0) if self._lasting else min(share, 1.0) * self._above / self._hold * 0.99, 0.0)
