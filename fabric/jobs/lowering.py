"""Training steps -> one table of transfers: what every rank computes and sends, and what waits for what.

The order of passes is that of pipeline.py, the bytes are those of volumes.py, the times those of compute.py. Tensor,
context and expert parallelism stop computation unless something hides them: reductions of input gradients, and the
gathering of inputs, run beside weight gradients and input gradients, each half of a block's backward time (Megatron-LM,
core/tensor_parallel/layers.py). Gradient buckets run beside the backward pass. With ZeRO 3 weights are gathered one
unit ahead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabric.collectives.transfers import Event, Transfers
from fabric.jobs.algorithms import CollectiveBuilder
from fabric.jobs.buckets import Unit, buckets, units
from fabric.jobs.compute import Draw, factors, times
from fabric.jobs.job import Job, vocabulary_held
from fabric.jobs.parallel import Ints
from fabric.jobs.pipeline import Pass, orders, walk
from fabric.jobs.plan import step_ps
from fabric.jobs.rows import JobOperation, Rows
from fabric.jobs.storage_rows import StorageRows
from fabric.jobs.volumes import LOSS_BYTES, LOSS_REDUCTIONS, boundary_bytes, dispatch_bytes, keys_values_bytes

Groups = list[list[int]]


@dataclass(frozen=True)
class LoweredJob:
    """A job as the engine can carry it out."""

    transfers: Transfers
    operations: tuple[JobOperation, ...]
    """By the numbers in `transfers.operation`."""
    step_ends: Ints
    """(steps, n_ranks) row of the computation without duration with which a rank's step ends."""
    begins: Ints
    """(n_ranks,) row before which nothing of a rank is, of a job with a start; empty without."""

    @property
    def n_ranks(self) -> int:
        """Ranks of the schedule: those of the job, and storage nodes."""
        rows = self.transfers
        return max(int(rows.src.max()) + 1, int(rows.dst.max()) + 1, int(self.step_ends.shape[1]))


@dataclass(frozen=True, slots=True)
class Start:
    """When a job may begin."""

    arrival_ps: int
    together: bool = False
    """All ranks begin at once, behind what else holds their GPUs."""


def lower(
    job: Job, build: CollectiveBuilder, *, steps: int = 1, draw: Draw | None = None, free: Collection[str] = (),
    storage_nodes: int = 0, start: Start | None = None,
) -> LoweredJob:  # fmt: skip
    """Unroll a job's steps.

    Parameters
    ----------
    build : (operation, number of ranks, bytes, group) -> Transfers
    steps : int       a rank begins a step when it has finished the one before
    draw : (name of a stream) -> numpy Generator   for jitter; needed where the job has any
    free : kinds of communication that cost nothing on the longest path of the schedule; ranks still wait for each
        other. The engine needs none: there an empty message in front counts from the start of a run.
    storage_nodes : int   ranks behind those of the job; 0: no checkpoint and no data (storage_rows.py)
    start : Start         of a job that does not begin with the run

    Raises: ValueError where the job has jitter and there is no draw.
    """
    if job.computing.jitter_ratio and draw is None:
        raise ValueError("a job with jitter needs random streams")
    rows = Rows(build, job.parallel.n_ranks, free, job.gpus_per_node)
    begins = [] if start is None else rows.begin(start.arrival_ps, together=start.together)
    storage = StorageRows(job, rows, storage_nodes, steps, step_ps(job) if storage_nodes else 0)
    ends = []
    for number in range(steps):
        rows.step = number
        factor = factors(job, _stepwise(draw, number)) if draw is not None else factors(job, _no_draw)
        storage.begin(number)
        ends.append(_Step(job, rows, factor, storage).unroll())
    return LoweredJob(rows.table.build(), tuple(rows.operations), np.array(ends, np.int64), np.array(begins, np.int64))


def _stepwise(draw: Draw, step: int) -> Draw:
    return lambda name: draw(f"{name}.step{step}")


def _no_draw(name: str) -> np.random.Generator:
    raise ValueError(f"no random stream {name}")


class _Step:
    """Unrolls one step."""

    def __init__(self, job: Job, rows: Rows, factor: NDArray[np.float64], storage: StorageRows) -> None:
        self.storage = storage
        self.job, self.rows, self.factor, self.times = job, rows, factor, times(job)
        p = job.parallel
        self.p = p
        kinds = ("tp", "cp", "ep", "gradients", "expert-gradients")
        self.groups: list[dict[str, Groups]] = [
            {kind: p.groups(kind, stage).tolist() for kind in kinds} for stage in range(p.pp)
        ]
        self.grids = [p.stage_ranks(stage) for stage in range(p.pp)]
        self.ranks: list[list[int]] = [grid.ravel().tolist() for grid in self.grids]
        self.received: dict[tuple[bool, int, int], dict[int, int]] = {}
        """(forward, micro-batch, virtual stage that sent) -> receiving rank -> row."""
        self.reducing: list[list[int]] = [[] for _ in range(p.n_ranks)]
        """(n_ranks,) rows at which reductions of gradients end."""
        self.gathering: list[tuple[Unit, str]] = []
        """Units of the present pass whose weights are to be gathered, in order, with the names of their layers."""
        self.gathered: dict[int, list[int]] = {}
        self.stage, self.micro_batch, self.backward = 0, 0, False

    def unroll(self) -> list[int]:
        """All passes, then gradients and optimizer; returns the last row of each rank."""
        job = self.job
        for stage, each in walk(orders(job.schedule, self.p.pp, job.micro_batches, job.virtual_stages)):
            self.stage, self.micro_batch, self.backward = stage, each.micro_batch, not each.forward
            virtual = each.chunk * self.p.pp + stage
            self._receive(each, virtual)
            self._plan_gathering(virtual)
            (self._forward if each.forward else self._backward)(virtual)
            self._send(each, virtual)
        return self._finish()

    # Passes

    def _forward(self, virtual: int) -> None:
        job = self.job
        a, sharded = job.tensor_bytes, job.sequence_parallel
        if virtual == 0:
            self._gather_next()
            self._wait("tp", "reduce-scatter" if sharded else "all-reduce", "embedding forward", a)
        for layer in range(job.layers[virtual]):
            self._gather_next()
            self._layer_forward(self._layer(virtual, layer), self.times.attention_forward_ps,
                                self.times.feed_forward_forward_ps)  # fmt: skip
        if virtual == job.n_virtual - 1:
            self._gather_next()
            if sharded:
                self._wait("tp", "all-gather", "output layer forward", a)
            self._compute("output layer forward", self.times.output_forward_ps)
            for number in range(LOSS_REDUCTIONS):
                self._wait("tp", "all-reduce", f"loss {number}", job.tokens_of_rank * LOSS_BYTES)

    def _backward(self, virtual: int) -> None:
        job, order = self.job, units(self.job, virtual)
        for number, unit in enumerate(order):
            self._gather_next()
            if unit.name == "output":
                self._linear_backward("output layer", self.times.output_backward_ps, job.tensor_bytes)
            elif unit.name == "embedding":
                if job.sequence_parallel:
                    self._wait("tp", "all-gather", "embedding backward", job.tensor_bytes)
            else:
                name = self._layer(virtual, int(unit.name))
                if job.recompute == "full":
                    self._layer_forward(
                        f"{name} repeated", self.times.attention_repeated_ps, self.times.feed_forward_repeated_ps
                    )
                self._layer_backward(name)
            self._reduce(virtual, number, order)

    def _layer_forward(self, name: str, attention_ps: int, feed_forward_ps: int) -> None:
        self._context_forward(f"{name} attention forward", attention_ps)
        self._feed_forward(f"{name} feed-forward forward", feed_forward_ps)

    def _context_forward(self, name: str, duration_ps: int) -> None:
        job, size = self.job, keys_values_bytes(self.job)
        if job.sequence_parallel:
            self._wait("tp", "all-gather", name, job.tensor_bytes)
        if job.context == "all-gather":
            self._wait("cp", "all-gather", f"{name} keys and values", size * self.p.cp)
            self._compute(name, duration_ps)
        else:
            self._ring(name, duration_ps, size)
        self._wait("tp", "reduce-scatter" if job.sequence_parallel else "all-reduce", name, job.tensor_bytes)

    def _feed_forward(self, name: str, duration_ps: int) -> None:
        job = self.job
        size = job.tensor_bytes * (job.model.experts_per_token if job.routed else 1)
        if job.routed:
            self._wait("ep", "all-to-all", f"{name} dispatch", dispatch_bytes(job))
        if job.sequence_parallel:
            self._wait("tp", "all-gather", name, size)
        self._compute(name, duration_ps)
        self._wait("tp", "reduce-scatter" if job.sequence_parallel else "all-reduce", name, size)
        if job.routed:
            self._wait("ep", "all-to-all", f"{name} combine", dispatch_bytes(job))

    def _layer_backward(self, name: str) -> None:
        job, t = self.job, self.times
        full = job.recompute == "full"  # then the forward pass was repeated with its collectives
        size = job.tensor_bytes * (job.model.experts_per_token if job.routed else 1)
        block = f"{name} feed-forward"
        if job.routed:
            self._wait("ep", "all-to-all", f"{block} backward combine", dispatch_bytes(job))
        if job.sequence_parallel:
            self._wait("tp", "all-gather", f"{block} backward", size)
        again = 0 if full else t.feed_forward_repeated_ps
        self._linear_backward(block, t.feed_forward_backward_ps + again, size)
        if job.routed:
            self._wait("ep", "all-to-all", f"{block} backward dispatch", dispatch_bytes(job))
        block = f"{name} attention"
        if job.sequence_parallel:
            self._wait("tp", "all-gather", f"{block} backward", job.tensor_bytes)
        again = 0 if full else t.attention_repeated_ps
        self._linear_backward(block, t.attention_backward_ps + again, job.tensor_bytes, context=True)

    def _linear_backward(self, name: str, duration_ps: int, size: int, *, context: bool = False) -> None:
        """Input gradients, then weight gradients; collectives run beside the half that does not need them."""
        job, rows, groups = self.job, self.rows, self.groups[self.stage]
        weights_ps = duration_ps // 2 if self.p.tp > 1 else 0
        name = f"{name} backward"
        inputs: dict[int, int] = {}
        if self.p.tp > 1 and job.sequence_parallel:
            label = self._label(f"{name} inputs of weight gradients")
            inputs = rows.beside("tp", "all-gather", label, groups["tp"], size)
        if context and job.context == "ring":
            self._ring(name, duration_ps - weights_ps, 2 * keys_values_bytes(job))
        else:
            self._compute(name, duration_ps - weights_ps)
        if context and job.context == "all-gather":
            self._wait("cp", "reduce-scatter", f"{name} keys and values", keys_values_bytes(job) * self.p.cp)
        if self.p.tp == 1:
            return
        what = "reduce-scatter" if job.sequence_parallel else "all-reduce"
        reduced = rows.beside("tp", what, self._label(name), groups["tp"], size)
        for rank, row in inputs.items():
            rows.waits[rank].append((row, Event.COMPLETED))
        self._compute(f"{name} weight gradients", weights_ps)
        for rank, row in reduced.items():
            rows.waits[rank].append((row, Event.COMPLETED))

    # Communication between stages

    def _receive(self, each: Pass, virtual: int) -> None:
        source = virtual - 1 if each.forward else virtual + 1
        for rank, row in self.received.pop((each.forward, each.micro_batch, source), {}).items():
            self.rows.waits[rank].append((row, Event.ARRIVED))

    def _send(self, each: Pass, virtual: int) -> None:
        target = virtual + 1 if each.forward else virtual - 1
        if not 0 <= target < self.job.n_virtual or self.p.pp == 1:
            return
        rows, there = self.rows, target % self.p.pp
        size = boundary_bytes(self.job)
        what = "activations forward" if each.forward else "gradients backward"
        name = self._label(f"stage {self.stage} to {there} chunk {each.chunk} {what}")
        number = rows.operation(name, "pp", "send", [*self.ranks[self.stage], *self.ranks[there]], size, 2)
        self.received[each.forward, each.micro_batch, virtual] = {
            dst: rows.send(src, dst, size, number, blocking=self.job.blocking_sends)
            for src, dst in zip(self.ranks[self.stage], self.ranks[there], strict=True)
        }

    # Gradients and weights

    def _reduce(self, virtual: int, unit: int, order: Sequence[Unit]) -> None:
        """Launch the buckets that the gradients of a unit fill."""
        job = self.job
        if self.micro_batch != job.micro_batches - 1 and not job.reduce_each_micro_batch:
            return
        for what, groups, sizes in self._parameter_groups(order):
            for number, bucket in enumerate(buckets(sizes, self._most())):
                if bucket.ready_after == unit:
                    name = self._label(f"virtual stage {virtual} {what} bucket {number}")
                    self._beside_reduce(groups, name, bucket.elements * job.gradient_bytes)

    def _beside_reduce(self, groups: str, name: str, size: int) -> None:
        what = "reduce-scatter" if self.job.zero else "all-reduce"
        if self.p.size(groups) > 1:
            ends = self.rows.beside("dp", what, name, self.groups[self.stage][groups], size)
            for rank, row in ends.items():
                self.reducing[rank].append(row)

    def _most(self) -> int:
        """Gradients of a bucket."""
        return max(1, self.job.bucket_bytes // self.job.gradient_bytes)

    @staticmethod
    def _parameter_groups(order: Sequence[Unit]) -> list[tuple[str, str, list[int]]]:
        return [
            ("gradients", "gradients", [unit.dense for unit in order]),
            ("gradients of experts", "expert-gradients", [unit.experts for unit in order]),
        ]

    def _finish(self) -> list[int]:
        """Wait for gradients, run the optimizer, gather what ZeRO 1 and 2 sharded."""
        job, rows = self.job, self.rows
        for rank, ends in enumerate(self.reducing):
            rows.waits[rank] += [(row, Event.COMPLETED) for row in ends]
        if job.model.tied_embeddings and self.p.pp > 1:
            size = vocabulary_held(job) * job.gradient_bytes
            ends_of_pipeline = self.p.groups("embedding").tolist()
            rows.collective("pp", "all-reduce", "gradients of tied embeddings", ends_of_pipeline, size)
        if job.computing.optimizer_ps:
            number = rows.operation("optimizer", "compute", "compute", range(self.p.n_ranks))
            for rank in range(self.p.n_ranks):
                rows.compute(rank, job.computing.optimizer_ps, number)
        if job.zero in {1, 2}:
            self._gather_updated()
        self.storage.end(rows.step)
        number = rows.operation("end", "step", "end", range(self.p.n_ranks))
        last = []
        for rank in range(self.p.n_ranks):
            row = rows.join(rank, rows.waits[rank], number)
            rows.waits[rank] = [(row, Event.COMPLETED)]
            last.append(row)
        return last

    def _gather_updated(self) -> None:
        job = self.job
        for stage in range(self.p.pp):
            for virtual, _ in job.chunks(stage):
                for what, groups, sizes in self._parameter_groups(units(job, virtual)):
                    if self.p.size(groups) == 1:
                        continue
                    for number, bucket in enumerate(buckets(sizes, self._most())):
                        name = f"virtual stage {virtual} {what.replace('gradients', 'weights')} bucket {number}"
                        size = bucket.elements * job.element_bytes
                        self.rows.collective("dp", "all-gather", name, self.groups[stage][groups], size)

    def _plan_gathering(self, virtual: int) -> None:
        """With ZeRO 3: the units of the pass in order; the first is gathered at once."""
        job = self.job
        self.gathering, self.gathered = [], {}
        if job.zero != 3 or (job.keep_gathered and (self.backward or self.micro_batch)):
            return
        order = units(job, virtual)
        self.gathering = [
            (unit, f"virtual stage {virtual} unit {unit.name}") for unit in (order if self.backward else order[::-1])
        ]
        self._launch_gathering()

    def _launch_gathering(self) -> None:
        self.gathered = {}
        if not self.gathering:
            return
        unit, name = self.gathering.pop(0)
        direction = "backward" if self.backward else "forward"
        for what, groups, count in (
            ("weights", "gradients", unit.dense),
            ("weights of experts", "expert-gradients", unit.experts),
        ):
            label = self._label(f"{name} {what} {direction}")
            if count and self.p.size(groups) > 1:
                size = count * self.job.element_bytes
                ends = self.rows.beside("dp", "all-gather", label, self.groups[self.stage][groups], size)
                for rank, row in ends.items():
                    self.gathered.setdefault(rank, []).append(row)

    def _gather_next(self) -> None:
        """The next unit waits for its weights; those of the unit behind it are gathered beside it."""
        here = self.gathered
        self._launch_gathering()
        for rank, found in here.items():
            self.rows.waits[rank] += [(row, Event.COMPLETED) for row in found]

    # Work of all ranks of the present stage

    def _label(self, name: str) -> str:
        return f"{name} micro-batch {self.micro_batch}"

    def _layer(self, virtual: int, layer: int) -> str:
        """Layers are counted through the whole model."""
        return f"layer {sum(self.job.layers[:virtual]) + layer}"

    def _wait(self, kind: str, what: str, name: str, size_bytes: int) -> None:
        """A collective that the ranks of the stage wait for; groups of one rank do nothing."""
        if self.p.size(kind) > 1 and size_bytes:
            self.rows.collective(kind, what, self._label(name), self.groups[self.stage][kind], size_bytes)

    def _duration(self, rank: int, duration_ps: int) -> int:
        return round(duration_ps * float(self.factor[rank, self.micro_batch]))

    def _compute(self, name: str, duration_ps: int) -> None:
        if duration_ps:
            ranks = self.ranks[self.stage]
            number = self.rows.operation(self._label(name), "compute", "compute", ranks)
            for rank in ranks:
                self.rows.compute(rank, self._duration(rank, duration_ps), number)

    def _ring(self, name: str, duration_ps: int, size_bytes: int) -> None:
        """Attention beside the exchange of keys and values; a plain computation without context parallelism."""
        if self.p.cp == 1:
            self._compute(name, duration_ps)
            return
        computing = self.rows.operation(self._label(name), "compute", "compute", self.ranks[self.stage])
        label = self._label(f"{name} keys and values")
        number = self.rows.operation(label, "cp", "exchange", self.ranks[self.stage], size_bytes, self.p.cp)
        for ring in self.groups[self.stage]["cp"]:
            durations = {rank: self._duration(rank, duration_ps) for rank in ring}
            self.rows.exchange(ring, size_bytes, number, durations, computing)
