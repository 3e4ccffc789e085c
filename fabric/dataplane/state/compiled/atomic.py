"""Words that several threads write: atomic operations on an int64 table, sequentially consistent on every processor.

Plain Python runs of the same kernels have one thread, or the interpreter's own ordering.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from fabric.dataplane.state.compiled.directory import element_pointer
from fabric.dataplane.state.compiled.jit import i64


def load_acquire(array: np.ndarray, index: int) -> int:
    """array[index], before everything read after it."""
    return i64(array[index])


def store_release(array: np.ndarray, index: int, value: int) -> None:
    """array[index] = value, after everything written before it."""
    array[index] = value


def fetch_add(array: np.ndarray, index: int, value: int) -> int:
    """array[index] += value; returns the old value."""
    before = i64(array[index])
    array[index] = before + value
    return before


def replace_if(array: np.ndarray, index: int, expected: int, value: int) -> bool:
    """Compare and exchange: array[index] = value if it still is `expected`; returns whether it was."""
    if array[index] != expected:
        return False
    array[index] = value
    return True


@intrinsic
def _load(typingctx: Any, array: Any, index: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = element_pointer(context, builder, signature.args[0], args[0], types.intp, args[1])
        return builder.load_atomic(pointer, ordering="acquire", align=8)

    return types.int64(array, types.intp), codegen


@intrinsic
def _store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = element_pointer(context, builder, signature.args[0], args[0], types.intp, args[1])
        builder.store_atomic(args[2], pointer, ordering="release", align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), codegen


@intrinsic
def _add(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = element_pointer(context, builder, signature.args[0], args[0], types.intp, args[1])
        return builder.atomic_rmw("add", pointer, args[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), codegen


@intrinsic
def _exchange(typingctx: Any, array: Any, index: Any, expected: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = element_pointer(context, builder, signature.args[0], args[0], types.intp, args[1])
        found = builder.cmpxchg(pointer, args[2], args[3], "seq_cst", "seq_cst")
        return builder.extract_value(found, 1)

    return types.boolean(array, types.intp, types.int64, types.int64), codegen


@overload(load_acquire)
def _compile_load(array: Any, index: Any) -> Any:
    def implementation(array: Any, index: Any) -> Any:
        return _load(array, index)

    return implementation


@overload(store_release)
def _compile_store(array: Any, index: Any, value: Any) -> Any:
    def implementation(array: Any, index: Any, value: Any) -> None:
        _store(array, index, value)

    return implementation


@overload(fetch_add)
def _compile_add(array: Any, index: Any, value: Any) -> Any:
    def implementation(array: Any, index: Any, value: Any) -> Any:
        return _add(array, index, value)

    return implementation


@overload(replace_if)
def _compile_exchange(array: Any, index: Any, expected: Any, value: Any) -> Any:
    def implementation(array: Any, index: Any, expected: Any, value: Any) -> Any:
        return _exchange(array, index, expected, value)

    return implementation
