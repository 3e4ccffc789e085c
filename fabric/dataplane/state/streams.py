"""Named random streams: one seed, one key per name, so adding a stream shifts no other."""

from __future__ import annotations

from hashlib import sha256


def stream_key(seed: int, name: str) -> int:
    """63-bit key of stream `name` (for example 'leaf1.0') under a seed."""
    return int.from_bytes(sha256(f"{seed}/{name}".encode()).digest()[:8], "little") >> 1
