"""The table of confidence from the rows of tune seeds, and how good it is on those of test seeds."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from telemetry.campaign.seeds import TestSeed, TuneSeed, parse_seed
from telemetry.diagnosis.confidence import Table, family, isotonic
from telemetry.diagnosis.root import Kind

BINS: Final = 10
_DRAWS: Final = 1000


@dataclass(frozen=True, slots=True)
class Calibration:
    """Of the roots with a confidence, of one view."""

    view: str
    roots: int
    brier: float | None
    """Mean squared difference of confidence and outcome."""
    ece: float | None
    """Expected calibration error over BINS bins of equal count."""
    brier_interval: tuple[float, float]
    ece_interval: tuple[float, float]
    """95 %, bootstrap over runs."""
    unknown: int
    """Roots below the limit of 'unknown'."""
    unknown_right: int
    known_right: int

    def as_json(self) -> dict[str, Any]:
        """For --json."""
        return {
            "view": self.view,
            "roots": self.roots,
            "brier": self.brier,
            "brier_interval": list(self.brier_interval),
            "ece": self.ece,
            "ece_interval": list(self.ece_interval),
            "unknown": self.unknown,
            "unknown_right": self.unknown_right,
            "known_right": self.known_right,
        }


def fit(rows: Mapping[TuneSeed, Mapping[str, Any]], rules: str) -> Table:
    """The table of every view in the rows. Test seeds have another type."""
    points: dict[str, dict[str, list[tuple[float, bool]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows.values():
        for view in row["views"]:
            for kind, score, right in outcomes(row, view):
                points[view][family(kind)].append((score, right))
    views = {
        view: {name: isotonic(its, _prior(its)) for name, its in sorted(families.items())}
        for view, families in sorted(points.items())
    }
    return Table(rules, len(rows), views)


def _prior(points: Sequence[tuple[float, bool]]) -> float:
    """Share of right roots of a family, by Laplace's rule of succession: a few right ones do not make it certain."""
    return (sum(right for _, right in points) + 1) / (len(points) + 2)


def tune_rows(rows: Sequence[Mapping[str, Any]]) -> dict[TuneSeed, Mapping[str, Any]]:
    """Rows of tune seeds by seed. Raises: ValueError for a row of a test seed."""
    found = {}
    for row in rows:
        seed = parse_seed(row["seed"])
        if isinstance(seed, TestSeed):
            raise ValueError(f"{seed.text} is a test seed: no table is fitted on it")  # noqa: TRY004  of the file
        found[seed] = row
    return found


def outcomes(row: Mapping[str, Any], view: str) -> Iterator[tuple[Kind, float, bool]]:
    """(kind, score, whether it was right) of the roots that have a confidence."""
    its = row["views"][view]
    right = {root for root, _, right, _ in its["pairs"] if right}
    for number, root in enumerate(its["roots"]):
        kind = Kind(root["kind"])
        if family(kind):
            yield kind, float(root["score"]), number in right


def calibration(rows: Sequence[Mapping[str, Any]], view: str, table: Table, limit: float) -> Calibration:
    """Brier score and calibration error of a table on rows."""
    by_run = [
        [(p, right) for kind, score, right in outcomes(row, view) if (p := table.at(kind, score, view)) is not None]
        for row in rows
    ]
    points = [it for run in by_run for it in run]
    stream = random.Random("campaign/bootstrap")
    briers, eces = [], []
    for _ in range(_DRAWS if points else 0):
        drawn = [it for run in stream.choices(by_run, k=len(by_run)) for it in run]
        if drawn:
            briers.append(_brier(drawn))
            eces.append(_ece(drawn))
    return Calibration(
        view, len(points), _brier(points) if points else None, _ece(points) if points else None,
        _interval(briers), _interval(eces),
        sum(p < limit for p, _ in points), sum(p < limit and right for p, right in points),
        sum(p >= limit and right for p, right in points),
    )  # fmt: skip


def _brier(points: Sequence[tuple[float, bool]]) -> float:
    return sum((p - right) ** 2 for p, right in points) / len(points)


def _ece(points: Sequence[tuple[float, bool]]) -> float:
    ordered = sorted(points, key=lambda it: it[0])
    error = 0.0
    for number in range(BINS):
        bin_ = ordered[number * len(ordered) // BINS : (number + 1) * len(ordered) // BINS]
        if bin_:
            error += abs(sum(p for p, _ in bin_) - sum(right for _, right in bin_))
    return error / len(ordered)


def _interval(values: list[float]) -> tuple[float, float]:
    if not values:
        return 0.0, 1.0
    values = sorted(values)
    return values[int(0.025 * len(values))], values[min(int(0.975 * len(values)), len(values) - 1)]
