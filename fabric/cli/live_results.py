"""A run directory of a live run: the tables that `fabric run` writes, and every change made while it played."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from fabric.cli.live_world import LiveWorld
from fabric.engine.counters import Snapshot
from fabric.engine.driver import Emulator
from fabric.errors import InvariantError
from fabric.report.folder import RunFolder, claimed
from fabric.report.paths import message_paths
from fabric.report.recorder import Recorder
from fabric.report.session import Plan
from fabric.report.summary import Ending
from fabric.units import PS_PER_NS
from fabric.validate.deadlock import find_cycle
from telemetry.live.player import Observer

_STATUS = {"stopped": "interrupted", "no progress": "stopped-no-progress"}


class LiveResults(Observer):
    """Observer that records the one pass of a run without --loop.

    Parameters
    ----------
    path, force : run directory, and whether to replace a run in it
    plan : what is played, as of fabric/report/play.py
    threads, dilation : how
    world : LiveWorld     whose changes become part of the record
    stack : ExitStack     holds the directory until the process ends

    Raises: RunDirError where the directory cannot be used.
    """

    def __init__(self, path: Path, plan: Plan, world: LiveWorld, stack: ExitStack, *, force: bool, threads: int,
                 dilation: float) -> None:
        self._home: RunFolder = stack.enter_context(claimed(path, force=force))
        # Changes come from outside, so no scenario can take this run up again.
        self._plan = replace(plan, identity=f"{plan.identity}/live")
        self._world = world
        self._how = {"threads": threads, "scheduler": "windows", "order": "source"}
        self._recorder = Recorder(path, plan.fabric)
        self._started = time.monotonic()
        self._dilation = dilation
        self._samples = 0

    def begin(self, number: int) -> None:  # noqa: ARG002  there is one pass
        """Only now is there a run: a port in use leaves an empty directory behind."""
        self._started = time.monotonic()
        self._home.begin(self._plan, self._how)

    def events(self, rows: NDArray[Any], complete_ps: int) -> None:
        """Record."""
        self._recorder.take_events(rows, complete_ps)

    def sample(self, now: Snapshot) -> None:
        """Record."""
        self._samples += 1
        self._recorder.sample(now)

    def end(self, reason: str, now: Snapshot) -> None:
        """Write the results."""
        engine = self._world.engine
        if reason == "stopped":
            self._recorder.sample(now)
        stuck = reason in {"no progress", "duration"} and not engine.finished
        ending = Ending({"stopped": "interrupted"}.get(reason, reason), cycle=_cycle(engine) if stuck else ())
        truth = [*self._plan.truth, *self._world.truth]
        self._home.replace_truth(truth)
        _, digest = self._home.write_results(self._plan, self._recorder, now, ending, message_paths(engine),
                                             engine.digest())
        self._home.end(_STATUS.get(reason, "done"), self._timings(engine), digest=digest,
                       samples=self._samples, live={"dilation": self._dilation, "changes": self._changes()})

    def broken(self, error: InvariantError) -> None:
        """Say that the model broke; the tables are not written."""
        self._home.end("broken-invariant", self._timings(self._world.engine), error=error.text)

    def _timings(self, engine: Emulator) -> dict[str, Any]:
        wall_s = time.monotonic() - self._started
        return {"wall_s": round(wall_s, 3), "packet_hops": engine.packet_hops,
                "packet_hops_per_s": round(engine.packet_hops / wall_s) if wall_s else 0,
                "simulated_ps": engine.now_ps, "resumed": 0, "checkpoints": 0}

    def _changes(self) -> list[dict[str, Any]]:
        return [{"kind": change.kind, "at_ns": change.start_ps // PS_PER_NS, "objects": dict(change.objects),
                 "fault": change.truth is not None} for change in self._world.changes]


def _cycle(engine: Emulator) -> Sequence[tuple[int, int]]:
    return find_cycle(engine.state, engine.fabric)
