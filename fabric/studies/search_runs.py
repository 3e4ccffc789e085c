"""The runs of a search: each is carried out once and kept, and one that is done is taken from the table.

Rules
1. Points are numbered in the order in which a search asks for them. So the number of a run says which one it is only as
   long as the same points are asked for in the same order: a row is taken for a run where workload, seed and parameters
   are those of the run, and is an error otherwise.
2. A run that is lost says nothing about the scenario, and what a search asks for next follows from all results. So the
   other runs that were asked for are finished and kept, and then the search ends: --resume does the lost run, asks for
   the same points, and ends with the table of a search that lost none (docs/decisions/0130).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fabric.errors import FabricError
from fabric.studies.columns import check_row, cost_row, run_number, run_row
from fabric.studies.dataset import StudyFolder
from fabric.studies.jobs import Executor, Job, Result
from fabric.studies.plan import Cell, StudyPlan
from fabric.studies.simulation import simulate_variant
from fabric.studies.sweep import AGAIN, Standing

Row = Mapping[str, Any]
_SHOWN = 3
"""Lost runs that are named."""


class LostRunsError(FabricError):
    """Runs of a search were lost. The finished ones are kept."""

    exit_code = 1
    many_lines = True


class SearchRuns:
    """All runs of one search.

    Parameters
    ----------
    plan : StudyPlan        of load_study(search=True)
    folder : StudyFolder    begun or resumed
    finished : iterable     rows of runs that are done
    executor : Executor     started
    on_result : callable    progress
    confirmed : bool        whether the user accepts runs that are likely to be larger than a worker's machine
    """

    def __init__(
        self,
        plan: StudyPlan,
        folder: StudyFolder,
        finished: Iterable[Row],
        executor: Executor,
        on_result: Callable[[Standing], None] | None = None,
        *,
        confirmed: bool = False,
    ) -> None:
        self.rows: dict[int, Row] = {int(row["run"]): row for row in finished}
        """Number of a run -> its row."""
        self._plan = plan
        self._folder = folder
        self._executor = executor
        self._on_result = on_result
        self._confirmed = confirmed
        self._used: set[int] = set()
        self._failed = 0
        self._timed = 0
        self._began = time.monotonic()
        self._paced = False

    def carry_out(self, runs: Sequence[tuple[Cell, int]], *, ahead: int, trials: int) -> None:
        """Carry out runs that are not done: pairs of cell and repetition.

        Parameters
        ----------
        ahead : int     runs that are likely to follow, for the progress
        trials : int    trials that have ended, likewise

        Raises: LostRunsError after the others are done (rule 2), FabricError for a row of another run (rule 1).
        """
        jobs: deque[Job] = deque()
        wanted: dict[int, tuple[Cell, int]] = {}
        for cell, repetition in runs:
            number = run_number(self._plan, cell, repetition)
            if number in wanted:
                continue
            if number not in self.rows:
                wanted[number] = cell, repetition
                jobs.append(Job(str(number), self._plan.variant(cell, repetition, confirmed=self._confirmed)))
            elif number not in self._used:
                check_row(self._plan, cell, repetition, self.rows[number], str(self._folder.path))
                self._count(number)
        lost: dict[int, str] = {}
        left = len(jobs)
        for result in self._executor.results(simulate_variant, jobs):
            number = int(result.key)
            left -= 1
            self._timed += 1
            if not self._paced and self._timed == self._executor.slots:  # workers have started and loaded their kernels
                self._began, self._timed, self._paced = time.monotonic(), 0, True
            if result.failure is not None and result.failure.kind in AGAIN:
                lost[number] = result.failure.text
                continue
            self._keep(result, *wanted[number])
            if self._on_result is not None:
                self._on_result(self._standing(left + ahead, trials))
        if lost:
            raise LostRunsError(_told(lost, wanted), "go on with --resume; finished runs are kept")

    def _keep(self, result: Result, cell: Cell, repetition: int) -> None:
        failure = result.failure
        problem = "" if failure is None else f"{failure.kind}: {failure.text}"
        row = run_row(self._plan, cell, repetition, result.value, problem)
        number = int(row["run"])
        self._folder.add(row, cost_row(number, result))
        self.rows[number] = row
        self._count(number)

    def _count(self, number: int) -> None:
        self._used.add(number)
        self._failed += self.rows[number]["status"] == "failed"

    def _standing(self, left: int, trials: int) -> Standing:
        rule = self._plan.study.tune
        passed = time.monotonic() - self._began
        eta_s = left * passed / self._timed if self._paced and self._timed else None
        return Standing(
            len(self._used),
            len(self._used) + left,
            self._failed,
            eta_s if left else 0.0,
            trials=trials,
            all_trials=0 if rule is None else rule.trials,
        )


def _told(lost: Mapping[int, str], runs: Mapping[int, tuple[Cell, int]]) -> str:
    lines = []
    for number, why in list(lost.items())[:_SHOWN]:
        cell, _ = runs[number]
        lines.append(f"run {number} ({cell.point.label}, {cell.workload.name}) is not done: {why}")
    more = len(lost) - _SHOWN
    return "\n".join([*lines, *([f"and {more} more like these"] if more > 0 else [])])
