"""A search of two objectives against a grid over the same space: how much of what the grid found did it find?

Measures
1. Covered area (hypervolume): the area of objective space that is no better than some point, up to the worst values of
   the grid (Zitzler, Thiele, IEEE Trans. Evolutionary Computation 3(4), 1999). As a share of the grid's.
2. Lag (additive epsilon): the most by which a point of the grid's front is better than each point of the search, as a
   share of the range of the grid's values (Zitzler et al., IEEE Trans. Evolutionary Computation 7(2), 2003). Negative:
   the search is better everywhere.
Both on the seeds that both have, with values that are means over seeds and workloads, of points that meet the
constraints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import fabric
from fabric.scenario.schema.expectations import summary_key
from fabric.studies.statistics import pareto

DRAWS: Final = 500
"""Random parts of the grid that the search is compared with."""
Costs = NDArray[np.float64]
"""(n, 2) costs of points: less is better."""


@dataclass(frozen=True)
class Compared:
    """A search beside the grid."""

    points: int
    runs: int
    covered_ratio: float
    """Of the grid's area."""
    lag_ratio: float
    """Of the range of the grid's values."""


@dataclass(frozen=True)
class Drawn:
    """As many points of the grid as the search tried, by chance, DRAWS times."""

    points: int
    draws: int
    mean_ratio: float
    best_ratio: float
    beaten: int
    """Draws that cover less than the search."""


@dataclass(frozen=True)
class Grid:
    """A grid of points."""

    costs: Costs
    """Of every point that meets the constraints, a row."""
    points: int
    runs: int

    @property
    def front(self) -> Costs:
        """Points on the Pareto front, by the first cost."""
        return front(self.costs)

    def compare(self, search: Mapping[int, tuple[float, float]], points: int, runs: int) -> Compared:
        """A search that tried `points` with `runs`; `search` has the costs of those that meet the constraints."""
        worst = self.costs.max(axis=0)
        mine, grid = np.array(list(search.values())), self.front
        span = np.where(np.ptp(self.costs, axis=0) > 0, np.ptp(self.costs, axis=0), 1.0)
        lag = max(float(((mine - point) / span).max(axis=1).min()) for point in grid)
        return Compared(points, runs, area(mine, worst) / area(self.costs, worst), lag)

    def draws(self, points: int, covered_ratio: float, seed: int = 1) -> Drawn:
        """Random parts of the grid, of as many points as a search that covers so much."""
        worst = self.costs.max(axis=0)
        whole = area(self.costs, worst)
        draw = np.random.default_rng(seed)
        found = [
            area(self.costs[draw.choice(len(self.costs), min(points, len(self.costs)), replace=False)], worst) / whole
            for _ in range(DRAWS)
        ]
        return Drawn(points, DRAWS, float(np.mean(found)), max(found), sum(it < covered_ratio for it in found))


def front(costs: Costs) -> Costs:
    """The rows on the Pareto front, by the first cost."""
    kept = costs[pareto(costs.tolist())]
    return np.asarray(kept[np.argsort(kept[:, 0], kind="stable")])


def area(costs: Costs, worst: NDArray[np.float64]) -> float:
    """The area between the front of these costs and the corner `worst`; 0 where no point is better than it."""
    inside = costs[(costs < worst).all(axis=1)]
    if not len(inside):
        return 0.0
    steps = front(inside)
    right = np.append(steps[1:, 0], worst[0])
    return float(((right - steps[:, 0]) * (worst[1] - steps[:, 1])).sum())


def costs_of(
    study: fabric.StudyResult, objectives: Mapping[str, str], workloads: int, seeds: int
) -> dict[int, tuple[float, float]]:
    """Point -> its two costs, of points of which every workload has the first `seeds` and all meet the constraints."""
    first, second = objectives
    columns = ["point", "repetition", "feasible", summary_key(first), summary_key(second)]
    rows = [it for it in study.table(columns).to_pylist() if it["repetition"] < seeds]
    found: dict[int, tuple[float, float]] = {}
    for point, its in _by_point(rows).items():
        known = all(it["feasible"] and it[summary_key(name)] is not None for it in its for name in objectives)
        if known and len(its) == workloads * seeds:
            one, two = (
                float(np.mean([it[summary_key(name)] for it in its])) * (1 if goal == "min" else -1)
                for name, goal in objectives.items()
            )
            found[point] = (one, two)
    return found


def _by_point(rows: Iterable[Mapping[str, Any]]) -> dict[int, list[Mapping[str, Any]]]:
    found: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["point"], []).append(row)
    return found
