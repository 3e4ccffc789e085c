"""Counter-based random numbers: one stream per device and use, so adding a stream shifts no other.

The n-th number of a stream is a hash of (key, n): murmur3's 32-bit finaliser over two rounds. Multiplications are split
into 16-bit halves, so that plain Python and compiled code agree to the bit without unsigned overflow.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import N_RANDOM_USES
from fabric.dataplane.state.compiled.jit import hot, i64
from fabric.dataplane.state.types import State

_MASK = 0xFFFFFFFF
_LAGS, _SEPARATION, _WARM_UP = 31, 3, 310
_MULTIPLIER, _MODULUS = 16807, 2**31 - 1
WORDS: Final = 1 + _LAGS
"""Of State.generator: the place of the oldest number, then the last 31 numbers."""


@hot
def multiply32(a: int, b: int) -> int:
    """a * b modulo 2**32 for 0 <= a, b < 2**32, without leaving int64."""
    return ((a & 0xFFFF) * b + ((((a >> 16) * (b & 0xFFFF)) & 0xFFFF) << 16)) & _MASK


@hot
def mix32(x: int) -> int:
    """MurmurHash3 fmix32 (A. Appleby, public domain): avalanche of 32 bits."""
    x ^= x >> 16
    x = multiply32(x, 0x85EBCA6B)
    x ^= x >> 13
    x = multiply32(x, 0xC2B2AE35)
    return x ^ (x >> 16)


@hot
def word32(key: int, count: int) -> int:
    """The number `count` of the stream `key`, 32 bits."""
    word = mix32((count ^ (key & _MASK)) & _MASK)
    return mix32((word + (key >> 32) + (count >> 32)) & _MASK)


@hot
def draw(state: State, device: int, use: int) -> float:
    """Next number of a stream, uniform in [0, 1) with 32 bits."""
    row = state.random[device * N_RANDOM_USES + use]
    count = i64(row["count"])
    row["count"] = count + 1
    return word32(i64(row["key"]), count) / 4294967296.0


# ===== one generator for all devices, for runs in insertion order =====


def seeded(seed: int) -> NDArray[np.int64]:
    """The additive-feedback generator of the GNU C library, rand(), after srand(seed); 0 counts as 1 there, too.

    Source: glibc stdlib/random_r.c, TYPE_3 (degree 31, separation 3).
    """
    numbers = [seed % _MODULUS or 1]
    for _ in range(1, _LAGS):
        numbers.append(numbers[-1] * _MULTIPLIER % _MODULUS)
    numbers += numbers[:_SEPARATION]
    for _ in range(_WARM_UP):
        numbers.append((numbers[-_LAGS] + numbers[-_SEPARATION]) & _MASK)
    return np.array([0, *numbers[-_LAGS:]], np.int64)


@hot
def shared_word31(state: State) -> int:
    """The next number of rand(), 31 bits."""
    oldest = i64(state.generator[0])
    word = (i64(state.generator[1 + oldest]) + i64(state.generator[1 + (oldest + _LAGS - _SEPARATION) % _LAGS])) & _MASK
    state.generator[1 + oldest] = word
    state.generator[0] = (oldest + 1) % _LAGS
    return word >> 1
