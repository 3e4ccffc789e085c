"""The studies of the page, carried out into one folder; what is there already is not done again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc
import yaml

import fabric
from bench.study_results.against_grid import Compared, Drawn, Grid, costs_of
from fabric import shipped
from fabric.studies.plan import StudyPlan, load_study

COMPARED: Final = "tune-ecn"
"""The search that is compared with GRID, which has the same scenarios, objectives and space."""
GRID: Final = "ecn-grid"
OTHER_SEEDS: Final = (2, 3, 4, 5)
"""Of the sampler: the same search again, without new seeds for its front."""


@dataclass(frozen=True)
class Search:
    """One search with its results."""

    plan: StudyPlan
    result: fabric.StudyResult

    @property
    def runs(self) -> int:
        """Of trials, confirmation and comparison."""
        return int(self.result.table(["run"]).num_rows)

    @property
    def runs_s(self) -> float:
        """Time of all its runs, one after the other."""
        return float(pc.sum(self.result.costs().column("wall_s")).as_py())


@dataclass(frozen=True)
class AgainstGrid:
    """The searches of COMPARED beside the grid."""

    grid: Grid
    result: fabric.StudyResult
    searches: Mapping[int, Compared]
    """Seed of the sampler -> that search; that of the study file first."""
    searched: Mapping[int, tuple[float, float]]
    """Costs of the points of the first of them."""
    drawn: Drawn
    """Draws as large as the first."""
    seeds: int
    """Of each point, here."""


def searches(work: Path) -> list[Search]:
    """Every search of the package, the compared one first."""
    names = sorted((it.stem for it in shipped.studies() if "tune" in _raw(it)), key=lambda it: (it != COMPARED, it))
    return [Search(load_study(Path(name), search=True), _tuned(name, work / name)) for name in names]


def against_grid(work: Path, first: Search) -> AgainstGrid:
    """Carry out the grid, and the search with other seeds of the sampler."""
    study, workloads = first.plan.study, len(first.plan.workloads)
    assert study.tune is not None
    seeds, out = study.repetitions.seeds, work / GRID
    result = fabric.sweep(GRID, out, resume=out.exists(), yes=True)
    rows = result.table(["run"]).num_rows
    costs = costs_of(result, study.objectives, workloads, seeds)
    grid = Grid(np.array(list(costs.values())), len(load_study(Path(GRID)).points), rows)
    results = {study.tune.seed: first.result}
    for seed in OTHER_SEEDS:
        raw = _raw(shipped.study(Path(COMPARED)))
        raw["name"] = f"{COMPARED}-{seed}"
        raw["tune"] |= {"seed": seed, "confirm": 0}
        results[seed] = _tuned(raw, work / raw["name"])
    costs_by_seed = {seed: costs_of(it, study.objectives, workloads, seeds) for seed, it in results.items()}
    found = {
        seed: grid.compare(costs_by_seed[seed], study.tune.trials, _of_trials(it, seeds))
        for seed, it in results.items()
    }
    one = study.tune.seed
    return AgainstGrid(
        grid, result, found, costs_by_seed[one], grid.draws(study.tune.trials, found[one].covered_ratio), seeds
    )


def _raw(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return found


def _tuned(study: str | dict[str, Any], out: Path) -> fabric.StudyResult:
    return fabric.tune(study, out, resume=out.exists(), yes=True)


def _of_trials(result: fabric.StudyResult, seeds: int) -> int:
    """Runs of the trials: those with the first seeds."""
    return int(pc.sum(pc.less(result.table(["repetition"]).column("repetition"), seeds)).as_py())
