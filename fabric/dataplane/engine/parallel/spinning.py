"""Spinning in a kernel: yield the processor, and read the cycle counter."""

from __future__ import annotations

import time
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

_sched_yield = types.ExternalFunction("sched_yield", types.intc())
"""By symbol, not by address: a kernel that holds an address could not be cached on disk."""


def yield_processor() -> int:
    """Let another thread run."""
    time.sleep(0)
    return 0


def ticks() -> int:
    """The processor's cycle counter (LLVM readcyclecounter: TSC on x86, CNTVCT on AArch64); only ratios have a meaning.

    Some ten nanoseconds a reading, where a clock call costs a hundred.
    """
    return time.perf_counter_ns()


@intrinsic
def _cycles(typingctx: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        counter = builder.module.declare_intrinsic("llvm.readcyclecounter", fnty=ir.FunctionType(ir.IntType(64), []))
        return builder.call(counter, [])

    return types.int64(), codegen


@overload(yield_processor)
def _compile_yield() -> Any:
    def implementation() -> Any:
        return _sched_yield()

    return implementation


@overload(ticks)
def _compile_ticks() -> Any:
    def implementation() -> Any:
        return _cycles()

    return implementation
