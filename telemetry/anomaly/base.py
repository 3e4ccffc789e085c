"""What every detector is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Protocol

TINY: Final = 1e-12
"""Below, a spread is no spread: a constant series with rounding noise."""


@dataclass(frozen=True, slots=True)
class Score:
    """What a detector makes of one sample."""

    value: float
    """How unusual, in units of the detector's limit: 1 and more is an alarm. 0 while it is still learning."""
    expected: float
    """What would have been usual; NaN while it is still learning."""

    @property
    def alarm(self) -> bool:
        """Whether somebody should look."""
        return self.value >= 1.0


class Detector(Protocol):
    """One series' watchman: its state has a fixed size and an update costs the same for ever."""

    def update(self, time_ns: int, value: float) -> Score:
        """Take the next sample. Raises: ValueError for a time not after the last one, or a value that is no number."""


class Clock:
    """Refuses what is no next sample."""

    __slots__ = ("_last_ns",)

    def __init__(self) -> None:
        self._last_ns = -(2**63)

    def tick(self, time_ns: int, value: float) -> None:
        """Raises: ValueError."""
        if time_ns <= self._last_ns:
            raise ValueError(f"a sample at {time_ns} ns does not follow one at {self._last_ns} ns")
        if not math.isfinite(value):
            raise ValueError(f"{value} is no number to judge; leave missing samples out")
        self._last_ns = time_ns


LEARNING: Final = Score(0.0, math.nan)


class Baseline:
    """Mean and spread of the first samples, computed in one pass (Welford 1962)."""

    __slots__ = ("_squares", "count", "mean")

    def __init__(self) -> None:
        self.count = 0
        self.mean = 0.0
        self._squares = 0.0

    def add(self, value: float) -> None:
        """One more sample."""
        self.count += 1
        before = value - self.mean
        self.mean += before / self.count
        self._squares += before * (value - self.mean)

    @property
    def spread(self) -> float:
        """Standard deviation, never 0: a part in a thousand of the mean, or of nothing."""
        deviation = math.sqrt(self._squares / (self.count - 1)) if self.count > 1 else 0.0
        return max(deviation, abs(self.mean) / 1000, TINY)
