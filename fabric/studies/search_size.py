"""How many runs a search has: those of its trials, the confirmation of its front, and the comparison elsewhere.

How many points the front will have is not known before. Among n points whose m objectives are independent, A(n, m) are
on it: A(n, 1) = 1, A(n, m) = A(1, m-1)/1 + ... + A(n, m-1)/n, which is about ln n for two objectives.

Source: Bentley, Kung, Schkolnick, Thompson, On the Average Number of Maxima in a Set of Vectors, JACM 25(4), 1978.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from fabric.studies.admission import Totals, fitting
from fabric.studies.plan import CellEstimate, Examined, StudyPlan


@dataclass(frozen=True, slots=True)
class SearchSize:
    """Runs of a search."""

    trials: int
    searched: int
    """Of all trials, at most: a trial that is stopped has fewer."""
    confirmed: int
    """Of one point: its new seeds with every workload of the search."""
    baseline: bool
    """Whether the baseline is confirmed as well."""
    elsewhere: int
    """Of the chosen point and the baseline with other workloads."""
    front: int
    """Points that are likely to be on the front."""

    @classmethod
    def of(cls, plan: StudyPlan) -> Self:
        """That of a plan of load_study(search=True)."""
        rule, seeds = plan.study.tune, plan.study.repetitions.seeds
        assert rule is not None  # noqa: S101  load_study(search=True) requires it
        compared = bool(plan.study.baseline)
        return cls(
            rule.trials,
            rule.trials * seeds * len(plan.workloads),
            rule.confirm * len(plan.workloads),
            compared,
            2 * (rule.confirm or seeds) * len(plan.elsewhere) if compared else 0,
            expected_front(rule.trials, len(plan.study.objectives)),
        )

    def after(self, front: int) -> int:
        """Runs that follow the trials, where the front has so many points."""
        return self.confirmed * (max(front, 1) + self.baseline) + self.elsewhere

    @property
    def likely(self) -> int:
        """All runs, with every seed of every trial."""
        return self.searched + self.after(self.front)


def expected_front(points: int, objectives: int) -> int:
    """Points on the Pareto front of so many with independent objectives, rounded."""
    row = [1.0] * points
    for _ in range(objectives - 1):
        total = 0.0
        for place in range(points):
            total += row[place] / (place + 1)
            row[place] = total
    return round(row[-1])


def search_totals(plan: StudyPlan, examined: Examined, workers: int) -> Totals:
    """Estimates of a search from its start; `examined` is of examine_corners()."""
    size = SearchSize.of(plan)
    mean_s = _mean_times_s(plan, examined)
    searched, other = mean_s[: len(plan.workloads)], mean_s[len(plan.workloads) :]
    time_s = (size.likely - size.elsewhere) * sum(searched) / len(searched)
    time_s += size.elsewhere * sum(other) / max(len(other), 1)
    used = fitting(examined, workers)
    largest = max(it.memory_bytes for it in examined.estimates.values())
    return Totals.of(size.likely, time_s, used, largest)


def _mean_times_s(plan: StudyPlan, examined: Examined) -> list[float]:
    """Of the corners that are valid, for each workload of the search and then of those elsewhere."""
    found: list[list[CellEstimate]] = [[] for _ in (*plan.workloads, *plan.elsewhere)]
    for number, it in examined.estimates.items():
        found[number % len(found)].append(it)
    return [sum(it.time_s for it in its) / len(its) for its in found]
