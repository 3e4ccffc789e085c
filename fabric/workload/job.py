"""A training job on the hosts of a fabric: its steps as transfers, collectives by named algorithms.

Ranks that exchange messages need separate hosts: each GPU with its NIC is a host. Messages within a node cross its
scale-up network where the topology has one, else the fabric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fabric.collectives.operations import OPERATIONS
from fabric.collectives.transfers import OperationGroup, ScheduleEntry
from fabric.errors import InputErrors, Problem
from fabric.jobs.algorithms import CollectiveBuilder
from fabric.jobs.compute import Draw
from fabric.jobs.job import Job
from fabric.jobs.load import LoadedJob
from fabric.jobs.lowering import LoweredJob, Start, lower
from fabric.jobs.placement import Slot
from fabric.jobs.plan import step_ps
from fabric.jobs.results import pipeline_ps
from fabric.jobs.rows import KINDS, JobOperation
from fabric.jobs.storage_rows import needs_storage_nodes
from fabric.workload.admission import admitted
from fabric.workload.batch import Surroundings
from fabric.workload.demand import Demand, SpecField, no_demand
from fabric.workload.job_collectives import STAGE, NamedAlgorithms
from fabric.workload.place_nodes import able_nodes, chosen_slots, storage_hosts
from fabric.workload.placed import PlacedTransfers, no_transfers, of_transfers
from fabric.workload.spec import JobLoad


def place_job(
    job: Job, slots: Sequence[Slot], *, steps: int = 1, collectives: CollectiveBuilder | None = None,
    draw: Draw | None = None, storage: Sequence[int] = (), start: Start | None = None,
) -> tuple[PlacedTransfers, LoweredJob]:  # fmt: skip
    """A job's transfers on its hosts; the schedule says which rows end steps, and what operations are.

    Parameters
    ----------
    slots : (n_ranks,) Slot      fabric/jobs/placement.py
    collectives : builder of collectives; that of the job's rules where absent
    draw : random streams of jitter
    storage : NodeIds of storage nodes
    start : of a job that does not begin with the run

    Raises: InputErrors where a rule of the job cannot be applied, or is not.
    """
    chosen = NamedAlgorithms(rules=job.collectives)
    lowered = lower(job, collectives or chosen, steps=steps, draw=draw, storage_nodes=len(storage), start=start)
    if collectives is None and (unused := chosen.unused()):
        raise InputErrors(STAGE, unused)
    hosts = np.array([*(slot.host for slot in slots), *storage], np.int64)
    names = [operation.name for operation in lowered.operations]
    groups = [_group(operation, collectives or chosen) for operation in lowered.operations]
    computing_ps, bubble_ps = pipeline_ps(job)
    entry = ScheduleEntry("job", "job", job.name, computing_ps, bubble_ps)
    return PlacedTransfers(lowered.transfers, hosts, names, groups, entry, ends=lowered.step_ends[-1]), lowered


def _group(operation: JobOperation, collectives: CollectiveBuilder) -> OperationGroup:
    """What an operation of a job is, for results and metrics."""
    algorithm = ""
    if isinstance(collectives, NamedAlgorithms) and operation.operation in OPERATIONS:
        algorithm = collectives.algorithm(operation.operation, operation.kind)
    kind = operation.kind if operation.kind in KINDS else ""
    return OperationGroup(operation.operation, algorithm, kind, operation.step, operation.size_bytes, operation.members)


def place(spec: JobLoad, name: str, path: str, around: Surroundings) -> PlacedTransfers:
    """The job on nodes that no other entry holds, or holds before it."""
    found = lowered_of(spec, name, path, around)
    return no_transfers() if found is None else found[1]


def demand(spec: JobLoad, name: str, path: str, around: Surroundings) -> Demand:
    """That of the transfers, which are made for it."""
    placed = place(spec, name, path, around)
    if not len(placed):
        return no_demand()
    return of_transfers(SpecField("steps", spec.steps, "count"), SpecField("job"), placed, len(around.fabric.hosts))


@dataclass(frozen=True)
class Seated:
    """Where a job is, before its transfers are made."""

    loaded: LoadedJob
    slots: list[Slot]
    """(n_ranks,)."""
    storage: list[int]
    """NodeIds of its storage nodes; empty: none of its steps reads or writes."""
    start: Start | None
    after: tuple[str, ...]
    """Jobs that hold its GPUs before it."""


def seated(spec: JobLoad, name: str, path: str, around: Surroundings) -> Seated | None:
    """The placement of an entry; None where there are problems, which are reported."""
    before = len(around.problems)
    around.hosts(spec.hosts, f"{path}.hosts")
    storage = storage_hosts(spec, path, around)
    if len(around.problems) > before or around.read_job is None:
        return None
    try:
        loaded = around.read_job(spec.job, spec.overrides or (), around.folder)
        able = able_nodes(spec, loaded.job, f"{path}.hosts", around)
        start = Start(spec.arrival) if spec.arrival else None
        if around.admission is None:
            taken = frozenset[str]().union(*(held for where, held in around.taken.items() if where != path))
            slots = chosen_slots(spec, name, loaded.job, able, taken, around)
            around.taken[path] = frozenset(slot.node for slot in slots)
            after: tuple[str, ...] = ()
        else:
            decided = admitted(around)[name]
            busy = frozenset(able) - frozenset(decided.nodes)
            slots = chosen_slots(spec, name, loaded.job, able, busy, around)
            start, after = Start(decided.turn_ps, together=bool(decided.after)), decided.after
    except InputErrors as error:
        for it in error.problems:  # of the job's file, of a file beside it, or of the nodes
            inside = spec.job in it.path
            field = "placement_file" if spec.placement_file is not None and spec.placement_file in it.path else "job"
            where = f"{path}.{field}"
            around.problems.append(
                Problem(f"{where}, {it.path}" if inside or field != "job" else where, it.text, it.hint)
            )
        return None
    used = needs_storage_nodes(loaded.job, spec.steps, step_ps(loaded.job)) if loaded.job.storage is not None else False
    problem = _storage_problem(spec, path, len(storage), used=used)
    if problem is not None:
        around.problems.append(problem)
        return None
    held = {slot.host for slot in slots}
    shared = [host for host in storage if host in held]
    if shared:
        text = f"'{around.fabric.nodes[shared[0]].name}' is a GPU of the job and a storage node"
        around.problems.append(Problem(f"{path}.storage", text, "name other hosts"))
        return None
    return Seated(loaded, slots, storage if used else [], start, after)


def _storage_problem(spec: JobLoad, path: str, n_nodes: int, *, used: bool) -> Problem | None:
    """Storage without nodes, or nodes without storage."""
    if used and not n_nodes:
        hint = "give topology.storage, or storage: with the names of hosts, or override storage=null"
        return Problem(f"{path}.job", f"{spec.job} reads or writes data, and the scenario has no storage nodes", hint)
    if not used and spec.storage is not None:
        text = f"has no effect: no step of {spec.job} reads data, and none ends with a checkpoint"
        return Problem(f"{path}.storage", text, "remove it, or give more steps, or storage in the job")
    return None


def lowered_of(
    spec: JobLoad, name: str, path: str, around: Surroundings
) -> tuple[LoadedJob, PlacedTransfers, LoweredJob] | None:
    """The job, its transfers and its schedule; None where there are problems, which are reported."""
    found = seated(spec, name, path, around)
    if found is None:
        return None
    try:
        placed, lowered = place_job(
            found.loaded.job,
            found.slots,
            steps=spec.steps,
            draw=partial(around.random, name),
            storage=found.storage,
            start=found.start,
        )
    except InputErrors as error:
        around.problems.extend(replace(it, path=f"{path}.job, {spec.job}: {it.path}") for it in error.problems)
        return None
    if found.after:
        after = [(row, other) for row in lowered.begins.tolist() for other in found.after]
        placed = replace(placed, after=after)
    return found.loaded, placed, lowered
