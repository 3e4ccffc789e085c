"""Worker threads of the window loop: invited when there is work, dismissed when they cost more than they save.

A worker on a processor with other load is interrupted within a task sooner or later, and all threads wait for it. So
the work of the workers is measured against the time that the coordinator waited for them. Workers that do not pay off
are dismissed, twice as long each time, until they pay off again. Results do not depend on the assignment of tasks to
threads (architecture, D5).
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from fabric.dataplane.engine.loop import assist, simulate
from fabric.dataplane.state.codes import LINE, N_MAIL, N_SHARED, Mail, Shared, Stop
from fabric.dataplane.state.compiled.jit import is_compiled
from fabric.dataplane.state.types import State

_LOAD: Final = Path("/proc/loadavg")
"""proc(5): the fourth field has the number of runnable threads."""
_EPOCH: Final = 1024
"""Windows between two checks of the pay-off."""
_IDLE_SPINS: Final = 1 << 18
"""Spins without work before a worker goes to sleep."""
_JOIN_SPINS: Final = 1 << 12
"""Spins for workers to join before the coordinator runs without them: some microseconds."""
_WAKE_SPINS_PER_EVENT: Final = 4
"""Spins per event of a window for workers that are being woken: a twentieth of the window's time."""
_GENERATION: Final = Shared.GENERATION * LINE
_SHORTEST_DISMISSAL_S: Final = 0.1
_LONGEST_DISMISSAL_S: Final = 4.0
_STATISTICS: Final = ("shared_windows", "own_ticks", "waited_ticks", "own_events", "shared_events")
"""Counters of THREAD that the pay-off is computed from."""


def idle_processors() -> int:
    """Processors without load besides this thread's; all other permitted ones where the system has no /proc/loadavg.

    The least load of three readings, because short background work is always present.
    """
    ours = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        running = min(int(_LOAD.read_text(encoding="ascii").split()[3].partition("/")[0]) for _ in range(3))
    except (OSError, ValueError, IndexError):
        return ours - 1
    return min(ours - 1, (os.cpu_count() or 1) - max(running, 1))


class WorkerPool:
    """The calling thread and its workers."""

    def __init__(self, threads: int) -> None:
        self._generation = 0
        self._state: State | None = None
        self._dismissal_s = _SHORTEST_DISMISSAL_S
        self._dismissed_until = 0.0
        # Plain Python has no atomic words (dataplane/state/compiled/atomic.py): there the caller runs alone.
        self._workers = [_Worker(thread) for thread in range(1, threads)] if is_compiled() else []
        for worker in self._workers:
            weakref.finalize(self, worker.jobs.put, None)

    def simulate(self, state: State, until_ps: int, max_windows: int) -> int:
        """As engine.loop.simulate, with the workers that pay off."""
        if not self._workers:
            return int(simulate(state, 0, until_ps, max_windows, 0))
        while True:
            code = self._epoch(state, until_ps, min(max_windows, _EPOCH))
            max_windows -= _EPOCH
            if code != Stop.BUDGET or max_windows <= 0:
                return code

    def _epoch(self, state: State, until_ps: int, windows: int) -> int:
        if time.monotonic() < self._dismissed_until:
            return int(simulate(state, 0, until_ps, windows, 0))
        absent = [worker for worker in self._workers if not worker.is_present(state)]
        if len(absent) == len(self._workers) and idle_processors() < len(absent):
            self._dismissed_until = time.monotonic() + _SHORTEST_DISMISSAL_S
            return self._epoch(state, until_ps, windows)
        if state is not self._state:
            # A new generation, so that workers on the old tables do not claim tasks of the new ones.
            self._state, self._generation = state, self._generation + 1
            # Compile or load here: a worker would hold the interpreter lock meanwhile, and the result would be lost if
            # the run ended first.
            assist(state, 0, self._generation, 0)
            absent = self._workers
            for worker in absent:
                worker.forget(state)
        state.shared[_GENERATION] = self._generation  # a worker that comes before this thread begins must not return
        for worker in absent:
            worker.invite(state, self._generation)
        spins = max(_JOIN_SPINS, _WAKE_SPINS_PER_EVENT * int(state.threads["recent_events"][0]) if absent else 0)
        code = int(simulate(state, self._generation, until_ps, windows, spins))
        self._check_payoff(state)
        return code

    def _check_payoff(self, state: State) -> None:
        """Dismiss workers that do not pay off."""
        if not state.threads["unprofitable"][0]:
            if state.threads["shared_windows"][0] > 0:
                self._dismissal_s = _SHORTEST_DISMISSAL_S
            return
        for counter in _STATISTICS:
            state.threads[counter][0] = 0
        self._dismissed_until = time.monotonic() + self._dismissal_s
        self._dismissal_s = min(2 * self._dismissal_s, _LONGEST_DISMISSAL_S)


class _Worker:
    """One thread: asleep, or inside assist()."""

    def __init__(self, thread: int) -> None:
        self.jobs: SimpleQueue[tuple[State, int] | None] = SimpleQueue()
        self._thread = thread
        self._present = (N_SHARED + N_MAIL * thread + Mail.PRESENT) * LINE
        self._invited_for = 0
        threading.Thread(target=self._run, name=f"worker-{thread}", daemon=True).start()

    def forget(self, state: State) -> None:
        """The tables are new or restored: no worker is inside assist() with them."""
        state.shared[self._present] = 0

    def invite(self, state: State, generation: int) -> None:
        """Wake the thread for the State of this generation, unless it is already invited or present."""
        if self._invited_for != generation and not self.is_present(state):
            self._invited_for = generation
            self.jobs.put((state, generation))

    def is_present(self, state: State) -> bool:
        """Whether the thread is inside assist() with these tables.

        The kernel reports it: Python code would report the return too late, because it needs the interpreter lock that
        the caller holds.
        """
        return bool(state.shared[self._present])

    def _run(self) -> None:
        while (job := self.jobs.get()) is not None:
            if self._invited_for == job[1]:
                self._invited_for = 0
            assist(job[0], self._thread, job[1], _IDLE_SPINS)
            del job
