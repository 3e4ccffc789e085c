"""The processor's cycle counter, for kernels: some ten nanoseconds a reading where a clock call costs a hundred."""

# ruff: noqa: ANN401  Numba's compiler interface has no types
from __future__ import annotations

import time
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from fabric.state.jit import entry, i64
from fabric.state.types import State


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def ticks(typingctx: Any) -> Any:  # noqa: ARG001  Numba asks for this signature
    """Cycles since the processor started (LLVM readcyclecounter: TSC on x86, CNTVCT on AArch64)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001  as above
        counter = builder.module.declare_intrinsic("llvm.readcyclecounter", fnty=ir.FunctionType(ir.IntType(64), []))
        return builder.call(counter, [])

    return types.int64(), codegen


@entry
def _pairs(state: State, count: int) -> int:  # noqa: ARG001  entries take State first
    """Ticks that `count` pairs of readings with nothing between them measure."""
    total = 0
    for _ in range(count):
        before = ticks()
        total += i64(ticks() - before)
    return total


@entry
def _now(state: State, unused: int) -> int:  # noqa: ARG001  entries take State first
    return i64(ticks())


def calibrate(state: State) -> tuple[float, float]:
    """(nanoseconds per tick, ticks a pair of readings costs by itself)."""
    _now(state, 0)
    clock, first = time.perf_counter_ns(), _now(state, 0)
    time.sleep(0.2)
    per_tick_ns = (time.perf_counter_ns() - clock) / (_now(state, 0) - first)
    count = 1_000_000
    return per_tick_ns, _pairs(state, count) / count
