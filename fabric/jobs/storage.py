"""Storage of a job: its checkpoints and its dataset, as bytes of each rank.

Sources: ZeRO (arXiv 1910.02054) for the 12 to 16 bytes of state of a parameter; Llama 3 (arXiv 2407.21783), section
3.3.1, for checkpoints of 1 MB to 4 GB a GPU; Megatron-LM, whose data loader runs on the first rank of each
tensor-parallel group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from fabric.jobs.model import parameters
from fabric.jobs.parallel import Ints
from fabric.jobs.reliability import BYTES_PER_PARAMETER, checkpoint_bytes, dataset_bytes_per_step, written_bytes_per_day
from fabric.units import PS_PER_S

if TYPE_CHECKING:
    from fabric.jobs.job import Job

DEFAULT_HOST_COPY_BPS: Final = 200 * 10**9
"""GPU to host memory: 25 GB/s, about what a PCIe 4.0 x16 slot carries (31.5 GB/s raw)."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """When and how a job stores its state."""

    every_steps: int
    """0: by interval_ps."""
    interval_ps: int
    asynchronous: bool
    all_ranks: bool
    """Every replica writes its share of a cell; else one replica writes all of it."""
    bytes_per_parameter: int = BYTES_PER_PARAMETER
    stripe_bytes: int = 0
    """Size of a piece; pieces go to the storage nodes in turn. 0: a writer's part is one piece."""
    host_copy_bps: int = DEFAULT_HOST_COPY_BPS


@dataclass(frozen=True, slots=True)
class Dataset:
    """What a step reads."""

    bytes_per_token: int
    prefetch_steps: int
    """Steps ahead of their use at which data are requested."""


@dataclass(frozen=True, slots=True)
class Storage:
    """At least one of the two."""

    checkpoint: Checkpoint | None
    dataset: Dataset | None


def checkpoint_steps(checkpoint: Checkpoint, step_ps: int) -> int:
    """Steps from one checkpoint to the next; an interval is rounded to whole steps of `step_ps`."""
    return checkpoint.every_steps or max(1, round(checkpoint.interval_ps / max(step_ps, 1)))


def written_bytes(job: Job, held: Ints) -> Ints:
    """(n_ranks,) bytes that each rank writes in a checkpoint; their sum is parameters x bytes per parameter.

    held : (n_ranks,) parameters that each rank holds: the state is divided in their proportion, so that replicated
        norms are written once.
    """
    made = job.storage.checkpoint if job.storage is not None else None
    if made is None:
        return np.zeros(job.parallel.n_ranks, np.int64)
    writes = np.ones(job.parallel.n_ranks, np.int64)
    if not made.all_ranks:
        where = job.parallel.coordinates()
        # Experts are divided over ep ranks of the data-parallel axis, so the writers are one replica of each part.
        writes = ((where["cp"] == 0) & (where["dp"] < job.parallel.ep)).astype(np.int64)
    ends = np.cumsum(held * writes)
    size = checkpoint_bytes(parameters(job.model), bytes_per_parameter=made.bytes_per_parameter)
    borders = [size * int(end) // int(ends[-1]) for end in ends]
    return np.array(borders, np.int64) - np.array([0, *borders[:-1]], np.int64)


def read_bytes(job: Job) -> Ints:
    """(n_ranks,) bytes of the dataset that each rank reads in a step: the first of each tensor-parallel group of the
    first stage reads the tokens of its replica and context.
    """
    found = np.zeros(job.parallel.n_ranks, np.int64)
    made = job.storage.dataset if job.storage is not None else None
    if made is None:
        return found
    readers = job.parallel.stage_ranks(0)[:, :, 0].ravel()
    borders = [
        dataset_bytes_per_step(job.tokens, made.bytes_per_token) * n // len(readers) for n in range(len(readers) + 1)
    ]
    found[readers] = np.diff(borders)
    return found


@dataclass(frozen=True, slots=True)
class StoragePlan:
    """Figures of a job's storage before it runs."""

    checkpoint_bytes: int
    every_steps: int
    interval_s: float
    bytes_per_day: float
    writers: int
    largest_part_bytes: int
    """Of the rank that writes most."""
    write_s: float
    """The largest part at the rate of a NIC: the storage nodes may take longer."""
    stall_s: float
    """Computing that stops for one checkpoint: the write, or with async the copy to host memory and what outlasts the
    interval.
    """
    step_ratio: float
    """Mean time of a step with checkpoints over that without."""
    read_bytes_per_step: int
    read_s: float
    """The largest reader's data of a step at the rate of a NIC."""


def storage_plan(job: Job, held: Ints, step_ps: int) -> StoragePlan | None:
    """None where the job has no storage. held: as for written_bytes(); step_ps: a step without checkpoint."""
    if job.storage is None:
        return None
    reads = read_bytes(job)
    step_s, nic = step_ps / PS_PER_S, job.links.nic_bps
    read = int(reads.sum()), float(reads.max() * 8 / nic)
    made = job.storage.checkpoint
    if made is None:
        return StoragePlan(0, 0, 0.0, 0.0, 0, 0, 0.0, 0.0, 1.0, *read)
    parts = written_bytes(job, held)
    size, largest, steps = int(parts.sum()), int(parts.max()), checkpoint_steps(made, step_ps)
    interval_s = made.interval_ps / PS_PER_S if made.interval_ps else steps * step_s
    write_s = largest * 8 / nic
    stall_s = write_s
    if made.asynchronous:
        copy_s = largest * 8 / made.host_copy_bps
        stall_s = copy_s + max(0.0, write_s + copy_s - interval_s)
    return StoragePlan(
        size,
        steps,
        interval_s,
        written_bytes_per_day(size, interval_s),
        int((parts > 0).sum()),
        largest,
        write_s,
        stall_s,
        1 + stall_s / (steps * step_s),
        *read,
    )
