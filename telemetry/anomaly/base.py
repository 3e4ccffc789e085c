"""The interface of detectors, and what they share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Protocol

TINY: Final = 1e-12
"""A smaller spread is rounding noise of a constant series."""


@dataclass(frozen=True, slots=True)
class Score:
    """A detector's result for one sample."""

    value: float
    """Deviation in units of the detector's limit: 1 and more is an alarm. 0 while the detector learns."""
    expected: float
    """The expected value; NaN while the detector learns."""

    @property
    def alarm(self) -> bool:
        """Whether the sample is an anomaly."""
        return self.value >= 1.0


class Detector(Protocol):
    """Detector of one series: its state has a fixed size and every update has the same cost."""

    def update(self, time_ns: int, value: float) -> Score:
        """Process the next sample. Raises: ValueError for a time not after the last one, or a NaN or infinite value."""


class Clock:
    """Checks that each sample is a finite value later than the one before."""

    __slots__ = ("_last_ns",)

    def __init__(self) -> None:
        self._last_ns = -(2**63)

    def tick(self, time_ns: int, value: float) -> None:
        """Raises: ValueError."""
        if time_ns <= self._last_ns:
            raise ValueError(f"a sample at {time_ns} ns does not follow one at {self._last_ns} ns")
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a finite number; leave missing samples out")
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
        """Add a sample."""
        self.count += 1
        before = value - self.mean
        self.mean += before / self.count
        self._squares += before * (value - self.mean)

    @property
    def spread(self) -> float:
        """Standard deviation, never 0: at least a thousandth of the mean, or a small constant."""
        deviation = math.sqrt(self._squares / (self.count - 1)) if self.count > 1 else 0.0
        return max(deviation, abs(self.mean) / 1000, TINY)
