"""Searching for the best points of a study: trials, confirmation of the front with new seeds, and the chosen point.

Rules
1. A trial is a point: its runs are `repetitions.seeds` seeds of every workload. They are done seed by seed: a
   trial that breaks a constraint, or that is worse than half of the others (one objective), gets no further seeds.
2. The points of the Pareto front were chosen for their values, which are therefore better than they would be again. So
   each gets `tune.confirm` new seeds, and only those count for its intervals (decision 0064).
3. The chosen point is the one of the confirmed front that is nearest to the best values of all objectives, each scaled
   to its span over the searched front and the baseline: the knee.
4. Every run is a row of the same table as those of a sweep, and is never done twice (search_runs.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fabric.errors import InputErrors
from fabric.scenario.schema.expectations import METRICS, from_summary, summary_key
from fabric.studies.columns import run_number
from fabric.studies.dataset import StudyFolder
from fabric.studies.design import Point
from fabric.studies.jobs import Executor
from fabric.studies.levels import Value
from fabric.studies.plan import Cell, StudyPlan, check_cell
from fabric.studies.search import Search, breach_of
from fabric.studies.search_runs import Row, SearchRuns
from fabric.studies.search_size import SearchSize
from fabric.studies.statistics import Interval, difference, interval, pareto
from fabric.studies.sweep import Standing

if TYPE_CHECKING:  # it loads the checks of configurations
    from fabric.studies.config_patch import ConfigPatches


@dataclass(frozen=True)
class Confirmed:
    """One point of the front with its new seeds."""

    point: Point
    feasible: bool
    objectives: Mapping[str, Interval]
    """Over seeds; of each seed the mean over workloads. In the units of summary.json."""
    gains: Mapping[str, Interval]
    """Difference from the baseline, seed by seed; empty without a baseline."""


@dataclass(frozen=True)
class Elsewhere:
    """The chosen point against the baseline with another workload."""

    workload: str
    measure: str
    baseline: Interval
    change: Interval


@dataclass
class Tuned:
    """What a search found."""

    plan: StudyPlan
    """With every point that was tried."""
    trials: int = 0
    stopped: int = 0
    """Trials that did not get all of their seeds."""
    failed: int = 0
    front: list[Confirmed] = field(default_factory=list)
    chosen: Confirmed | None = None
    baseline: Confirmed | None = None
    importances: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    elsewhere: list[Elsewhere] = field(default_factory=list)
    scenario: str = ""
    """The resolved scenario of the chosen point, as JSON."""
    configs: ConfigPatches | None = None
    """Its settings as patches of given configurations."""


class Tuning:
    """One search.

    Parameters
    ----------
    plan : StudyPlan        of load_study(search=True)
    folder : StudyFolder    begun or resumed
    finished : iterable     rows of runs that are done
    executor : Executor     started
    on_result : callable    progress
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
        assert plan.study.tune is not None  # noqa: S101  load_study(search=True) requires it
        self._plan = plan
        self._all = (*plan.workloads, *plan.elsewhere)
        self._rule = plan.study.tune
        self._runs = SearchRuns(plan, folder, finished, executor, on_result, confirmed=confirmed)
        self._rows = self._runs.rows
        self._size = SearchSize.of(plan)
        self._points: dict[tuple[str, ...], Point] = {}
        self._front: dict[int, list[float]] = {}
        """Number of a point of the front so far -> its costs, for the number of runs that follow."""
        self._ended = 0
        self._search = Search(plan, folder.path)

    def run(self) -> Tuned:
        """Search, confirm, choose.

        Raises: FabricError where workers or runs are lost, or a row is that of another run; finished runs are kept.
        """
        found = Tuned(self._plan)
        while found.trials < self._rule.trials:
            self._batch(found, min(self._rule.at_once, self._rule.trials - found.trials))
        found.plan = replace(self._plan, points=tuple(self._points.values()))
        found.importances = self._search.importances()
        self._confirm(found)
        self._compare(found)
        return found

    # ===== trials =====

    def _batch(self, found: Tuned, count: int) -> None:
        asked = [(trial, self._point(values)) for trial, values in self._search.ask(count)]
        valid = [(trial, point) for trial, point in asked if self._is_valid(point)]
        going, pruned = list(valid), set()
        seeds_of = dict.fromkeys((trial.number for trial, _ in asked), 0)
        """Of a trial, not of its point: another trial of the same point may have had more, before or after this one."""
        every = self._plan.study.repetitions.seeds
        for repetition in range(every):
            later = len(going) * (every - 1 - repetition) + (self._rule.trials - found.trials - count) * every
            self._do(
                [(cell, repetition) for _, point in going for cell in self._cells(point, searched=True)],
                ahead=later * len(self._plan.workloads) + self._size.after(len(self._front)),
            )
            kept = []
            for trial, point in going:
                seeds_of[trial.number] = repetition + 1
                values = self._values(point, range(repetition + 1))
                if values is None or self._breach(point, range(repetition + 1)) > 0:
                    continue
                last = repetition + 1 == every
                if not last and self._search.should_stop(trial, values[0], repetition):
                    pruned.add(trial.number)
                    continue
                kept.append((trial, point))
            going = kept
        finished = {trial.number for trial, _ in going}
        for trial, point in asked:
            seeds = range(seeds_of[trial.number])
            values = self._values(point, seeds) if seeds else None
            self._search.tell(trial, values, self._breach(point, seeds), pruned=trial.number in pruned)
            found.trials += 1
            found.failed += values is None
            found.stopped += values is not None and trial.number not in finished
            if values is not None and trial.number in finished:
                costs = {**self._front, point.number: self._costs(values)}
                on_front = pareto(list(costs.values()))
                self._front = {it: costs[it] for it, kept in zip(costs, on_front, strict=True) if kept}
        self._ended = found.trials

    def _point(self, values: dict[str, Value]) -> Point:
        key = tuple(it.shown for it in values.values())
        if key not in self._points:
            self._points[key] = Point(len(self._points), values)
        return self._points[key]

    def _cells(self, point: Point, *, searched: bool) -> list[Cell]:
        """Cells of a point with the workloads of the search, or with those elsewhere."""
        first = len(self._plan.workloads)
        places = range(first) if searched else range(first, len(self._all))
        return [Cell(point.number * len(self._all) + place, point, self._all[place]) for place in places]

    def _is_valid(self, point: Point) -> bool:
        try:
            for cell in self._cells(point, searched=True):
                check_cell(self._plan, cell)
        except InputErrors:
            return False
        return True

    def _do(self, runs: Sequence[tuple[Cell, int]], ahead: int) -> None:
        """Carry out runs that are not done; `ahead` are likely to follow."""
        self._runs.carry_out(runs, ahead=ahead, trials=self._ended)

    def _seeds_done(self, point: Point) -> range:
        """Repetitions of the search that every workload of a point has."""
        seeds = self._plan.study.repetitions.seeds
        cells = self._cells(point, searched=True)
        done = 0
        while done < seeds and all(run_number(self._plan, cell, done) in self._rows for cell in cells):
            done += 1
        return range(done)

    def _of(self, point: Point, repetition: int, *, searched: bool = True) -> list[Row]:
        cells = self._cells(point, searched=searched)
        numbers = [run_number(self._plan, cell, repetition) for cell in cells]
        return [self._rows[number] for number in numbers if number in self._rows]

    def _seed_value(self, point: Point, repetition: int, metric: str) -> float | None:
        """The mean over workloads of a measure, with one seed; None where a run failed or has none."""
        rows = self._of(point, repetition)
        found = [row[summary_key(metric)] for row in rows]
        if len(rows) < len(self._plan.workloads) or any(it is None for it in found):
            return None
        return float(sum(found)) / len(found)

    def _values(self, point: Point, seeds: range) -> list[float] | None:
        """Each objective's mean over seeds and workloads; None where a run failed or has no value."""
        values = []
        for metric in self._plan.study.objectives:
            found = [self._seed_value(point, seed, metric) for seed in seeds]
            if not found or any(it is None for it in found):
                return None
            values.append(sum(it for it in found if it is not None) / len(found))
        return values

    def _breach(self, point: Point, seeds: Iterable[int]) -> float:
        rows = [row for seed in seeds for row in self._of(point, seed) if row["status"] != "failed"]
        in_base = [{name: from_summary(name, row[summary_key(name)]) for name in METRICS} for row in rows]
        return breach_of(self._plan, in_base)

    # ===== after the search =====

    def _confirm(self, found: Tuned) -> None:
        seeds = self._plan.study.repetitions.seeds
        fresh = range(seeds, seeds + self._rule.confirm) if self._rule.confirm else range(seeds)
        candidates = []
        for point in self._points.values():
            done = self._seeds_done(point)
            values = self._values(point, done) if len(done) == seeds else None
            if values is not None and not self._breach(point, done):
                candidates.append((point, values))
        on_front = pareto([self._costs(values) for _, values in candidates])
        front = [point for (point, _), kept in zip(candidates, on_front, strict=True) if kept]
        base = next(iter(self._points.values())) if self._plan.study.baseline else None
        wanted = front if base is None or base in front else [base, *front]
        self._do(
            [(cell, it) for point in wanted for it in fresh for cell in self._cells(point, searched=True)],
            ahead=self._size.elsewhere,
        )
        if base is not None:
            found.baseline = self._confirmed_point(base, None, fresh)
        found.front = [self._confirmed_point(point, base, fresh) for point in front]
        found.chosen = self._knee([it for it in found.front if it.feasible], found.baseline)
        if found.chosen is not None:
            found.scenario = self._of(found.chosen.point, fresh[0])[0]["scenario"]

    def _confirmed_point(self, point: Point, base: Point | None, seeds: range) -> Confirmed:
        level = self._plan.study.repetitions.confidence
        objectives, gains = {}, {}
        for metric in self._plan.study.objectives:
            values = self._by_seed(point, seeds, metric)
            known = interval(list(values.values()), level)
            if known is not None:
                objectives[metric] = known
            if base is not None and base is not point:
                change = difference(values, self._by_seed(base, seeds, metric), level, paired=True)
                if change is not None:
                    gains[metric] = change
        complete = len(objectives) == len(self._plan.study.objectives)
        return Confirmed(point, complete and not self._breach(point, seeds), objectives, gains)

    def _by_seed(self, point: Point, seeds: range, metric: str) -> dict[int, float]:
        found = {it: self._seed_value(point, it, metric) for it in seeds}
        return {seed: value for seed, value in found.items() if value is not None}

    def _costs(self, values: Sequence[float]) -> list[float]:
        goals = self._plan.study.objectives.values()
        return [value if goal == "min" else -value for value, goal in zip(values, goals, strict=True)]

    def _complete_costs(self, base: Confirmed | None) -> list[list[float]]:
        names = self._plan.study.objectives
        if base is None or any(it not in base.objectives for it in names):
            return []
        return [self._costs([base.objectives[it].mean for it in names])]

    def _knee(self, front: Sequence[Confirmed], base: Confirmed | None) -> Confirmed | None:
        if not front:
            return None
        rows = [self._costs([it.objectives[name].mean for name in self._plan.study.objectives]) for it in front]
        kept = [place for place, on_front in enumerate(pareto(rows)) if on_front]
        low = [min(rows[place][column] for place in kept) for column in range(len(rows[0]))]
        scale = [*rows, *self._complete_costs(base)]
        span = [max(row[column] for row in scale) - low[column] for column in range(len(rows[0]))]

        def distance(place: int) -> float:
            columns = zip(rows[place], low, span, strict=True)
            return sum(((it - least) / wide) ** 2 if wide else 0.0 for it, least, wide in columns)

        return front[min(kept, key=distance)]

    def _compare(self, found: Tuned) -> None:
        """The chosen point against the baseline, with each workload of the search and elsewhere."""
        if found.chosen is None or not self._plan.study.baseline:
            return
        base, chosen = next(iter(self._points.values())), found.chosen.point
        seeds = self._plan.study.repetitions.seeds
        fresh = range(seeds, seeds + self._rule.confirm) if self._rule.confirm else range(seeds)
        self._do(
            [(cell, it) for point in (base, chosen) for it in fresh for cell in self._cells(point, searched=False)],
            ahead=0,
        )
        level = self._plan.study.repetitions.confidence
        metrics = dict.fromkeys([*self._plan.study.objectives, *self._plan.study.measures])
        pairs = [
            its
            for searched in (True, False)
            for its in zip(self._cells(base, searched=searched), self._cells(chosen, searched=searched), strict=True)
        ]
        for before, after in pairs:
            for metric in metrics:
                first, second = self._cell_values(before, fresh, metric), self._cell_values(after, fresh, metric)
                known, change = interval(list(first.values()), level), difference(second, first, level, paired=True)
                if known is not None and change is not None:
                    found.elsewhere.append(Elsewhere(before.workload.name, metric, known, change))

    def _cell_values(self, cell: Cell, seeds: range, metric: str) -> dict[int, float]:
        numbers = {it: run_number(self._plan, cell, it) for it in seeds}
        found = {it: self._rows[number][summary_key(metric)] for it, number in numbers.items() if number in self._rows}
        return {seed: float(value) for seed, value in found.items() if value is not None}
