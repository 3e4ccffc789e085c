"""What each entry of a workload of transfers would take without network, step by step: part of manifest.json.

A run's results and its metrics divide the measured steps by it (fabric/jobs/results.py), so no job file is read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabric.collectives.transfers import OperationGroup, ScheduleEntry, Transfers
from fabric.jobs.instant import ends_without_network_ps
from fabric.jobs.results import StepPlan
from fabric.runs.operations import Operations, operations_of
from fabric.runs.transfers import ScheduledTransfers

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class EntryPlan:
    """One entry of the workload."""

    name: str
    kind: str
    """'job', 'trace', 'collective'; '': unknown."""
    job: str
    """Name of the job; '': the entry is none."""
    ranks: int
    steps: tuple[StepPlan, ...]

    @property
    def computes(self) -> bool:
        """Whether anything of it is computation: then it is reported as a job."""
        return any(step.computing_ps for step in self.steps)


def entry_plans(scheduled: ScheduledTransfers) -> list[EntryPlan]:
    """The entries, in the order of the workload. Cost: a pass over all messages where anything computes."""
    operations = operations_of(scheduled)
    rows, ends_step = _without_copies(scheduled), _of(scheduled, "end")
    entries = {it.name: it for it in scheduled.entries}
    keys, stride = operations.step_keys
    ends = np.zeros(stride * len(operations.workloads), np.int64)
    np.maximum.at(ends, keys, ends_without_network_ps(rows))
    busiest = _busiest_ps(scheduled, keys, len(ends))
    found = []
    for row, name in enumerate(operations.workloads):
        n_steps = _n_steps(operations, row)
        mine = operations.workload_of[operations.instance] == row
        own = np.maximum.accumulate(ends[row * stride : row * stride + n_steps])
        ideal = np.diff(own, prepend=int(rows.start_ps[mine].min()) if own.any() else 0)
        entry = entries.get(name, ScheduleEntry(name))
        ranks = len(np.unique(scheduled.ranks[:, mine & ends_step if entry.computing_ps else mine]))
        computing = busiest[row * stride : row * stride + n_steps]
        steps = tuple(_step(entry, int(own_ps), int(busy)) for own_ps, busy in zip(ideal, computing, strict=True))
        found.append(EntryPlan(name, entry.kind, entry.job, ranks, steps))
    return found


def _of(scheduled: ScheduledTransfers, operation: str) -> NDArray[np.bool_]:
    """(n,) rows of an operation of jobs (fabric/jobs/rows.py)."""
    groups = scheduled.groups or [OperationGroup()] * len(scheduled.operations)
    return np.array([it.operation == operation for it in groups], np.bool_)[scheduled.operation]


def _without_copies(scheduled: ScheduledTransfers) -> Transfers:
    """The schedule in which copies for asynchronous checkpoints take no time: waiting for storage is communication."""
    rows = scheduled.schedule
    return replace(rows, delay_ps=np.where(_of(scheduled, "copy"), 0, rows.delay_ps))


def _n_steps(operations: Operations, workload: int) -> int:
    return int(operations.step[operations.workload_of == workload].max(initial=-1)) + 1


def _step(entry: ScheduleEntry, ideal_ps: int, busiest_ps: int) -> StepPlan:
    """A job knows its pipeline; elsewhere the busiest rank computes, and what it waits for others is the bubble."""
    if entry.computing_ps:
        return StepPlan(entry.computing_ps, entry.bubble_ps, ideal_ps)
    computing = min(busiest_ps, ideal_ps)
    return StepPlan(computing, ideal_ps - computing, ideal_ps)


def _busiest_ps(scheduled: ScheduledTransfers, keys: Ints, n_keys: int) -> Ints:
    """(n_keys,) computation of the rank that computes longest in each step."""
    rows = scheduled.schedule
    local = np.flatnonzero((rows.src == rows.dst) & (rows.delay_ps > 0))
    pairs, of = np.unique(np.stack([keys[local], rows.src[local]]), axis=1, return_inverse=True)
    spent = np.zeros(pairs.shape[1], np.int64)
    np.add.at(spent, of.reshape(-1), rows.count[local] * rows.delay_ps[local])
    found = np.zeros(n_keys, np.int64)
    np.maximum.at(found, pairs[0], spent)
    return found


def to_json(plan: EntryPlan) -> dict[str, Any]:
    """An entry of `jobs` in manifest.json; equal steps are written once: [times, step]."""
    runs: list[tuple[int, StepPlan]] = []
    for step in plan.steps:
        if runs and runs[-1][1] == step:
            runs[-1] = (runs[-1][0] + 1, step)
        else:
            runs.append((1, step))
    steps = [{"times": times, **asdict(step)} for times, step in runs]
    return {"name": plan.name, "kind": plan.kind, "job": plan.job, "ranks": plan.ranks, "steps": steps}


def plans_of(manifest: Mapping[str, Any]) -> list[EntryPlan]:
    """The entries of a run; none where it has no transfers, or an older version wrote it."""
    return [
        EntryPlan(
            it["name"], it["kind"], it["job"], it["ranks"],
            tuple(
                StepPlan(step["computing_ps"], step["bubble_ps"], step["without_network_ps"])
                for step in it["steps"]
                for _ in range(step["times"])
            ),
        )
        for it in manifest.get("jobs", ())
    ]  # fmt: skip
