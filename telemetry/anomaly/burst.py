"""A share that is above a level for some time: pause ratios, marked shares, utilisations, which are normally 0.

The detector learns nothing, so it works from the first sample and for a fabric that has never been healthy. Hysteresis
avoids repeated alarms: an alarm lasts until the share falls below the lower of two levels.
"""

from __future__ import annotations

from telemetry.anomaly.base import Clock, Score


class Burst:
    """Parameters
    ----------
    level : float      the alarm begins above it
    release : float    the alarm ends below it; less than level
    hold : int         consecutive samples that must be above level
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
