"""Pacing of simulated time: `dilation` seconds of wall clock for one simulated second.

Fabric events last microseconds, scrapes come every 1 to 15 s: at a dilation of 1000 a pause of 2 ms lasts 2 s, which
Prometheus can see. The pacer computes the simulated time that is due. A run that is more than PATIENCE_S behind does
not run faster to catch up, because that would show a burst that did not exist. It slips: the lag is dropped and
counted, and the pace continues from the present state of the run.

Time is an argument everywhere; this module reads no clock.
"""

from __future__ import annotations

import math
from typing import Final

from fabric.units import PS_PER_S

PATIENCE_S: Final = 0.5
"""Maximum wall clock lag that is caught up; beyond it the run slips. Half of the shortest usual scrape interval."""

MIN_DILATION: Final = 1e-3
MAX_DILATION: Final = 1e9
"""From a thousand times faster than real time to 1 ns per second."""


def is_dilation(value: float) -> bool:
    """Whether a dilation is valid; NaN is not."""
    return MIN_DILATION <= value <= MAX_DILATION


class Pacer:
    """Computes the simulated time that is due. Wall clock readings are seconds of any monotonic clock.

    Parameters
    ----------
    dilation : float     wall clock seconds per simulated second, MIN_DILATION to MAX_DILATION
    """

    def __init__(self, dilation: float) -> None:
        self.dilation = dilation
        self.paused = False
        self.slipped_s = 0.0
        """Wall clock lag dropped so far."""
        self._wall_s = 0.0
        self._sim_ps = 0

    def begin(self, now_s: float, sim_ps: int) -> None:
        """Start the pace: the run is at sim_ps and on time."""
        self._wall_s, self._sim_ps = now_s, sim_ps

    def due_ps(self, now_s: float) -> int:
        """The simulated time that is due now."""
        if self.paused:
            return self._sim_ps
        return self._sim_ps + int((now_s - self._wall_s) / self.dilation * PS_PER_S)

    def wait_s(self, now_s: float, sim_ps: int) -> float:
        """Wall clock time until sim_ps is due; 0 when it is due, infinite while paused."""
        if self.paused:
            return math.inf
        return max(self._wall_s + (sim_ps - self._sim_ps) / PS_PER_S * self.dilation - now_s, 0.0)

    def keep_up(self, now_s: float, sim_ps: int) -> float:
        """Drop a lag beyond PATIENCE_S; returns the dropped wall clock seconds."""
        if self.paused:
            return 0.0
        lag_s = now_s - self._wall_s - (sim_ps - self._sim_ps) / PS_PER_S * self.dilation
        if lag_s <= PATIENCE_S:
            return 0.0
        self.slipped_s += lag_s
        self.begin(now_s, sim_ps)
        return lag_s

    def excuse(self, wall_s: float) -> None:
        """Exclude time not used by the run, such as compilation: it is neither caught up nor counted as slip."""
        self._wall_s += wall_s

    def pause(self, sim_ps: int) -> None:
        """Pause simulated time at sim_ps."""
        self.paused, self._sim_ps = True, sim_ps

    def resume(self, now_s: float, sim_ps: int) -> None:
        """Resume from sim_ps."""
        self.paused = False
        self.begin(now_s, sim_ps)

    def change(self, dilation: float, now_s: float, sim_ps: int) -> None:
        """Change the pace from now on."""
        self.dilation = dilation
        self.begin(now_s, sim_ps)
