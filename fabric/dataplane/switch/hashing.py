"""ECMP hashes over the 5-tuple as three 32-bit words: source address, destination address, source | destination port <<
16. With the destination QP (switches.hash.fields) a fourth word follows.

CRC32      IEEE 802.3 polynomial, reflected, 12 bytes little-endian, seed xored into the initial value. A CRC is
           linear over GF(2): another seed only xors a constant onto every hash, so with groups of a power of two two
           tiers make the same choices up to renumbering (polarisation). Switches therefore also use other bits of the
           result (SAI_SWITCH_ATTR_ECMP_DEFAULT_HASH_OFFSET, set by role in SONiC's switch.json.j2); here
           the result is rotated by an amount drawn from the seed, so that pairs with overlapping bits still polarise.
XOR        the words and the seed folded together. Linear: no seed prevents polarisation. Kept because switches ship it.
TOEPLITZ   Microsoft RSS verification key rotated by the seed (RSS hash, 96 input bits, most significant first). Linear;
           the key has ten rotations, so two seeds may share one.
MURMUR3    MurmurHash3 x86_32 with the seed, as in the public ns-3 RDMA simulator. Not linear: choices under different
           seeds are independent. It stands for SAI_HASH_ALGORITHM_RANDOM and for Broadcom's macro-flow
           hashing, which selects the function by flow.
"""

from __future__ import annotations

import numpy as np

from fabric.dataplane.state.codes import HashAlgorithm
from fabric.dataplane.state.compiled.jit import hot, i64, kernel
from fabric.dataplane.state.rng import mix32, multiply32

u = np.uint32

_MASK = 0xFFFFFFFF
_CRC32, _XOR, _TOEPLITZ = int(HashAlgorithm.CRC32), int(HashAlgorithm.XOR), int(HashAlgorithm.TOEPLITZ)


def _crc_tables() -> np.ndarray:
    """(4 * 256,) slicing-by-4: table k advances a byte by k more bytes, so that a word takes four independent
    look-ups.
    """
    table = np.zeros((4, 256), np.int64)
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
        table[0, byte] = crc
    for step in range(1, 4):
        table[step] = table[0][table[step - 1] & 0xFF] ^ table[step - 1] >> 8
    return table.reshape(-1).astype(np.uint32)


CRC_TABLES = _crc_tables()
TOEPLITZ_KEY = np.array(
    [
        0x6D5A56DA,
        0x255B0EC2,
        0x4167253D,
        0x43A38FB0,
        0xD0CA2BCB,
        0xAE7B30B4,
        0x77CB2DA3,
        0x8030F20C,
        0x6A42B73B,
        0xBEAC01FA,
    ],
    dtype=np.int64,
)
"""The 40-byte key of the RSS verification suite, as big-endian words."""


@hot
def _crc_word(crc: int, word: int) -> int:
    crc ^= word
    return (
        i64(CRC_TABLES[u(768 + (crc & 0xFF))])
        ^ i64(CRC_TABLES[u(512 + (crc >> 8 & 0xFF))])
        ^ i64(CRC_TABLES[u(256 + (crc >> 16 & 0xFF))])
        ^ i64(CRC_TABLES[u(crc >> 24 & 0xFF)])
    )


@kernel
def crc32(a: int, b: int, c: int, seed: int) -> int:
    """CRC-32 of the three words; seed 0 gives zlib.crc32 of their little-endian bytes."""
    crc = _MASK ^ seed & _MASK
    crc = _crc_word(_crc_word(_crc_word(crc, a), b), c) ^ _MASK
    if seed == 0:
        return crc
    turn = mix32(seed & _MASK) & 31
    return (crc << turn | crc >> (32 - turn)) & _MASK


@kernel
def xor(a: int, b: int, c: int, seed: int) -> int:
    """Words and seed folded to 16 bits."""
    word = a ^ b ^ c ^ seed & _MASK
    return (word ^ word >> 16) & 0xFFFF


@kernel
def toeplitz(a: int, b: int, c: int, seed: int) -> int:
    """Toeplitz hash; the seed rotates the key by whole words and xors the input."""
    result = 0
    first = seed % 10
    for index in range(3):
        word = a
        if index == 1:
            word = b
        elif index == 2:
            word = c
        if index == 2:
            word ^= mix32(seed & _MASK) if seed != 0 else 0
        high, low = TOEPLITZ_KEY[(first + index) % 10], TOEPLITZ_KEY[(first + index + 1) % 10]
        for bit in range(32):
            if word >> (31 - bit) & 1:
                window = high
                if bit > 0:
                    window = (high << bit | low >> (32 - bit)) & _MASK
                result ^= window
    return i64(result)


@hot
def _murmur_word(h: int, word: int) -> int:
    k = multiply32(word, 0xCC9E2D51)
    k = (k << 15 | k >> 17) & _MASK
    h ^= multiply32(k, 0x1B873593)
    h = (h << 13 | h >> 19) & _MASK
    return (h * 5 + 0xE6546B64) & _MASK


@kernel
def murmur3(a: int, b: int, c: int, seed: int) -> int:
    """MurmurHash3 x86_32 (A. Appleby, public domain) of the three words."""
    h = _murmur_word(_murmur_word(_murmur_word(seed & _MASK, a), b), c)
    return mix32(h ^ 12)


@kernel
def flow_hash_of_queue_pair(algorithm: int, a: int, b: int, c: int, d: int, seed: int) -> int:
    """The same algorithms over four words; d: destination QP number of the base transport header, 24 bits.

    Source: SAI saihash.h, SAI_NATIVE_HASH_FIELD_RDMA_BTH_DEST_QP; Gangidi et al., SIGCOMM 2024, section 4 (E-ECMP).
    """
    if algorithm == _CRC32:
        crc = _MASK ^ seed & _MASK
        crc = _crc_word(_crc_word(_crc_word(_crc_word(crc, a), b), c), d) ^ _MASK
        if seed == 0:
            return crc
        turn = mix32(seed & _MASK) & 31
        return (crc << turn | crc >> (32 - turn)) & _MASK
    if algorithm == _XOR:
        return xor(a, b, c ^ d, seed)
    if algorithm == _TOEPLITZ:
        # The fourth word meets the key three words further on, as the next 32 input bits.
        return toeplitz(a, b, c, seed) ^ toeplitz(d, 0, 0, (seed % 10) + 3) ^ toeplitz(0, 0, 0, (seed % 10) + 3)
    h = _murmur_word(_murmur_word(_murmur_word(_murmur_word(seed & _MASK, a), b), c), d)
    return mix32(h ^ 16)


@kernel
def flow_hash(algorithm: int, a: int, b: int, c: int, seed: int) -> int:
    """Dispatch by HashAlgorithm; a non-negative 32-bit number."""
    if algorithm == _CRC32:
        return crc32(a, b, c, seed)
    if algorithm == _XOR:
        return xor(a, b, c, seed)
    if algorithm == _TOEPLITZ:
        return toeplitz(a, b, c, seed)
    return murmur3(a, b, c, seed)
