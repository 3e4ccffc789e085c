"""Damaged copies of a file's bytes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

STEPS = [pytest.param(1, marks=pytest.mark.slow, id="all"), pytest.param(11, id="every-11th")]


def damaged(good: bytes, step: int) -> Iterator[bytes]:
    """Every step-th of all truncations and single bit flips."""
    for end in range(0, len(good), step):
        yield good[:end]
    for place in range(0, 8 * len(good), step):
        at, bit = divmod(place, 8)
        yield good[:at] + bytes([good[at] ^ 1 << bit]) + good[at + 1 :]
