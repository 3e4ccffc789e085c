"""Named random streams: one seed, one stream per use, so that adding a use shifts no other."""

from __future__ import annotations

from hashlib import sha256

import numpy as np


def stream_word(seed: int, name: str) -> int:
    """First 64-bit word of stream `name`, such as 'workload.incast.start' or 'switch.leaf1.hash'."""
    return int.from_bytes(sha256(f"{seed}/{name}".encode()).digest()[:8], "little")


def stream(seed: int, name: str) -> np.random.Generator:
    """A counter-based generator (Philox 4x64) keyed by seed and name; the same on every platform."""
    key = int.from_bytes(sha256(f"{seed}/{name}".encode()).digest()[:16], "little")
    return np.random.Generator(np.random.Philox(key=key))
