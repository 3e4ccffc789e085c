"""Counter-based random numbers: one stream per device and use, so adding a stream shifts no other.

The n-th number of a stream is a hash of (key, n): murmur3's 32-bit finaliser over two rounds. Multiplications are split
into 16-bit halves, so that plain Python and compiled code agree to the bit without unsigned overflow.
"""

from __future__ import annotations

from fabric.state.codes import N_RANDOM_USES
from fabric.state.jit import hot, i64
from fabric.state.types import State

_MASK = 0xFFFFFFFF


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
def draw(state: State, device: int, use: int) -> float:
    """Next number of a stream, uniform in [0, 1) with 32 bits."""
    row = state.random[device * N_RANDOM_USES + use]
    count = i64(row["count"])
    row["count"] = count + 1
    key = i64(row["key"])
    word = mix32((count ^ (key & _MASK)) & _MASK)
    word = mix32((word + (key >> 32) + (count >> 32)) & _MASK)
    return word / 4294967296.0
