"""Simulated time against the wall clock: `dilation` seconds of wall clock for one simulated second.

Fabric events last microseconds, scrapes come every 1 to 15 s: at a dilation of 1000 a pause of 2 ms lasts 2 s, which
Prometheus sees. The pacer says which moment is due, and owns up when the machine cannot keep it: a run that is more
than PATIENCE_S behind does not race to catch up, which would show an operator a burst that never was. It slips: the
lag is given up, counted, and the pace begins anew from where the run stands.

Time is an argument everywhere; nothing here reads a clock.
"""

from __future__ import annotations

import math
from typing import Final

from fabric.units import PS_PER_S

PATIENCE_S: Final = 0.5
"""Wall clock lag that is caught up; beyond it the run slips. Half of the shortest usual scrape interval."""

MIN_DILATION: Final = 1e-3
MAX_DILATION: Final = 1e9
"""A thousand times faster than real time to 1 ns a second: beyond, nothing is seen."""


def is_dilation(value: float) -> bool:
    """Whether a run can be paced so; no NaN can."""
    return MIN_DILATION <= value <= MAX_DILATION


class Pacer:
    """Which simulated moment is due. Wall clock readings are seconds of any monotonic clock.

    Parameters
    ----------
    dilation : float     wall clock seconds per simulated second, MIN_DILATION to MAX_DILATION
    """

    def __init__(self, dilation: float) -> None:
        self.dilation = dilation
        self.paused = False
        self.slipped_s = 0.0
        """Wall clock lag given up so far."""
        self._wall_s = 0.0
        self._sim_ps = 0

    def begin(self, now_s: float, sim_ps: int) -> None:
        """The run stands at sim_ps and is on time."""
        self._wall_s, self._sim_ps = now_s, sim_ps

    def due_ps(self, now_s: float) -> int:
        """The moment that should have been reached by now."""
        if self.paused:
            return self._sim_ps
        return self._sim_ps + int((now_s - self._wall_s) / self.dilation * PS_PER_S)

    def wait_s(self, now_s: float, sim_ps: int) -> float:
        """Wall clock time until sim_ps is due; 0 where it is, infinite while paused."""
        if self.paused:
            return math.inf
        return max(self._wall_s + (sim_ps - self._sim_ps) / PS_PER_S * self.dilation - now_s, 0.0)

    def keep_up(self, now_s: float, sim_ps: int) -> float:
        """Give up a lag beyond PATIENCE_S; returns what was given up, in wall clock seconds."""
        if self.paused:
            return 0.0
        lag_s = now_s - self._wall_s - (sim_ps - self._sim_ps) / PS_PER_S * self.dilation
        if lag_s <= PATIENCE_S:
            return 0.0
        self.slipped_s += lag_s
        self.begin(now_s, sim_ps)
        return lag_s

    def excuse(self, wall_s: float) -> None:
        """Take out time that was not the run's, such as the compiler's: it is neither caught up nor counted as slip."""
        self._wall_s += wall_s

    def pause(self, sim_ps: int) -> None:
        """Hold simulated time at sim_ps."""
        self.paused, self._sim_ps = True, sim_ps

    def resume(self, now_s: float, sim_ps: int) -> None:
        """Go on from sim_ps."""
        self.paused = False
        self.begin(now_s, sim_ps)

    def change(self, dilation: float, now_s: float, sim_ps: int) -> None:
        """Another pace from here on."""
        self.dilation = dilation
        self.begin(now_s, sim_ps)
