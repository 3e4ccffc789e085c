"""Carrying out a design: every run of every cell, each kept as soon as it is known.

Runs start in the order of their repetitions, so that an interrupted sweep has every point once before it has any twice.
Which repetitions a cell gets follows from the results of its earlier ones, in their order, and from nothing else: the
same runs are made by any executor, and by a sweep that was interrupted.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fabric.scenario.schema.expectations import from_summary, summary_key
from fabric.studies.columns import check_row, cost_row, run_number, run_row
from fabric.studies.dataset import KEPT, StudyFolder
from fabric.studies.jobs import Executor, Job, Result
from fabric.studies.plan import Cell, Examined, StudyPlan
from fabric.studies.simulation import simulate_variant
from fabric.studies.statistics import is_known

AGAIN: Final = frozenset({"killed", "interrupted", "memory", "refused"})
"""Failures that say nothing about the scenario: such a run is not kept, and --resume does it again."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a study is, for a progress line."""

    done: int
    total: int
    """Runs that are planned now; repetitions that may follow are not counted. Of a search: with every seed of the
    trials that are left, and the confirmation of the front as it is now."""
    failed: int
    eta_s: float | None
    """Wall time to the end over all workers; None before the first result."""
    trials: int = 0
    """Of a search: trials that have ended."""
    all_trials: int = 0
    """Of a search: all trials; 0: it is a sweep."""


@dataclass
class Ended:
    """What became of a sweep."""

    done: int = 0
    """Runs that were done in this call."""
    failed: int = 0
    """Runs that the scenario or a defect ended: they are rows of the table."""
    lost: dict[int, str] = field(default_factory=dict)
    """Number of a run that is not kept -> why."""


@dataclass
class _CellState:
    cell: Cell
    issued: int = 0
    values: dict[int, float | None] = field(default_factory=dict)
    """Repetition -> the measure that decides whether more are needed; None: the run has none."""


class Sweep:
    """One pass over the runs of a study that are still to do.

    Parameters
    ----------
    plan : StudyPlan
    examined : Examined       of plan.examine(): cells that are no valid scenario are left out
    folder : StudyFolder      begun or resumed
    finished : iterable       rows of runs that are done already
    confirmed : bool          whether the user accepts runs that are likely to be larger than a worker's machine
    """

    def __init__(
        self,
        plan: StudyPlan,
        examined: Examined,
        folder: StudyFolder,
        finished: Iterable[Mapping[str, Any]] = (),
        *,
        confirmed: bool = False,
    ) -> None:
        self._plan = plan
        self._folder = folder
        self._confirmed = confirmed
        self._estimates = examined.estimates
        self._cells = {it.number: _CellState(it) for it in plan.cells if it.number in examined.estimates}
        self._jobs: deque[Job] = deque()
        self._open: dict[str, tuple[_CellState, int]] = {}
        self.ended = Ended()
        self._finished = 0
        self._left_s = 0.0
        self._began = 0.0
        self._estimated_done_s = 0.0
        self._paced = False
        known = {int(row["run"]): row for row in finished}
        self._plan_jobs(known)

    def _plan_jobs(self, known: Mapping[int, Mapping[str, Any]]) -> None:
        seeds = self._plan.study.repetitions.seeds
        for repetition in range(seeds):
            for state in self._cells.values():
                self._issue(state, repetition, known)
        for state in self._cells.values():
            while self._wants_more(state):
                self._issue(state, state.issued, known)

    def _issue(self, state: _CellState, repetition: int, known: Mapping[int, Mapping[str, Any]]) -> None:
        """Give a run to the queue, or take its result where it is known."""
        number = run_number(self._plan, state.cell, repetition)
        state.issued = repetition + 1
        if number in known:
            row = known[number]
            check_row(self._plan, state.cell, repetition, row, str(self._folder.path))
            state.values[repetition] = self._deciding(lambda metric: from_summary(metric, row[summary_key(metric)]))
            self.ended.failed += row["status"] == "failed"
            self._finished += 1
            return
        keep = self._folder.path.absolute() / KEPT / f"{number:06}" if self._plan.study.keep == "runs" else None
        key = f"{self._plan.identity[:12]}-{number}"
        variant = self._plan.variant(state.cell, repetition, keep, confirmed=self._confirmed)
        self._jobs.append(Job(key, variant))
        self._open[key] = state, repetition
        self._left_s += self._estimates[state.cell.number].time_s

    def _deciding(self, value: Callable[[str], float | None]) -> float | None:
        until = self._plan.study.repetitions.until
        return None if until is None else value(until.measure)

    def _wants_more(self, state: _CellState) -> bool:
        """Whether a cell needs one more repetition; known once all of its runs so far are."""
        rule = self._plan.study.repetitions
        if rule.until is None or state.issued >= rule.until.at_most or len(state.values) < state.issued:
            return False
        values = [it for it in state.values.values() if it is not None]
        if not values:
            return False  # no run has the measure, and no further one would
        return not is_known(values, rule.until.half_width, rule.confidence)

    @property
    def todo(self) -> int:
        """Runs that are planned and not done."""
        return len(self._open)

    @property
    def estimated_s(self) -> float:
        """Time of the runs that are planned and not done, one after another."""
        return self._left_s

    def run(self, executor: Executor, on_result: Callable[[Standing], None] | None = None) -> Ended:
        """Carry out every run that is left. Raises: FabricError where the workers are lost; finished runs are kept."""
        self._began = time.monotonic()
        for count, result in enumerate(executor.results(simulate_variant, self._jobs), start=1):
            self._take(result)
            if count == executor.slots:  # workers have started and loaded their kernels, which is left out of the pace
                self._began, self._estimated_done_s, self._paced = time.monotonic(), 0.0, True
            if on_result is not None:
                on_result(self._standing())
        return self.ended

    def _take(self, result: Result) -> None:
        state, repetition = self._open.pop(result.key)
        number = run_number(self._plan, state.cell, repetition)
        estimate_s = self._estimates[state.cell.number].time_s
        self._left_s -= estimate_s
        self._estimated_done_s += estimate_s
        failure = result.failure
        if failure is not None and failure.kind in AGAIN:
            self.ended.lost[number] = failure.text
            return
        run = result.value
        self._folder.add(
            run_row(
                self._plan, state.cell, repetition, run, "" if failure is None else f"{failure.kind}: {failure.text}"
            ),
            cost_row(number, result),
        )
        self.ended.done += 1
        self.ended.failed += failure is not None
        self._finished += 1
        state.values[repetition] = self._deciding(lambda metric: None if run is None else run.metrics[metric])
        if self._wants_more(state):
            self._issue(state, state.issued, {})

    def _standing(self) -> Standing:
        """The rest is assumed to take as much longer than its estimate as what is done took."""
        passed = time.monotonic() - self._began
        left = None
        if self._paced and self._estimated_done_s:
            left = self._left_s * passed / self._estimated_done_s if self._open else 0.0
        total = self._finished + len(self._open) + len(self.ended.lost)
        return Standing(self._finished, total, self.ended.failed, left)


def about(plan: StudyPlan, examined: Examined) -> dict[str, Any]:
    """What study.json keeps of a study besides its runs."""
    from fabric.studies.code import code_digest  # noqa: PLC0415  as in StudyPlan.identity

    return {
        "name": plan.study.name,
        "identity": plan.identity,
        "code": code_digest(),
        "study": {"file": str(plan.file), "text": plan.text},
        "workloads": [it.name for it in plan.workloads],
        "points": len(plan.points),
        "left_out": {str(number): why for number, why in examined.invalid.items()},
        "estimated_s": sum(it.time_s for it in examined.estimates.values()) * plan.study.repetitions.seeds,
    }
