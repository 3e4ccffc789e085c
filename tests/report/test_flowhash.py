"""The column hashes are the kernels' hashes, and the standards' where a standard gives numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib

import numpy as np
import pytest

from fabric.report.flowhash import HASHES, flow_hash, toeplitz
from fabric.state.codes import HashAlgorithm

KERNELS = """
import json, sys
from fabric.switch.hashing import flow_hash
rows = json.load(sys.stdin)
json.dump([int(flow_hash(*row)) for row in rows], sys.stdout)
"""


def test_every_algorithm_gives_the_kernels_numbers() -> None:
    random = np.random.default_rng(5)
    words = random.integers(0, 2**32, (3, 200))
    seeds = np.where(np.arange(200) % 4 == 0, 0, random.integers(0, 2**32, 200))
    algorithms = np.arange(200) % len(HashAlgorithm)
    rows = np.stack([algorithms, *words, seeds]).T.tolist()
    plain = subprocess.run([sys.executable, "-c", KERNELS], input=json.dumps(rows), capture_output=True, text=True,
                           check=True, env=os.environ | {"NUMBA_DISABLE_JIT": "1"})
    assert flow_hash(algorithms, *words, seeds).tolist() == json.loads(plain.stdout)


def test_crc32_without_a_seed_is_the_crc_of_ieee_802_3() -> None:
    words = np.array([[0x01020304], [0xDEADBEEF], [0x12B7C000]])
    expected = zlib.crc32(words.astype("<u4").tobytes())
    assert HASHES[HashAlgorithm.CRC32](*words, np.zeros(1, np.int64)).tolist() == [expected]


def test_toeplitz_gives_the_numbers_of_the_rss_verification_suite() -> None:
    # Microsoft, "Verifying the RSS hash calculation": 66.9.149.187:2794 -> 161.142.100.80:1766 gives 51ccc178.
    source, target, ports = 0x420995BB, 0xA18E6450, 2794 << 16 | 1766
    words = (np.array([word]) for word in (source, target, ports))
    assert toeplitz(*words, np.zeros(1, np.int64)).tolist() == [0x51CCC178]


@pytest.mark.parametrize("algorithm", list(HashAlgorithm))
def test_every_algorithm_has_a_column_form(algorithm: HashAlgorithm) -> None:
    assert algorithm in HASHES
