"""`kernel` and `hot`: the only calls to Numba.

A kernel is compiled without reference counting (`_nrt=False`): it may not allocate, and handing it arrays costs
nothing, where counting cost a hundred nanoseconds a call (docs/decisions/0003). `entry` kernels are called from Python
with State as first argument: they release the GIL and are cached on disk. `on_arrays` is for what knows no State.

Numba's disk cache is kept per file and goes stale when an inner file changes, so the cache folder is named after a
digest of every kernel source. With NUMBA_DISABLE_JIT=1 the same text runs as plain Python, to the same bits.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numba
import numpy as np
from numba.core import config
from numba.core.event import Listener, install_listener

from fabric.state.parts import as_part

F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING:

    def i64(value: Any) -> int:
        """Read a narrow or foreign number as a 64-bit integer.

        Not int(): compiled, int() of a uint32 is a uint64, and a uint64 plus an int64 is a float.
        """

else:
    i64 = np.int64

_PACKAGES: Final = ("state", "port", "transport", "switch", "host", "engine")
_MARKS: Final = (b"fabric.state.jit", b"numba")
_ROOT: Final = Path(__file__).resolve().parent.parent


@functools.cache
def source_digest() -> str:
    """SHA-256 of every kernel source and of the compiler's version, first 16 hex digits.

    Kernels take constants from fabric/state and from each other; what only Python runs (the driver, results) is left
    out, so that a change there compiles nothing anew.
    """
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for package in _PACKAGES:
        for path in sorted((_ROOT / package).glob("*.py")):
            text = path.read_bytes()
            if package == "state" or any(mark in text for mark in _MARKS):
                digest.update(text)
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Where compiled kernels are kept: below XDG_CACHE_HOME or ~/.cache."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "fabric-emulator" / source_digest()


class CompilerWatch(Listener):  # type: ignore[misc]
    """Calls back when the compiler begins with a kernel that the disk cache lacks, and when it has finished.

    Register it with watching(); loading from the cache calls nobody.
    """

    def __init__(self, begins: Callable[[], None], ends: Callable[[], None]) -> None:
        self._begins, self._ends = begins, ends
        self._depth = 0

    def on_start(self, _event: Any) -> None:
        """A kernel; those that it calls are compiled within its own compilation."""
        self._depth += 1
        if self._depth == 1:
            self._begins()

    def on_end(self, _event: Any) -> None:
        """See on_start."""
        self._depth -= 1
        if self._depth == 0:
            self._ends()


def watching(watch: CompilerWatch) -> AbstractContextManager[None]:
    """For as long as the context lasts, `watch` hears of the compiler."""
    context: AbstractContextManager[None] = install_listener("numba:compile", watch)
    return context


def is_compiled() -> bool:
    """False under NUMBA_DISABLE_JIT=1."""
    return not config.DISABLE_JIT


config.CACHE_DIR = str(cache_folder())


_OPTIONS: Final = {"error_model": "numpy", "fastmath": False, "_nrt": False}


def signature_of(function: Callable[..., Any]) -> Any:
    """Numba signature spelled by a kernel's annotations: State, Heap, int, float, bool, np.uint32, None."""
    from fabric.state.directory import HEAP, STATE

    spelled = {"State": STATE, "Heap": HEAP, "int": numba.int64, "float": numba.float64, "bool": numba.boolean,
               "np.uint32": numba.uint32, "None": numba.void}
    hints = [str(hint) for hint in function.__annotations__.values()]
    return spelled[hints[-1]](*(spelled[hint] for hint in hints[:-1]))


def _compile_once(function: F, **options: Any) -> F:
    """A dispatcher that has exactly the annotated signature, compiled at first use.

    Left to itself Numba would compile a copy for every mix of int64, uint32, bool and literal arguments that callers
    happen to pass, two and a half copies of each kernel on average. Narrower arguments are widened at the call.
    """
    if not is_compiled():
        return function
    dispatcher = numba.njit(**_OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(function)
    compile_any = dispatcher.compile

    def compile_annotated(_: Any) -> Any:
        if not dispatcher.overloads:
            with as_part():
                compile_any(signature_of(function))
        return None

    dispatcher.compile = compile_annotated
    return dispatcher


def kernel(function: F) -> F:
    """Compile a function called by other kernels."""
    return _compile_once(function)


def hot(function: F) -> F:
    """As kernel; marks what runs for every packet. The compiler decides what it inlines (docs/performance.md)."""
    return _compile_once(function)


def on_arrays(function: F) -> F:
    """Compile a function of plain arrays called from Python, once for each set of types: GIL released, disk cache."""
    if not is_compiled():
        return function
    return numba.njit(**_OPTIONS, no_cfunc_wrapper=True, nogil=True, cache=True)(function)


def entry(function: F) -> F:
    """Compile a function called from Python with State as its first argument: GIL released, cached on disk."""
    if not is_compiled():
        return function
    from fabric.state.directory import as_state, directory

    names = list(inspect.signature(function).parameters)[1:]
    inner = kernel(function)
    # A function of the same arity, because Numba caches by signature and cannot unpack arguments.
    listed = ", ".join(names)
    source = f"def {function.__name__}(address, {listed}):\n    return inner(as_state(address), {listed})\n"
    scope: dict[str, Any] = {"inner": inner, "as_state": as_state}
    exec(compile(source, str(inspect.getsourcefile(function)), "exec"), scope)  # noqa: S102 - our own names only
    outer = scope[function.__name__]
    outer.__module__, outer.__qualname__ = function.__module__, function.__qualname__
    compiled = numba.njit(**_OPTIONS, no_cfunc_wrapper=True, nogil=True, cache=True)(outer)

    @functools.wraps(function)
    def call(state: Any, *arguments: Any) -> Any:
        kept = state.__dict__
        if "address" not in kept:
            # Of two threads that come at once both take the same: a directory that one replaced would be freed.
            kept["address"] = kept.setdefault("directory", directory(state)).ctypes.data
        return compiled(kept["address"], *arguments)

    return call  # type: ignore[return-value]
