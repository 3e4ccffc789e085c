"""The order of an event log does not depend on the method of sorting."""

from __future__ import annotations

import numpy as np
import pytest

from fabric.dataplane.engine.ordering import _pack, in_order, joined
from fabric.dataplane.state.types import TRACE, rows


def log(n: int, last_ps: int, seed: int) -> np.ndarray:
    """Rows of few times and devices, numbered by their places."""
    dice, found = np.random.default_rng(seed), rows(n, TRACE)
    moments = dice.integers(0, last_ps + 1, 7)
    found["time_ps"], found["device"] = moments[dice.integers(0, 7, n)], dice.integers(0, 5, n)
    found["port"] = dice.choice([0, 3, 0xFFFFFFFF], n)  # the device's neighbour in a row
    found["a"] = np.arange(n)
    return found


@pytest.mark.parametrize("last_ps", [0, 10**6, 2**61], ids=["one moment", "packed", "too long to be packed"])
@pytest.mark.parametrize("n", [0, 1, 2, 500])
def test_rows_stand_by_time_device_and_place(n: int, last_ps: int) -> None:
    table = log(n + 20, last_ps, n)
    runs = [slice(5, 5 + n // 3), slice(15 + n // 3, 15 + n)] if n > 2 else [slice(3, 3 + n)] if n else []
    taken = [row for run in runs for row in table[run].tolist()]
    assert TRACE.names is not None
    assert TRACE.names[7] == "a"
    assert TRACE.fields is not None
    assert (TRACE.fields["time_ps"][1], TRACE.fields["device"][1], TRACE.itemsize % 8) == (0, 8, 0), "words of a row"
    found = in_order(table, runs)
    assert found.tolist() == sorted(taken, key=lambda row: (row[0], row[1], row[7]))
    assert not np.shares_memory(found, table)


@pytest.mark.parametrize(("bits", "packed"), [(63, True), (64, False)])
def test_rows_are_packed_where_time_device_and_place_fit_63_bits(bits: int, packed: bool) -> None:
    table = log(100, 0, 1)
    table["time_ps"][7], table["device"][3] = (1 << bits - 7 - 8) - 1, 200
    assert (_pack(table.view(np.int64), np.array([0, 100]), np.empty(100, np.int64)) > 0) == packed
    found = in_order(table, [slice(0, 100)])
    assert found.tolist() == sorted(table.tolist(), key=lambda row: (row[0], row[1], row[7]))


def test_joined_logs_have_the_bytes_of_their_parts() -> None:
    parts = [log(n, 10**6, n) for n in (3, 0, 5)]
    assert joined(parts).tobytes() == b"".join(part.tobytes() for part in parts)
    assert len(joined([])) == 0
