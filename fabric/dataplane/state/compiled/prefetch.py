"""Prefetch a row before its use: the next of a list, or a row that has left the cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from fabric.dataplane.state.compiled.directory import TableType, unchecked_pointer


def prefetch(table: NDArray[Any], row: np.uint32) -> None:
    """A hint without effect on results; no operation in plain Python."""


@intrinsic
def _prefetch(typingctx: Any, table: Any, row: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = unchecked_pointer(context, builder, signature.args[0], args[0], signature.args[1], args[1])
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        name = "llvm.prefetch.p0" if getattr(pointer.type, "is_opaque", False) else "llvm.prefetch.p0i8"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        # Write access, high temporal locality, data cache.
        builder.call(function, [pointer, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(table, types.uint32), codegen


@overload(prefetch)
def _compile_prefetch(table: Any, row: Any) -> Any:
    if not isinstance(table, TableType):
        return None

    def implementation(table: Any, row: Any) -> None:
        _prefetch(table, row)

    return implementation
