"""Time that ranks compute: from the work and a utilisation of the peak, or from measured times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.jobs.job import Job
from fabric.jobs.model import layer_work, output_work
from fabric.units import PS_PER_S

Draw = Callable[[str], np.random.Generator]
"""Name of a random stream -> its generator; the caller knows the seed."""
JITTER_STREAM: Final = "job.jitter"


@dataclass(frozen=True, slots=True)
class Times:
    """Of one rank, one layer or output layer, and one micro-batch, in ps, before jitter and stragglers."""

    attention_forward_ps: int
    feed_forward_forward_ps: int
    attention_backward_ps: int
    """Without repeated forward work."""
    feed_forward_backward_ps: int
    attention_repeated_ps: int
    """Forward work that recomputation repeats in the backward pass."""
    feed_forward_repeated_ps: int
    output_forward_ps: int
    output_backward_ps: int

    @property
    def layer_forward_ps(self) -> int:
        """Both blocks."""
        return self.attention_forward_ps + self.feed_forward_forward_ps

    @property
    def layer_backward_ps(self) -> int:
        """Both blocks, repeated work included."""
        return (
            self.attention_backward_ps
            + self.feed_forward_backward_ps
            + self.attention_repeated_ps
            + self.feed_forward_repeated_ps
        )

    def pass_ps(self, layers: int, *, forward: bool, output: bool) -> int:
        """A pass through some layers, and through the output layer where the chunk has it."""
        layer = self.layer_forward_ps if forward else self.layer_backward_ps
        end = self.output_forward_ps if forward else self.output_backward_ps
        return layers * layer + (end if output else 0)


def times(job: Job) -> Times:
    """Times of the job's layers. Backward is twice the forward work; selective recomputation repeats the scores."""
    full = job.recompute == "full"
    measured = job.computing.measured
    if measured is not None:
        ratio = measured.attention_ratio
        attention = round(measured.layer_forward_ps * ratio)
        backward = round(measured.layer_backward_ps * ratio)
        ahead = measured.layer_forward_ps - attention
        return Times(
            attention,
            ahead,
            backward,
            measured.layer_backward_ps - backward,
            attention if full else 0,
            ahead if full else 0,
            measured.output_forward_ps,
            measured.output_backward_ps,
        )
    work = layer_work(job.model, job.tokens_of_rank, job.sequence, causal=job.causal)
    attention, ahead, scores, output = (
        compute_ps(job, flop)
        for flop in (work.attention, work.feed_forward, work.scores, output_work(job.model, job.tokens_of_rank))
    )
    again = attention if full else scores if job.recompute == "selective" else 0
    return Times(attention, ahead, 2 * attention, 2 * ahead, again, ahead if full else 0, output, 2 * output)


def compute_ps(job: Job, flop: int) -> int:
    """Time of some FLOP divided among the tensor-parallel ranks, at the job's utilisation."""
    rate = job.computing.peak_flops * job.computing.utilisation_ratio * job.parallel.tp
    return round(flop * PS_PER_S / rate)


def chunk_ps(job: Job, virtual: int, *, forward: bool) -> int:
    """A pass of one micro-batch through one virtual stage, without communication."""
    output = virtual == job.n_virtual - 1
    return times(job).pass_ps(job.layers[virtual], forward=forward, output=output)


def factors(job: Job, draw: Draw) -> NDArray[np.float64]:
    """(n_ranks, micro_batches) factors of the computing times.

    A factor has mean 1 and the stated coefficient of variation (log-normal, so it is never negative); each rank has its
    own stream, so that more ranks shift no draws. Stragglers multiply all of a rank's.
    """
    shape = (job.parallel.n_ranks, job.micro_batches)
    found = np.ones(shape)
    ratio = job.computing.jitter_ratio
    if ratio:
        sigma = np.sqrt(np.log1p(ratio**2))
        for rank in range(shape[0]):
            found[rank] = draw(f"{JITTER_STREAM}.{rank}").lognormal(-(sigma**2) / 2, sigma, shape[1])
    for rank, factor in job.computing.stragglers:
        found[rank] *= factor
    return found
