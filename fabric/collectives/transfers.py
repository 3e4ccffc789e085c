"""Transfers: what a schedule asks of the network, in few rows (decision 0055).

A transfer is a series of messages from one rank to another, in order; message k of it is a formula of k. A computation
is a transfer from a rank to itself: it takes time and no network. A need says how far an earlier transfer must be
before a message of a later one is posted; it is known at the rank that posts: the earlier one ends or begins there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

TRANSFER_COLUMNS: Final = (
    "src", "dst", "count", "small_bytes", "unit_bytes", "n_longer", "first", "stride", "modulus", "start_ps",
    "delay_ps", "delay_fs_per_byte", "operation",
)  # fmt: skip
NEED_COLUMNS: Final = ("earlier", "later", "lead", "per", "event")


@dataclass(frozen=True, slots=True)
class OperationGroup:
    """What an operation is, as far as the kind of workload that made it knows: metrics are summed by it."""

    operation: str = ""
    """'all-reduce', 'send', 'compute'; '': unknown."""
    algorithm: str = ""
    """'ring'; '': unknown."""
    kind: str = ""
    """Group of ranks that it runs in: 'tp', 'pp', 'dp', 'ep', 'cp'; '': the workload has one."""
    step: int = 0
    """Step of the job that it belongs to."""
    size_bytes: int = 0
    """Size as nccl-tests prints it (operations.py); 0: unknown."""
    ranks: int = 0
    """Ranks that take part; 0: unknown."""


@dataclass(frozen=True, slots=True)
class ScheduleEntry:
    """What an entry of the workload is, for results; a job also knows what its pipeline takes without network."""

    name: str
    kind: str = ""
    """'job', 'trace', 'collective'; '': unknown."""
    job: str = ""
    """Name of the job or its file; '': it is none."""
    computing_ps: int = 0
    """Of a job's step: the stage that computes longest, without jitter and stragglers; 0: unknown."""
    bubble_ps: int = 0
    """Likewise: what the order of the pipeline adds."""


class Event(IntEnum):
    """What must have happened to messages of the earlier transfer."""

    ARRIVED = 0
    """Their last bytes arrived at the earlier transfer's destination, which is the later one's source."""
    COMPLETED = 1
    """They were acknowledged, or computed, at the earlier transfer's source, which is the later one's source."""
    POSTED = 2
    """They were handed to the queue pair there."""


@dataclass(frozen=True)
class Transfers:
    """Columns of equal length n, row = transfer, and the needs between rows.

    Message k (0 <= k < count) has `small_bytes`, and `unit_bytes` more if (first + stride k) mod modulus < n_longer:
    with E elements in c chunks the first E mod c chunks are one longer, and k goes through the chunks in any direction.
    A message of 0 bytes is not sent and counts as arrived with its predecessor. Message k is posted, or computed,
    once message k-1 was posted (computed), start_ps has passed and every need is met; then
    delay_ps + size delay_fs_per_byte / 1000 later.
    """

    src: Ints
    """Ranks."""
    dst: Ints
    """Equal to src: a computation, which takes the delay and sends nothing; its sizes must be 0."""
    count: Ints
    small_bytes: Ints
    unit_bytes: Ints
    n_longer: Ints
    first: Ints
    stride: Ints
    modulus: Ints
    start_ps: Ints
    delay_ps: Ints
    delay_fs_per_byte: Ints
    operation: Ints
    """Number of the operation that a row belongs to: results are reported by operation and rank."""
    earlier: Ints
    """(m,) needs: row of the earlier transfer."""
    later: Ints
    """(m,) row of the transfer that waits."""
    lead: Ints
    """(m,) message k of `later` needs the first min(lead + per k, count of `earlier`) messages of `earlier`."""
    per: Ints
    event: Ints
    """(m,) Event."""

    def __len__(self) -> int:
        return len(self.src)

    @property
    def n_messages(self) -> int:
        """Messages of all transfers, computations and empty messages included."""
        return int(self.count.sum())

    def sizes_bytes(self, row: int) -> Ints:
        """(count,) sizes of one transfer's messages."""
        k = np.arange(self.count[row])
        longer = (self.first[row] + self.stride[row] * k) % self.modulus[row] < self.n_longer[row]
        return np.asarray(self.small_bytes[row] + self.unit_bytes[row] * longer, np.int64)

    def sent_bytes(self, n_ranks: int) -> Ints:
        """(n_ranks,) bytes that each rank sends to others."""
        k = np.array([int(self.sizes_bytes(row).sum()) for row in range(len(self))], np.int64)
        k[self.src == self.dst] = 0
        return np.bincount(self.src, weights=k, minlength=n_ranks).astype(np.int64)

    def problems(self) -> Iterator[str]:
        """What no engine could carry out; for tests and for readers of files. Cycles are found by `expand`'s users."""
        if (self.count < 1).any() or (self.modulus < 1).any() or (self.small_bytes < 0).any():
            yield "a transfer has no message, no modulus, or a negative size"
        local = self.src == self.dst
        if (local & ((self.small_bytes != 0) | (self.n_longer > 0))).any():
            yield "a computation has a size"
        begins = self.src[self.earlier] == self.src[self.later]
        ends = self.dst[self.earlier] == self.src[self.later]
        if (~np.where(self.event == Event.ARRIVED, ends, begins)).any():
            yield "a need is not known at the rank that posts"
        if (local[self.earlier] & (self.event != Event.COMPLETED)).any():
            yield "a computation is needed other than completed"


@dataclass
class TransferList:
    """Builds Transfers row by row."""

    rows: list[tuple[int, ...]] = field(default_factory=list)
    needs: list[tuple[int, int, int, int, int]] = field(default_factory=list)

    def add(
        self,
        src: int,
        dst: int,
        count: int = 1,
        *,
        small_bytes: int = 0,
        unit_bytes: int = 0,
        n_longer: int = 0,
        first: int = 0,
        stride: int = 0,
        modulus: int = 1,
        start_ps: int = 0,
        delay_ps: int = 0,
        delay_fs_per_byte: int = 0,
        operation: int = 0,
    ) -> int:
        """Append a transfer; returns its row."""
        self.rows.append(
            (src, dst, count, small_bytes, unit_bytes, n_longer, first, stride, modulus, start_ps, delay_ps,
             delay_fs_per_byte, operation)
        )  # fmt: skip
        return len(self.rows) - 1

    def need(self, earlier: int, later: int, *, lead: int = 1, per: int = 0, event: Event = Event.ARRIVED) -> None:
        """Message k of `later` waits for the first `lead + per k` messages of `earlier`."""
        self.needs.append((earlier, later, lead, per, event))

    def extend(self, other: Transfers, ranks: Sequence[int], operation: int) -> int:
        """Append another schedule with its rank r placed at `ranks[r]`; returns its first row."""
        offset = len(self.rows)
        columns = [getattr(other, name) for name in TRANSFER_COLUMNS]
        for row in zip(*(column.tolist() for column in columns), strict=True):
            self.rows.append((ranks[row[0]], ranks[row[1]], *row[2:-1], operation))
        for earlier, later, lead, per, event in zip(
            *(getattr(other, name).tolist() for name in NEED_COLUMNS), strict=True
        ):
            self.needs.append((earlier + offset, later + offset, lead, per, event))
        return offset

    def build(self) -> Transfers:
        """The columns."""
        rows = np.array(self.rows, np.int64).reshape(-1, len(TRANSFER_COLUMNS))
        needs = np.array(self.needs, np.int64).reshape(-1, len(NEED_COLUMNS))
        return Transfers(*rows.T, *needs.T)


@dataclass(frozen=True)
class Expanded:
    """Every message as a separate row, in the order of (transfer, k); the reference for the engine's cursors."""

    transfer: Ints
    index: Ints
    """(n,) k."""
    size_bytes: Ints
    after: tuple[tuple[int, int, Event], ...]
    """(earlier message, later message, event). The order of a transfer's own messages is not in it."""


def expand(transfers: Transfers) -> Expanded:
    """All messages at once; for small schedules, proofs and tests."""
    offset = np.concatenate([[0], np.cumsum(transfers.count)])
    transfer = np.repeat(np.arange(len(transfers)), transfers.count)
    index = np.arange(offset[-1]) - offset[transfer]
    sizes = [transfers.sizes_bytes(row) for row in range(len(transfers))]
    after = []
    for earlier, later, lead, per, event in zip(
        *(getattr(transfers, name).tolist() for name in NEED_COLUMNS), strict=True
    ):
        for k in range(transfers.count[later]):
            needed = min(lead + per * k, int(transfers.count[earlier]))
            if needed > 0:
                after.append((int(offset[earlier]) + needed - 1, int(offset[later]) + k, Event(event)))
    return Expanded(transfer, index, np.concatenate(sizes) if sizes else np.empty(0, np.int64), tuple(after))
