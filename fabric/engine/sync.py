"""Barriers between threads that each run one long kernel.

Every thread has a word of its own (THREAD.epoch) that only it writes; a barrier is: publish my epoch with release, wait
until everybody's epoch, read with acquire, has come. Waiting yields the processor (sched_yield), so two threads on one
core still make progress. Acquire and release are real atomic operations, right on weakly ordered processors too.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from fabric.state.directory import element_pointer
from fabric.state.jit import i64, kernel
from fabric.state.types import State

_sched_yield = types.ExternalFunction("sched_yield", types.intc())
"""By symbol, not by address: a kernel that holds an address could not be cached on disk."""


def store_release(array: np.ndarray, index: int, value: int) -> None:
    """array[index] = value, after everything written before it (plain Python: the interpreter's own ordering)."""
    array[index] = value


def load_acquire(array: np.ndarray, index: int) -> int:
    """array[index], before everything read after it."""
    return i64(array[index])


def yield_processor() -> int:
    """Let another thread run."""
    time.sleep(0)
    return 0


@intrinsic
def _atomic_store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = element_pointer(context, builder, signature.args[0], args[0], types.intp, args[1])
        builder.store_atomic(args[2], pointer, ordering="release", align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), codegen


@intrinsic
def _atomic_load(typingctx: Any, array: Any, index: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = element_pointer(context, builder, signature.args[0], args[0], types.intp, args[1])
        return builder.load_atomic(pointer, ordering="acquire", align=8)

    return types.int64(array, types.intp), codegen


@overload(store_release)
def _compile_store(array: Any, index: Any, value: Any) -> Any:
    def implementation(array: Any, index: Any, value: Any) -> None:
        _atomic_store(array, index, value)

    return implementation


@overload(load_acquire)
def _compile_load(array: Any, index: Any) -> Any:
    def implementation(array: Any, index: Any) -> Any:
        return _atomic_load(array, index)

    return implementation


@overload(yield_processor)
def _compile_yield() -> Any:
    def implementation() -> Any:
        return _sched_yield()

    return implementation


SYNC_STRIDE = 16


@kernel
def barrier(state: State, thread: int) -> None:
    """Wait until every thread has come here."""
    n_threads = state.threads.shape[0]
    epoch = i64(state.sync[thread * SYNC_STRIDE]) + 1
    store_release(state.sync, thread * SYNC_STRIDE, epoch)
    for other in range(n_threads):
        while load_acquire(state.sync, other * SYNC_STRIDE) < epoch:
            yield_processor()
