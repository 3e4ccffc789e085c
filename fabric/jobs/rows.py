"""Rows of a job's schedule: computations, collectives and messages of ranks, each behind what its rank did before.

A rank has a list of what its next work waits for. Work that the rank waits for replaces the list; work beside
computation, such as the reduction of a gradient bucket, leaves it and is waited for later. Operations of one group of
ranks run one after another, as in one communicator of a collective library.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from fabric.collectives.transfers import Event, TransferList, Transfers
from fabric.jobs.algorithms import CollectiveBuilder, GroupShape, node_size

KINDS: Final = ("tp", "cp", "ep", "pp", "dp")
LAUNCH_BYTES: Final = 64
"""Message of a launcher to a rank, or back; assumed."""
Waits = list[tuple[int, Event]]
"""(row, what must have happened to its only or last message)."""


@dataclass(frozen=True, slots=True)
class JobOperation:
    """An operation by which results are told, and which explanations name."""

    name: str
    """'step 0 layer 3 attention forward micro-batch 2 all-reduce'; unique."""
    kind: str
    """tp, cp, ep, pp, dp; storage; compute; step."""
    operation: str
    """all-reduce, ..., send, exchange, read, write, compute, copy, begin, launched, end."""
    ranks: tuple[int, ...]
    """All that take part, of all groups."""
    size_bytes: int
    """Of one group; 0 for computations."""
    step: int
    members: int = 1
    """Ranks of one group."""


@dataclass
class Rows:
    """Builds the schedule.

    Parameters
    ----------
    build : CollectiveBuilder
    n_ranks : int
    gpus_per_node : int    ranks fill node after node
    free : kinds whose messages are empty: infinitely fast on the longest path. Not for the engine, where an empty
        message in front of a transfer counts from the start of a run and no rank waits for it.
    """

    build: CollectiveBuilder
    n_ranks: int
    free: Collection[str] = ()
    gpus_per_node: int = 1
    table: TransferList = field(default_factory=TransferList)
    operations: list[JobOperation] = field(default_factory=list)
    waits: list[Waits] = field(init=False)
    """(n_ranks,) what the next work of each rank waits for."""
    step: int = 0
    _last: dict[tuple[int, ...], dict[int, int]] = field(default_factory=dict)
    """Group -> rank -> row at which its last operation ended there."""
    _built: dict[tuple[str, int, int, GroupShape], Transfers] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.waits = [[] for _ in range(self.n_ranks)]

    def operation(
        self, name: str, kind: str, what: str, ranks: Iterable[int], size_bytes: int = 0, members: int = 1
    ) -> int:
        """A new operation; returns its number."""
        full = f"step {self.step} {name}"
        self.operations.append(JobOperation(full, kind, what, tuple(map(int, ranks)), size_bytes, self.step, members))
        return len(self.operations) - 1

    def compute(
        self, rank: int, duration_ps: int, operation: int, extra: Sequence[tuple[int, Event]] = (), count: int = 1
    ) -> int:
        """A computation of a rank, `count` times the duration; the rank's next work waits for it. Returns its row."""
        row = self.table.add(rank, rank, count, delay_ps=duration_ps, operation=operation)
        for earlier, event in [*self.waits[rank], *extra]:
            self.need(earlier, row, event)
        self.waits[rank] = [(row, Event.COMPLETED)]
        return row

    def begin(self, arrival_ps: int, *, together: bool) -> list[int]:
        """Nothing of the job is before `arrival_ps`; returns the (n_ranks,) rows at which ranks are ready.

        together: no rank begins before all are ready: each tells rank 0 by a small message, which tells all, as a
        launcher does. What else a rank waits for becomes a need of its row.
        """
        everyone = range(self.n_ranks)
        number = self.operation("begin", "step", "begin", everyone)
        ready = [self.table.add(rank, rank, start_ps=arrival_ps, operation=number) for rank in everyone]
        for rank, row in enumerate(ready):
            self.waits[rank] = [(row, Event.COMPLETED)]
        if together and self.n_ranks > 1:
            told = [(self.send(rank, 0, LAUNCH_BYTES, number), Event.ARRIVED) for rank in everyone[1:]]
            self.waits[0] = [(self.join(0, [*self.waits[0], *told], number), Event.COMPLETED)]
            for rank in everyone[1:]:
                self.waits[rank] = [(self.send(0, rank, LAUNCH_BYTES, number), Event.ARRIVED)]
        if together:
            number = self.operation("launched", "step", "launched", everyone)
            for rank in everyone:
                self.waits[rank] = [(self.join(rank, self.waits[rank], number), Event.COMPLETED)]
        return ready

    def join(self, rank: int, waits: Waits, operation: int) -> int:
        """A computation without duration that ends when all of `waits` have happened."""
        row = self.table.add(rank, rank, operation=operation)
        for earlier, event in waits:
            self.need(earlier, row, event)
        return row

    def need(self, earlier: int, later: int, event: Event) -> None:
        """`later` begins when every message of `earlier` has got so far."""
        self.table.need(earlier, later, lead=self.table.rows[earlier][2], event=event)

    def send(self, src: int, dst: int, size_bytes: int, operation: int, *, blocking: bool = False) -> int:
        """A message behind the work of `src`; returns its row."""
        row = self.table.add(src, dst, small_bytes=self._cost("pp", size_bytes), operation=operation)
        for earlier, event in self.waits[src]:
            self.need(earlier, row, event)
        if blocking:
            self.waits[src] = [(row, Event.COMPLETED)]
        return row

    def exchange(
        self, ring: Sequence[int], size_bytes: int, operation: int, durations_ps: Mapping[int, int], computing: int
    ) -> None:
        """Each rank passes blocks to its successor and computes with each block when it has it (ring attention).

        A rank's first block is its own. Block k is passed on when it has arrived; the work is divided evenly.
        """
        n = len(ring)
        sends = [
            self.table.add(
                rank, ring[(place + 1) % n], n - 1, small_bytes=self._cost("cp", size_bytes), operation=operation
            )
            for place, rank in enumerate(ring)
        ]
        for place, rank in enumerate(ring):
            for earlier, event in self.waits[rank]:
                self.need(earlier, sends[place], event)
            self.table.need(sends[place - 1], sends[place], lead=0, per=1)
            each, rest = divmod(durations_ps[rank], n)
            row = self.compute(rank, each, computing, count=n)
            self.table.need(sends[place - 1], row, lead=0, per=1)
            if rest:
                self.compute(rank, rest, computing)

    def collective(self, kind: str, what: str, name: str, groups: Sequence[Sequence[int]], size_bytes: int) -> None:
        """An operation of every group, for which the members' next work waits."""
        for rank, row in self.beside(kind, what, name, groups, size_bytes).items():
            self.waits[rank] = [(row, Event.COMPLETED)]

    def beside(
        self, kind: str, what: str, name: str, groups: Sequence[Sequence[int]], size_bytes: int
    ) -> dict[int, int]:
        """An operation of every group beside the members' next work; rank -> row at which it ends there."""
        ends: dict[int, int] = {}
        ranks = sorted(rank for group in groups for rank in group)
        number = self.operation(f"{name} {what}", kind, what, ranks, size_bytes, max(map(len, groups), default=1))
        for group in groups:
            ends |= self._group(kind, what, number, tuple(int(rank) for rank in group), size_bytes)
        return ends

    def _group(self, kind: str, what: str, number: int, group: tuple[int, ...], size_bytes: int) -> dict[int, int]:
        key = what, len(group), size_bytes, GroupShape(kind, node_size(group, self.gpus_per_node))
        if key not in self._built:
            self._built[key] = self._schedule(*key)
        schedule = self._built[key]
        before, ends = self._last.get(group, {}), {}
        entries = {}
        for rank in group:
            waits = [*self.waits[rank], *([(before[rank], Event.COMPLETED)] if rank in before else [])]
            entries[rank] = waits[0] if len(waits) == 1 else (self.join(rank, waits, number), Event.COMPLETED)
        first = self.table.extend(schedule, group, number)
        # Also behind its own beginning: empty messages count from the start of a run (docs/decisions/0055).
        arrive: dict[int, Waits] = {rank: [entries[rank]] for rank in group}
        for row, (src, dst) in enumerate(zip(schedule.src.tolist(), schedule.dst.tolist(), strict=True), first):
            earlier, event = entries[group[src]]
            self.need(earlier, row, event)
            arrive[group[dst]].append((row, Event.COMPLETED if src == dst else Event.ARRIVED))
            if src != dst:  # a rank has finished when it has also handed over what it sends
                arrive[group[src]].append((row, Event.POSTED))
        for rank in group:
            ends[rank] = self.join(rank, arrive[rank], number)
        self._last[group] = ends
        return ends

    def _schedule(self, what: str, n_ranks: int, size_bytes: int, group: GroupShape) -> Transfers:
        schedule = self.build(what, n_ranks, size_bytes, group)
        if group.kind not in self.free:
            return schedule
        nothing = np.zeros(len(schedule), np.int64)
        # The needs remain: ranks still wait for each other.
        return replace(schedule, small_bytes=nothing, unit_bytes=nothing, n_longer=nothing)

    def _cost(self, kind: str, size_bytes: int) -> int:
        return 0 if kind in self.free else size_bytes
