"""ECMP hashes against their published test values."""

from __future__ import annotations

import struct
import zlib
from typing import Final

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fabric.dataplane.state.codes import LINEAR_HASHES, HashAlgorithm
from fabric.dataplane.switch import hashing
from fabric.scenario.presets.models import default_tree

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


Words = NDArray[np.int64]


@numba.njit  # type: ignore[untyped-decorator]
def _hash_columns(algorithm: int, a: Words, b: Words, c: Words, seed: int) -> Words:
    found = np.empty_like(a)
    for row in range(len(a)):
        found[row] = hashing.flow_hash(algorithm, a[row], b[row], c[row], seed)
    return found


@given(a=WORDS, b=WORDS, c=WORDS)
def test_crc32_with_seed_0_is_zlibs_over_the_same_bytes(a: int, b: int, c: int) -> None:
    assert _crc32(a, b, c, 0) == zlib.crc32(struct.pack("<III", a, b, c))


@given(a=WORDS, b=WORDS, c=WORDS, seed=st.integers(1, 2**32 - 1))
def test_crc32_with_a_seed_is_zlibs_from_that_start_rotated_by_an_amount_drawn_from_it(
    a: int, b: int, c: int, seed: int
) -> None:
    assert _crc32(a, b, c, seed) == _rotated(zlib.crc32(struct.pack("<III", a, b, c), seed), seed)


def _rotated(crc: int, seed: int) -> int:
    """To the left, by five bits of the seed's hash; seed 0: not at all."""
    amount = _finalised(seed) % 32 if seed else 0
    return (crc << amount | crc >> 32 - amount) & 0xFFFFFFFF


def _finalised(h: int) -> int:
    """fmix32 of MurmurHash3."""
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return h ^ h >> 16


def _published_murmur3(data: bytes, seed: int) -> int:
    """MurmurHash3_x86_32 as A. Appleby wrote it, for whole words."""
    mask, h = 0xFFFFFFFF, seed
    for (word,) in struct.iter_unpack("<I", data):
        k = word * 0xCC9E2D51 & mask
        k = (k << 15 | k >> 17) & mask
        h ^= k * 0x1B873593 & mask
        h = (h << 13 | h >> 19) & mask
        h = h * 5 + 0xE6546B64 & mask
    return _finalised(h ^ len(data))


@pytest.mark.parametrize(
    ("data", "seed", "value"),
    [
        (b"\x21\x43\x65\x87", 0, 0xF55B516B),
        (b"\x21\x43\x65\x87", 0x5082EDEE, 0x2362F9DE),
        (b"\0\0\0\0", 0, 0x2362F9DE),
        (b"aaaa", 0x9747B28C, 0x5A97808A),
    ],
)
def test_the_statement_that_murmur3_is_held_to_gives_the_known_vectors(data: bytes, seed: int, value: int) -> None:
    assert _published_murmur3(data, seed) == value


@given(a=WORDS, b=WORDS, c=WORDS, seed=WORDS)
def test_murmur3_is_the_published_function_of_three_words(a: int, b: int, c: int, seed: int) -> None:
    assert _murmur3(a, b, c, seed) == _published_murmur3(struct.pack("<III", a, b, c), seed)


@pytest.mark.parametrize(
    ("source", "source_port", "target", "target_port", "value"),
    [
        ("66.9.149.187", 2794, "161.142.100.80", 1766, 0x51CCC178),
        ("199.92.111.2", 14230, "65.69.140.83", 4739, 0xC626B0EA),
        ("24.19.198.95", 12898, "12.22.207.184", 38024, 0x5C2B394A),
        ("38.27.205.30", 48228, "209.142.163.6", 2217, 0xAFC7327F),
        ("153.39.163.191", 44251, "202.188.127.2", 1303, 0x10E828A2),
    ],
)
def test_toeplitz_gives_the_rss_verification_suites_values(
    source: str, source_port: int, target: str, target_port: int, value: int
) -> None:
    """Microsoft, "Verifying the RSS Hash Calculation", IPv4 with TCP."""
    a, b = (int.from_bytes(bytes(int(part) for part in address.split(".")), "big") for address in (source, target))
    assert _toeplitz(a, b, source_port << 16 | target_port, 0) == value


# ===== polarisation: the next tier's choices for flows that one tier has divided =====

TRIALS: Final = 60
FLOWS: Final = 4096


def _chosen(algorithm: HashAlgorithm, words: tuple[Words, Words, Words], seed: int, members: int) -> Words:
    """Member of each flow at a switch with this seed."""
    found: Words = _hash_columns(int(algorithm), *words, seed) % members
    return found


def _three_tiers(algorithm: HashAlgorithm, members: int, stream: np.random.Generator) -> tuple[float, float]:
    """(effective paths / paths, share of second choices with a member out of reach) of two hosts' flows.

    A leaf divides them over `members` spines, each with its own seed over as many super-spines. Effective paths are
    the inverse Simpson index 1 / sum p^2; divided by the number of paths it is Jain's index of their loads.
    """
    ports = stream.choice(np.arange(0xC000, 0x10000), FLOWS, replace=False).astype(np.int64)
    words = (
        np.full(FLOWS, (10 << 24) + int(stream.integers(1 << 16)), np.int64),
        np.full(FLOWS, (10 << 24) + int(stream.integers(1 << 16)), np.int64),
        ports | 4791 << 16,
    )
    seeds = stream.integers(1 << 32, size=1 + members).tolist()
    first = _chosen(algorithm, words, seeds[0], members)
    path, starved = np.zeros(FLOWS, np.int64), 0
    for spine in range(members):
        mine = first == spine
        second = _chosen(algorithm, (words[0][mine], words[1][mine], words[2][mine]), seeds[1 + spine], members)
        starved += len(np.unique(second)) < members
        path[mine] = spine * members + second
    share = np.bincount(path, minlength=members * members) / FLOWS
    return float(1 / (share @ share) / members**2), starved / members


def _over_seeds(algorithm: HashAlgorithm, members: int) -> tuple[NDArray[np.float64], float]:
    found = [_three_tiers(algorithm, members, np.random.default_rng(trial)) for trial in range(TRIALS)]
    return np.array([jain for jain, _ in found]), float(np.mean([starved for _, starved in found]))


@pytest.mark.parametrize("members", [2, 4, 8])
def test_the_default_hash_spreads_flows_over_three_tiers_as_a_random_choice_does(members: int) -> None:
    """FLOWS balls in n bins at random: E(sum p^2) = 1/n + 1/FLOWS, so Jain's index is about 1 / (1 + n / FLOWS)."""
    default = HashAlgorithm[default_tree("asic")["switches"]["hash"]["algorithm"].upper()]
    jain, starved = _over_seeds(default, members)
    expected = 1 / (1 + members**2 / FLOWS)
    assert starved == 0
    assert jain.mean() == pytest.approx(expected, abs=0.005)
    assert jain.min() > expected - 0.02


@pytest.mark.parametrize(
    ("algorithm", "least", "most"),
    [
        (HashAlgorithm.XOR, 0.95, 1.0),
        (HashAlgorithm.CRC32, 0.03, 0.3),
        (HashAlgorithm.TOEPLITZ, 0.03, 0.3),
        (HashAlgorithm.MURMUR3, 0.0, 0.0),
    ],
)
def test_linear_hashes_starve_members_for_any_seeds(algorithm: HashAlgorithm, least: float, most: float) -> None:
    """Share of second choices that cannot reach a member, with a seed per switch, over groups of four."""
    jain, starved = _over_seeds(algorithm, 4)
    assert least <= starved <= most
    assert (jain.min() < 0.6) == (least > 0)


def test_every_algorithm_is_checked_here() -> None:
    checked = {HashAlgorithm.XOR, HashAlgorithm.CRC32, HashAlgorithm.TOEPLITZ, HashAlgorithm.MURMUR3}
    assert checked == set(HashAlgorithm)


@given(a=WORDS, b=WORDS, c=WORDS, other=WORDS, seed=WORDS)
def test_linear_hashes_are_those_that_the_documentation_lists(a: int, b: int, c: int, other: int, seed: int) -> None:
    """Of flows that differ in one word, hashes under one seed differ by the same bits, for any values of the other
    words.
    """

    def differ(algorithm: int, first: int, second: int) -> int:
        return _flow_hash(algorithm, first, second, c, seed) ^ _flow_hash(algorithm, first, second, c ^ other, seed)  # type: ignore[no-any-return]

    for algorithm in LINEAR_HASHES:
        assert differ(algorithm, a, b) == differ(algorithm, b, a)


@pytest.mark.parametrize("algorithm", sorted(set(HashAlgorithm) - LINEAR_HASHES))
def test_the_others_are_not_linear(algorithm: HashAlgorithm) -> None:
    hashes = [_flow_hash(algorithm, a, 2, c, 5) for a in (1, 7) for c in (3, 9)]
    assert hashes[0] ^ hashes[1] != hashes[2] ^ hashes[3]


@pytest.mark.parametrize("seed", range(1, 10))
def test_the_seed_rotates_every_word_of_the_toeplitz_key(seed: int) -> None:
    """A single bit of input selects 32 bits of the key; the key is that of the RSS verification suite."""
    key = bytes.fromhex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa")
    words = struct.unpack(">10I", key)
    without = _toeplitz(0, 0, 0, seed)
    assert _toeplitz(1 << 31, 0, 0, seed) ^ without == words[seed]
    assert _toeplitz(0, 1 << 31, 0, seed) ^ without == words[(seed + 1) % 10]
    assert _toeplitz(0, 0, 1 << 31, seed) ^ without == words[(seed + 2) % 10]


@numba.njit  # type: ignore[untyped-decorator]
def _of_queue_pair(algorithm: int, a: int, b: int, c: int, d: int, seed: int) -> int:
    return hashing.flow_hash_of_queue_pair(algorithm, a, b, c, d, seed)


@given(a=WORDS, b=WORDS, c=WORDS, d=st.integers(0, 2**24 - 1), seed=WORDS)
def test_the_destination_qp_is_a_fourth_word_of_the_published_hashes(a: int, b: int, c: int, d: int, seed: int) -> None:
    words = struct.pack("<IIII", a, b, c, d)
    assert _of_queue_pair(int(HashAlgorithm.CRC32), a, b, c, d, 0) == zlib.crc32(words)
    assert _of_queue_pair(int(HashAlgorithm.CRC32), a, b, c, d, seed) == _rotated(zlib.crc32(words, seed), seed)
    assert _of_queue_pair(int(HashAlgorithm.MURMUR3), a, b, c, d, seed) == _published_murmur3(words, seed)


@given(a=WORDS, b=WORDS, c=WORDS, d=st.integers(0, 2**24 - 1))
def test_toeplitz_continues_its_key_with_the_destination_qp(a: int, b: int, c: int, d: int) -> None:
    key = int("".join(f"{word:032b}" for word in hashing.TOEPLITZ_KEY.tolist()), 2)
    bits = f"{a:032b}{b:032b}{c:032b}{d:032b}"
    expected = 0
    for place, bit in enumerate(bits):
        if bit == "1":
            expected ^= key >> (320 - 32 - place) & 0xFFFFFFFF
    assert _of_queue_pair(int(HashAlgorithm.TOEPLITZ), a, b, c, d, 0) == expected
