"""Kernels at their thresholds. They are called directly and therefore run as plain Python, in test_uncompiled.py."""

from __future__ import annotations

from typing import Final

import pytest

from fabric.dataplane.state.compiled.jit import is_compiled
from tests.edges.bench import Bench

# A compiled kernel cannot be called from Python, and says so where a file is named on the command line. Where kernels
# are compiled, one test runs this folder uncompiled.
collect_ignore_glob: Final = ["test_*_edges.py"] if is_compiled() else ["test_uncompiled.py"]


@pytest.fixture
def bench() -> Bench:
    """Three hosts at one switch; every table may be written."""
    return Bench()
