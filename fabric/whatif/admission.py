"""Whether a what-if study may begin: the estimates of its runs against this machine, by the rules of other studies.

How many runs there are is known once the scenario has been simulated without a failure: which parts are equal depends
on its traffic. Before that there are at least those of parts that differ in the fabric, and at most those of all parts.
The study is judged by the least before it begins, and by the exact number after the first run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fabric.errors import InputErrors, Problem
from fabric.scenario.compile.scenario import admitted_fabric
from fabric.scenario.estimate.admission import STAGE, YES, Objection
from fabric.scenario.estimate.estimator import estimate
from fabric.scenario.load import build_scenario
from fabric.scenario.schema.scenario import Scenario
from fabric.studies.admission import fitting, too_large, too_long
from fabric.studies.plan import CellEstimate, Examined
from fabric.topology.model import Fabric
from fabric.whatif.cases import without_idle_delay
from fabric.whatif.study import Place, Question
from fabric.whatif.symmetry import grouped

Confirm = Callable[[Sequence[Problem]], bool]


@dataclass(frozen=True)
class Size:
    """What a study takes."""

    file: str
    least_runs: int
    most_runs: int
    seeds: int
    run: CellEstimate
    """Of the scenario without a failure, and of each failure."""
    growths: tuple[CellEstimate, ...]

    @property
    def examined(self) -> Examined:
        """For the rules of other studies."""
        return Examined(dict(enumerate((self.run, *self.growths))))

    def time_s(self, runs: int) -> float:
        """Of so many runs, growth included, one after another."""
        grown = min(len(self.growths) * self.seeds, runs)
        return (runs - grown) * self.run.time_s + self.seeds * sum(it.time_s for it in self.growths)

    def workers(self, processes: int) -> int:
        """Of so many processes, those whose runs fit the memory side by side."""
        return fitting(self.examined, processes)

    def memory_bytes(self, processes: int) -> float:
        """Of as many of the largest runs side by side as there are workers."""
        return self.workers(processes) * max(it.memory_bytes for it in (self.run, *self.growths))

    def objections(self, processes: int | None, runs: int) -> list[Objection]:
        """All objections against so many runs; `processes` is None where the workers are elsewhere."""
        if processes is None:
            return []
        worst = max((self.run, *self.growths), key=lambda it: it.memory_bytes)
        label = "without a failure" if worst is self.run else "of growth"
        used = self.workers(processes)
        found = [
            too_large(worst, label, self.file, "simulate less: run.duration, workload, or no --grow"),
            too_long(self.file, self.time_s(runs), used, "ask for less (--kinds, --only), use more machines (--dask)"),
        ]
        return [it for it in found if it is not None]


def size_of(question: Question, found: Place) -> Size:
    """Raises: InputErrors where the scenario, or a grown one, cannot be estimated."""
    groups = len(grouped(found.fabric, found.failures, {}, {})) if found.failures else 0
    others = 1 + len(found.doubles) + 2 * len(found.drains) + len(found.growths)
    every = len(found.failures)
    growths = []
    for _, data in found.growths:
        scenario = build_scenario(without_idle_delay(data), question.file)
        growths.append(_estimated(scenario, admitted_fabric(scenario)))
    return Size(
        question.file.name,
        question.seeds * (others + (every if question.run_all else groups)),
        question.seeds * (others + every),
        question.seeds,
        _estimated(found.scenario, found.fabric),
        tuple(growths),
    )


def _estimated(scenario: Scenario, fabric: Fabric) -> CellEstimate:
    figures = estimate(scenario, fabric)
    if figures.problems:
        raise InputErrors(STAGE, figures.problems)
    memory = figures["memory"]
    return CellEstimate(figures.worker_s(recorded=True), memory.likely, memory.least, figures["packet-hops"].likely)


def admitted(size: Size, processes: int | None, runs: int, confirm: Confirm) -> int:
    """Workers that may be used. Raises: InputErrors with every objection that the user does not accept."""
    found = size.objections(processes, runs)
    final = [it.problem for it in found if it.final]
    if final:
        raise InputErrors(STAGE, final)
    if found and not confirm([it.problem for it in found]):
        raise InputErrors(STAGE, [it.problem for it in found])
    return 1 if processes is None else size.workers(processes)


def again(problems: Sequence[Problem]) -> list[Problem]:
    """Objections to a study that has begun: what is confirmed is its continuation."""
    return [Problem(it.path, it.text, it.hint.replace(YES, "or go on with --resume --yes")) for it in problems]
