"""Speed and remaining time of a run: wall-clock estimates for a progress line. They never change a result.

A run ends at its duration or, unless it lasts its full duration, when every message is done, whichever comes first. So
two quantities are tracked: simulated time, of which the end is known, and payload delivered, of which the sum is known.
The rate of each is measured over the last part of the run, long enough not to follow every burst; the smaller remaining
time is the estimate. Near the end a few slow messages decide, so the slowest receiver then counts as much as the sum.
There is no estimate before enough of the run has passed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

WINDOW_S: Final = 10.0
WINDOW_RATIO: Final = 0.3
"""Rates are measured over this much wall time, or this share of the elapsed time where that is longer."""
SMOOTH_S: Final = 2.0
"""Wall time over which packet-hops are counted."""
FIRST_S: Final = 2.0
"""Wall time before the first estimate."""
SEEN_RATIO: Final = 0.02
SEEN_S: Final = 10.0
"""An estimate is given once this share of it, or this much wall time, has passed."""


OBSERVATIONS: Final = 64
"""Observations kept per window, which bounds the memory of a long run with many hosts."""
TAIL_RATIO: Final = 0.2
"""With less than this share of the payload left, the slowest receiver counts."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The state of a run at one moment."""

    wall_s: float
    now_ps: int
    packet_hops: int
    delivered_bytes: NDArray[np.int64]
    """(n_hosts,) payload that each has received."""


class Pace:
    """The estimate of one run.

    Parameters
    ----------
    end_ps : int                     the run's duration
    expected : (n_hosts,) int64      payload for each host, of a run that ends when it has arrived; None: the run
                                     lasts its full duration
    """

    def __init__(self, end_ps: int, expected: NDArray[np.int64] | None) -> None:
        self._end_ps, self._expected = end_ps, expected
        self._observations: deque[Observation] = deque()
        self._first: Observation | None = None

    def observe(self, at: Observation) -> None:
        """Add an observation. Measuring begins with the first, so that compiling does not count."""
        if self._first is None:
            self._first = at
        window_s = max(WINDOW_S, WINDOW_RATIO * (at.wall_s - self._first.wall_s))
        if len(self._observations) > 2 and at.wall_s - self._observations[-2].wall_s < window_s / OBSERVATIONS:
            self._observations.pop()  # the latest is always kept, earlier ones at this distance
        self._observations.append(at)
        while len(self._observations) > 2 and at.wall_s - self._observations[1].wall_s >= window_s:
            self._observations.popleft()

    @property
    def hops_per_s(self) -> float | None:
        """Packet-hops per second of wall time over the last window; None before two observations."""
        if len(self._observations) < 2:
            return None
        last = self._observations[-1]
        first = next(
            (it for it in reversed(self._observations) if last.wall_s - it.wall_s >= SMOOTH_S), self._observations[0]
        )
        took_s = last.wall_s - first.wall_s
        return (last.packet_hops - first.packet_hops) / took_s if took_s > 0 else None

    @property
    def eta_s(self) -> float | None:
        """Wall time to the end; None before the first estimate."""
        if self._first is None or len(self._observations) < 2:
            return None
        first, last = self._observations[0], self._observations[-1]
        gone_s, took_s = last.wall_s - self._first.wall_s, last.wall_s - first.wall_s
        if gone_s < FIRST_S or took_s <= 0:
            return None
        known = [
            it
            for it in (
                _left_s(self._end_ps - last.now_ps, last.now_ps - first.now_ps, took_s),
                self._payload_s(first, last, took_s),
            )
            if it is not None
        ]
        if not known or (gone_s < SEEN_S and gone_s < SEEN_RATIO * min(known)):
            return None
        return min(known)

    def _payload_s(self, first: Observation, last: Observation, took_s: float) -> float | None:
        """Wall time until all payload has arrived."""
        if self._expected is None:
            return None
        left, moved = self._expected - last.delivered_bytes, last.delivered_bytes - first.delivered_bytes
        least_s = _left_s(int(left.sum()), int(moved.sum()), took_s)
        if least_s is None or left.sum() >= TAIL_RATIO * self._expected.sum():
            return least_s
        waiting = left > 0
        if (moved[waiting] <= 0).any():  # a receiver without recent progress: no estimate
            return None
        # The sum continues at its present rate, while the last receiver speeds up when others are done: take a mean.
        most_s = float((left[waiting] * took_s / moved[waiting]).max(initial=0.0))
        return float(np.sqrt(least_s * most_s))


def _left_s(left: int, moved: int, took_s: float) -> float | None:
    return None if moved <= 0 else max(left, 0) * took_s / moved
