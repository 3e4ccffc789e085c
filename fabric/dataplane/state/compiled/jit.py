"""`kernel` and `hot`: the only calls to Numba.

A kernel is compiled without reference counting (`_nrt=False`): it may not allocate, and passing arrays costs
nothing; with counting a call cost a hundred nanoseconds (docs/decisions/0003). `entry` kernels are called from Python
with State as first argument: they release the GIL and are cached on disk. `on_arrays` is for functions without State.

Numba's disk cache is kept per file and goes stale when an inner file changes, so the cache folder is named after a
digest of every kernel source. With NUMBA_DISABLE_JIT=1 the same text runs as plain Python, to the same bits.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
import os
import secrets
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numba
import numpy as np
from numba.core import config
from numba.core.bytecode import FunctionIdentity
from numba.core.event import Listener, install_listener

from fabric.dataplane.state.compiled.parts import as_part

F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING:

    def i64(value: Any) -> int:
        """Read a narrow or foreign number as a 64-bit integer.

        Not int(): compiled, int() of a uint32 is a uint64, and a uint64 plus an int64 is a float.
        """

else:
    i64 = np.int64

_MARKS: Final = (b"fabric.dataplane.state.compiled.jit", b"numba")
_DATAPLANE: Final = Path(__file__).resolve().parents[2]


@functools.cache
def source_digest() -> str:
    """SHA-256 of every kernel source and of the compiler's version, first 16 hex digits.

    Kernels take constants from dataplane/state and from each other; code that only Python runs (the driver, results) is
    left out, so that a change there does not recompile the kernels.
    """
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for path in sorted(_DATAPLANE.rglob("*.py")):
        text = path.read_bytes()
        if path.is_relative_to(_DATAPLANE / "state") or any(mark in text for mark in _MARKS):
            digest.update(text)
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Folder of compiled kernels: below XDG_CACHE_HOME or ~/.cache."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    checked = "-checked" if config.BOUNDSCHECK else ""  # not a part of Numba's key of a cached kernel
    return base / "fabric-emulator" / f"{source_digest()}{checked}"


class CompilerWatch(Listener):  # type: ignore[misc]
    """Calls back when the compiler begins with a kernel that the disk cache lacks, and when it has finished.

    Register it with watching(); loading from the cache makes no call.
    """

    def __init__(self, begins: Callable[[], None], ends: Callable[[], None]) -> None:
        self._begins, self._ends = begins, ends
        self._depth = 0

    def on_start(self, _event: Any) -> None:
        """A kernel begins; its callees are compiled within its compilation."""
        self._depth += 1
        if self._depth == 1:
            self._begins()

    def on_end(self, _event: Any) -> None:
        """See on_start."""
        self._depth -= 1
        if self._depth == 0:
            self._ends()


def watching(watch: CompilerWatch) -> AbstractContextManager[None]:
    """Notify `watch` of the compiler within the context."""
    context: AbstractContextManager[None] = install_listener("numba:compile", watch)
    return context


def is_compiled() -> bool:
    """False under NUMBA_DISABLE_JIT=1."""
    return not config.DISABLE_JIT


config.CACHE_DIR = str(cache_folder())
# Numba tells functions of one name and signature, such as the links of a hook's chain, by a number that it counts from
# 1 in each process, and kernels of the disk cache keep the numbers of the process that compiled them. Where two are the
# same, the linker takes one function for the other. Numbers that begin at a random place are not the same.
FunctionIdentity._unique_ids = itertools.count(secrets.randbits(48))  # noqa: SLF001


_OPTIONS: Final = {"error_model": "numpy", "fastmath": False, "_nrt": False}


def signature_of(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Numba signature spelled by a kernel's annotations: State, Heap, int, float, bool, np.uint32, None.

    Any other annotation, such as that of an array, stands for the type with which the kernel is called first:
    `arguments` are those types.
    """
    from fabric.dataplane.state.compiled.directory import HEAP, STATE

    spelled = {
        "State": STATE,
        "Heap": HEAP,
        "int": numba.int64,
        "float": numba.float64,
        "bool": numba.boolean,
        "np.uint32": numba.uint32,
        "None": numba.void,
    }
    *hints, result = [str(hint) for hint in function.__annotations__.values()]
    return spelled[result](*(spelled.get(hint, given) for hint, given in zip(hints, arguments, strict=True)))


def _compile_once(function: F, **options: Any) -> F:
    """A dispatcher that has exactly the annotated signature, compiled at first use.

    Without this Numba would compile a copy for every mix of int64, uint32, bool and literal arguments that callers
    happen to pass, two and a half copies of each kernel on average. Narrower arguments are widened at the call.
    """
    if not is_compiled():
        return function
    dispatcher = numba.njit(**_OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(function)
    compile_any = dispatcher.compile

    def compile_annotated(arguments: Any) -> Any:
        if not dispatcher.overloads:
            with as_part():
                compile_any(signature_of(function, arguments))
        return None

    def refuse(*_arguments: Any) -> None:
        raise TypeError(
            f"{function.__qualname__} is a compiled kernel, which only kernels can call: call it from an entry, "
            "or run with NUMBA_DISABLE_JIT=1"
        )

    dispatcher.compile = compile_annotated
    # Without a CPython wrapper the entry point is a null pointer. Numba inserts it all the same, and a call from Python
    # with arguments of the annotated types would jump to it.
    dispatcher._insert = lambda *_arguments: None  # noqa: SLF001
    dispatcher._compile_for_args = refuse  # noqa: SLF001
    return dispatcher


def kernel(function: F) -> F:
    """Compile a function called by other kernels."""
    return _compile_once(function)


def hot(function: F) -> F:
    """As kernel; marks functions that run for every packet. The compiler decides on inlining (docs/performance.md)."""
    return _compile_once(function)


def on_arrays(function: F) -> F:
    """Compile a function of plain arrays called from Python, once for each set of types: GIL released, disk cache."""
    if not is_compiled():
        return function
    return numba.njit(**_OPTIONS, no_cfunc_wrapper=True, nogil=True, cache=True)(function)


def entry(function: F) -> F:
    """Compile a function called from Python with State as its first argument: GIL released, cached on disk.

    Where its other arguments are integers, `compile_ahead()` compiles it without a call.
    """
    if not is_compiled():
        return function
    from fabric.dataplane.state.compiled.directory import as_state, directory

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
            # Two threads at once must get the same directory: a replaced one would be freed.
            kept["address"] = kept.setdefault("directory", directory(state)).ctypes.data
        return compiled(kept["address"], *arguments)

    if all(str(function.__annotations__[name]) == "int" for name in names):
        call.compile_ahead = functools.partial(compiled.compile, (numba.int64,) * (1 + len(names)))  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]
