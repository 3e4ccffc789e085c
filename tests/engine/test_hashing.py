"""ECMP hashes against what is published of them."""

from __future__ import annotations

import struct
import zlib
from typing import Final

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.state.codes import HashAlgorithm
from fabric.switch import hashing

WORDS: Final = st.integers(0, 2**32 - 1)


@numba.njit  # type: ignore[untyped-decorator]
def _crc32(a: int, b: int, c: int, seed: int) -> int:
    return hashing.crc32(a, b, c, seed)


@numba.njit  # type: ignore[untyped-decorator]
def _murmur3(a: int, b: int, c: int, seed: int) -> int:
    return hashing.murmur3(a, b, c, seed)


@numba.njit  # type: ignore[untyped-decorator]
def _toeplitz(a: int, b: int, c: int, seed: int) -> int:
    return hashing.toeplitz(a, b, c, seed)


@numba.njit  # type: ignore[untyped-decorator]
def _flow_hash(algorithm: int, a: int, b: int, c: int, seed: int) -> int:
    return hashing.flow_hash(algorithm, a, b, c, seed)


@given(a=WORDS, b=WORDS, c=WORDS)
def test_crc32_with_seed_0_is_zlibs_over_the_same_bytes(a: int, b: int, c: int) -> None:
    assert _crc32(a, b, c, 0) == zlib.crc32(struct.pack("<III", a, b, c))


def _published_murmur3(data: bytes, seed: int) -> int:
    """MurmurHash3_x86_32 as A. Appleby wrote it, for whole words."""
    mask, h = 0xFFFFFFFF, seed
    for (word,) in struct.iter_unpack("<I", data):
        k = word * 0xCC9E2D51 & mask
        k = (k << 15 | k >> 17) & mask
        h ^= k * 0x1B873593 & mask
        h = (h << 13 | h >> 19) & mask
        h = h * 5 + 0xE6546B64 & mask
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    return h ^ h >> 16


@pytest.mark.parametrize(("data", "seed", "value"), [
    (b"\x21\x43\x65\x87", 0, 0xF55B516B), (b"\x21\x43\x65\x87", 0x5082EDEE, 0x2362F9DE), (b"\0\0\0\0", 0, 0x2362F9DE),
    (b"aaaa", 0x9747B28C, 0x5A97808A)])
def test_the_statement_that_murmur3_is_held_to_gives_the_known_vectors(data: bytes, seed: int, value: int) -> None:
    assert _published_murmur3(data, seed) == value


@given(a=WORDS, b=WORDS, c=WORDS, seed=WORDS)
def test_murmur3_is_the_published_function_of_three_words(a: int, b: int, c: int, seed: int) -> None:
    assert _murmur3(a, b, c, seed) == _published_murmur3(struct.pack("<III", a, b, c), seed)


@pytest.mark.parametrize(("source", "source_port", "target", "target_port", "value"), [
    ("66.9.149.187", 2794, "161.142.100.80", 1766, 0x51CCC178),
    ("199.92.111.2", 14230, "65.69.140.83", 4739, 0xC626B0EA),
    ("24.19.198.95", 12898, "12.22.207.184", 38024, 0x5C2B394A),
    ("38.27.205.30", 48228, "209.142.163.6", 2217, 0xAFC7327F),
    ("153.39.163.191", 44251, "202.188.127.2", 1303, 0x10E828A2)])
def test_toeplitz_gives_the_rss_verification_suites_values(
        source: str, source_port: int, target: str, target_port: int, value: int) -> None:
    """Microsoft, "Verifying the RSS Hash Calculation", IPv4 with TCP."""
    a, b = (int.from_bytes(bytes(int(part) for part in address.split(".")), "big") for address in (source, target))
    assert _toeplitz(a, b, source_port << 16 | target_port, 0) == value


@pytest.mark.parametrize("algorithm", [HashAlgorithm.CRC32, HashAlgorithm.TOEPLITZ, HashAlgorithm.MURMUR3])
def test_two_seeds_decide_independently(algorithm: int) -> None:
    """Else two tiers of switches would polarise: of the flows that one sends left, the next sends half left."""

    words = [port | 4791 << 16 for port in range(49_152, 53_248)]
    bits = np.array([[_flow_hash(algorithm, 10 << 24, 11 << 24, word, seed) for seed in (7, 8)] for word in words]) & 1
    left = bits[bits[:, 0] == 0, 1]
    assert 0.4 < len(left) / len(bits) < 0.6
    assert 0.4 < left.mean() < 0.6
