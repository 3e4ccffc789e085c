"""Helpers of the window loop: threads that come when there is work, and are sent away when they cost more than they do.

A helper that shares its processor with somebody else is stopped in the middle of a task sooner or later, and everybody
waits for it. So every stretch of windows is measured: the share of the tasks that helpers played against the time the
coordinator waited for them. Whoever does not pay stays away for a while, twice as long each time, until a stretch pays
again. Results do not depend on who plays what (architecture, D5).
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from fabric.engine.loop import assist, play
from fabric.state.codes import LINE, N_MAIL, N_SHARED, Mail, Shared, Stop
from fabric.state.jit import is_compiled
from fabric.state.types import State

_LOAD: Final = Path("/proc/loadavg")
"""proc(5): its fourth field says how many threads run or would."""
_STRETCH: Final = 1024
"""Windows between two looks at whether helpers pay."""
_PATIENCE: Final = 1 << 18
"""Times a helper looks for work before it goes to sleep."""
_MUSTER: Final = 1 << 12
"""Times one looks for helpers to come before it plays without them: some microseconds."""
_WAKING: Final = 4
"""Times an event of a window that one looks for helpers that are just being woken up, a twentieth of what they take."""
_GENERATION: Final = Shared.GENERATION * LINE
_SHORTEST_LEAVE_S: Final = 0.1
_LONGEST_LEAVE_S: Final = 4.0
_MEMORY: Final = ("shared_windows", "own_ticks", "waited_ticks", "own_events", "shared_events")
"""Counters of THREAD by which helpers are judged."""


def idle_processors() -> int:
    """Processors that nobody uses now, this thread being at work; all others that we may use where the system does not
    say (Linux does).

    The least busy of a few moments: somebody is always about to do a little.
    """
    ours = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        running = min(int(_LOAD.read_text(encoding="ascii").split()[3].partition("/")[0]) for _ in range(3))
    except (OSError, ValueError, IndexError):
        return ours - 1
    return min(ours - 1, (os.cpu_count() or 1) - max(running, 1))


class Crew:
    """The calling thread and its helpers."""

    def __init__(self, threads: int) -> None:
        self._generation = 0
        self._state: State | None = None
        self._leave_s = _SHORTEST_LEAVE_S
        self._away_until = 0.0
        # Plain Python has no atomic words (state/atomic.py): there the caller plays alone.
        self._helpers = [_Helper(thread) for thread in range(1, threads)] if is_compiled() else []
        for helper in self._helpers:
            weakref.finalize(self, helper.jobs.put, None)

    def play(self, state: State, until_ps: int, max_windows: int) -> int:
        """As engine.loop.play, with whoever is there and pays."""
        if not self._helpers:
            return int(play(state, 0, until_ps, max_windows, 0))
        while True:
            code = self._stretch(state, until_ps, min(max_windows, _STRETCH))
            max_windows -= _STRETCH
            if code != Stop.BUDGET or max_windows <= 0:
                return code

    def _stretch(self, state: State, until_ps: int, windows: int) -> int:
        if time.monotonic() < self._away_until:
            return int(play(state, 0, until_ps, windows, 0))
        absent = [helper for helper in self._helpers if not helper.is_there(state)]
        if len(absent) == len(self._helpers) and idle_processors() < len(absent):
            self._away_until = time.monotonic() + _SHORTEST_LEAVE_S
            return self._stretch(state, until_ps, windows)
        if state is not self._state:
            # Helpers that still look at the old tables must not take it for theirs.
            self._state, self._generation = state, self._generation + 1
            # Compiled, or loaded, here: a helper that did it would hold the interpreter meanwhile, and leave nothing
            # behind if the run ended first.
            assist(state, 0, self._generation, 0)
            absent = self._helpers
            for helper in absent:
                helper.forget(state)
        state.shared[_GENERATION] = self._generation    # whoever comes before this thread plays must not leave at once
        for helper in absent:
            helper.invite(state, self._generation)
        patience = max(_MUSTER, _WAKING * int(state.threads["recent_events"][0]) if absent else 0)
        code = int(play(state, self._generation, until_ps, windows, patience))
        self._judge(state)
        return code

    def _judge(self, state: State) -> None:
        """Send helpers away that do not pay."""
        if not state.threads["dear"][0]:
            if state.threads["shared_windows"][0] > 0:
                self._leave_s = _SHORTEST_LEAVE_S
            return
        for counter in _MEMORY:
            state.threads[counter][0] = 0
        self._away_until = time.monotonic() + self._leave_s
        self._leave_s = min(2 * self._leave_s, _LONGEST_LEAVE_S)


class _Helper:
    """One thread: asleep, or inside assist()."""

    def __init__(self, thread: int) -> None:
        self.jobs: SimpleQueue[tuple[State, int] | None] = SimpleQueue()
        self._thread = thread
        self._present = (N_SHARED + N_MAIL * thread + Mail.PRESENT) * LINE
        self._asked = 0
        threading.Thread(target=self._run, name=f"helper-{thread}", daemon=True).start()

    def forget(self, state: State) -> None:
        """These tables are new, or restored: nobody is at work on them yet."""
        state.shared[self._present] = 0

    def invite(self, state: State, generation: int) -> None:
        """Wake it for the State of this number, unless it has been asked, or has come since one looked."""
        if self._asked != generation and not self.is_there(state):
            self._asked = generation
            self.jobs.put((state, generation))

    def is_there(self, state: State) -> bool:
        """Whether it is inside assist(), at work on these tables.

        Its kernel says so: here one would learn too late that it has left, because saying so needs the interpreter that
        the caller holds.
        """
        return bool(state.shared[self._present])

    def _run(self) -> None:
        while (job := self.jobs.get()) is not None:
            if self._asked == job[1]:
                self._asked = 0
            assist(job[0], self._thread, job[1], _PATIENCE)
            del job
