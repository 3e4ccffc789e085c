"""Proof of a schedule: who has contributed to each cell of each rank, followed through the transfers.

Every cell of a rank has a value: the number of times that each rank's input is in it (exact), or one number of 64 bits
with sums modulo 2^64, where inputs are random numbers (more than `EXACT_RANKS` ranks). Messages are taken in random
orders that respect the declared needs and nothing else; right results in many orders prove that the needs suffice,
which a lockstep execution does not.

An arrived message waits in a receive buffer. A rank takes it up, adding it or taking it over, when it posts the first
message that needs it, and at the end. A message carries the values that its rank has when it is posted.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.collectives.execution import Execution
from fabric.collectives.operations import Wanted, had_at_first, must_hold_at_end
from fabric.collectives.schedule import Schedule
from fabric.collectives.transfers import Event, Transfers
from fabric.errors import InvariantError

EXACT_RANKS: Final = 64
"""Up to so many ranks the contributors are counted exactly."""


class ScheduleError(InvariantError):
    """A schedule that does not do what its operation says."""


@dataclass(frozen=True)
class Totals:
    """Counts of a schedule."""

    messages: int
    steps: int
    total_bytes: int
    sent_bytes: tuple[int, ...]
    """By rank."""
    received_bytes: tuple[int, ...]


def prove(schedule: Schedule, *, orders: int = 2, seed: int = 0) -> None:
    """Raise ScheduleError unless the schedule's result is right in `orders` random orders of execution."""
    check_sizes(schedule)
    for number in range(orders):
        _Dataflow(schedule, seed + number).run()


def check_sizes(schedule: Schedule) -> None:
    """Sizes that are sent are those of the cells that are carried, and every need is known where it is used."""
    problems = list(schedule.transfers.problems())
    before = np.concatenate([[0], np.cumsum(schedule.cell_bytes)])
    for row, carriage in enumerate(schedule.carriages):
        if carriage is None:
            continue
        for k, size in enumerate(schedule.transfers.sizes_bytes(row).tolist()):
            cells = carriage.cells(k)
            carried = (
                int(before[cells.stop] - before[cells.start])
                if isinstance(cells, range) and cells.step == 1
                else int(schedule.cell_bytes[np.asarray(cells, np.int64)].sum())
            )
            if carried != size:
                problems.append(f"message {k} of transfer {row} has {size} bytes and carries {carried}")
    if problems:
        raise ScheduleError(f"{_name(schedule)}: {problems[0]}")


def totals(schedule: Schedule) -> Totals:
    """Counts; computations and empty messages are in none of them."""
    n, table = schedule.request.n_ranks, schedule.transfers
    sizes = np.array([int(table.sizes_bytes(row).sum()) for row in range(len(table))], np.int64)
    received = np.zeros(n, np.int64)
    np.add.at(received, table.dst, sizes)
    sent = table.sent_bytes(n)
    return Totals(
        schedule.n_messages, schedule.n_steps, int(sent.sum()), tuple(sent.tolist()), tuple(received.tolist())
    )


def port_conflicts(schedule: Schedule) -> int:
    """Steps of the lockstep order in which a rank sends, or receives, more than one message; each rank counted."""
    seen: set[tuple[str, int, int]] = set()
    conflicts = 0
    for move in schedule.moves():
        for key in (("send", move.step, move.sender), ("receive", move.step, move.receiver)):
            conflicts += key in seen
            seen.add(key)
    return conflicts


def _name(schedule: Schedule) -> str:
    request = schedule.request
    return f"{request.operation} by {schedule.algorithm} of {request.n_ranks} ranks"


class _Dataflow:
    """One execution."""

    def __init__(self, schedule: Schedule, seed: int) -> None:
        self.schedule, self.random = schedule, Random(seed)
        request = schedule.request
        n, cells = request.n_ranks, len(schedule.cell_block)
        self.held: NDArray[np.bool_] = had_at_first(request.what, n, request.root)[:, schedule.cell_block]
        self.exact = n <= EXACT_RANKS
        if self.exact:
            inputs: NDArray[np.uint64] = np.eye(n, dtype=np.uint16)[:, None, :]  # type: ignore[assignment]
        else:
            inputs = np.random.default_rng(seed).integers(1, 2**64, (n, cells, 1), np.uint64)
        self.inputs = np.where(self.held[:, :, None], inputs, inputs.dtype.type(0))
        self.state = self.inputs.copy()
        self.execution = Execution(schedule.transfers)
        self.src = schedule.transfers.src.tolist()
        self.dst = schedule.transfers.dst.tolist()
        self.mail: list[list[NDArray[np.uint64]]] = [[] for _ in self.src]
        """Values of each transfer's messages that were posted."""
        self.taken = [0] * len(self.src)
        """Messages of each transfer that its receiver has taken up."""

    def run(self) -> None:
        """Execute in a random order and compare."""
        execution, random = self.execution, self.random
        actions: list[tuple[int, Event]] = [
            (row, Event.POSTED) for row in range(len(self.src)) if execution.ready(row)
        ]  # fmt: skip
        listed = {row for row, _ in actions}
        while actions:
            at = random.randrange(len(actions))
            actions[at], actions[-1] = actions[-1], actions[at]
            row, event = actions.pop()
            if event is Event.POSTED:
                listed.discard(row)
                self._post(row)
                local = self.src[row] == self.dst[row]
                actions.append((row, Event.COMPLETED if local else Event.ARRIVED))
            elif event is Event.ARRIVED:
                actions.append((row, Event.COMPLETED))
            for other in execution.advance(row, event):
                if other not in listed and execution.ready(other):
                    listed.add(other)
                    actions.append((other, Event.POSTED))
        if stuck := execution.unfinished():
            raise ScheduleError(f"{_name(self.schedule)}: transfers {stuck[:5]} wait for one another")
        rest = [row for row in range(len(self.src)) if self.src[row] != self.dst[row]]
        random.shuffle(rest)
        for row in rest:
            self._take(row, execution.count[row])
        self._compare()

    def _post(self, row: int) -> None:
        """Take up what the message needs, then copy what it carries."""
        k = self.execution.done[Event.POSTED][row]
        for earlier, lead, per, event in self.execution.needs[row]:
            if event == Event.ARRIVED:
                self._take(earlier, min(lead + per * k, self.execution.count[earlier]))
        carriage = self.schedule.carriages[row]
        if carriage is None:
            return
        cells, rank = list(carriage.cells(k)), self.src[row]
        if not self.held[rank, cells].all():
            raise ScheduleError(f"{_name(self.schedule)}: rank {rank} sends what it does not have, transfer {row}")
        self.mail[row].append(self.state[rank, cells])

    def _take(self, row: int, upto: int) -> None:
        carriage, rank = self.schedule.carriages[row], self.dst[row]
        if carriage is None:
            return
        for k in range(self.taken[row], upto):
            cells, values = list(carriage.cells(k)), self.mail[row][k]
            if carriage.adds:
                self.state[rank, cells] += values
            else:
                self.state[rank, cells] = values
            self.held[rank, cells] = True
            self.mail[row][k] = values[:0]
        self.taken[row] = max(self.taken[row], upto)

    def _compare(self) -> None:
        schedule, request = self.schedule, self.schedule.request
        wanted = must_hold_at_end(request.what, request.n_ranks, request.root)[:, schedule.cell_block]
        total = self.inputs.sum(axis=0, dtype=self.inputs.dtype)  # of one holder: its own value
        wrong = (wanted != Wanted.NONE) & (self.state != total[None]).any(axis=2)
        if wrong.any():
            rank, cell = np.argwhere(wrong)[0].tolist()
            raise ScheduleError(
                f"{_name(schedule)}: rank {rank} ends with a wrong value of cell {cell}"
                + (f", contributions {self.state[rank, cell].tolist()}" if self.exact else "")
            )


def without_need(transfers: Transfers, need: int) -> Transfers:
    """The same table without one need; for tests of the proof."""
    keep = np.arange(len(transfers.earlier)) != need
    columns = {name: getattr(transfers, name)[keep] for name in ("earlier", "later", "lead", "per", "event")}
    return Transfers(**{**transfers.__dict__, **columns})
