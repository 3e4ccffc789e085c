"""The order of an event log: by time, then device, rows of one device and moment as they come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabric.state.types import TRACE

_BITS = 63


def joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One table of TRACE rows, a copy. As bytes: fields one by one would cost five times as much, and leave what is
    between them undefined, where equal logs shall have equal bytes.
    """
    if not parts:
        return np.zeros(0, TRACE)
    return np.concatenate([part.view(np.uint8) for part in parts]).view(TRACE)


def in_order(table: NDArray[Any], runs: Sequence[slice]) -> NDArray[Any]:
    """The rows of some runs of a table in order, a copy. Runs are not empty, ascend, and do not overlap.

    Time, device and place are packed into one number where they fit, for one sort of plain integers instead of two
    stable ones of indices: a fifth of the time.
    """
    if not runs:
        return np.zeros(0, TRACE)
    places = np.concatenate([np.arange(run.start, run.stop) for run in runs])
    time_ps = np.concatenate([table["time_ps"][run] for run in runs])   # columns once, then all side by side
    device = np.concatenate([table["device"][run] for run in runs]).astype(np.int64)
    place_bits, device_bits = int(places[-1]).bit_length(), int(device.max()).bit_length()
    earliest = time_ps.min()
    if int(time_ps.max() - earliest).bit_length() + device_bits + place_bits > _BITS:
        return table.take(places[np.lexsort((device, time_ps))])
    keys = time_ps      # in place from here on: new memory costs as much as the sort
    keys -= earliest
    keys <<= device_bits
    keys |= device
    keys <<= place_bits
    keys |= places
    keys.sort()
    keys &= (1 << place_bits) - 1
    return table.take(keys)
