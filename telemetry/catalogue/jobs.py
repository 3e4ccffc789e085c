"""Collective operations and steps of jobs, from the transfers of a Snapshot (docs/decisions/0055).

Rules
1. An operation counts once all of its transfers are done; one with a failed message never does.
2. A step of a job ends with the last operation of it and of the steps before it, storage left out: a step that waits
   for it ends with a computation behind it. It lasts from the end of the step
   before, the first one from the first posting or beginning of a computation.
3. The computation of a rank in a step is the time in which it computes, overlaps counted once. A computation of several
   parts computes from its first beginning to its last end.
4. What a step takes longer than without network is exposed communication. The rest is computing, the bubble of a
   pipeline, and what slow ranks add. JobTables.divide knows them (fabric/jobs/results.py).
5. All other ranks wait for the one that computes longest: as long as they compute less.
6. A collective begins when its first message is posted: a rank that only waits begins nothing.

A Snapshot costs one comparison of a column, and what has ended since the last one; each step is divided once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.engine.counters import Snapshot

Ints = NDArray[np.int64]
Values = NDArray[Any]
NO_CLASS: Final = -1
_NO_QP: Final = 0xFFFFFFFF
"""In a transfer's `qp`: a computation (dataplane/state/types.py NO_QP)."""


@dataclass(frozen=True, slots=True)
class OperationClass:
    """Operations that share the series of a metric."""

    workload: str
    """Entry of the scenario's `workload`."""
    operation: str
    algorithm: str
    kind: str


class StepParts(Protocol):
    """What a step consists of; the four add up to its duration."""

    @property
    def compute_ps(self) -> int:
        """The stage that computes longest, without jitter and stragglers."""

    @property
    def bubble_ps(self) -> int:
        """What the order of the pipeline adds."""

    @property
    def slow_ranks_ps(self) -> int:
        """What jitter and stragglers add."""

    @property
    def exposed_ps(self) -> int:
        """What the network adds."""


@dataclass(frozen=True, eq=False)
class JobTables:
    """The transfers of a run, and what they are for. Steps are numbered within a workload.

    An operation is one of one group of ranks: what runs in several groups at once is several operations.
    """

    workloads: tuple[str, ...]
    classes: tuple[OperationClass, ...]
    operation: Ints
    """(n_transfers,) row of the columns below."""
    class_of: Ints
    """(n_operations,) row of classes; NO_CLASS: only computations."""
    workload_of: Ints
    """(n_operations,) row of workloads."""
    step: Ints
    """(n_operations,) number of the step within its workload, from 0 without gaps."""
    sent_bytes: Ints
    """(n_operations,) payload of all messages."""
    bus_bytes: NDArray[np.float64]
    """(n_operations,) bytes whose quotient by the duration is the bus bandwidth (nccl-tests)."""
    size_bytes: NDArray[np.float64]
    """(n_operations,) likewise of the algorithm bandwidth."""
    divide: Callable[[int, int, int], StepParts | None] = lambda _workload, _step, _duration: None
    """(workload, step, duration in ps) -> its parts; None where the run's plan of its steps is unknown."""
    beside: NDArray[np.bool_] | None = None
    """(n_transfers,) storage, which steps end without; None: none is."""


class JobProgress:
    """Follows the operations and steps of one pass of a run. Snapshots come in order of time; not thread-safe."""

    def __init__(self, tables: JobTables | None) -> None:
        self.tables = tables
        self._seen: Snapshot | None = None
        self.now_ps = 0
        self.ended: Ints = np.empty(0, np.int64)
        """Operations with a class that have ended, in the order in which that was seen."""
        self.steps: list[list[Step]] = []
        """Of each workload, the steps that have ended."""
        self.begin_ps = self.end_ps = np.empty(0, np.int64)
        """(n_operations,) -1 before they have ended."""
        self.first_ps = self.last_ps = np.empty(0, np.int64)
        """(n_workloads,) first posting or beginning of a computation, end of the last operation; -1 before."""
        if tables is None:
            return
        n_operations, n_workloads = len(tables.step), len(tables.workloads)
        self._by_operation: Ints = np.argsort(tables.operation, kind="stable")
        """Transfers in order of operation."""
        self._rows_of = np.searchsorted(tables.operation[self._by_operation], np.arange(n_operations + 1))
        self._done: Values = np.empty(0, np.int64)
        """(n_transfers,) messages done at the last Snapshot; empty before the first."""
        self._todo: Ints = np.empty(0, np.int64)
        """(n_transfers,) messages in all."""
        self._waiting: Ints = np.empty(0, np.int64)
        """(n_operations,) transfers that are not done."""
        self.begin_ps = np.full(n_operations, -1, np.int64)
        self.end_ps = np.full(n_operations, -1, np.int64)
        self._keys = tables.workload_of * (int(tables.step.max(initial=0)) + 1) + tables.step
        """(n_operations,) one number for each step of each workload."""
        kept = np.arange(len(tables.operation)) if tables.beside is None else np.flatnonzero(~tables.beside)
        self._counts = np.zeros(n_operations, np.bool_)
        """(n_operations,) whether a step ends with it: storage is beside steps."""
        self._counts[tables.operation[kept]] = True
        self._left = np.bincount(self._keys[self._counts], minlength=1)
        key_of = self._keys[tables.operation[kept]]
        order = np.argsort(key_of, kind="stable")
        self._by_step: Ints = kept[order]
        self._first = np.searchsorted(key_of[order], np.arange(len(self._left) + 1))
        self._stride = int(tables.step.max(initial=0)) + 1
        self._n_steps = [int(tables.step[tables.workload_of == row].max(initial=-1)) + 1 for row in range(n_workloads)]
        self.steps = [[] for _ in range(n_workloads)]
        self._ranks: list[Ints] = []
        self.first_ps = np.full(n_workloads, -1, np.int64)
        self.last_ps = np.full(n_workloads, -1, np.int64)

    def update(self, now: Snapshot) -> None:
        """Take in what has ended; the same Snapshot again costs nothing."""
        tables = self.tables
        if tables is None or now is self._seen:
            return
        self._seen, self.now_ps = now, now.time_ps
        ended = self._ended(now, tables)
        if (self.first_ps < 0).any():
            self._note_begin(now, tables)
        if not len(ended):
            return
        first = self._rows_of[ended]
        counts = self._rows_of[ended + 1] - first
        starts = np.cumsum(counts) - counts
        place = np.repeat(first - starts, counts) + np.arange(int(counts.sum()))
        rows = now.transfers[self._by_operation[place]]
        of = np.repeat(ended, counts)
        begin = np.where((rows["qp"] == _NO_QP) & (tables.class_of[of] != NO_CLASS), -1, _begin_ps(rows))
        self.begin_ps[ended] = np.minimum.reduceat(np.where(begin < 0, np.iinfo(np.int64).max, begin), starts)
        self.end_ps[ended] = np.maximum.reduceat(rows["completed_ps"], starts)
        self.ended = np.concatenate([self.ended, ended[tables.class_of[ended] != NO_CLASS]])
        self._left -= np.bincount(self._keys[ended[self._counts[ended]]], minlength=len(self._left))
        for row in range(len(tables.workloads)):
            self._end_steps(row, now)

    def _ended(self, now: Snapshot, tables: JobTables) -> Ints:
        """Operations that have ended since the last Snapshot, in order.

        One column is compared with that of the last Snapshot; what follows costs what has changed.
        """
        rows = now.transfers
        done = rows["done_messages"]
        if len(self._done) != len(done):
            workload = np.where(self._counts[tables.operation], tables.workload_of[tables.operation], -1)
            ends = rows["src"].astype(np.int64), rows["dst"].astype(np.int64)
            self._ranks = [
                np.unique(np.concatenate([end[workload == row] for end in ends]))
                for row in range(len(tables.workloads))
            ]
            self._todo = np.where(rows["qp"] == _NO_QP, rows["count"], rows["n_sent"]).astype(np.int64)
            self._waiting = np.diff(self._rows_of)
            self._done, changed = done.copy(), np.arange(len(done))
        else:
            changed = np.flatnonzero(done != self._done)
            changed = changed[self._done[changed] < self._todo[changed]]
            self._done[changed] = done[changed]
        whole = tables.operation[changed[self._done[changed] >= self._todo[changed]]]
        touched, counts = np.unique(whole, return_counts=True)
        self._waiting[touched] -= counts
        return np.asarray(touched[self._waiting[touched] == 0], np.int64)

    def _note_begin(self, now: Snapshot, tables: JobTables) -> None:
        """Only until every workload has begun."""
        begun = np.flatnonzero(now.transfers["first_ps"] >= 0)
        begin, workload = _begin_ps(now.transfers[begun]), tables.workload_of[tables.operation[begun]]
        for row in np.flatnonzero(self.first_ps < 0).tolist():
            self.first_ps[row] = begin[workload == row].min(initial=np.iinfo(np.int64).max)
            if self.first_ps[row] == np.iinfo(np.int64).max:
                self.first_ps[row] = -1

    def _end_steps(self, workload: int, now: Snapshot) -> None:
        known = self.steps[workload]
        while len(known) < self._n_steps[workload] and not self._left[workload * self._stride + len(known)]:
            key = workload * self._stride + len(known)
            mine = self._by_step[self._first[key] : self._first[key + 1]]
            rows = now.transfers[mine]
            before = known[-1].end_ps if known else int(self.first_ps[workload])
            ends = np.where(rows["qp"] == _NO_QP, rows["completed_ps"], now.rtransfers["arrived_ps"][mine])
            end = max(int(ends.max(initial=before)), before)
            computing = _computing_ps(rows, self._ranks[workload])
            parts = self.tables.divide(workload, len(known), end - before) if self.tables is not None else None
            known.append(Step(end, end - before, computing, parts))
        if len(known) == self._n_steps[workload] and known:
            self.last_ps[workload] = known[-1].end_ps

    # Sums of steps, (n_workloads,)

    def total(self, of: Callable[[Step], float]) -> Values:
        """A sum over the steps that have ended."""
        return np.array([sum(map(of, steps)) for steps in self.steps])

    def latest(self, of: Callable[[Step], float]) -> Values:
        """Of the step that ended last; 0 before."""
        return np.array([of(steps[-1]) if steps else 0.0 for steps in self.steps])


@dataclass(frozen=True, slots=True)
class Step:
    """A step that has ended."""

    end_ps: int
    duration_ps: int
    computing_ps: Ints
    """(n_ranks,) rule 3."""
    parts: StepParts | None = None
    """Rule 4; None: unknown."""

    @property
    def longest_ps(self) -> int:
        """Computation of the slowest rank."""
        return int(self.computing_ps.max(initial=0))

    @property
    def median_ps(self) -> float:
        """Computation of the median rank."""
        return float(np.median(self.computing_ps)) if len(self.computing_ps) else 0.0

    @property
    def straggler_ratio(self) -> float:
        """Slowest over median computation; 0 where the median rank computes nothing."""
        return self.longest_ps / self.median_ps if self.median_ps else 0.0


def _begin_ps(rows: NDArray[Any]) -> Ints:
    """First posting of each transfer, or the beginning of a computation's first part; -1 before.

    Of a computation the engine notes the end of its first part.
    """
    first = rows["first_ps"].astype(np.int64)
    return np.where((rows["qp"] == _NO_QP) & (first >= 0), first - rows["delay_ps"], first)


def _computing_ps(rows: NDArray[Any], ranks: Ints) -> Ints:
    """(n_ranks,) union of the intervals in which each host computes; rows: transfers that are done."""
    rows = rows[(rows["qp"] == _NO_QP) & (rows["delay_ps"] > 0)]
    begin, end = _begin_ps(rows), rows["completed_ps"].astype(np.int64)
    host = np.searchsorted(ranks, rows["src"])
    order = np.lexsort((begin, host))
    begin, end, host = begin[order], end[order], host[order]
    if not len(order):
        return np.zeros(len(ranks), np.int64)
    # Ends so far within each host: hosts are kept apart by an offset above every time.
    offset = host * (int(end.max()) + 1)
    covered = np.maximum.accumulate(end + offset)
    before = np.concatenate([[-1], covered[:-1]])
    added = covered - np.maximum(begin + offset, before)
    return np.bincount(host, np.maximum(added, 0), len(ranks)).astype(np.int64)


JOB_VALUES: Final[Mapping[str, Callable[[JobProgress], Values]]] = {
    "steps_ended()": lambda it: np.array([len(steps) for steps in it.steps]),
    "step_computing_ps()": lambda it: it.total(lambda step: step.longest_ps),
    "step_median_computing_ps()": lambda it: it.total(lambda step: step.median_ps),
    "steps_ps()": lambda it: it.total(lambda step: step.duration_ps),
    "step_stage_ps()": lambda it: it.total(lambda step: step.parts.compute_ps if step.parts is not None else 0),
    "step_exposed_ps()": lambda it: it.total(lambda step: step.parts.exposed_ps if step.parts is not None else 0),
    "step_bubble_ps()": lambda it: it.total(lambda step: step.parts.bubble_ps if step.parts is not None else 0),
    "step_slow_ranks_ps()": lambda it: it.total(lambda step: step.parts.slow_ranks_ps if step.parts is not None else 0),
    "step_waiting_ps()": lambda it: it.total(lambda step: step.longest_ps - step.median_ps),
    "step_longest_waiting_ps()": lambda it: it.total(
        lambda step: step.longest_ps - int(step.computing_ps.min(initial=step.longest_ps))
    ),
    "last_step_ps()": lambda it: it.latest(lambda step: step.duration_ps),
    "straggler_ratio()": lambda it: it.latest(lambda step: step.straggler_ratio),
    "job_ps()": lambda it: np.where(it.first_ps < 0, 0, np.where(it.last_ps < 0, it.now_ps, it.last_ps) - it.first_ps),
}
"""(n_workloads,) arrays."""

JOB_OBSERVED: Final[Mapping[str, Callable[[JobProgress], tuple[Ints, Values]]]] = {
    "step_ps()": lambda it: (
        np.repeat(np.arange(len(it.steps)), [len(steps) for steps in it.steps]),
        np.array([step.duration_ps for steps in it.steps for step in steps], np.int64),
    )
}
"""Observations of histograms, as in derive.OBSERVED."""
