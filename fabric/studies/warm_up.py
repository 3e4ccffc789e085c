"""The warm-up of a study: how long its fabrics take from empty to a steady state, by a rule instead of by eye.

Rules
1. Pilot runs are those of the baseline point, one for each seed. Two quantities are looked at while messages are
   posted: payload that arrives, and bytes in the queues of switches, each the mean over the seeds at the same time
   (Welch, The Statistical Analysis of Simulation Results, 1983).
2. Means of BATCH samples each, MSER-5: that many of the first are left out with which the estimated variance of the
   mean of the others is smallest (White, Cobb, Spratt, A comparison of five steady-state truncation heuristics for
   simulation, WSC 2000). More than half of them is no steady state: the run is too short for one.
3. The warm-up is the longest of both quantities and all workloads, and all points of the study have the same: points
   that are compared seed by seed must not be measured over different traffic (docs/decisions/0156).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from fabric.studies.plan import Cell, StudyPlan
from fabric.studies.simulation import Variant, simulate_variant
from fabric.units import parse_time_ps

if TYPE_CHECKING:
    from fabric.dataplane.engine.counters import Snapshot

BATCH: Final = 5
FEWEST_SAMPLES: Final = 100
"""Twenty batches; fewer say little about a variance."""
MOST_SEEDS: Final = 5
QUANTITIES: Final = ("payload that arrives", "bytes in queues of switches")
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Settling:
    """How one quantity of one workload settles."""

    workload: str
    quantity: str
    samples: int
    """While messages are posted."""
    interval_ps: int
    warm_up_ps: int | None
    """None: there are too few samples, or no steady state."""
    mean: float
    """Per sample: payload in bytes, or bytes in queues."""
    mean_after: float | None


@dataclass(frozen=True, slots=True)
class WarmUp:
    """What pilot runs say of a study."""

    settlings: tuple[Settling, ...]
    seeds: int

    @property
    def warm_up_ps(self) -> int | None:
        """Of the study; None where some quantity has no steady state."""
        found = [it.warm_up_ps for it in self.settlings]
        return None if None in found else max((it for it in found if it is not None), default=0)


def warm_up_of(plan: StudyPlan) -> WarmUp:
    """Carry out the pilot runs, in this process. Raises: InputErrors, InvariantError."""
    seeds = min(plan.study.repetitions.seeds, MOST_SEEDS)
    cells = [it for it in plan.cells if it.point.number == plan.baseline]
    return WarmUp(tuple(it for cell in cells for it in _settlings(plan, cell, seeds)), seeds)


def mser5(values: Sequence[float] | Floats) -> int | None:
    """How many of the first values to leave out, a multiple of BATCH; None: fewer than FEWEST_SAMPLES, or no steady
    state within the first half.

    Parameters
    ----------
    values : (n,) at equal intervals
    """
    sample = np.asarray(values, np.float64)
    if sample.size < FEWEST_SAMPLES:
        return None
    batches = sample[: sample.size // BATCH * BATCH].reshape(-1, BATCH).mean(axis=1)
    n = len(batches)
    # The last few are left out: the variance of two or three batches is small by chance.
    spread = [float(batches[cut:].var()) / (n - cut) for cut in range(n - BATCH + 1)]
    cut = int(np.argmin(spread))
    return None if cut > n // 2 else cut * BATCH


def _settlings(plan: StudyPlan, cell: Cell, seeds: int) -> Iterator[Settling]:
    pilots = [_pilot(plan.variant(cell, repetition)) for repetition in range(seeds)]
    interval_ps = pilots[0].interval_ps
    count = min(it.count for it in pilots)
    series = (
        np.mean([np.diff(it.at(it.payload_bytes, count)) for it in pilots], axis=0),
        np.mean([it.at(it.queued_bytes, count)[1:] for it in pilots], axis=0),
    )
    for quantity, values in zip(QUANTITIES, series, strict=True):
        cut = mser5(values)
        yield Settling(
            cell.workload.name,
            quantity,
            len(values),
            interval_ps,
            None if cut is None else cut * interval_ps,
            float(values.mean()) if len(values) else 0.0,
            None if cut is None else float(values[cut:].mean()),
        )


@dataclass
class _Pilot:
    """Samples of one run."""

    times_ps: list[int] = field(default_factory=lambda: [0])
    payload_bytes: list[float] = field(default_factory=lambda: [0.0])
    """Arrived since the start."""
    queued_bytes: list[float] = field(default_factory=lambda: [0.0])
    interval_ps: int = 1
    posted_ps: int = 0
    """When the last message was posted, or the last transfer was completed."""

    def sample(self, now: Snapshot) -> None:
        """One sample of the run."""
        of_switch = now.ports["node"] >= len(now.hosts)
        self.times_ps.append(now.time_ps)
        self.payload_bytes.append(float(now.hosts["goodput_bytes"].sum()))
        self.queued_bytes.append(float(now.queues["depth_bytes"][of_switch].sum()))
        self.posted_ps = max(
            int(now.messages["start_ps"].max(initial=0)), int(now.transfers["completed_ps"].max(initial=0))
        )

    @property
    def count(self) -> int:
        """Whole intervals while messages are posted."""
        return min(self.posted_ps, self.times_ps[-1]) // self.interval_ps

    def at(self, values: Sequence[float], count: int) -> Floats:
        """(count + 1,) values at the ends of intervals; spans in which nothing changed have no sample."""
        grid = np.arange(count + 1) * self.interval_ps
        places = np.searchsorted(self.times_ps, grid, side="right") - 1
        return np.asarray(values, np.float64)[places]


def _pilot(variant: Variant) -> _Pilot:
    found = _Pilot()
    run = simulate_variant(variant, found.sample)
    # As the scenario has it: the last sample is where the run ended, which is on no grid.
    found.interval_ps = parse_time_ps(json.loads(run.resolved)["telemetry"]["interval"])
    return found
