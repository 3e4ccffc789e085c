"""Facts about a trace: ranks, operations, bytes by kind, groups, and whether it can be carried out."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from fabric.errors import InputErrors, Problem
from fabric.traces.graph import Kind, Trace
from fabric.traces.lower import minimum_bytes
from fabric.traces.order import carry_out


@dataclass(frozen=True)
class Summary:
    """Facts about a trace."""

    format: str
    n_ranks: int
    n_operations: int
    operations: dict[str, int]
    """Kind, or name of a collective operation -> operations of all ranks."""
    message_bytes: int
    """Sizes of all sends."""
    collective_bytes: dict[str, int]
    """Name of a collective operation -> bytes that must move at least, of all ranks."""
    n_collectives: int
    """Collective operations, each counted once for all its ranks."""
    compute_ps: tuple[int, int]
    """Least and most time of computations of one rank."""
    without_network_ps: int | None
    """Length of the trace with a network that takes no time; None: it cannot be carried out."""
    groups: dict[str, int]
    """Group -> ranks."""
    notes: tuple[str, ...]
    problems: tuple[Problem, ...]


def summarise(trace: Trace) -> Summary:
    """Facts about a trace; what makes it impossible to carry out becomes `problems`."""
    kinds: Counter[str] = Counter()
    for ops in trace.ranks:
        for op in ops:
            kinds[op.operation if op.kind is Kind.COLLECTIVE else op.kind.name.lower()] += 1
    problems: tuple[Problem, ...] = ()
    moved: dict[str, int] = defaultdict(int)
    n_collectives, length_ps = 0, None
    try:
        order = carry_out(trace)
    except InputErrors as error:
        problems = error.problems
    else:
        length_ps, n_collectives = order.computing_ps, len(order.instances)
        for which in order.instances:
            moved[which.operation] += minimum_bytes(which.operation, len(which.members), which.size_bytes)
    computing = [sum(op.duration_ps for op in ops) for ops in trace.ranks]
    return Summary(
        trace.format,
        trace.n_ranks,
        trace.n_operations,
        dict(sorted(kinds.items())),
        sum(op.size_bytes for ops in trace.ranks for op in ops if op.kind is Kind.SEND),
        dict(sorted(moved.items())),
        n_collectives,
        (min(computing, default=0), max(computing, default=0)),
        length_ps,
        {name: len(ranks) for name, ranks in sorted(trace.groups.items())},
        tuple(trace.notes),
        problems,
    )
