"""Time in the compiler is counted, and only that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numba
import pytest

from fabric.state.compiling import CompileClock
from fabric.state.jit import is_compiled

compiled_only = pytest.mark.skipif(not is_compiled(), reason="nothing is compiled under NUMBA_DISABLE_JIT=1")


@compiled_only
def test_a_compilation_is_counted_once_with_what_is_compiled_for_it() -> None:
    ticks = iter(range(100))
    inner = numba.njit(lambda x: x + 1)
    outer = numba.njit(lambda x: inner(x) * 2)
    with CompileClock(lambda: float(next(ticks))) as clock:
        assert (clock.seconds, clock.is_compiling) == (0, False)
        assert outer(3) == 8
        assert (clock.seconds, clock.is_compiling) == (1, False)    # one tick from its begin to its end
        assert outer(4) == 10
        assert clock.seconds == 1
    assert numba.njit(lambda x: x - 1)(3) == 2
    assert clock.seconds == 1, "it was left"


_LOADED = """
import sys
from fabric.state.compiling import CompileClock
import numba
sys.path.insert(0, sys.argv[1])
with CompileClock() as clock:
    import kept
    kept.double(2)
    print(clock.seconds > 0)
"""


@compiled_only
def test_a_kernel_from_the_disk_cache_is_not_compiled(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text("import numba\n@numba.njit(cache=True)\ndef double(x):\n    return x * 2\n")
    seen = [subprocess.run([sys.executable, "-c", _LOADED, str(tmp_path)], check=True, capture_output=True, text=True,
                           env={"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}).stdout.strip()
            for _ in range(2)]
    assert seen == ["True", "False"]
