"""Bits of a 64-bit word, by the processor's own instructions."""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

_MASK: Final = (1 << 64) - 1


def ones(word: int) -> int:
    """Number of bits of a word that are 1."""
    return (int(word) & _MASK).bit_count()


def lowest(word: int) -> int:
    """Number of the lowest bit that is 1, of a word other than 0."""
    value = int(word) & _MASK
    return (value & -value).bit_length() - 1


@intrinsic
def _ones(typingctx: Any, word: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.int64), codegen


@intrinsic
def _lowest(typingctx: Any, word: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), codegen


@overload(ones)
def _compile_ones(word: Any) -> Any:
    def implementation(word: Any) -> Any:
        return _ones(word)

    return implementation


@overload(lowest)
def _compile_lowest(word: Any) -> Any:
    def implementation(word: Any) -> Any:
        return _lowest(word)

    return implementation
