"""Only time in the compiler is counted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from fabric.dataplane.state.compiled.compiling import CompileClock
from fabric.dataplane.state.compiled.jit import is_compiled
from tests import kernels

compiled_only = pytest.mark.skipif(not is_compiled(), reason="nothing is compiled under NUMBA_DISABLE_JIT=1")


@compiled_only
def test_a_compilation_is_counted_once_with_its_callees() -> None:
    ticks = iter(range(100))
    inner = numba.njit(lambda x: x + 1)
    outer = numba.njit(lambda x: inner(x) * 2)
    with CompileClock(lambda: float(next(ticks))) as clock:
        assert (clock.seconds, clock.is_compiling) == (0, False)
        assert outer(3) == 8
        assert (clock.seconds, clock.is_compiling) == (1, False)  # one tick from its begin to its end
        assert outer(4) == 10
        assert clock.seconds == 1
    assert numba.njit(lambda x: x - 1)(3) == 2
    assert clock.seconds == 1, "it was left"


_LOADED = """
import sys
from fabric.dataplane.state.compiled.compiling import CompileClock
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
    seen = [
        subprocess.run(
            [sys.executable, "-c", _LOADED, str(tmp_path)],
            check=True,
            capture_output=True,
            text=True,
            env={"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)},
        ).stdout.strip()
        for _ in range(2)
    ]
    assert seen == ["True", "False"]


_NUMBERED = """
from fabric.dataplane.state.compiled import jit
from numba.core.bytecode import FunctionIdentity
print(FunctionIdentity.from_function(jit.cache_folder).unique_id)
"""


def test_functions_of_two_processes_have_different_numbers() -> None:
    """The disk cache has kernels of other processes; functions of one name and number would take each other's place."""
    numbers = {
        subprocess.run([sys.executable, "-c", _NUMBERED], check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    }
    assert len(numbers) == 2


def test_every_entry_of_plain_arguments_is_compiled_before_the_tests() -> None:
    names = {name.rpartition(".")[2] for name, _ in kernels.compilations()}
    assert names >= {"simulate", "run_sequential", "assist", "change_line", "begin"} if is_compiled() else not names


_CALLED = """
import numba
from fabric.dataplane.port.flowcontrol.pfc import in_new_quanta
if {compiled}:
    in_new_quanta.compile((numba.int64,) * 3)
for _ in range(2):
    try:
        in_new_quanta(50, 7, 9)
    except TypeError as error:
        print(error)
"""


@compiled_only
@pytest.mark.parametrize("compiled", [False, True])
def test_a_compiled_kernel_called_from_python_is_an_error_and_no_crash(compiled: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CALLED.format(compiled=compiled)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all("in_new_quanta is a compiled kernel" in line for line in lines)


_INDEXED = """
from __future__ import annotations
import sys
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.compiled.jit import entry, i64, kernel
from fabric.dataplane.state.types import State
from tests.dataplane import worlds

@kernel
def inner(state: State, port: int) -> int:
    return i64(state.ports[port]["peer"])

@entry
def outer(state: State, port: int) -> int:
    return inner(state, port)

world = worlds.World(leaves=1, hosts=3)
fabric = worlds.topology(world)
state = Emulator(fabric, worlds.parameters(world, fabric)).state
for port in (0, len(state.ports) - 1, len(state.ports), -1):
    try:
        outer(state, port)
        print("inside")
    except IndexError as error:
        print(error)
"""


@compiled_only
def test_with_a_bounds_check_an_index_outside_a_table_is_an_error(tmp_path: Path, repo_root: Path) -> None:
    script = tmp_path / "indexed.py"
    script.write_text(_INDEXED, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NUMBA_BOUNDSCHECK": "1", "PYTHONPATH": str(repo_root), "XDG_CACHE_HOME": str(tmp_path)},
    )
    outside = "index outside a table of State"
    assert done.stdout.splitlines() == ["inside", "inside", outside, outside], done.stderr
