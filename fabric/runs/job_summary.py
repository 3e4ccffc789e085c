"""Jobs and collectives in summary.json: times of steps and their parts, bus bandwidths, completion, fairness.

A step ends when all messages of it and of the steps before it have arrived and all is computed. It lasts from the end
of the step before, the first one from the first posting or beginning of a computation. fabric/jobs/results.py divides
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.types import NO_QP
from fabric.jobs.results import StepTime, divide, jain_index
from fabric.runs import transfers
from fabric.runs.job_plans import EntryPlan
from fabric.runs.messages import DONE, distribution
from fabric.runs.operations import Operations, operations_of
from fabric.units import PS_PER_NS, PS_PER_S

if TYPE_CHECKING:  # annotations only: reading results must not load the compiler
    from fabric.dataplane.engine.counters import Snapshot

Ints = NDArray[np.int64]
PARTS = ("compute", "bubble", "slow_ranks", "exposed")
"""Of StepTime: they add up to the duration."""


class EntryBounds(NamedTuple):
    """When the steps of one entry of the workload began and ended."""

    entry: EntryPlan
    begin_ps: int | None
    """None before its first step."""
    bounds_ps: Ints
    """(n + 1,) beginning and end of the n first steps that ended."""


def sections(now: Snapshot, plan: transfers.TransferPlan, bounds: Sequence[EntryBounds]) -> dict[str, Any]:
    """`jobs`, `jobs_jain_ratio` and `collectives` of summary.json; bounds: of step_bounds().

    jobs_jain_ratio is Jain's index over the jobs' progress, time without network over time, of the steps that ended;
    None with fewer than two jobs. 1: the network slows all jobs down alike.
    """
    jobs = list(_jobs(bounds))
    progress = [it["without_network_ns"] / it["steps_ns"] for it in jobs if it["steps_ns"]]
    return {
        "jobs": jobs,
        "jobs_jain_ratio": jain_index(progress) if len(progress) > 1 and any(progress) else None,
        "collectives": list(_collectives(now, operations_of(plan))),
    }


def begin_ps(rows: NDArray[Any]) -> Ints:
    """(n,) first posting of each transfer (rows of TRANSFER), or beginning of its computation; -1 before.

    Of a computation the engine notes the end of its first part.
    """
    first = rows["first_ps"].astype(np.int64)
    return np.asarray(np.where((rows["qp"] == NO_QP) & (first >= 0), first - rows["delay_ps"], first), np.int64)


def end_ps(now: Snapshot, rows: NDArray[Any]) -> Ints:
    """(n,) arrival of the last byte of each transfer, or end of its computation; -1 before."""
    return np.where(rows["qp"] == NO_QP, rows["completed_ps"], now.rtransfers["arrived_ps"]).astype(np.int64)


def _jobs(of_entries: Sequence[EntryBounds]) -> Iterator[dict[str, Any]]:
    for entry, first, bounds in of_entries:
        whole = len(bounds) - 1
        steps = [divide(int(took), plan) for took, plan in zip(np.diff(bounds), entry.steps[:whole], strict=True)]
        yield {
            "name": entry.name,
            "kind": entry.kind,
            "job": entry.job,
            "ranks": entry.ranks,
            "steps_planned": len(entry.steps),
            "begin_ns": None if first is None else first // PS_PER_NS,
            "completion_ns": (int(bounds[-1]) - int(bounds[0])) / PS_PER_NS if whole == len(entry.steps) else None,
            "steps_ns": sum(step.duration_ps for step in steps) / PS_PER_NS,
            "without_network_ns": sum(it.without_network_ps for it in entry.steps[:whole]) / PS_PER_NS,
            **_shares(steps),
            "steps": [
                {key.replace("_ps", "_ns"): value / PS_PER_NS for key, value in asdict(it).items()} for it in steps
            ],
        }


def step_bounds(now: Snapshot, plan: transfers.TransferPlan | None, entries: Sequence[EntryPlan]) -> list[EntryBounds]:
    """Of each entry of the workload; none without transfers."""
    return [] if plan is None else list(_bounds(now, operations_of(plan), entries))


def _bounds(now: Snapshot, operations: Operations, entries: Sequence[EntryPlan]) -> Iterator[EntryBounds]:
    rows = now.transfers
    keys, stride = operations.step_keys
    done = transfers.states(now) == DONE
    begin, end = begin_ps(rows), end_ps(now, rows)
    n = stride * len(operations.workloads)
    left = np.bincount(keys, ~done & ~operations.beside, n).astype(np.int64)
    ends = np.zeros(n, np.int64)
    np.maximum.at(ends, keys, np.where(done & ~operations.beside, end, 0))
    for row, entry in enumerate(entries):
        here = slice(row * stride, row * stride + len(entry.steps))
        begun = begin[(keys // stride == row) & (begin >= 0)]
        whole = len(entry.steps) if not left[here].any() else int(np.argmax(left[here] > 0))
        first = int(begun.min()) if len(begun) else None
        bounds = np.concatenate([[first or 0], np.maximum.accumulate(ends[here][:whole])]).astype(np.int64)
        yield EntryBounds(entry, first, bounds)


@dataclass(frozen=True)
class StepTimes:
    """Steps of all jobs that ended."""

    begin_ps: Ints
    """(n,) the end of the step before; of the first step the beginning of the job."""
    duration_ps: Ints
    """(n,)"""

    def after(self, time_ps: int) -> StepTimes:
        """Those that began at this time or later."""
        later = self.begin_ps >= time_ps
        return StepTimes(self.begin_ps[later], self.duration_ps[later])


def step_times(of_entries: Sequence[EntryBounds]) -> StepTimes | None:
    """The steps of all entries that compute; None where there are none. Collectives alone, and inference, have none."""
    bounds = [it.bounds_ps for it in of_entries if _has_steps(it.entry)]
    if not bounds:
        return None
    return StepTimes(np.concatenate([it[:-1] for it in bounds]), np.concatenate([np.diff(it) for it in bounds]))


def step_metrics(steps: StepTimes) -> dict[str, int | float | None]:
    """Metrics that expectations may name, in picoseconds."""
    return {
        "step.done": len(steps.duration_ps),
        **{f"step.{which}": value for which, value in distribution(steps.duration_ps).items()},
    }


def _has_steps(entry: EntryPlan) -> bool:
    return entry.kind == "job" or (entry.kind != "inference" and entry.computes)


def _shares(steps: Sequence[StepTime]) -> dict[str, Any]:
    """Step times, and the share of each part in the time of all steps that ended; None without such a step."""
    total = sum(step.duration_ps for step in steps)
    took = np.sort([step.duration_ps for step in steps])
    found: dict[str, Any] = {
        "step_p50_ns": float(took[(len(took) - 1) // 2]) / PS_PER_NS if steps else None,
        "step_max_ns": float(took[-1]) / PS_PER_NS if steps else None,
    }
    for part in PARTS:
        spent = sum(getattr(step, f"{part}_ps") for step in steps)
        found[f"{part}_ratio"] = spent / total if total else None
    return found


def _collectives(now: Snapshot, operations: Operations) -> Iterator[dict[str, Any]]:
    """One row per class of operations that sent anything: durations and bus bandwidths of its instances."""
    rows = now.transfers
    n = len(operations.class_of)
    done = np.ones(n, np.bool_)
    done[operations.instance[transfers.states(now) != DONE]] = False
    first = np.full(n, np.iinfo(np.int64).max)
    posted = np.flatnonzero((rows["first_ps"] >= 0) & (rows["qp"] != NO_QP))  # a rank that only waits begins nothing
    np.minimum.at(first, operations.instance[posted], rows["first_ps"][posted].astype(np.int64))
    last = np.zeros(n, np.int64)
    np.maximum.at(last, operations.instance, rows["completed_ps"].astype(np.int64))
    for row, of in enumerate(operations.classes):
        mine = operations.class_of == row
        kept = mine & done
        took = np.maximum(last[kept] - first[kept], 1)
        speed = np.sort(operations.bus_bytes[kept] * PS_PER_S / took)
        yield {
            **asdict(of),
            "operations": int(mine.sum()),
            "done": int(kept.sum()),
            "sent_bytes": int(operations.sent_bytes[mine].sum()),
            "duration_p50_ns": float(np.sort(took)[(len(took) - 1) // 2]) / PS_PER_NS if len(took) else None,
            "busbw_p50_bytes_per_s": float(speed[(len(speed) - 1) // 2]) if len(speed) else None,
            "busbw_min_bytes_per_s": float(speed[0]) if len(speed) else None,
            "busbw_mean_bytes_per_s": float(operations.bus_bytes[kept].sum()) * PS_PER_S / float(took.sum())
            if len(took)
            else None,
        }


def job_rows(summary: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The entries of `jobs` that compute in steps; the others are collectives alone, or inference."""
    return [
        it
        for it in summary.get("jobs", ())
        if it["kind"] == "job" or (it["kind"] != "inference" and (it["compute_ratio"] or 0) > 0)
    ]
