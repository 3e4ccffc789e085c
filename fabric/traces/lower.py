"""A trace becomes transfers, and two sums prove that nothing was lost: bytes and operations.

- A computation is a transfer of its rank to itself.
- A send and its receive are one transfer; what waits for the receive waits for the arrival, what waits for the send
  waits until it was acknowledged (SendDone.COMPLETED) or handed to the queue pair (SendDone.POSTED).
- A collective operation is the schedule that a builder makes. At a rank it begins when what it waits for there is done,
  and it is done there when all that this rank sends and receives in it is.
- Joins are computations of duration 0.

Not in the model: rendezvous. A receiver that is not ready does not delay the sender, as it does in MPI above the eager
limit and in NCCL, whose sender needs a free slot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from fabric.collectives.transfers import Event, TransferList, Transfers
from fabric.errors import InputErrors, InvariantError
from fabric.traces.graph import ROOTED, Collector, Instance, Kind, Trace
from fabric.traces.nodes import arranged
from fabric.traces.order import Node, Order, carry_out

Build = Callable[[str, int, int, int], Transfers]
"""(operation, ranks, size in bytes, ranks of a node) -> its schedule over ranks 0 .. n-1, node by node; rank 0 is the
root where there is one. Ranks of a node are 0 where they are not known or differ. Raises: InputErrors where there is no
schedule."""
Done = tuple[int, int, Event]
"""A row, how many of its messages, and what must have happened to them."""

_SHARES: Final = {
    "all-reduce": (2, False),
    "reduce-scatter": (1, False),
    "all-gather": (1, False),
    "all-to-all": (1, False),
    "broadcast": (1, False),
    "reduce": (1, False),
    "scatter": (1, True),
    "gather": (1, True),
}
"""Operation -> (bytes that must move at least, in units of (n-1) sizes; whether of a block instead of the size)."""


class SendDone(Enum):
    """When a send is done for what waits for it."""

    COMPLETED = Event.COMPLETED
    """Acknowledged."""
    POSTED = Event.POSTED
    """Handed to the queue pair."""


@dataclass(frozen=True)
class Account:
    """The two sums."""

    operations_in_file: int
    operations_lowered: int
    bytes_in_file: int
    """Sizes of the sends, and what the collective operations must move at least."""
    bytes_posted: int
    empty_messages: int
    """Messages of 0 bytes. Each is posted as 1 byte: it must cross the network for its receiver to know of it."""
    local_bytes: int
    """Sends of a rank to itself, which need no network; in neither sum of bytes."""


@dataclass(frozen=True)
class Lowered:
    """Transfers of a trace."""

    transfers: Transfers
    order: Order
    operation_of: dict[Node, int]
    """Operation of the trace -> its number in Transfers.operation."""
    account: Account
    node_sizes: list[int]
    """Ranks of a node of each of order.instances (nodes.py)."""


def minimum_bytes(operation: str, n_ranks: int, size_bytes: int) -> int:
    """Bytes that all ranks together must send at least, for a size as nccl-tests prints it.

    Each of the n-1 other ranks must get what it ends with, and each element of a sum must leave n-1 ranks. Sizes that
    do not divide: the first blocks are one byte longer, and rank 0 is the root.
    """
    times, of_block = _SHARES[operation]
    if of_block:  # all blocks but the root's
        return size_bytes - -(-size_bytes // n_ranks)
    return times * (n_ranks - 1) * size_bytes


def lower(trace: Trace, build: Build, send_done: SendDone = SendDone.COMPLETED, nodes: Sequence[int] = ()) -> Lowered:
    """The transfers of a trace.

    Parameters
    ----------
    trace : Trace
    build      makes the schedule of a collective operation
    send_done  when a send is done
    nodes      (n_ranks,) node of each rank, for the order of schedules (nodes.py); (): none is known

    Raises: InputErrors where the trace cannot be carried out, or an operation has no schedule; InvariantError where
    bytes or operations were lost.
    """
    return _Lowering(carry_out(trace), build, send_done, nodes).result()


class _Lowering:
    def __init__(self, order: Order, build: Build, send_done: SendDone, nodes: Sequence[int]) -> None:
        self.order = order
        self.trace = order.trace
        self.build = build
        self.send_done = send_done.value
        self.nodes = nodes
        self.node_sizes: list[int] = []
        self.found = Collector("trace", self.trace.files[0] if self.trace.files else self.trace.format)
        self.rows = TransferList()
        self.begin: dict[Node, int] = {}
        """Operation -> a join that is done when the operation begins; only where somebody waits for that."""
        self.row: dict[Node, int] = {}
        self.ends: dict[Node, list[Done]] = {}
        self.operation_of: dict[Node, int] = {}
        self.needed: set[Node] = set()
        self.begin_needed: set[Node] = set()
        self.n_operations = 0
        self.file_bytes = 0
        self.local_bytes = 0
        self.n_empty = 0

    def result(self) -> Lowered:
        for rank, ops in enumerate(self.trace.ranks):
            for op in ops:
                self.needed.update((rank, earlier) for earlier in op.after)
                self.begin_needed.update((rank, earlier) for earlier in op.after_start)
        self._make_rows()
        schedules = [self._schedule(which) for which in self.order.instances]
        self.found.check()
        for rank, ops in enumerate(self.trace.ranks):
            for index, op in enumerate(ops):
                if op.kind is not Kind.COLLECTIVE:
                    self._wait(rank, index)
        for which, sends in schedules:
            self._begin_schedule(which, sends)
        transfers = self.rows.build()
        return Lowered(transfers, self.order, self.operation_of, self._account(transfers), self.node_sizes)

    def _new_operation(self) -> int:
        self.n_operations += 1
        return self.n_operations - 1

    def _join(self, rank: int, operation: int) -> int:
        return self.rows.add(rank, rank, operation=operation)

    def _make_rows(self) -> None:
        """Rows of computations and messages; receives share the operation of their send."""
        for rank, ops in enumerate(self.trace.ranks):
            for index, op in enumerate(ops):
                node = (rank, index)
                if op.kind is Kind.COMPUTE:
                    number = self._new_operation()
                    self.row[node] = self.rows.add(rank, rank, delay_ps=op.duration_ps, operation=number)
                    self.ends[node] = [(self.row[node], 1, Event.COMPLETED)]
                elif op.kind is Kind.SEND:
                    number = self._new_operation()
                    local = op.peer == rank
                    size = 0 if local else max(op.size_bytes, 1)
                    self.n_empty += not local and not op.size_bytes
                    self.local_bytes += op.size_bytes if local else 0
                    self.file_bytes += 0 if local else op.size_bytes
                    self.row[node] = self.rows.add(rank, op.peer, small_bytes=size, operation=number)
                    self.ends[node] = [(self.row[node], 1, Event.COMPLETED if local else self.send_done)]
                else:
                    continue
                self.operation_of[node] = number
                if node in self.begin_needed and (op.kind is Kind.COMPUTE or op.peer == rank):
                    self.begin[node] = self._join(rank, number)
        for (rank, index), send in self.order.sender_of.items():
            number = self.operation_of[rank, index] = self.operation_of[send]
            op = self.trace.ranks[rank][index]
            arrival = (self.row[send], 1, Event.COMPLETED if send[0] == rank else Event.ARRIVED)
            if not (op.after or op.after_start):
                self.ends[rank, index] = [arrival]
            elif (rank, index) in self.needed:
                # What waits for this receive must also wait for what the receive waited for.
                self.row[rank, index] = join = self._join(rank, number)
                self.rows.need(arrival[0], join, lead=arrival[1], event=arrival[2])
                self.ends[rank, index] = [(join, 1, Event.COMPLETED)]
            if (rank, index) in self.begin_needed:
                self.begin[rank, index] = self._join(rank, number)

    def _before(self, rank: int, index: int) -> list[Done]:
        """What an operation waits for."""
        op = self.trace.ranks[rank][index]
        events = [event for earlier in op.after for event in self.ends[rank, earlier]]
        for earlier in op.after_start:
            begin = self.begin.get((rank, earlier))
            events.append((self.row[rank, earlier], 1, Event.POSTED) if begin is None else (begin, 1, Event.COMPLETED))
        if (rank, index) in self.order.stream_before:
            events += self.ends[rank, self.order.stream_before[rank, index]]
        return list(dict.fromkeys(events))

    def _need(self, events: list[Done], later: int) -> None:
        for earlier, lead, event in events:
            self.rows.need(earlier, later, lead=lead, event=event)

    def _wait(self, rank: int, index: int) -> None:
        node = (rank, index)
        events = self._before(rank, index)
        if node in self.begin:
            self._need(events, self.begin[node])
            events = [(self.begin[node], 1, Event.COMPLETED)]
        if node in self.row:
            self._need(events, self.row[node])

    def _schedule(self, which: Instance) -> tuple[Instance, dict[int, list[int]]]:
        """Rows of a collective operation, and the joins at its begin and end."""
        number = self._new_operation()
        n = len(which.members)
        placed, node_size = arranged(which.members, which.root if which.operation in ROOTED else None, self.nodes)
        self.node_sizes.append(node_size)
        try:
            schedule = self.build(which.operation, n, which.size_bytes, node_size)
        except InputErrors as error:
            place = self.trace.place(which.members[0], which.indices[0])
            for it in error.problems:
                self.found.add(f"{place}: {it.path}", it.text, it.hint)
            return which, {}
        least, posted = minimum_bytes(which.operation, n, which.size_bytes), int(schedule.sent_bytes(n).sum())
        if posted < least:
            raise InvariantError(
                f"the schedule of {which.operation} of {which.size_bytes:,} B over {n} ranks moves {posted:,} B; "
                f"at least {least:,} B must move"
            )
        self.file_bytes += least
        first = self.rows.extend(schedule, placed, number)
        sends, receives = _by_rank(schedule, placed, first)
        for rank, index in zip(which.members, which.indices, strict=True):
            node = (rank, index)
            self.operation_of[node] = number
            op = self.trace.ranks[rank][index]
            if op.after or op.after_start or node in self.begin_needed:
                self.begin[node] = self._join(rank, number)
            if node not in self.needed:
                continue
            self.row[node] = end = self._join(rank, number)
            self.ends[node] = [(end, 1, Event.COMPLETED)]
            for row in sends.get(rank, ()):
                self.rows.need(row, end, lead=self.rows.rows[row][2], event=Event.COMPLETED)
            for row in receives.get(rank, ()):
                self.rows.need(row, end, lead=self.rows.rows[row][2], event=Event.ARRIVED)
            if node in self.begin:
                self.rows.need(self.begin[node], end, event=Event.COMPLETED)
        return which, sends

    def _begin_schedule(self, which: Instance, sends: dict[int, list[int]]) -> None:
        """Nothing of the schedule is posted at a rank before the operation begins there."""
        for rank, index in zip(which.members, which.indices, strict=True):
            begin = self.begin.get((rank, index))
            if begin is None:
                continue
            self._need(self._before(rank, index), begin)
            for row in sends.get(rank, ()):
                self.rows.need(begin, row, event=Event.COMPLETED)

    def _account(self, transfers: Transfers) -> Account:
        account = Account(
            self.trace.n_operations,
            len(self.operation_of),
            self.file_bytes,
            int(transfers.sent_bytes(self.trace.n_ranks).sum()),
            self.n_empty,
            self.local_bytes,
        )
        posted_bytes = account.bytes_posted - account.empty_messages
        if account.operations_in_file != account.operations_lowered or posted_bytes < account.bytes_in_file:
            raise InvariantError(f"operations or bytes of the trace were lost: {account}")
        return account


def _by_rank(
    schedule: Transfers, placed: tuple[int, ...], first: int
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Rank -> rows that begin there, and rows of others that end there."""
    sends: dict[int, list[int]] = {}
    receives: dict[int, list[int]] = {}
    for row, (src, dst) in enumerate(zip(schedule.src.tolist(), schedule.dst.tolist(), strict=True)):
        sends.setdefault(placed[src], []).append(first + row)
        if src != dst:
            receives.setdefault(placed[dst], []).append(first + row)
    return sends, receives
