"""A straight line through the history of a link class, and when it reaches a limit, with its interval.

Rules
1. Least squares (scipy.stats.linregress). The interval of a date is Fieller's: the dates at which the confidence band
   of the line holds the limit (Draper and Smith, Applied Regression Analysis, section 3.2). It may have no end.
2. Neighbouring days are not independent: where residuals are correlated at lag 1 by r, only n (1 - r) / (1 + r) values
   count (Santer et al., J. Geophys. Res. 105, 2000).
3. A weekday pattern is no growth. With SEASON_WEEKS whole weeks or more of daily values, each week becomes one value,
   its mean; with fewer the pattern cannot be told from growth, and the report says so.
4. No trend is told from fewer than LEAST_POINTS values, and no date later than HORIZON times the history's span: too
   little history is a result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.extras import require
from telemetry.capacity.history import DAY_S, WEEK_DAYS, History

LEAST_POINTS: Final = 6
SEASON_WEEKS: Final = 6
HORIZON: Final = 3.0
MONTH_S: Final = 30.4375 * DAY_S
CONFIDENCE: Final = 0.95
_WEEK_S: Final = WEEK_DAYS * DAY_S


@dataclass(frozen=True, slots=True)
class Crossing:
    """When a limit is reached; seconds since 1970. None: not before the end of the horizon."""

    limit_ratio: float
    time_s: float | None
    earliest_s: float | None
    latest_s: float | None
    reached: bool
    """Whether the line is at the limit already at the last value."""


@dataclass(frozen=True)
class Trend:
    """The line of one link class."""

    per_month: float
    """Growth of the utilisation per month, as a ratio: 0.02 is two points of per cent."""
    low_per_month: float
    high_per_month: float
    now_ratio: float
    """The line at the last value."""
    points: int
    effective_points: float
    """Values that count as independent."""
    weekly: bool
    """Values are means of whole weeks."""
    times_s: NDArray[np.float64]
    values: NDArray[np.float64]
    middle_s: float
    intercept: float
    """At middle_s."""
    variance: float
    """Of the intercept."""
    slope_variance: float
    """Of the slope, per second."""
    quantile: float
    """Of Student's t."""
    horizon_s: float
    """End of the horizon."""

    @property
    def slope(self) -> float:
        """Growth per second."""
        return self.per_month / MONTH_S

    def line(self, times_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """The line at some times."""
        return self.intercept + self.slope * (times_s - self.middle_s)

    def half_width(self, times_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Half of the confidence band there."""
        apart = times_s - self.middle_s
        return np.asarray(self.quantile * np.sqrt(self.variance + self.slope_variance * apart**2))

    def reaches(self, limit_ratio: float) -> Crossing:
        """When the line and its band reach a limit."""
        now = float(self.times_s[-1])
        gap = limit_ratio - self.intercept
        time = gap / self.slope if self.slope > 0 else math.inf
        # Fieller: the limit is in the band where (gap - slope d)^2 <= t^2 (variance + slope_variance d^2), d from the
        # middle: a d^2 + b d + c <= 0.
        t2 = self.quantile**2
        a = self.slope**2 - t2 * self.slope_variance
        b, c = -2 * gap * self.slope, gap**2 - t2 * self.variance
        root = math.sqrt(max(b * b - 4 * a * c, 0.0))
        if self.slope_variance == 0 and self.variance == 0:
            earliest = latest = time
        elif a > 0 and self.slope < 0:  # it falls: the limit was reached before, if ever
            earliest = latest = math.inf
        elif a > 0:
            earliest, latest = (-b - root) / (2 * a), (-b + root) / (2 * a)
        else:  # the slope may be 0, so there is no latest date
            earliest = -math.inf if a == 0 or root == 0 else max((-b - root) / (2 * a), (-b + root) / (2 * a))
            latest = math.inf
        return Crossing(
            limit_ratio,
            self._told(self.middle_s + time),
            self._told(max(self.middle_s + earliest, now)),
            self._told(self.middle_s + latest),
            bool(self.now_ratio >= limit_ratio),
        )

    def _told(self, time_s: float) -> float | None:
        return time_s if time_s <= self.horizon_s else None


def trend(history: History, *, mean: bool = False) -> Trend | None:
    """The line through a history, of its busiest port or of the mean of its ports; None: too little history."""
    times, values = history.times_s, history.mean_ratio if mean else history.busiest_ratio
    span = float(times[-1] - times[0])
    times, values, weekly = _weeks(times, values)
    if len(times) < LEAST_POINTS:
        return None
    stats = require("scipy.stats")
    middle = float(times.mean())
    apart = times - middle
    if np.ptp(values) == 0:  # linregress has NaN as the error of a constant's slope
        slope, intercept, error = 0.0, float(values[0]), 0.0
    else:
        fit = stats.linregress(apart, values)
        slope, intercept, error = float(fit.slope), float(fit.intercept), float(fit.stderr)
    residuals = values - (intercept + slope * apart)
    effective = effective_number(residuals)
    freedom = max(effective - 2, 1.0)
    variance = float((residuals**2).sum()) / freedom / effective
    slope_variance = error**2 * (len(times) - 2) / freedom  # linregress divides by n - 2
    quantile = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom))
    half = quantile * math.sqrt(slope_variance) * MONTH_S
    per_month = slope * MONTH_S
    now = float(intercept + slope * apart[-1])
    return Trend(
        per_month,
        per_month - half,
        per_month + half,
        now,
        len(times),
        effective,
        weekly,
        times,
        values,
        middle,
        intercept,
        variance,
        slope_variance,
        quantile,
        float(times[-1]) + HORIZON * span,
    )


def effective_number(residuals: NDArray[np.float64]) -> float:
    """Rule 2, between 3 and their number."""
    n = len(residuals)
    power = float((residuals**2).sum())
    if power == 0:
        return float(n)
    lag = float((residuals[1:] * residuals[:-1]).sum()) / power
    return min(max(n * (1 - max(lag, 0.0)) / (1 + max(lag, 0.0)), 3.0), float(n))


def is_daily(times: NDArray[np.float64]) -> bool:
    """Whether values come about once a day, so that a weekday pattern is in them."""
    return len(times) > 1 and float(np.median(np.diff(times))) < 2 * DAY_S


def weekday_spread(history: History) -> float | None:
    """Largest less smallest mean of a weekday, after the line is taken away; None with less than two weeks of days."""
    times = history.times_s
    if not is_daily(times) or times[-1] - times[0] < 2 * _WEEK_S - DAY_S:
        return None
    values = history.busiest_ratio - np.polyval(
        np.polyfit(times - times[0], history.busiest_ratio, 1), times - times[0]
    )
    days = (times // DAY_S).astype(np.int64) % WEEK_DAYS
    means = [float(values[days == day].mean()) for day in range(WEEK_DAYS) if (days == day).any()]
    return max(means) - min(means)


def _weeks(
    times: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
    """Means of whole weeks, counted back from the last value, where there are enough; else the values as they are."""
    if not is_daily(times):
        return times, values, False
    week = ((times[-1] - times) // _WEEK_S).astype(np.int64)
    whole = [number for number in np.unique(week) if (week == number).sum() >= WEEK_DAYS - 1]
    if len(whole) < SEASON_WEEKS:
        return times, values, False
    rows = [week == number for number in reversed(whole)]
    return np.array([times[it].mean() for it in rows]), np.array([values[it].mean() for it in rows]), True
