"""Simulated time as Unix time: the position of a recorded run in a database with a resolution of milliseconds.

Simulated time is multiplied by a time scale, wall seconds per simulated second, so that microseconds of a fabric are
visible in a database with a resolution of 1 ms and queries in steps of seconds. The scale is the `--dilation` of
`fabric serve`, with the same default, so rules and dashboards fit both.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.errors import FabricError

NS_PER_MS: Final = 1_000_000
MS_PER_S: Final = 1000
HEAD_MS: Final = 3 * 3600 * MS_PER_S
"""Prometheus writes its own block of the last hours; a block made by hand must end before it (prometheus.io/docs,
storage, backfilling: "not safe" for the last 3 hours)."""


@dataclass(frozen=True, slots=True)
class WallClock:
    """Simulated time 0 is start_ms; a simulated second lasts time_scale seconds."""

    start_ms: int
    """Unix time."""
    time_scale: float

    def unix_ms(self, time_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Unix time of simulated times, rounded to Prometheus' resolution."""
        since_ms: NDArray[np.int64] = np.rint(time_ns * (self.time_scale / NS_PER_MS)).astype(np.int64)
        return self.start_ms + since_ms

    @property
    def start(self) -> datetime:
        """Wall time of simulated time 0."""
        return datetime.fromtimestamp(self.start_ms / MS_PER_S, UTC)


def latest_start_ms(now_ms: int, end_ns: int, time_scale: float) -> int:
    """Start time of a run that ends now."""
    return now_ms + round(end_ns * time_scale) // -NS_PER_MS


def latest_safe_start_ms(now_ms: int, end_ns: int, time_scale: float) -> int:
    """The last full hour at which a run can start and end before the hours that Prometheus reserves."""
    hour_ms = 3600 * MS_PER_S
    return latest_start_ms(now_ms - HEAD_MS, end_ns, time_scale) // hour_ms * hour_ms


def scraped(times_ns: NDArray[np.int64], clock: WallClock, interval_ms: int | None) -> NDArray[np.int64]:
    """Positions of the samples to keep: all, or the last one before each scrape, and the final one.

    Parameters
    ----------
    times_ns : (n,) int64     samples, ascending
    clock : WallClock
    interval_ms : int | None     wall time between two scrapes, the first at the start; None keeps every sample

    Returns: (m,) positions in times_ns, ascending.
    Raises: FabricError where two kept samples have the same millisecond: a series would have two values there.
    """
    kept = np.arange(len(times_ns))
    wall_ms = clock.unix_ms(times_ns) - clock.start_ms
    if interval_ms is not None and len(times_ns):
        scrapes_ms = np.arange(0, wall_ms[-1] + 1, interval_ms)
        last = np.searchsorted(wall_ms, scrapes_ms, side="right") - 1
        kept = np.unique(np.append(last[last >= 0], len(times_ns) - 1))
    gaps_ns = np.diff(times_ns[kept])
    if len(gaps_ns) and (np.diff(wall_ms[kept]) < 1).any():
        least = -(-NS_PER_MS // int(gaps_ns.min()))
        raise FabricError(
            f"a time scale of {clock.time_scale:g} puts samples {int(gaps_ns.min())} ns apart on one "
            "millisecond, which is Prometheus' resolution",
            f"give --time-scale {least} or more, or a --scrape-interval that leaves samples out",
        )
    return kept
