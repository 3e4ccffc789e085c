"""The rules in which the two models differ are in one file, and its times agree with the exact formula."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.dataplane.state import semantics

DATAPLANE = Path(semantics.__file__).parents[1]


def test_only_one_file_of_kernels_reads_the_semantics() -> None:
    readers = {
        str(path.relative_to(DATAPLANE))
        for path in DATAPLANE.rglob("*.py")
        if '["semantics"]' in path.read_text(encoding="utf-8")
    }
    assert readers == {"state/semantics.py"}


@pytest.mark.parametrize("rate_bps", [10**6, 25 * 10**9, 33_333_333_333, 400 * 10**9])
def test_the_kernel_truncates_times_as_exact_integers_do(rate_bps: int) -> None:
    kernel = semantics.truncated_serialisation_ps
    plain = getattr(kernel, "py_func", kernel)
    for size_bytes in range(0, 9217, 61):
        assert plain(size_bytes, rate_bps) == 1000 * semantics.truncated_serialisation_ns(size_bytes, rate_bps)
