"""Operations of a trace of another tool: ranks become hosts, operations become transfers (docs/traces.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from fabric.collectives.repeat import repeated
from fabric.collectives.transfers import OperationGroup, ScheduleEntry
from fabric.errors import InputErrors, Problem
from fabric.traces.builder import WITHOUT_NODES, Builder, builder
from fabric.traces.formats import read_trace
from fabric.traces.graph import Instance, Kind
from fabric.traces.lower import Lowered, SendDone, lower
from fabric.units import count
from fabric.workload.batch import Ints, Surroundings
from fabric.workload.demand import Demand, SpecField, no_demand
from fabric.workload.placed import PlacedTransfers, no_transfers, of_transfers
from fabric.workload.spec import TraceSpec

MAX_MESSAGE_BYTES: Final = 2**40
"""Of every workload."""
_SEND_DONE: Final = {"acknowledged": SendDone.COMPLETED, "posted": SendDone.POSTED}


def place(spec: TraceSpec, name: str, path: str, around: Surroundings) -> PlacedTransfers:
    """Rank r is the r-th of the hosts; what is wrong with the files goes to around.problems."""
    _ = name
    before = len(around.problems)
    hosts = around.hosts(spec.hosts, f"{path}.hosts")
    if len(around.problems) > before:
        return no_transfers()
    try:
        trace = read_trace(around.folder / spec.file)
        if len(hosts) < trace.n_ranks:
            text = f"{spec.file} has {count(trace.n_ranks, 'rank')}, and {count(len(hosts), 'host')} are given"
            around.problems.append(Problem(f"{path}.hosts", text, "give a host for each rank, or a larger fabric"))
            return no_transfers()
        hosts = hosts[: trace.n_ranks]
        schedules = builder(
            {str(operation): name for operation, name in (spec.algorithms or {}).items()}, spec.generation
        )
        lowered = lower(trace, schedules, _SEND_DONE[spec.send_done], nodes_of(hosts, spec.ranks_per_node, around))
    except InputErrors as error:
        around.problems.extend(Problem(f"{path}.file, {it.path}", it.text, it.hint) for it in error.problems)
        return no_transfers()
    unused = list(_without_effect(spec, lowered))
    if unused:
        around.problems.extend(Problem(f"{path}.{field}", text, "remove it") for field, text in unused)
        return no_transfers()
    rows = lowered.transfers
    largest = int((rows.small_bytes + rows.unit_bytes).max(initial=0))
    if largest > MAX_MESSAGE_BYTES:
        text = f"{spec.file} has a message of {largest:,} B; at most {MAX_MESSAGE_BYTES:,}"
        around.problems.append(Problem(f"{path}.file", text, "cut the trace into smaller messages"))
        return no_transfers()
    names, groups = _names(lowered), _groups(lowered, schedules)
    if spec.repeat > 1:
        rows = repeated(rows, trace.n_ranks, spec.repeat, len(names))
        names, groups = [*names, "end"], [*groups, OperationGroup("end")]
        names = [f"step {step} {name}" for step in range(spec.repeat) for name in names]
        groups = [replace(group, step=step) for step in range(spec.repeat) for group in groups]
    return PlacedTransfers(rows, hosts, names, groups, ScheduleEntry(spec.kind, spec.kind))


def demand(spec: TraceSpec, name: str, path: str, around: Surroundings) -> Demand:
    """That of the transfers, which are made for it."""
    placed = place(spec, name, path, around)
    if not len(placed):
        return no_demand()
    return of_transfers(SpecField("file"), SpecField("file"), placed, len(around.fabric.hosts))


def _without_effect(spec: TraceSpec, lowered: Lowered) -> Iterator[tuple[str, str]]:
    """(field, problem) of choices that no collective operation of the trace is changed by."""
    operations = {which.operation for which in lowered.order.instances}
    over_nodes = {
        which.operation
        for which, node_size in zip(lowered.order.instances, lowered.node_sizes, strict=True)
        if 1 < node_size < len(which.members)
    }
    for operation, name in (spec.algorithms or {}).items():
        if operation not in operations:
            yield f"algorithms.{operation}", f"has no effect: {spec.file} has no {operation}"
        elif name in WITHOUT_NODES and operation not in over_nodes:
            text = f"{name} has no effect: no {operation} of {spec.file} is over several nodes of several ranks"
            yield f"algorithms.{operation}", text
    if spec.ranks_per_node is not None and not operations:
        yield "ranks_per_node", f"has no effect: {spec.file} has no collective operation"


def _names(lowered: Lowered) -> list[str]:
    """'4 all-reduce' of each operation, by its number: of a message the send's."""
    names: dict[int, str] = {}
    for (rank, index), number in lowered.operation_of.items():
        if number not in names:
            op = lowered.order.trace.ranks[rank][index]
            names[number] = f"{number} {op.operation or op.kind.name.lower()}"
    return [names[number] for number in range(len(names))]


def nodes_of(hosts: Ints, ranks_per_node: int | None, around: Surroundings) -> list[int]:
    """(n_ranks,) node of each rank: consecutive ranks, or the hosts of one scale-up domain; a host alone is a node."""
    if ranks_per_node is not None:
        return [rank // ranks_per_node for rank in range(len(hosts))]
    domains = around.fabric.scale_up_domains
    return [domains[host] if domains[host] >= 0 else -1 - host for host in hosts.tolist()]


def _groups(lowered: Lowered, schedules: Builder) -> list[OperationGroup]:
    """What each operation is, by its number. Names of a trace's groups of ranks are not kinds: there may be many."""
    found = {
        lowered.operation_of[which.members[0], which.indices[0]]: OperationGroup(
            which.operation, _algorithm(which, node_size, schedules), size_bytes=which.size_bytes,
            ranks=len(which.members),
        )
        for which, node_size in zip(lowered.order.instances, lowered.node_sizes, strict=True)
    }  # fmt: skip
    for (rank, index), number in lowered.operation_of.items():
        if number not in found:
            op = lowered.order.trace.ranks[rank][index]
            found[number] = (
                OperationGroup("compute", ranks=1) if op.kind is Kind.COMPUTE else OperationGroup("send", ranks=2)
            )
    return [found[number] for number in range(len(found))]


def _algorithm(which: Instance, node_size: int, schedules: Builder) -> str:
    """Its algorithm; '' where nothing is sent."""
    if len(which.members) == 1 or not which.size_bytes:
        return ""
    return schedules.choice(which.operation, len(which.members), which.size_bytes, node_size).algorithm
