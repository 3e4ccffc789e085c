"""A training job as facts: the model, how it is divided, and what a step consists of. Checked by checks.py."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from fabric.jobs.algorithms import AlgorithmRule
from fabric.jobs.memory import ModelState, Recompute, activation_bytes, in_flight, model_state
from fabric.jobs.model import Model, embedding_parameters, layer_parameters, output_parameters
from fabric.jobs.parallel import Ints, Parallel
from fabric.jobs.storage import Storage

Schedule = Literal["gpipe", "1f1b", "interleaved"]
Context = Literal["ring", "all-gather"]


@dataclass(frozen=True, slots=True)
class MeasuredTimes:
    """Times of one rank for one micro-batch, from a profile instead of a utilisation."""

    layer_forward_ps: int
    layer_backward_ps: int
    """Without the repeated forward pass of full recomputation."""
    attention_ratio: float
    """Share of the attention block in a layer's time; the rest is the feed-forward part."""
    output_forward_ps: int
    output_backward_ps: int


@dataclass(frozen=True, slots=True)
class Computing:
    """How long a rank computes."""

    peak_flops: int
    """Dense, at the width of the weights; 0 where times are measured."""
    utilisation_ratio: float
    measured: MeasuredTimes | None = None
    optimizer_ps: int = 0
    """After the gradients are reduced."""
    jitter_ratio: float = 0.0
    """Coefficient of variation of a factor drawn for each rank and micro-batch."""
    stragglers: tuple[tuple[int, float], ...] = ()
    """(rank, constant factor)."""


@dataclass(frozen=True, slots=True)
class Links:
    """Rates of a GPU, one direction, and the latency of a message."""

    scale_up_bps: int
    nic_bps: int
    scale_up_latency_ps: int
    nic_latency_ps: int


@dataclass(frozen=True, slots=True)
class Job:
    """A training job; every field was checked."""

    name: str
    model: Model
    parallel: Parallel
    layers: tuple[int, ...]
    """(p v,) layers of each virtual stage, forward order: virtual stage c p + i is chunk c of stage i."""
    virtual_stages: int
    sequence: int
    micro_batch: int
    micro_batches: int
    """Of a step and replica."""
    computing: Computing
    links: Links
    gpus_per_node: int = 8
    gpu_memory_bytes: int = 0
    """0: unknown."""
    sequence_parallel: bool = False
    context: Context = "ring"
    schedule: Schedule = "1f1b"
    blocking_sends: bool = False
    element_bytes: int = 2
    gradient_bytes: int = 4
    """Width in which gradients are kept and reduced."""
    zero: int = 0
    bucket_bytes: int = 25 * 2**20
    recompute: Recompute = "none"
    flash: bool = True
    causal: bool = True
    keep_gathered: bool = False
    """ZeRO 3: weights are gathered once a step instead of twice a micro-batch."""
    reduce_each_micro_batch: bool = False
    """Gradients are reduced after each micro-batch instead of once a step."""
    collectives: tuple[AlgorithmRule, ...] = ()
    """Algorithms of collectives; rings and direct all-to-all where no rule matches."""
    storage: Storage | None = None
    """Checkpoints and dataset; None: the job does neither."""

    @property
    def n_virtual(self) -> int:
        """Virtual stages, p v."""
        return self.parallel.pp * self.virtual_stages

    @property
    def global_batch(self) -> int:
        """Sequences of a step."""
        return self.micro_batch * self.micro_batches * self.parallel.dp

    @property
    def tokens(self) -> int:
        """Tokens of a step."""
        return self.global_batch * self.sequence

    @property
    def tokens_of_rank(self) -> int:
        """Tokens of a micro-batch in one context-parallel rank, s b / c."""
        return self.sequence * self.micro_batch // self.parallel.cp

    @property
    def tensor_bytes(self) -> int:
        """A = s b h w / c: the activations between two layers."""
        return self.tokens_of_rank * self.model.hidden * self.element_bytes

    @property
    def routed(self) -> bool:
        """Whether tokens travel to experts of other ranks."""
        return self.model.experts > 0 and self.parallel.ep > 1

    def chunks(self, stage: int) -> list[tuple[int, int]]:
        """(virtual stage, its layers) of each chunk of a stage."""
        return [(number, self.layers[number]) for number in range(stage, self.n_virtual, self.parallel.pp)]

    def layers_of(self, stage: int) -> int:
        """Layers of all chunks of a stage."""
        return sum(layers for _, layers in self.chunks(stage))


@dataclass(frozen=True, slots=True)
class Held:
    """Parameters that one rank holds before ZeRO."""

    dense: int
    experts: int

    @property
    def total(self) -> int:
        """Both."""
        return self.dense + self.experts


def layer_held(job: Job) -> Held:
    """Parameters of one layer on one rank: matrices over t, E/e experts, norms and router whole."""
    of, t = layer_parameters(job.model), job.parallel.tp
    if not job.model.experts:
        return Held((of.attention + of.feed_forward) // t + of.replicated, 0)
    return Held(of.attention // t + of.replicated, of.feed_forward // t * (job.model.experts // job.parallel.ep))


def vocabulary_held(job: Job) -> int:
    """Elements of a vocabulary matrix on one rank: rows are padded to a multiple of t."""
    return -(-job.model.vocabulary // job.parallel.tp) * job.model.hidden


def embedding_held(job: Job) -> int:
    """Parameters of the embedding on one rank of the first stage; positions are not divided."""
    positions = embedding_parameters(job.model) - job.model.vocabulary * job.model.hidden
    return vocabulary_held(job) + positions


def output_held(job: Job) -> int:
    """Parameters of the output layer and last norm on one rank of the last stage.

    With tied embeddings and p > 1 the last stage holds a copy of the embedding.
    """
    rest = output_parameters(job.model)
    if job.model.tied_embeddings:
        return rest + (vocabulary_held(job) if job.parallel.pp > 1 else 0)
    return rest - job.model.vocabulary * job.model.hidden + vocabulary_held(job)


def virtual_stage_held(job: Job, virtual: int) -> Held:
    """Parameters of one virtual stage on one rank."""
    layer, layers = layer_held(job), job.layers[virtual]
    ends = (embedding_held(job) if virtual == 0 else 0) + (output_held(job) if virtual == job.n_virtual - 1 else 0)
    return Held(layer.dense * layers + ends, layer.experts * layers)


def stage_held(job: Job, stage: int) -> Held:
    """Parameters of one rank of a stage, all chunks."""
    chunks = [virtual_stage_held(job, virtual) for virtual, _ in job.chunks(stage)]
    return Held(sum(chunk.dense for chunk in chunks), sum(chunk.experts for chunk in chunks))


def held_of_ranks(job: Job) -> Ints:
    """(n_ranks,) parameters that each rank holds."""
    stage = job.parallel.coordinates()["pp"]
    return np.array([stage_held(job, number).total for number in range(job.parallel.pp)], np.int64)[stage]


@dataclass(frozen=True, slots=True)
class RankMemory:
    """Bytes of one rank of a stage."""

    state: ModelState
    activations_bytes: int
    micro_batches_in_flight: Fraction

    @property
    def total_bytes(self) -> int:
        """Model state and activations."""
        return self.state.total_bytes + self.activations_bytes


def rank_memory(job: Job, stage: int) -> RankMemory:
    """Memory of a rank of a stage at the worst time."""
    held, parallel = stage_held(job, stage), job.parallel
    dense, experts = (
        model_state(count, job.zero, ranks, weight_bytes=job.element_bytes, gradient_bytes=job.gradient_bytes)
        for count, ranks in ((held.dense, parallel.gradient_ranks), (held.experts, parallel.expert_gradient_ranks))
    )
    state = ModelState(
        dense.weights_bytes + experts.weights_bytes,
        dense.gradients_bytes + experts.gradients_bytes,
        dense.optimizer_bytes + experts.optimizer_bytes,
    )
    layer = activation_bytes(
        job.model,
        job.sequence,
        job.micro_batch,
        tp=parallel.tp,
        cp=parallel.cp,
        sequence_parallel=job.sequence_parallel,
        recompute=job.recompute,
        flash=job.flash,
    )
    flying = in_flight(job.schedule, stage, parallel.pp, job.micro_batches, job.virtual_stages)
    # Ceiling: a rank cannot hold a part of a byte. Chunks of a stage are alike up to one layer.
    activations = -int(-(layer * job.layers_of(stage) * flying) // 1)
    return RankMemory(state, activations, flying)
