"""Operations of a run's transfers in classes by which results and metrics sum them, and the steps of its workloads.

One operation of a job may run in several groups of ranks at once, such as an all-reduce in each tensor-parallel group.
Each group is an instance with its duration: ranks that exchange no messages do not wait for each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.collectives.operations import OPERATIONS
from fabric.collectives.transfers import OperationGroup
from fabric.runs.transfers import TransferPlan

Ints = NDArray[np.int64]
NO_CLASS: Final = -1
STORAGE: Final = ("read", "write")
"""Operations of jobs/storage_rows.py."""


@dataclass(frozen=True, slots=True)
class OperationClass:
    """Operations of one workload that are summed together."""

    workload: str
    operation: str
    algorithm: str
    kind: str


@dataclass(frozen=True, eq=False)
class Operations:
    """Instances of operations; steps are numbered within a workload."""

    workloads: tuple[str, ...]
    classes: tuple[OperationClass, ...]
    instance: Ints
    """(n_transfers,) row of the columns below."""
    class_of: Ints
    """(n_instances,) row of classes; NO_CLASS: only computations."""
    workload_of: Ints
    """(n_instances,) row of workloads."""
    step: Ints
    """(n_instances,) number of the step within its workload, from 0 without gaps."""
    sent_bytes: Ints
    """(n_instances,) payload of all messages."""
    bus_bytes: NDArray[np.float64]
    """(n_instances,) bytes whose quotient by the duration is the bus bandwidth (nccl-tests)."""
    size_bytes: NDArray[np.float64]
    """(n_instances,) likewise of the algorithm bandwidth; 0: unknown."""
    beside: NDArray[np.bool_]
    """(n_transfers,) storage: a step ends without them, unless what it ends with waits for them."""

    @property
    def step_keys(self) -> tuple[Ints, int]:
        """((n_transfers,) a number for each step of each workload, steps of the longest workload)."""
        stride = int(self.step.max(initial=0)) + 1
        return (self.workload_of * stride + self.step)[self.instance], stride


def operations_of(plan: TransferPlan) -> Operations:
    """Workloads, classes and steps of a run's transfers.

    The bus bandwidth of an operation with a known size is that of nccl-tests; otherwise it is that of the bytes which
    a rank sent, all ranks alike.
    """
    groups = plan.groups or [OperationGroup()] * len(plan.operations)
    present, of = np.unique(plan.operation, return_inverse=True)
    names = [plan.operations[number].partition("/")[0] for number in present.tolist()]
    told = [groups[number] for number in present.tolist()]
    total = np.bincount(of, plan.size_bytes, len(present))
    workloads = {name: row for row, name in enumerate(dict.fromkeys(names))}
    workload_of = np.array([workloads[name] for name in names], np.int64)
    classes: dict[OperationClass, int] = {}
    class_of = np.full(len(present), NO_CLASS, np.int64)
    for row, (name, it) in enumerate(zip(names, told, strict=True)):
        if total[row]:
            key = OperationClass(name, it.operation, it.algorithm, it.kind)
            class_of[row] = classes.setdefault(key, len(classes))
    step = np.array([it.step for it in told], np.int64)
    for row in range(len(workloads)):
        mine = workload_of == row
        step[mine] = np.unique(step[mine], return_inverse=True)[1]
    first_of, instance = _instances(plan, of, class_of)
    sent = np.bincount(instance, plan.size_bytes, len(first_of)).astype(np.int64)
    pairs = np.unique(np.stack([instance, plan.src])[:, plan.size_bytes > 0], axis=1)
    senders = np.bincount(pairs[0], minlength=len(first_of))
    factor = np.array([_bus_factor_ratio(it) for it in told])[first_of]
    size = np.array([it.size_bytes for it in told], float)[first_of]
    known = (factor > 0) & (size > 0)
    bus = np.where(known, size * factor, sent / np.maximum(senders, 1))
    return Operations(
        tuple(workloads), tuple(classes), instance, class_of[first_of], workload_of[first_of], step[first_of], sent,
        bus, np.where(known, size, 0.0), np.array([it.operation in STORAGE for it in told], np.bool_)[of],
    )  # fmt: skip


def _bus_factor_ratio(group: OperationGroup) -> float:
    known = OPERATIONS.get(group.operation)
    return 0.0 if known is None or not group.ranks else known.bus_factor_ratio(group.ranks)


def _instances(plan: TransferPlan, of: Ints, class_of: Ints) -> tuple[Ints, Ints]:
    """((n_instances,) operation of each, (n_transfers,) instance): an operation's ranks, joined by its messages."""
    n_hosts = int(max(plan.src.max(initial=0), plan.dst.max(initial=0))) + 1
    split = class_of[of] != NO_CLASS
    a, b = (np.where(split, of * n_hosts + end, of * n_hosts) for end in (plan.src, plan.dst))
    nodes, ends = np.unique(np.concatenate([a, b]), return_inverse=True)
    a, b = ends[: len(a)], ends[len(a) :]
    label = np.arange(len(nodes))
    while True:  # roots of joined nodes are joined, then every node points to its root
        first, second = label[a], label[b]
        if np.array_equal(first, second):
            break
        np.minimum.at(label, first, second)
        np.minimum.at(label, second, first)
        while not np.array_equal(label, label[label]):
            label = label[label]
    found, instance = np.unique(label[a], return_inverse=True)
    return nodes[found] // n_hosts, instance.astype(np.int64)
