"""Times of a simulated job: steps, and what they consist of; jobs that share a fabric.

The step without network is the longest path of the schedule where messages take no time (instant.py): computing of the
slowest stage, bubble, and what jitter and stragglers add. What a simulated step takes longer is exposed communication.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabric.jobs.compute import chunk_ps
from fabric.jobs.job import Job
from fabric.jobs.pipeline import longest_path, orders

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StepTime:
    """One step; the four parts add up to the duration."""

    duration_ps: int
    compute_ps: int
    """Of the stage that computes longest, optimizer included, without jitter and stragglers."""
    bubble_ps: int
    """What the pipeline adds without network."""
    slow_ranks_ps: int
    """What jitter and stragglers add without network."""
    exposed_ps: int
    """What the network adds."""


@dataclass(frozen=True, slots=True)
class StepPlan:
    """What a step would take without network, known before the run."""

    computing_ps: int
    bubble_ps: int
    without_network_ps: int
    """Longest path of its schedule where messages take no time, jitter and stragglers included."""


def step_durations_ps(ends_ps: Ints, start_ps: int = 0) -> Ints:
    """(steps,) time of each step: from the end of the last rank in the step before to its own.

    Parameters
    ----------
    ends_ps : (steps, n_ranks)    end of each rank's step: completion of the rows LoweredJob.step_ends
    start_ps : int                beginning of the first step
    """
    return np.asarray(np.diff(ends_ps.max(axis=1), prepend=start_ps), np.int64)


def pipeline_ps(job: Job) -> tuple[int, int]:
    """(computing, bubble) of a step without network, jitter and stragglers.

    Computing is that of the stage that computes longest, optimizer included; the bubble is what the order of the
    pipeline adds.
    """
    p = job.parallel.pp

    def took(virtual: int) -> int:
        return chunk_ps(job, virtual, forward=True) + chunk_ps(job, virtual, forward=False)

    busy = max(sum(took(virtual) for virtual, _ in job.chunks(stage)) for stage in range(p)) * job.micro_batches
    cost = [(chunk_ps(job, v, forward=False), chunk_ps(job, v, forward=True)) for v in range(job.n_virtual)]
    plan = orders(job.schedule, p, job.micro_batches, job.virtual_stages)
    path = longest_path(plan, lambda stage, each: cost[each.chunk * p + stage][each.forward]).total_ps
    return busy + job.computing.optimizer_ps, path - busy


def divide(duration_ps: int, plan: StepPlan) -> StepTime:
    """The parts of a step. This is the only definition of exposed communication and bubble.

    A step can be shorter than without network where the one before it ended late; its parts are then cut in the order
    computing, bubble, slow ranks, so that none is negative and they still add up.
    """
    ideal = min(plan.without_network_ps, duration_ps)
    computing = min(plan.computing_ps, ideal)
    bubble = min(plan.bubble_ps, ideal - computing)
    return StepTime(duration_ps, computing, bubble, ideal - computing - bubble, duration_ps - ideal)


def breakdown(job: Job, durations_ps: Sequence[int], without_network_ps: Sequence[int]) -> list[StepTime]:
    """Parts of each step of a job.

    Parameters
    ----------
    durations_ps : (steps,)          simulated
    without_network_ps : (steps,)    of the same schedule where messages take no time
    """
    computing, bubble = pipeline_ps(job)
    return [
        divide(int(whole), StepPlan(computing, bubble, int(ideal)))
        for whole, ideal in zip(durations_ps, without_network_ps, strict=True)
    ]


def slowdowns(together_ps: Sequence[int], alone_ps: Sequence[int]) -> list[float]:
    """Time of each job together / alone, with the same placement and seed."""
    return [a / b for a, b in zip(together_ps, alone_ps, strict=True)]


def jain_index(values: Sequence[float]) -> float:
    """(sum x)^2 / (n sum x^2): 1 where all are equal, 1/n where one has everything."""
    return sum(values) ** 2 / (len(values) * sum(value**2 for value in values))


def completion_ratio(measured_ps: int, compute_ps: int, bus_bytes: float, nic_bps: int) -> float:
    """Job completion time / roofline C + S x factor / NIC rate (draft-calabria-bmwg-ai-fabric-training-bench)."""
    return measured_ps / (compute_ps + bus_bytes * 8 * 10**12 / nic_bps)
