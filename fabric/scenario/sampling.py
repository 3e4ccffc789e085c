"""The sampling interval of a run whose scenario names none (docs/decisions/0113)."""

from __future__ import annotations

from typing import Final

USUAL_INTERVAL_PS: Final = 100_000_000
MOST_SAMPLES: Final = 20_000


def default_interval_ps(duration_ps: int) -> int:
    """100 us, or its first multiple that gives at most MOST_SAMPLES samples within the longest simulated time.

    The whole of a shorter run: an interval that is longer than the run is refused where it is written.
    """
    return min(USUAL_INTERVAL_PS * max(-(-duration_ps // (MOST_SAMPLES * USUAL_INTERVAL_PS)), 1), max(duration_ps, 1))
