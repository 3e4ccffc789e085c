"""Whether a study may begin: the estimates of its runs against the resources of this machine.

Rules
1. Runs are carried out side by side as long as their likely memory fits; else with fewer workers. A run that alone
   takes more than there is, even at least, is refused; where it is likely to, it needs a confirmation.
2. A study that is likely to last longer than LONG_S needs a confirmation.
3. Workers elsewhere check each run against their own machine when it starts (simulation.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Self

from fabric.errors import InputErrors, Problem
from fabric.scenario.estimate import machine as machines
from fabric.scenario.estimate.admission import STAGE, YES, Objection
from fabric.scenario.estimate.costs import TIME
from fabric.studies.plan import CellEstimate, Examined, StudyPlan
from fabric.units import count, format_duration_s, format_measured_bytes

LONG_S: Final = 3600.0
"""As of one run (fabric/scenario/estimate/admission.py)."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What a study takes."""

    runs: int
    time_s: float
    """Of all runs, one after another."""
    workers: int
    wall_s: float
    memory_bytes: float
    """Of the largest run, for each worker."""

    @classmethod
    def of(cls, runs: int, runs_s: float, workers: int, largest_bytes: float) -> Self:
        """Of runs that take `runs_s` in workers that have started; each worker starts once."""
        time_s = runs_s + workers * TIME.start
        return cls(runs, time_s, workers, time_s / workers, largest_bytes * workers)


def totals(plan: StudyPlan, examined: Examined, workers: int) -> Totals:
    """Estimates of a study from its start."""
    cells = examined.estimates.values()
    seeds = plan.study.repetitions.seeds
    time_s = sum(it.time_s for it in cells) * seeds
    used = fitting(examined, workers)
    largest = max((it.memory_bytes for it in cells), default=0.0)
    return Totals.of(len(examined.estimates) * seeds, time_s, used, largest)


def fitting(examined: Examined, workers: int) -> int:
    """Workers whose largest runs fit the memory side by side: at least 1."""
    memory = machines.machine().memory
    largest = max((it.memory_bytes for it in examined.estimates.values()), default=0.0)
    if memory is None or not largest:
        return workers
    return max(1, min(workers, int(memory.free_bytes // largest)))


def objections(plan: StudyPlan, examined: Examined, workers: int | None, time_s: float) -> list[Objection]:
    """All objections against a study; `workers` is None where they are elsewhere, `time_s` that of all runs."""
    if workers is None:
        return []
    file = plan.file.name
    number, worst = max(examined.estimates.items(), key=lambda it: it[1].memory_bytes)
    label = plan.points[number // len(plan.workloads)].label if plan.points else "at a corner of the search"
    found = [
        too_large(worst, label, f"{file}: parameters", "leave out the largest points"),
        too_long(file, time_s, fitting(examined, workers), "draw fewer points (design), use more machines (--dask)"),
    ]
    return [it for it in found if it is not None]


def too_large(worst: CellEstimate, label: str, path: str, hint: str) -> Objection | None:
    """The objection against the largest run of a study, if it does not fit the memory."""
    memory = machines.machine().memory
    if memory is None or max(worst.memory_bytes, worst.least_memory_bytes) <= memory.free_bytes:
        return None
    final = worst.least_memory_bytes > memory.free_bytes
    amount = worst.least_memory_bytes if final else worst.memory_bytes
    text = (
        f"a run ({label}) takes {'at least' if final else 'about'} {format_measured_bytes(amount, 3)} "
        f"of memory; there are {format_measured_bytes(memory.free_bytes, 3)} ({memory.name})"
    )
    return Objection(Problem(path, text, hint if final else f"{hint}, {YES}"), final)


def too_long(path: str, time_s: float, workers: int, hint: str) -> Objection | None:
    """The objection against all runs of a study, `time_s` one after another."""
    if time_s / workers <= LONG_S:
        return None
    where = count(workers, "process", "processes")
    text = (
        f"the study is likely to take {format_duration_s(time_s / workers)} on {where}, "
        f"more than {format_duration_s(LONG_S)}"
    )
    return Objection(Problem(path, text, f"{hint}, {YES}"), final=False)


def admitted(
    plan: StudyPlan,
    examined: Examined,
    workers: int | None,
    time_s: float,
    confirm: Callable[[Sequence[Problem]], bool],
) -> int:
    """Workers that may be used. Raises: InputErrors with every objection that the user does not accept."""
    found = objections(plan, examined, workers, time_s)
    final = [it.problem for it in found if it.final]
    if final:
        raise InputErrors(STAGE, final)
    if found and not confirm([it.problem for it in found]):
        raise InputErrors(STAGE, [it.problem for it in found])
    return 1 if workers is None else fitting(examined, workers)
