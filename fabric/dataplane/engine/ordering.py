"""The order of an event log: by time, then device, rows of one device and time in their given order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import INFINITY_PS
from fabric.dataplane.state.compiled.jit import kernel, on_arrays
from fabric.dataplane.state.types import TRACE

_BITS: Final = 63
_WORDS: Final = TRACE.itemsize // 8
"""Words of a row: the first is its time, the low half of the second its device."""
_LOW_HALF: Final = (1 << 32) - 1


def joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One table of TRACE rows, a copy. Copied as bytes: a copy field by field costs five times as much and leaves
    padding undefined, but equal logs must have equal bytes.
    """
    if not parts:
        return np.zeros(0, TRACE)
    return np.concatenate([part.view(np.uint8) for part in parts]).view(TRACE)


def in_order(table: NDArray[Any], runs: Sequence[slice]) -> NDArray[Any]:
    """The rows of some runs of a contiguous table in order, a copy. Runs are not empty, ascend, and do not overlap.

    Time, device and place are packed into one number where they fit, for one sort of plain integers instead of two
    stable ones of indices.
    """
    if not runs:
        return np.zeros(0, TRACE)
    bounds = np.array([bound for run in runs for bound in (run.start, run.stop)], np.int64)
    keys = np.empty(sum(run.stop - run.start for run in runs), np.int64)
    place_bits = int(_pack(table.view(np.int64), bounds, keys))
    if place_bits == 0:
        places = np.concatenate([np.arange(run.start, run.stop) for run in runs])
        return table.take(places[np.lexsort((table["device"][places], table["time_ps"][places]))])
    keys.sort()
    keys &= (1 << place_bits) - 1
    return table.take(keys)


@kernel
def _bits(value: int) -> int:
    """int.bit_length() of a non-negative number."""
    bits = 0
    while value >> bits > 0:
        bits += 1
    return bits


@on_arrays
def _pack(words: NDArray[np.int64], bounds: NDArray[np.int64], keys: NDArray[np.int64]) -> int:
    """Fill keys: time since the earliest row, device, place; returns the place's bits, or 0 if keys are too short.

    `words` are the table's rows, `bounds` the alternating starts and stops of runs.
    """
    earliest, latest, device, n_runs = INFINITY_PS, -INFINITY_PS, 0, bounds.shape[0] // 2
    for run in range(n_runs):
        for row in range(bounds[2 * run], bounds[2 * run + 1]):
            earliest = min(earliest, words[row * _WORDS])
            latest = max(latest, words[row * _WORDS])
            device = max(device, words[row * _WORDS + 1] & _LOW_HALF)
    place_bits, device_bits = _bits(bounds[2 * n_runs - 1]), _bits(device)
    if _bits(latest - earliest) + device_bits + place_bits > _BITS:
        return 0
    at = 0
    for run in range(n_runs):
        for row in range(bounds[2 * run], bounds[2 * run + 1]):
            moment = (words[row * _WORDS] - earliest) << device_bits | (words[row * _WORDS + 1] & _LOW_HALF)
            keys[at] = moment << place_bits | row
            at += 1
    return place_bits
