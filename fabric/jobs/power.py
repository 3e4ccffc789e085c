"""Power of GPUs from the phases of a step: a series, its steepness, and its spectrum.

Source: Choukse et al. 2025 (arXiv 2508.14318): training concentrates its power swings at 0.2 to 3 Hz, where grids are
sensitive. Levels of a phase are assumptions: computing near the thermal design power, waiting and communicating at 30
to 50 % of it. A regulator follows with a lag of a few milliseconds; without it the steepness would be infinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DEFAULT_LAG_S: Final = 0.005


@dataclass(frozen=True, slots=True)
class Phase:
    """A GPU draws one level for some time."""

    seconds: float
    watts: float


def swing_watts(gpus: int, high_watts: float, low_watts: float) -> float:
    """Change of power where all GPUs change their phase together."""
    return gpus * (high_watts - low_watts)


def power_series(
    phases: Sequence[Sequence[Phase]], sample_s: float, *, lag_s: float = DEFAULT_LAG_S, weights: Sequence[int] = ()
) -> Floats:
    """(n,) power in watts at 0, sample_s, 2 sample_s, ... of groups of GPUs.

    Parameters
    ----------
    phases : (n_groups,) phases of one GPU of each group, in order; a group that ended draws its last level
    weights : (n_groups,) GPUs of each group; 1 where empty
    lag_s : float    time constant of a first-order lag; 0: none. The series begins in equilibrium.
    """
    ends = max((sum(phase.seconds for phase in group) for group in phases), default=0.0)
    at = np.arange(0, ends + sample_s / 2, sample_s)
    total = np.zeros(len(at))
    for number, group in enumerate(phases):
        borders = np.cumsum([phase.seconds for phase in group])
        levels = np.array([phase.watts for phase in group])
        total += levels[np.minimum(np.searchsorted(borders, at, side="right"), len(group) - 1)] * (
            weights[number] if weights else 1
        )
    if not lag_s:
        return total
    keep = np.exp(-sample_s / lag_s)
    out = total.copy()
    for k in range(1, len(out)):
        # Exact for an input that is constant between samples.
        out[k] = total[k - 1] + (out[k - 1] - total[k - 1]) * keep
    return out


def steepest_watts_per_s(series: Floats, sample_s: float) -> float:
    """Largest change between neighbouring samples, divided by their distance."""
    return float(np.abs(np.diff(series)).max() / sample_s) if len(series) > 1 else 0.0


def spectrum(series: Floats, sample_s: float) -> tuple[Floats, Floats]:
    """(frequencies in Hz, amplitudes in watts) of a series, its mean removed; a pure sine has its own amplitude."""
    amplitude = 2 * np.abs(np.fft.rfft(series - series.mean())) / len(series)
    return np.asarray(np.fft.rfftfreq(len(series), sample_s), np.float64), np.asarray(amplitude, np.float64)


def band_share(series: Floats, sample_s: float, low_hz: float, high_hz: float) -> float:
    """Share of the variance that lies within a band of frequencies; 0 for a constant series."""
    hertz, amplitude = spectrum(series, sample_s)
    energy = amplitude**2
    whole = float(energy.sum())
    return float(energy[(hertz >= low_hz) & (hertz <= high_hz)].sum()) / whole if whole else 0.0


@dataclass(frozen=True, slots=True)
class Levels:
    """Power of one GPU in each of its states, with everything that is switched with it; watts."""

    computing: float
    waiting: float
    """In a job, and not computing: communication, or waiting for others."""
    idle: float
    """Before and after its job."""
    overhead: float = 0.0
    """Always: its share of processors, NICs, fans and conversion."""


WAITING_SHARE: Final = 0.4
"""Of the thermal design power: the middle of the 30 to 50 % of arXiv 2508.14318; assumed for every GPU."""
IDLE_SHARE: Final = 0.1
"""Of the thermal design power; assumed: about 70 W of an H100."""


@dataclass(frozen=True)
class PowerTrace:
    """Power of all GPUs as the regulators follow it: exact at every change of a state."""

    at_s: Floats
    """(n,) times of changes, ascending, the first 0."""
    input_w: Floats
    """(n,) power that the states ask for from each time on."""
    output_w: Floats
    """(n,) power drawn at each time."""
    lag_s: float

    def sampled(self, times_s: Floats) -> Floats:
        """(m,) power drawn at other times."""
        row = np.maximum(np.searchsorted(self.at_s, times_s, side="right") - 1, 0)
        keep = np.exp(-(times_s - self.at_s[row]) / self.lag_s)
        return np.asarray(self.input_w[row] + (self.output_w[row] - self.input_w[row]) * keep, np.float64)

    @property
    def steepest_w_per_s(self) -> float:
        """Largest slope: right after a change, where it is (input - output) / lag."""
        return float(np.abs(self.input_w - self.output_w).max() / self.lag_s)

    @property
    def steepest_at_s(self) -> float:
        """When."""
        return float(self.at_s[np.abs(self.input_w - self.output_w).argmax()])

    def energy_j(self, end_s: float) -> float:
        """Energy up to a time after the last change."""
        spans = np.diff(np.append(self.at_s, end_s))
        excess = (self.output_w - self.input_w) * self.lag_s * -np.expm1(-spans / self.lag_s)
        return float((self.input_w * spans + excess).sum())


def power_trace(
    computing: Sequence[tuple[Floats, Floats]], presence: Sequence[tuple[float, float]], levels: Levels, lag_s: float
) -> PowerTrace:
    """Power of all GPUs together.

    Parameters
    ----------
    computing : (n_gpus,) (begins, ends) of the intervals in which each GPU computes, seconds; they may overlap
    presence : (n_gpus,) first and last moment of each GPU's job
    lag_s : time constant of the regulators, above 0; the trace begins in equilibrium
    """
    changes: list[tuple[Floats, Floats]] = []
    for (begins, ends), (first, last) in zip(computing, presence, strict=True):
        begin, end = _union(begins, ends)
        step = levels.computing - levels.waiting
        present = levels.waiting - levels.idle
        changes += [(begin, np.full(len(begin), step)), (end, np.full(len(end), -step))]
        changes.append((np.array([first, last]), np.array([present, -present])))
    every = np.concatenate([at for at, _ in changes]) if changes else np.empty(0)
    by = np.concatenate([value for _, value in changes]) if changes else np.empty(0)
    at, place = np.unique(np.append(0.0, every), return_inverse=True)
    total = len(computing) * (levels.idle + levels.overhead)
    wanted = np.asarray(total + np.cumsum(np.bincount(place[1:], by, len(at))), np.float64)
    out = np.empty(len(at))
    out[0] = total
    keep = np.exp(-np.diff(at) / lag_s)
    for k in range(1, len(at)):
        out[k] = wanted[k - 1] + (out[k - 1] - wanted[k - 1]) * keep[k - 1]
    return PowerTrace(at, wanted, out, lag_s)


def _union(begins: Floats, ends: Floats) -> tuple[Floats, Floats]:
    """The union of intervals, as intervals that do not overlap."""
    order = np.argsort(begins, kind="stable")
    begins, ends = begins[order], np.maximum.accumulate(ends[order]) if len(ends) else ends
    fresh = np.ones(len(begins), np.bool_)
    fresh[1:] = begins[1:] > ends[:-1]
    last = np.append(np.flatnonzero(fresh)[1:] - 1, len(ends) - 1) if len(ends) else np.empty(0, np.int64)
    return begins[fresh], ends[last]
