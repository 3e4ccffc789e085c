"""Rows of a job's checkpoints and dataset reads: transfers between its ranks and storage nodes.

Storage node s is rank n_ranks + s of the schedule. A synchronous checkpoint is part of its step: a rank goes on when
what it writes is acknowledged. An asynchronous one is copied to host memory, for which the rank waits, and written
beside the next steps; the next copy waits for the last write. A reader asks a node by a small message.
"""

from __future__ import annotations

from typing import Final

from fabric.collectives.transfers import Event
from fabric.jobs.job import Job, held_of_ranks
from fabric.jobs.rows import Rows, Waits
from fabric.jobs.storage import checkpoint_steps, read_bytes, written_bytes
from fabric.units import PS_PER_S

REQUEST_BYTES: Final = 256
"""A read request with its header: of the order of an NVMe-oF or NFS command; assumed."""


def checkpoints_in(job: Job, steps: int, step_ps: int) -> list[int]:
    """Numbers, from 0, of the steps that end with a checkpoint."""
    made = job.storage.checkpoint if job.storage is not None else None
    if made is None:
        return []
    every = checkpoint_steps(made, step_ps)
    return [number for number in range(steps) if (number + 1) % every == 0]


def needs_storage_nodes(job: Job, steps: int, step_ps: int) -> bool:
    """Whether any of the first steps reads or writes."""
    reads = job.storage is not None and job.storage.dataset is not None
    return reads or bool(checkpoints_in(job, steps, step_ps))


class StorageRows:
    """Adds storage to the steps of a job.

    Parameters
    ----------
    n_nodes : int    storage nodes; 0: none of the steps reads or writes
    steps : int      of the run
    step_ps : int    a step without communication, by which an interval becomes a number of steps
    """

    def __init__(self, job: Job, rows: Rows, n_nodes: int, steps: int, step_ps: int) -> None:
        self.job, self.rows, self.n_nodes, self.steps = job, rows, n_nodes, steps
        self.n_ranks = job.parallel.n_ranks
        self.writes = checkpoints_in(job, steps, step_ps) if n_nodes else []
        self.parts = written_bytes(job, held_of_ranks(job)).tolist()
        self.reads = read_bytes(job).tolist() if n_nodes else [0] * self.n_ranks
        self._arriving: dict[int, Waits] = {}
        """Step -> of each reader (in their order) the row with its data."""
        self._asked = 0
        """Steps whose data were requested."""
        self._writing: dict[int, list[int]] = {}
        """Rank -> rows of its last asynchronous write."""

    def begin(self, step: int) -> None:
        """Ask for data ahead; wait for those of this step."""
        dataset = self.job.storage.dataset if self.job.storage is not None else None
        if dataset is None or not self.n_nodes:
            return
        while self._asked < min(step + dataset.prefetch_steps + 1, self.steps):
            self._ask(self._asked)
            self._asked += 1
        for rank, wait in zip(self._readers(), self._arriving.pop(step), strict=True):
            self.rows.waits[rank].append(wait)

    def _readers(self) -> list[int]:
        return [rank for rank, size in enumerate(self.reads) if size]

    def _ask(self, step: int) -> None:
        readers, rows = self._readers(), self.rows
        number = rows.operation(f"dataset of step {step} read", "storage", "read", readers, sum(self.reads))
        self._arriving[step] = []
        for place, rank in enumerate(readers):
            node = self.n_ranks + (place + step) % self.n_nodes
            ask = rows.send(rank, node, REQUEST_BYTES, number)
            data = rows.table.add(node, rank, small_bytes=self.reads[rank], operation=number)
            rows.table.need(ask, data)
            self._arriving[step].append((data, Event.ARRIVED))

    def end(self, step: int) -> None:
        """Write a checkpoint where one is due."""
        made = self.job.storage.checkpoint if self.job.storage is not None else None
        if made is None or step not in self.writes:
            return
        rows, writers = self.rows, [rank for rank, size in enumerate(self.parts) if size]
        if made.asynchronous:
            number = rows.operation("checkpoint copy", "compute", "copy", writers)
            for rank in writers:
                before: Waits = [(row, Event.COMPLETED) for row in self._writing.get(rank, [])]
                copy_ps = self.parts[rank] * 8 * PS_PER_S // made.host_copy_bps
                rows.compute(rank, copy_ps, number, before)
        number = rows.operation("checkpoint write", "storage", "write", writers, sum(self.parts))
        for place, rank in enumerate(writers):
            found = self._write(rank, place, self.parts[rank], made.stripe_bytes, number)
            if made.asynchronous:
                self._writing[rank] = found
            else:
                rows.waits[rank] = [(row, Event.COMPLETED) for row in found]

    def _write(self, rank: int, place: int, size: int, stripe: int, operation: int) -> list[int]:
        """One transfer to each node that gets a piece: piece i goes to node place + i, the last is shorter."""
        piece = min(stripe or size, size)
        count = -(-size // piece)
        last = size - (count - 1) * piece
        found = []
        for node in range(min(self.n_nodes, count)):
            mine = len(range(node, count, self.n_nodes))
            ends = (count - 1) % self.n_nodes == node
            row = self.rows.table.add(
                rank,
                self.n_ranks + (place + node) % self.n_nodes,
                mine,
                small_bytes=last if ends else piece,
                unit_bytes=piece - last if ends else 0,
                n_longer=mine - 1 if ends else 0,
                stride=1,
                modulus=mine,
                operation=operation,
            )
            for earlier, event in self.rows.waits[rank]:
                self.rows.need(earlier, row, event)
            found.append(row)
        return found
