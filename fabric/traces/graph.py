"""The neutral form of a trace: for each rank a list of operations and what each waits for.

All readers make a Trace, all writers take one, and `lower.py` makes transfers of it. Sizes of collective operations are
those that nccl-tests prints (docs of nccl-tests, PERFORMANCE.md): of an all-gather the gathered result, of a
reduce-scatter the whole input, of an all-to-all the whole send buffer.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from fabric.errors import InputErrors, Problem
from fabric.units import count

ANY: Final = -1
"""Peer or tag of a receive that takes any."""
ALL_RANKS: Final = ""
"""Name of the group of all ranks."""
MAX_OPERATIONS: Final = 2_000_000
"""Of all ranks together: about 1 GB as Python objects."""
MAX_DEPENDENCIES: Final = 8_000_000
MAX_RANKS: Final = 1_048_576
MAX_BYTES: Final = 2**56
"""Of one operation; sums of some thousand of them are below 2**63."""
MAX_DURATION_PS: Final = 2**60
"""About 13 days."""
ROOTED: Final = frozenset({"broadcast", "scatter", "reduce", "gather"})
OPERATIONS: Final = (
    "all-reduce",
    "reduce-scatter",
    "all-gather",
    "all-to-all",
    "broadcast",
    "reduce",
    "scatter",
    "gather",
)
SHOWN: Final = 20
"""Problems of one file that are listed; the rest is counted."""


class Kind(IntEnum):
    """Kinds of operations."""

    COMPUTE = 0
    """Takes time at its rank. With duration 0 it only joins what it waits for."""
    SEND = 1
    RECV = 2
    COLLECTIVE = 3


@dataclass(frozen=True, slots=True)
class Op:
    """One operation of one rank."""

    kind: Kind
    after: tuple[int, ...] = ()
    """Operations of the same rank, by index, that must be done."""
    after_start: tuple[int, ...] = ()
    """Operations of the same rank that must have started."""
    duration_ps: int = 0
    size_bytes: int = 0
    peer: int = ANY
    """SEND: the receiver; RECV: the sender, or ANY."""
    tag: int = 0
    """RECV: or ANY."""
    stream: int = 0
    """Computations of one rank and stream do not overlap."""
    nic: int = 0
    operation: str = ""
    """COLLECTIVE: 'all-reduce' and others, as in docs/traces.md."""
    group: str = ALL_RANKS
    root: int = 0
    """COLLECTIVE with a root: its rank."""
    name: str = ""
    number: int = 0
    """Line or node id in its file."""


@dataclass
class Trace:
    """Operations of all ranks."""

    ranks: list[list[Op]]
    format: str
    """'chakra', 'goal', 'simai' or 'transfers'."""
    files: list[str]
    """One for all ranks, or one for each."""
    unit: str = "operation"
    """What Op.number counts: 'node', 'line'."""
    groups: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Name -> ranks; ALL_RANKS need not be in it."""
    notes: list[str] = field(default_factory=list)
    """What was read and has no effect here."""

    @property
    def n_ranks(self) -> int:
        """Ranks."""
        return len(self.ranks)

    @property
    def n_operations(self) -> int:
        """Operations of all ranks."""
        return sum(map(len, self.ranks))

    def members(self, group: str) -> tuple[int, ...]:
        """Ranks of a group, in its order."""
        return tuple(range(self.n_ranks)) if group == ALL_RANKS else self.groups[group]

    def place(self, rank: int, index: int) -> str:
        """'trace.3.et: node 17' or 'file.goal: rank 3 line 17'."""
        op = self.ranks[rank][index]
        if len(self.files) == self.n_ranks > 1:
            return f"{self.files[rank]}: {self.unit} {op.number}"
        return f"{self.files[0] if self.files else self.format}: rank {rank} {self.unit} {op.number}"


@dataclass(frozen=True, slots=True)
class Instance:
    """One collective operation with its members."""

    operation: str
    group: str
    members: tuple[int, ...]
    size_bytes: int
    root: int
    indices: tuple[int, ...]
    """Operation of each member, in the order of `members`."""


class Collector:
    """Problems of one stage: the first SHOWN are kept, the rest is counted."""

    def __init__(self, stage: str, file: str) -> None:
        self.stage = stage
        self.file = file
        self.problems: list[Problem] = []
        self.n = 0

    def add(self, place: str, text: str, hint: str) -> None:
        """One more problem."""
        self.n += 1
        if self.n <= SHOWN:
            self.problems.append(Problem(place, text, hint))

    def check(self) -> None:
        """Raises: InputErrors with all problems, if there is one."""
        if not self.n:
            return
        more = self.n - SHOWN
        if more > 0:
            self.problems.append(Problem(self.file, f"and {count(more, 'problem')} more", "correct these first"))
        raise InputErrors(self.stage, self.problems)


def instances(trace: Trace, found: Collector) -> list[Instance]:
    """Collective operations, matched over ranks by group and by order within the group.

    Ids of operations mean nothing in another rank's file, so the k-th collective operation of a group at one rank is
    the k-th at every rank.
    """
    calls: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    members = {group: frozenset(ranks) for group, ranks in trace.groups.items()}
    members[ALL_RANKS] = frozenset(range(trace.n_ranks))
    for rank, ops in enumerate(trace.ranks):
        for index, op in enumerate(ops):
            if op.kind is not Kind.COLLECTIVE:
                continue
            if op.group != ALL_RANKS and op.group not in trace.groups:
                known = ", ".join(sorted(trace.groups)[:8]) or "none"
                found.add(trace.place(rank, index), f"group {op.group!r} has no list of ranks (known: {known})",
                          "give the file of groups, or correct the name")  # fmt: skip
            elif op.operation in ROOTED and op.root not in members[op.group]:
                found.add(trace.place(rank, index), f"its root {op.root} is not in group {op.group!r}",
                          "correct the root or the group")  # fmt: skip
            elif rank not in members[op.group]:
                found.add(trace.place(rank, index), f"rank {rank} is not in group {op.group!r}",
                          "correct the group or the operation")  # fmt: skip
            else:
                calls[op.group][rank].append(index)
    made: list[Instance] = []
    for group, by_rank in calls.items():
        in_order = trace.members(group)
        n_calls = {rank: len(by_rank.get(rank, ())) for rank in in_order}
        most = max(n_calls, key=lambda rank: n_calls[rank])
        for rank in in_order:
            if n_calls[rank] != n_calls[most]:
                found.add(trace.files[rank] if len(trace.files) == trace.n_ranks > 1 else f"rank {rank}",
                          f"takes part in {n_calls[rank]} collective operations of group {group or 'of all ranks'!r}, "
                          f"rank {most} in {n_calls[most]}", "every member must call every operation")  # fmt: skip
        made += [
            _instance(trace, group, in_order, [by_rank[rank][order] for rank in in_order], found)
            for order in range(min(n_calls.values()))
        ]
    return made


def _instance(trace: Trace, group: str, members: tuple[int, ...], indices: list[int], found: Collector) -> Instance:
    first = trace.ranks[members[0]][indices[0]]
    for rank, index in zip(members, indices, strict=True):
        op = trace.ranks[rank][index]
        if (op.operation, op.size_bytes, op.root) != (first.operation, first.size_bytes, first.root):
            found.add(
                trace.place(rank, index),
                f"{op.operation} of {op.size_bytes:,} B, where rank {members[0]} has {first.operation} of "
                f"{first.size_bytes:,} B" + (f" and root {first.root}, not {op.root}" if op.root != first.root else ""),
                "the calls of a group must agree in operation, size, root and order",
            )
            break
    return Instance(first.operation, group, members, first.size_bytes, first.root, tuple(indices))
