"""SONiC's estimate of the paused time of a priority, from two polls of the PFC watchdog.

Source: SONiC PFC Historical Statistics HLD, table "Estimations Based on Pause Activity", and sonic-swss
orchagent/pfc_detect_broadcom.lua. It depends on three facts: paused at the last poll, PFC frames received since, paused
now. The whole interval counts as paused where frames arrived or both ends were paused:

    was  activity  now    counted
    T    T         T      all of the interval
    T    T         F      all
    T    F         T      all
    T    F         F      none
    F    T         T      all
    F    T         F      all
    F    F         T      none (cannot be: a pause begins with a frame)
    F    F         F      none

So one pause of a microsecond counts as 200 ms, and further pauses of a class that is paused at both polls add nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def counted_ps(
    was_paused: NDArray[np.bool_],
    activity: NDArray[np.bool_],
    now_paused: NDArray[np.bool_],
    elapsed_ps: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Paused time that SONiC adds for the interval between two polls.

    Parameters
    ----------
    was_paused, now_paused : (n,) pause status at the last poll and at this one
    activity : (n,) whether PFC frames of the priority arrived in between
    elapsed_ps : (n,) time between the polls

    Returns: (n,) picoseconds.
    """
    return np.where(activity | (was_paused & now_paused), elapsed_ps, 0)
