"""The ECMP hashes of fabric/switch/hashing.py over whole columns, so that a hundred thousand paths take milliseconds.

The kernels there are the definition; a test holds these to the same numbers. Words are int64 columns of 32-bit values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.state.codes import HashAlgorithm

Words = NDArray[np.int64]

_MASK: Final = 0xFFFFFFFF
_KEY: Final = np.array([0x6D5A56DA, 0x255B0EC2, 0x4167253D, 0x43A38FB0, 0xD0CA2BCB, 0xAE7B30B4, 0x77CB2DA3, 0x8030F20C,
                        0x6A42B73B, 0xBEAC01FA], np.int64)
"""The 40-byte key of the RSS verification suite, as big-endian words."""


def _crc_table() -> Words:
    table = np.arange(256, dtype=np.int64)
    for _ in range(8):
        table = table >> 1 ^ np.where(table & 1, 0xEDB88320, 0)
    return table


_CRC: Final = _crc_table()


def _multiply(a: Words, b: int) -> Words:
    return ((a & 0xFFFF) * b + ((((a >> 16) * (b & 0xFFFF)) & 0xFFFF) << 16)) & _MASK


def _mix(x: Words) -> Words:
    """MurmurHash3 fmix32."""
    x = _multiply(x ^ x >> 16, 0x85EBCA6B)
    x = _multiply(x ^ x >> 13, 0xC2B2AE35)
    return x ^ x >> 16


def crc32(a: Words, b: Words, c: Words, seed: Words) -> Words:
    """CRC-32 of the words, rotated by an amount drawn from a seed that is not 0."""
    crc = _MASK ^ seed & _MASK
    for word in (a, b, c):
        for shift in range(0, 32, 8):
            crc = _CRC[(crc ^ word >> shift) & 0xFF] ^ crc >> 8
    crc ^= _MASK
    turn = np.where(seed == 0, 0, _mix(seed & _MASK) & 31)
    return np.asarray((crc << turn | crc >> (32 - turn)) & _MASK, np.int64)


def xor(a: Words, b: Words, c: Words, seed: Words) -> Words:
    """Words and seed folded to 16 bits."""
    word = a ^ b ^ c ^ seed & _MASK
    return (word ^ word >> 16) & 0xFFFF


def toeplitz(a: Words, b: Words, c: Words, seed: Words) -> Words:
    """Toeplitz hash; the seed rotates the key by whole words and is mixed into the third word."""
    result = np.zeros_like(a)
    first = seed % len(_KEY)
    for index, word in enumerate((a, b, c ^ np.where(seed == 0, 0, _mix(seed & _MASK)))):
        high, low = _KEY[(first + index) % len(_KEY)], _KEY[(first + index + 1) % len(_KEY)]
        for bit in range(32):
            window = (high << bit | low >> (32 - bit)) & _MASK
            result ^= np.where(word >> (31 - bit) & 1, window, 0)
    return result


def murmur3(a: Words, b: Words, c: Words, seed: Words) -> Words:
    """MurmurHash3 x86_32 of the words."""
    h = seed & _MASK
    for word in (a, b, c):
        k = _multiply(word, 0xCC9E2D51)
        h = h ^ _multiply((k << 15 | k >> 17) & _MASK, 0x1B873593)
        h = ((h << 13 | h >> 19) & _MASK) * 5 + 0xE6546B64 & _MASK
    return _mix(h ^ 12)


HASHES: Final[Mapping[HashAlgorithm, Callable[[Words, Words, Words, Words], Words]]] = {
    HashAlgorithm.CRC32: crc32, HashAlgorithm.XOR: xor, HashAlgorithm.TOEPLITZ: toeplitz,
    HashAlgorithm.MURMUR3: murmur3}


def flow_hash(algorithm: Words, a: Words, b: Words, c: Words, seed: Words) -> Words:
    """Each row by its own algorithm."""
    found = np.zeros_like(a)
    for code, function in HASHES.items():
        mine = algorithm == code
        if mine.any():
            found[mine] = function(a[mine], b[mine], c[mine], seed[mine])
    return found
