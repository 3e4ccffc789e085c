"""Time of every event of a run, by kind of event.

The engine's own loop runs with a timed event handler instead of dispatch.handle: the functions from
engine/loop.simulate down to engine/parallel/task.run_device are compiled a second time from the same lines. So the
engine carries no measurement code and the bench no loop, and the digest must be the engine's. The cost of the two
readings of the cycle counter is measured and subtracted. Time outside handlers (next event, windows, taking frames
over) is the remainder.
"""

from __future__ import annotations

import inspect
import tempfile
import time
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import numpy as np

from bench import cases
from bench.simulate import emulator
from bench.ticks import calibrate
from fabric.dataplane.engine import loop
from fabric.dataplane.engine.dispatch import handle
from fabric.dataplane.engine.parallel import task
from fabric.dataplane.engine.parallel.spinning import ticks
from fabric.dataplane.state.codes import Aux, Stop
from fabric.dataplane.state.compiled.jit import entry, i64, is_compiled, kernel
from fabric.dataplane.state.types import State
from fabric.dataplane.transport.registry import Kernel
from fabric.errors import FabricError

KINDS: Final = ("arrival at a switch", "arrival at a host", "pause frame", "port free", "NIC wake", "other timers")
_WAKE: Final = int(Aux.WAKE)


@kernel
def _kind(state: State, device: int, source: int) -> int:
    row = state.devices[device]
    n_ports = i64(row["n_ports"])
    if source < n_ports:
        return 1 if row["is_host"] else 0
    if source < 2 * n_ports:
        return 2
    if source < 3 * n_ports:
        return 3
    return 4 if source - 3 * n_ports == _WAKE else 5


@kernel
def _timed_handle(state: State, device: int, source: int, now_ps: int) -> int:
    """dispatch.handle, timed. Counts and ticks go to two tables that order `source` leaves unused."""
    kind = _kind(state, device, source)
    before = ticks()
    stop = handle(state, device, source, now_ps)
    state.global_time[kind] += ticks() - before
    state.global_order[kind] += 1
    return stop


def _copy(function: Kernel, **replaced: Kernel) -> Kernel:
    """A kernel's or entry's Python function, with other functions behind some of the names that it calls."""
    plain = inspect.unwrap(getattr(function, "py_func", function))
    # The disk cache of an entry is kept by file and function: these go with this file.
    copied = FunctionType(
        plain.__code__.replace(co_filename=__file__), {**plain.__globals__, **replaced}, f"timed_{plain.__name__}"
    )
    copied.__annotations__, copied.__qualname__ = plain.__annotations__, copied.__name__
    return copied


def _timed_simulate() -> Kernel:
    """loop.simulate with timed event handlers; for one thread."""
    run_device = kernel(_copy(task.run_device, handle=_timed_handle))
    run_task = kernel(_copy(task.run_task, run_device=run_device))
    run_rows = kernel(_copy(loop._run_rows, run_task=run_task))  # noqa: SLF001  the chain of calls is the loop's own
    run_all = kernel(_copy(loop._run_all, _run_rows=run_rows))  # noqa: SLF001
    return entry(_copy(loop.simulate, _run_all=run_all))


class _TimedWorkers:
    """Replaces the engine's WorkerPool: one thread, timed event handlers."""

    def __init__(self) -> None:
        self.wall_ns = 0
        self._simulate = _timed_simulate()

    def simulate(self, state: State, until_ps: int, max_windows: int) -> int:
        """As WorkerPool.simulate; adds up the wall time."""
        began = time.perf_counter_ns()
        stop = int(self._simulate(state, 0, until_ps, max_windows, 0))
        self.wall_ns += time.perf_counter_ns() - began
        return stop


def profile(raw: dict[str, Any]) -> dict[str, Any]:
    """Count and time the events of one scenario.

    Returns: per kind the events, nanoseconds of one, and share of the time; likewise the remainder outside handlers.
    Raises: FabricError without compiled kernels; AssertionError if the timed run's digest is not the engine's.
    """
    if not is_compiled():
        raise FabricError("the profile times compiled kernels", "unset NUMBA_DISABLE_JIT")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        compiled = cases.compiled(raw, Path(folder))
    reference = emulator(compiled)
    reference.advance(compiled.duration_ps)
    engine = emulator(compiled)
    engine.state = engine.state._replace(
        global_time=np.zeros(len(KINDS), np.int64), global_order=np.zeros(len(KINDS), np.int64)
    )
    workers = _TimedWorkers()
    engine._workers = workers  # type: ignore[assignment]  # noqa: SLF001  the engine's own loop around it
    engine.advance(0)  # compiles
    tick_ns, pair_ticks = calibrate(engine.state)
    workers.wall_ns = 0
    stop = engine.advance(compiled.duration_ps)
    assert stop is Stop.IDLE, f"the profiled run ended with {stop.name}"
    assert engine.digest() == reference.digest(), "timing changed what the run did"
    counts, spent = engine.state.global_order, engine.state.global_time
    total = int(counts.sum())
    assert total == engine.events, "events were missed"
    # Both readings of a pair fall into the wall time, one of them between the readings.
    wall_ns = workers.wall_ns - round(2 * total * pair_ticks * tick_ns)
    inside_ns = np.maximum(spent - counts * pair_ticks, 0) * tick_ns
    rows = [
        {
            "kind": kind,
            "events": int(count),
            "ns": float(ns / count) if count else 0.0,
            "share_ratio": float(ns / wall_ns),
        }
        for kind, count, ns in zip(KINDS, counts, inside_ns, strict=True)
    ]
    rest_ns = wall_ns - float(inside_ns.sum())
    rows.append(
        {
            "kind": "calendar, windows, taking over",
            "events": total,
            "ns": rest_ns / total,
            "share_ratio": rest_ns / wall_ns,
        }
    )
    hops = engine.packet_hops
    return {
        "rows": rows,
        "packet_hops": hops,
        "events": total,
        "ns_per_hop": wall_ns / hops,
        "events_per_hop": total / hops,
        "reading_ns": pair_ticks * tick_ns,
    }
