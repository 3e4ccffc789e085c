"""Time of a schedule whose only limits are the ports of ranks.

A message of b bytes that is posted at t waits for its rank's send port, occupies it for b beta, and its first byte is
at the receiver alpha after it left; there it occupies the receive port for b beta and arrives with its last byte. A
send port serves the messages to one rank in order and its receivers in round robin, as a NIC serves queue pairs: whole
messages, or pieces of `Links.quantum_bytes`. A receive port serves what comes in the order in which it comes. Links
between ports are not modelled: this is the longest path through the schedule (max-plus), against which closed forms and
the packet engine are compared. A rank has one port each way (`Link`), or each transfer names its ports and costs
(`Links`): scale-up links beside a NIC, several NICs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from fabric.collectives.execution import Execution
from fabric.collectives.schedule import Schedule
from fabric.collectives.transfers import Event, Transfers

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Link:
    """What a message costs."""

    alpha_ps: int
    """From the first byte leaving to the first byte arriving."""
    fs_per_byte: int
    """Time of a byte on either port: 8 x 10^15 / rate in bit/s."""

    def tx_ps(self, size_bytes: int) -> int:
        """Time on a port."""
        return size_bytes * self.fs_per_byte // 1000


@dataclass(frozen=True)
class Links:
    """What the messages of each transfer cost, and the ports that they occupy. Rows of computations are not read."""

    alpha_ps: Ints
    """(n,) as Link."""
    fs_per_byte: Ints
    """(n,) as Link."""
    send_port: Ints
    """(n,) any numbers from 0: transfers with the same number share a port."""
    receive_port: Ints
    """(n,) as send_port, counted separately: the two directions of a port are independent."""
    queue: Ints
    """(n,) queue pair: messages of one are served in order, those of different ones of a port in round robin."""
    quantum_bytes: int = 0
    """Most bytes that a port serves of one queue at a time; 0: whole messages."""


@dataclass(frozen=True)
class Times:
    """When everything ended."""

    end_ps: int
    """Last arrival or end of a computation."""
    by_rank_ps: tuple[int, ...]
    """(n_ranks,) last arrival at, or computation of, each rank."""


@dataclass
class Occupied:
    """When ports were in use, recorded on request."""

    sent: list[tuple[int, int, int]] = field(default_factory=list)
    """(row, beginning, end) of each piece on its send port."""
    received: list[tuple[int, int, int]] = field(default_factory=list)
    """(row, beginning, end) of each piece on its receive port."""


def longest_path(schedule: Schedule, link: Link | Links) -> Times:
    """Times of the schedule; see the module."""
    return of_transfers(schedule.transfers, schedule.request.n_ranks, link)


_DELAYED, _PORT_FREE, _AT_RECEIVER, _ARRIVED, _EMPTY_ARRIVED, _COMPLETED = range(6)
At = Callable[[int, int, int, int], None]
"""(time, kind, row or port, bytes of the piece, 0 where they do not matter)."""


def of_transfers(transfers: Transfers, n_ranks: int, link: Link | Links, occupied: Occupied | None = None) -> Times:
    """The same of any table of transfers. Acknowledgements take alpha and no port (acknowledgements.py)."""
    table = _Table(transfers, link)
    execution = Execution(transfers)
    receive_free, ends = [0] * table.n_receive_ports, [0] * n_ranks
    events: list[tuple[int, int, int, int, int]] = []
    """(time, number, kind, row or port, bytes); the number keeps the order of what happens at one time."""
    delayed = [False] * len(transfers)
    number = 0

    def at(time: int, kind: int, row: int, size: int = 0) -> None:
        nonlocal number
        number += 1
        heappush(events, (time, number, kind, row, size))

    ports = [_SendPort(table, index) for index in range(table.n_send_ports)]

    def begin(row: int, now: int) -> None:
        if not delayed[row] and execution.ready(row):
            delayed[row] = True
            k = execution.done[Event.POSTED][row]
            at(max(now, table.start[row]) + table.delay_ps(row, k), _DELAYED, row)

    for row in range(len(transfers)):
        begin(row, 0)
    while events:
        now, _, kind, row, piece = heappop(events)
        moved: list[int] = []
        if kind == _DELAYED:
            size = table.size(row, execution.done[Event.POSTED][row])
            delayed[row] = False
            if table.src[row] == table.dst[row]:
                ends[table.dst[row]] = max(ends[table.dst[row]], now)
                at(now, _COMPLETED, row)
            elif size == 0 and table.empty_behind[row]:
                table.empty_behind[row][-1] += 1
            elif size == 0:
                at(now, _EMPTY_ARRIVED, row)
            else:
                table.flying[row].append(size)
                table.empty_behind[row].append(0)
                ports[table.send_port[row]].post(row, size, now, at)
            moved = execution.advance(row, Event.POSTED)
        elif kind == _PORT_FREE:
            ports[row].serve(now, at)
        elif kind == _AT_RECEIVER:
            port = table.receive_port[row]
            done = max(now, receive_free[port]) + piece * table.fs_per_byte[row] // 1000
            receive_free[port] = done
            if occupied is not None:
                left = now - table.alpha_ps[row]
                occupied.sent.append((row, left, left + piece * table.fs_per_byte[row] // 1000))
                occupied.received.append((row, done - piece * table.fs_per_byte[row] // 1000, done))
            table.flying[row][0] -= piece
            if not table.flying[row][0]:
                table.flying[row].popleft()
                at(done, _ARRIVED, row)
        elif kind in {_ARRIVED, _EMPTY_ARRIVED}:
            ends[table.dst[row]] = max(ends[table.dst[row]], now)
            if kind == _ARRIVED:
                for _ in range(table.empty_behind[row].popleft()):
                    at(now, _EMPTY_ARRIVED, row)
            if execution.waiting[Event.COMPLETED][row]:
                at(now + table.alpha_ps[row], _COMPLETED, row)
            moved = execution.advance(row, Event.ARRIVED)
        else:
            moved = execution.advance(row, Event.COMPLETED)
        for other in moved:
            begin(other, now)
    return Times(max(ends, default=0), tuple(ends))


class _Table:
    """The columns as lists, which are faster one by one."""

    def __init__(self, transfers: Transfers, link: Link | Links) -> None:
        n = len(transfers)
        if isinstance(link, Link):
            every, pair = np.ones(n, np.int64), transfers.src * (int(transfers.dst.max(initial=0)) + 1) + transfers.dst
            link = Links(every * link.alpha_ps, every * link.fs_per_byte, transfers.src, transfers.dst, pair)
        self.alpha_ps, self.fs_per_byte = link.alpha_ps.tolist(), link.fs_per_byte.tolist()
        self.send_port, self.receive_port = link.send_port.tolist(), link.receive_port.tolist()
        self.n_send_ports = max(self.send_port, default=0) + 1
        self.n_receive_ports = max(self.receive_port, default=0) + 1
        self.queue = link.queue.tolist()
        self.quantum = _quanta(transfers, link)
        self.src, self.dst = transfers.src.tolist(), transfers.dst.tolist()
        self.start = transfers.start_ps.tolist()
        self.delay, self.per_byte = transfers.delay_ps.tolist(), transfers.delay_fs_per_byte.tolist()
        names = ("small_bytes", "unit_bytes", "n_longer", "first", "stride", "modulus")
        self.formula = list(zip(*(getattr(transfers, name).tolist() for name in names), strict=True))
        self.flying: list[deque[int]] = [deque() for _ in range(n)]
        """Of each transfer the bytes of its messages on their way that have not arrived, the oldest first."""
        self.empty_behind: list[deque[int]] = [deque() for _ in range(n)]
        """Of each of these the empty messages behind it, which arrive with it."""

    def size(self, row: int, k: int) -> int:
        small, unit, n_longer, first, stride, modulus = self.formula[row]
        return int(small + unit * ((first + stride * k) % modulus < n_longer))

    def delay_ps(self, row: int, k: int) -> int:
        return int(self.delay[row] + self.size(row, k) * self.per_byte[row] // 1000)


def _quanta(transfers: Transfers, links: Links) -> list[int]:
    """(n,) most bytes of a transfer at a time; 0 where its ports have one queue each, which needs no turns."""
    sent = transfers.src != transfers.dst
    several = np.zeros(len(transfers), np.bool_)
    for port in (links.send_port, links.receive_port):
        used = np.unique(np.stack([port[sent], links.queue[sent]], axis=1), axis=0)
        queues = np.bincount(used[:, 0], minlength=int(port.max(initial=0)) + 1)
        several[sent] |= queues[port[sent]] > 1
    quanta: list[int] = np.where(several, links.quantum_bytes, 0).tolist()
    return quanta


@dataclass
class _SendPort:
    """Queues of a port; those with messages are in `turns`."""

    table: _Table
    number: int
    free_ps: int = 0
    is_due: bool = False
    """Whether an event at free_ps is pending."""
    turns: deque[int] = field(default_factory=deque)
    waiting: dict[int, deque[list[int]]] = field(default_factory=dict)
    """Of each queue [row, bytes left] of its messages, the oldest first."""

    def post(self, row: int, size: int, now: int, at: At) -> None:
        """A message for its queue."""
        queue = self.table.queue[row]
        held = self.waiting.setdefault(queue, deque())
        if not held:
            self.turns.append(queue)
        held.append([row, size])
        if self.is_due:
            return
        if self.free_ps <= now:
            self.serve(now, at)
        else:
            self.is_due = True
            at(self.free_ps, _PORT_FREE, self.number, 0)

    def serve(self, now: int, at: At) -> None:
        """Serve the next piece, if there is one."""
        self.is_due = False
        if not self.turns:
            return
        queue = self.turns.popleft()
        held = self.waiting[queue]
        row, left = held[0]
        quantum = self.table.quantum[row]
        piece = min(left, quantum) if quantum else left
        at(now + self.table.alpha_ps[row], _AT_RECEIVER, row, piece)
        if piece == left:
            held.popleft()
        else:
            held[0][1] = left - piece
        if held:
            self.turns.append(queue)
        self.free_ps = now + piece * self.table.fs_per_byte[row] // 1000
        if self.turns:
            self.is_due = True
            at(self.free_ps, _PORT_FREE, self.number, 0)
