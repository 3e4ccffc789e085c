"""Checkpoints of a long computation whose failures are a Poisson process: the best interval, and the time that is lost.

All times are in one unit of the caller's choice. M: mean time between failures (of whatever stops the computation),
delta: time to write a checkpoint, during which nothing is computed, R: time from a failure until the computation goes
on from its last checkpoint, tau: computation between two checkpoints, without delta.

Sources: Young, "A first order approximation to the optimum checkpoint interval", CACM 17(9), 1974. Daly, "A higher
order estimate of the optimum checkpoint interval for restart dumps", Future Generation Computer Systems 22(3), 2006.
"""

from __future__ import annotations

import math


def young_interval(delta: float, mtbf: float) -> float:
    """tau = sqrt(2 delta M). Source: Young 1974."""
    return math.sqrt(2 * delta * mtbf)


def daly_interval(delta: float, mtbf: float) -> float:
    """The interval with the least expected time, of higher order; M where delta is 2 M or more. Source: Daly 2006."""
    if delta >= 2 * mtbf:
        return mtbf
    x = delta / (2 * mtbf)
    return math.sqrt(2 * delta * mtbf) * (1 + math.sqrt(x) / 3 + x / 9) - delta


def expected_ratio(tau: float, delta: float, restart: float, mtbf: float) -> float:
    """Expected wall time over computing time, at least 1; infinite where failures come before nearly every checkpoint.

    Failures may also come while a checkpoint is written or a restart is under way.
    Source: Daly 2006, complete cost function: M exp(R / M) (exp((tau + delta) / M) - 1) / tau.
    """
    exponent = (tau + delta) / mtbf
    if exponent + restart / mtbf > 700:  # beyond the range of a float
        return math.inf
    return mtbf * math.exp(restart / mtbf) * math.expm1(exponent) / tau


def lost_share(tau: float, delta: float, restart: float, mtbf: float) -> float:
    """Share of the wall time that is no computing: checkpoints, lost work, restarts. 0 to 1."""
    return 1 - 1 / expected_ratio(tau, delta, restart, mtbf)
