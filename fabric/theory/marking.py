"""WRED/ECN marking of a queue that drains: the expectation at every queue length, and its statistical spread.

Source: SAI WRED with ECN; the set-up is that of sonic-mgmt's ECN marking accuracy test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.units import PS_PER_S

Floats = NDArray[np.float64]

LEAST_ROUND_TRIP_PS: Final = 5_000_000
"""Round-trip time that a curve is made for where none is measured: the least of a fabric of several switches."""


@dataclass(frozen=True, slots=True)
class Curve:
    """kmin, kmax in bytes; pmax just below kmax."""

    kmin_bytes: int
    kmax_bytes: int
    pmax_ratio: float


def marking_probability(curve: Curve, queue_bytes: NDArray[np.int64]) -> Floats:
    """0 up to kmin, (q - kmin) / (kmax - kmin) pmax between, 1 from kmax on."""
    slope = curve.pmax_ratio * (queue_bytes - curve.kmin_bytes) / (curve.kmax_bytes - curve.kmin_bytes)
    return np.where(queue_bytes <= curve.kmin_bytes, 0.0, np.where(queue_bytes >= curve.kmax_bytes, 1.0, slope))


_FRAMES: Final = 3
"""Frames are whole, so a queue that keeps its link busy may hold some of them (check E9 of `fabric validate`)."""
_SPREAD: Final = 4
"""Kmax over Kmin of the curves below, as in the HPCC set-ups (config_doc.txt)."""
BYTES_PER_GBPS: Final = 4000
"""Kmin of the HPCC set-ups: 100, 200, 400 KB at 25, 50, 100G."""
USUAL_PMAX: Final = 0.2
"""Pmax of the HPCC set-ups (run.py)."""


def least_curve(rate_bps: int, frame_bytes: float, pmax_ratio: float = USUAL_PMAX) -> Curve:
    """The lowest curve that keeps a link busy until the answer to a mark arrives: Kmin is what the port sends in a
    round trip (Zhu et al., SIGCOMM 2015, section 4), or three frames.

    Parameters
    ----------
    frame_bytes : of a data frame
    """
    kmin = round(max(_FRAMES * frame_bytes, rate_bps / 8 * LEAST_ROUND_TRIP_PS / PS_PER_S))
    return Curve(kmin, _SPREAD * kmin, pmax_ratio)


def usual_curve(rate_bps: int, xoff_bytes: int = 0) -> Curve:
    """The curve of the HPCC set-ups; where its Kmax is not below XOFF a quarter of it, the least one (least_curve), or
    one that ends at three quarters of XOFF.

    Parameters
    ----------
    xoff_bytes : limit at which groups pause that the queue holds up; 0: unknown
    """
    usual = _SPREAD * BYTES_PER_GBPS * rate_bps // 10**9
    least = least_curve(rate_bps, 0)
    for kmax in (usual, usual // _SPREAD, least.kmax_bytes):
        if not xoff_bytes or kmax < xoff_bytes:
            return Curve(kmax // _SPREAD, kmax, USUAL_PMAX)
    kmax = max(xoff_bytes * 3 // 4, 2)
    return Curve(min(least.kmin_bytes, kmax // 2), kmax, USUAL_PMAX)


def binomial_sd_ratio(probability: float, trials: int) -> float:
    """Standard deviation of a share of `trials` independent draws."""
    return math.sqrt(probability * (1.0 - probability) / trials)


def deviations(probability: Floats, marked: NDArray[np.int64], trials: int) -> Floats:
    """(marked - expected) in standard deviations, where the probability is not 0 or 1; inf where a certain result was
    missed.
    """
    expected = probability * trials
    sd = np.sqrt(expected * (1.0 - probability))
    certain = sd == 0.0
    missed = np.where(marked == expected, 0.0, np.inf)
    return np.where(certain, missed, (marked - expected) / np.where(certain, 1.0, sd))


def queue_after_departure_bytes(frames: int, frame_bytes: int, first_extra_bytes: int) -> NDArray[np.int64]:
    """Bytes left behind by the 1st, 2nd, ... of `frames` equal frames, the first of which is longer."""
    total = frames * frame_bytes + first_extra_bytes
    return total - first_extra_bytes - frame_bytes * np.arange(1, frames + 1, dtype=np.int64)


def queue_before_arrival_bytes(frames: int, frame_bytes: int, first_extra_bytes: int) -> NDArray[np.int64]:
    """Bytes found by the 1st, 2nd, ... frame of a queue that only fills."""
    found = frame_bytes * np.arange(frames, dtype=np.int64)
    found[1:] += first_extra_bytes
    return found
