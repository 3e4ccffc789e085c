"""Utilisation of link classes over days: what every source of a capacity report gives.

A link class is one direction between two roles: 'leaf to spine'. A value is the 95th percentile over a period (a day)
of the shares of the line rate in short intervals (5 min), as capacity planning has it, of one port; the value of a
class is that of its busiest port, beside the mean of its ports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

DAY_S: Final = 86_400
WEEK_DAYS: Final = 7


@dataclass(frozen=True, slots=True)
class Reading:
    """One port in one period."""

    time_s: float
    """End of the period, seconds since 1970."""
    link_class: str
    port: str
    """'leaf1:Ethernet8'."""
    ratio: float
    """Share of the line rate, 0 to 1."""


@dataclass(frozen=True)
class History:
    """One link class."""

    link_class: str
    times_s: NDArray[np.float64]
    """(n,) ascending."""
    busiest_ratio: NDArray[np.float64]
    """(n,) of the busiest port."""
    mean_ratio: NDArray[np.float64]
    """(n,) mean over the ports."""
    ports: int
    busiest_port: str
    """At the last time."""


def histories(readings: Iterable[Reading]) -> list[History]:
    """Readings by link class, in the order of their first appearance; a time counts once a port has a reading."""
    classes: dict[str, dict[float, dict[str, float]]] = {}
    for it in readings:
        classes.setdefault(it.link_class, {}).setdefault(it.time_s, {})[it.port] = it.ratio
    return [_history(name, by_time) for name, by_time in classes.items()]


def _history(name: str, by_time: Mapping[float, Mapping[str, float]]) -> History:
    times = sorted(by_time)
    last = by_time[times[-1]]
    return History(
        name,
        np.array(times),
        np.array([max(by_time[time].values()) for time in times]),
        np.array([float(np.mean(list(by_time[time].values()))) for time in times]),
        len({port for ports in by_time.values() for port in ports}),
        max(last, key=lambda port: last[port]),
    )
