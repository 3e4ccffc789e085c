"""Transfers of one entry of `workload:` placed on hosts: what a kind of TRANSFER_KINDS returns.

A kind makes its schedule in ranks (fabric/collectives/transfers.py) and says which host each rank is. Compilation joins
all entries, chooses queue pairs by transport.qp and checks the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from fabric.collectives.transfers import OperationGroup, ScheduleEntry, TransferList, Transfers
from fabric.dataplane.state.schedule import longer_messages, totals
from fabric.workload.batch import Ints
from fabric.workload.demand import Demand, SpecField, thinned


@dataclass(frozen=True)
class PlacedTransfers:
    """The transfers of one entry."""

    rows: Transfers
    """In ranks; `operation` is a position in `operations`."""
    host_of: Ints
    """(n_ranks,) NodeId of each rank."""
    operations: Sequence[str] = ()
    """Names of the operations, unique within the entry; empty: numbered."""
    groups: Sequence[OperationGroup] = ()
    """What the operations are, one each, for metrics (docs/metrics.md); empty: unknown, all of step 0."""
    entry: ScheduleEntry | None = None
    """What the entry is, for results; None: its name is known, no more."""
    priority: int = -1
    """Traffic class; -1: that of the entry, or of the transport."""
    ends: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """Of a job: (n,) row with which each of its ranks ends."""
    after: Sequence[tuple[int, str]] = ()
    """(row of a computation, name of another job): the row waits for what of that job ends at its host."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def src(self) -> Ints:
        """(n,) NodeIds."""
        return self.host_of[self.rows.src]

    @property
    def dst(self) -> Ints:
        """(n,) NodeIds."""
        return self.host_of[self.rows.dst]


Place = Callable[..., PlacedTransfers]
"""(spec, name, path, surroundings) -> PlacedTransfers; problems go to surroundings.problems."""


def no_transfers() -> PlacedTransfers:
    """No row, for a workload with problems."""
    return PlacedTransfers(TransferList().build(), np.empty(0, np.int64))


def of_transfers(count_field: SpecField, size_field: SpecField, placed: PlacedTransfers, n_hosts: int) -> Demand:
    """The demand of transfers that have been made: their number decides the memory, not that of their messages."""
    rows, src, dst = placed.rows, placed.src, placed.dst
    sent = rows.src != rows.dst
    found = totals(rows, 1)
    longer = longer_messages(rows)
    sizes = np.concatenate([(rows.small_bytes + rows.unit_bytes)[sent], rows.small_bytes[sent]])
    count = np.concatenate([longer[sent], (rows.count - longer)[sent]])
    occurring, place = np.unique(sizes, return_inverse=True)
    number = np.bincount(place, count, len(occurring)).astype(np.float64)
    tx, rx = (np.bincount(ends[sent], found.size_bytes[sent], n_hosts).astype(np.float64) for ends in (src, dst))
    chosen = np.flatnonzero(sent)[thinned(int(sent.sum()))]
    return Demand(
        count_field,
        size_field,
        occurring[occurring > 0].astype(float),
        number[occurring > 0],
        tx,
        rx,
        src[chosen],
        dst[chosen],
        float(len(np.unique(src[sent] * n_hosts + dst[sent]))),
        int(rows.start_ps.min(initial=0)),
        int(rows.start_ps.max(initial=0)),
        transfers=float(len(rows)),
        computations=float(len(rows) - sent.sum()),
        needs=float(len(rows.earlier)),
    )
