"""Entries of `workload:` as schedules in ranks, before a run: what other tools can be given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fabric.collectives.registry import build
from fabric.collectives.transfers import OperationGroup, Transfers
from fabric.errors import InputErrors, Problem
from fabric.jobs.lowering import LoweredJob
from fabric.workload.batch import Surroundings
from fabric.workload.collective import on_hosts, placed
from fabric.workload.job import lowered_of
from fabric.workload.placed import PlacedTransfers
from fabric.workload.registry import TRANSFER_KINDS
from fabric.workload.spec import CollectiveSpec, JobLoad, MessageLoad, TraceSpec, WorkloadSpec


@dataclass(frozen=True)
class Schedule:
    """One entry."""

    name: str
    rows: Transfers
    """In ranks of the entry."""
    hosts: Sequence[str]
    """(n_ranks,) names."""
    groups: Sequence[OperationGroup]
    """What each operation is, by its number; ranks 0: not known."""
    operations: Sequence[str]
    """Their names, unique within the entry."""


@dataclass(frozen=True)
class Schedules:
    """All entries of a scenario or a run."""

    entries: list[Schedule]
    left_out: list[str]
    """Names of entries that are messages, not a schedule of ranks."""
    notes: list[str] = field(default_factory=list)


def schedules(workload: Sequence[WorkloadSpec], file: str, around: Surroundings) -> Schedules:
    """Entries of the kinds of TRANSFER_KINDS. Raises: InputErrors with all problems, or where there is none."""
    found = Schedules([], [])
    for number, spec in enumerate(workload):
        name, path = spec.name or spec.kind, f"{file}: workload[{number}]"
        if spec.kind not in TRANSFER_KINDS:
            found.left_out.append(name)
            continue
        entry = schedule(spec, name, path, around)
        if entry is not None:
            found.entries.append(entry)
    if around.problems:
        raise InputErrors("exporting the scenario", around.problems)
    if not found.entries:
        text = f"has no entry of kind {', '.join(TRANSFER_KINDS)}: {', '.join(found.left_out)} are messages of hosts"
        hint = "name a scenario with a collective, a job or a trace"
        raise InputErrors("exporting the scenario", [Problem(f"{file}: workload", text, hint)])
    return found


def schedule(spec: WorkloadSpec, name: str, path: str, around: Surroundings) -> Schedule | None:
    """One entry; None where there are problems, which are reported."""
    entry = _entry(spec, name, path, around)
    if entry is None:
        return None
    placing, groups = entry
    hosts = [around.fabric.nodes[host].name for host in placing.host_of.tolist()]
    return Schedule(name, placing.rows, hosts, groups, placing.operations)


def _entry(
    spec: WorkloadSpec, name: str, path: str, around: Surroundings
) -> tuple[PlacedTransfers, Sequence[OperationGroup]] | None:
    match spec:
        case CollectiveSpec():
            ranks = placed(spec, name, path, around)
            if ranks is None:
                return None
            schedule = build(ranks.algorithm, ranks.request)
            made = on_hosts(spec, ranks.hosts, schedule)
            one = OperationGroup(
                spec.operation, ranks.algorithm, size_bytes=ranks.request.size_bytes, ranks=len(ranks.hosts)
            )
            return made, [one] * len(made.operations)
        case JobLoad():
            found = lowered_of(spec, name, path, around)
            return None if found is None else (found[1], groups_of_job(found[2]))
        case TraceSpec() | MessageLoad():
            made = TRANSFER_KINDS[spec.kind].place(spec, name, path, around)
            return (made, made.groups) if len(made) else None
        case _:
            return None


def groups_of_job(lowered: LoweredJob) -> list[OperationGroup]:
    """One operation of a job is carried out by several groups of ranks, whose sizes are not told."""
    return [
        OperationGroup(it.operation, kind=it.kind, step=it.step, size_bytes=it.size_bytes) for it in lowered.operations
    ]
