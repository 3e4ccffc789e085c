"""Run directory of a live run: the tables of `fabric run`, and every change made during the run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.errors import InvariantError
from fabric.forwarding.message_ports import message_paths
from fabric.runs.folder import RunFolder, claimed
from fabric.runs.recorder import Recorder
from fabric.runs.session import Plan
from fabric.runs.summary import Ending
from fabric.units import PS_PER_NS
from fabric.verify.deadlock import find_cycle
from telemetry.live.simulation import Observer
from telemetry.live.world import LiveWorld

_STATUS = {"stopped": "interrupted", "no progress": "stopped-no-progress"}


class LiveResults(Observer):
    """Observer that records the one pass of a run without --loop.

    Parameters
    ----------
    path, force : run directory, and whether to replace a run in it
    plan : the run, from fabric/runs/simulate.py
    threads, dilation : recorded settings
    world : LiveWorld     source of the changes
    stack : ExitStack     holds the directory until the process ends

    Raises: RunDirError where the directory cannot be used.
    """

    def __init__(
        self, path: Path, plan: Plan, world: LiveWorld, stack: ExitStack, *, force: bool, threads: int, dilation: float
    ) -> None:
        self._home: RunFolder = stack.enter_context(claimed(path, force=force))
        # Changes come from outside, so this run cannot be resumed from its scenario.
        self._plan = replace(plan, identity=f"{plan.identity}/live")
        self._world = world
        self._how = {"threads": threads, "scheduler": "windows", "order": "source"}
        self._recorder = Recorder(path, plan.fabric, messages=plan.records_messages)
        world.keep_messages = plan.records_messages
        self._started = time.monotonic()
        self._dilation = dilation
        self._samples = 0

    def begin(self, number: int) -> None:  # noqa: ARG002  there is one pass
        """Create the directory when the run begins: an error such as a port in use must leave no directory behind."""
        self._started = time.monotonic()
        self._home.begin(self._plan, self._how)

    def events(self, rows: NDArray[Any], complete_ps: int) -> None:
        """Record."""
        self._recorder.take_events(rows, complete_ps)
        if self._plan.records_messages:
            self._recorder.take_messages(self._world.engine.drain_messages(), complete_ps)

    def sample(self, now: Snapshot) -> None:
        """Record."""
        self._samples += 1
        self._recorder.sample(now)

    def end(self, reason: str, now: Snapshot) -> None:
        """Write the results."""
        engine = self._world.engine
        if reason == "stopped":
            self._recorder.sample(now)
        if self._plan.records_messages:
            self._recorder.last_messages(engine.drain_messages(unfinished=True))
        stuck = reason in {"no progress", "duration"} and not engine.finished
        ending = Ending({"stopped": "interrupted"}.get(reason, reason), cycle=_cycle(engine) if stuck else ())
        truth = [*self._plan.truth, *self._world.truth]
        self._home.replace_truth(truth)
        _, digest = self._home.write_results(
            self._plan, self._recorder, now, ending, message_paths(engine), engine.digest()
        )
        self._home.end(
            _STATUS.get(reason, "done"),
            self._timings(engine),
            digest=digest,
            samples=self._samples,
            live={"dilation": self._dilation, "changes": self._changes()},
        )

    def broken(self, error: InvariantError) -> None:
        """Record that an invariant was broken; the tables are not written."""
        self._home.end("broken-invariant", self._timings(self._world.engine), error=error.text)

    def _timings(self, engine: Emulator) -> dict[str, Any]:
        wall_s = time.monotonic() - self._started
        return {
            "wall_s": round(wall_s, 3),
            "packet_hops": engine.packet_hops,
            "packet_hops_per_s": round(engine.packet_hops / wall_s) if wall_s else 0,
            "simulated_ps": engine.now_ps,
            "resumed": 0,
            "checkpoints": 0,
        }

    def _changes(self) -> list[dict[str, Any]]:
        return [
            {
                "kind": change.kind,
                "at_ns": change.start_ps // PS_PER_NS,
                "objects": dict(change.objects),
                "fault": change.truth is not None,
            }
            for change in self._world.changes
        ]


def _cycle(engine: Emulator) -> Sequence[tuple[int, int]]:
    return find_cycle(engine.state, engine.fabric)
