"""What a training step sends: every operation of a stage, with its size and its number.

Sizes are those of the collective libraries: one whole input of an all-reduce or reduce-scatter, one whole output of an
all-gather, the send buffer of an all-to-all. Sources: Narayanan et al. (arXiv 2104.04473) for tensor and pipeline
parallelism, Korthikanti et al. (arXiv 2205.05198) for sequence parallelism, ZeRO (arXiv 1910.02054), Llama 3 (arXiv
2407.21783) for context parallelism by all-gather, Ring Attention (arXiv 2310.01889).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from fabric.jobs.job import Job, stage_held, vocabulary_held
from fabric.jobs.parallel import Ints, crossing_edges

LOSS_REDUCTIONS: Final = 3
"""All-reduces of the vocabulary-parallel loss: maximum, logit of the target, sum of exponentials."""
LOSS_BYTES: Final = 4
"""fp32 for each token."""


@dataclass(frozen=True, slots=True)
class Volume:
    """One kind of operation of one stage in one step."""

    kind: str
    """tp, cp, ep, pp, dp."""
    name: str
    operation: str
    """all-reduce, reduce-scatter, all-gather, all-to-all, send (pipeline), exchange (to the next member of a ring)."""
    groups: str
    """Kind of the groups (Parallel.groups) that carry it out."""
    members: int
    size_bytes: int
    """Of one call."""
    calls: int
    """In one step, of one group; for sends, of one rank."""

    @property
    def group_bytes(self) -> int:
        """Bytes that the members of one group send together in one call; of one rank for a send."""
        n, size = self.members, self.size_bytes
        factor = {"all-reduce": 2 * (n - 1), "exchange": n, "send": 1}.get(self.operation, n - 1)
        return factor * size

    @property
    def rank_bytes(self) -> int:
        """Bytes that a member sends in a step: the mean of its group, rounded up."""
        senders = 1 if self.operation == "send" else self.members
        return -(-self.group_bytes * self.calls // senders)


def stage_volumes(job: Job, stage: int) -> list[Volume]:
    """Every operation of the ranks of one stage in one step; those without bytes are left out."""
    found = [
        *_tensor(job, stage),
        *_context(job, stage),
        *_expert(job, stage),
        *_pipeline(job, stage),
        *_gradients(job, stage),
    ]
    return [volume for volume in found if volume.members > 1 and volume.size_bytes and volume.calls]


def forward_passes(job: Job) -> int:
    """How often a layer's forward pass runs for a micro-batch."""
    return 2 if job.recompute == "full" else 1


def _tensor(job: Job, stage: int) -> list[Volume]:
    """Two all-reduces a layer and pass; as all-gather and reduce-scatter with sequence parallelism."""
    t, a, m = job.parallel.tp, job.tensor_bytes, job.micro_batches
    layers, forward = job.layers_of(stage) * m, forward_passes(job)
    found = []

    def add(name: str, operation: str, size: int, calls: int) -> None:
        found.append(Volume("tp", name, operation, "tp", t, size, calls))

    blocks = [("attention", a), ("feed-forward", a * job.model.experts_per_token if job.routed else a)]
    for block, size in blocks:
        if job.sequence_parallel:
            add(f"{block} forward", "all-gather", size, layers * forward)
            add(f"{block} forward", "reduce-scatter", size, layers * forward)
            add(f"{block} backward", "all-gather", size, layers)
            add(f"{block} backward", "reduce-scatter", size, layers)
            add(f"{block} inputs of weight gradients", "all-gather", size, layers)
        else:
            add(f"{block} forward", "all-reduce", size, layers * forward)
            add(f"{block} backward", "all-reduce", size, layers)
    if stage == 0:
        if job.sequence_parallel:
            add("embedding forward", "reduce-scatter", a, m)
            add("embedding backward", "all-gather", a, m)
        else:
            add("embedding forward", "all-reduce", a, m)
    if stage == job.parallel.pp - 1:
        if job.sequence_parallel:
            add("output layer forward", "all-gather", a, m)
            add("output layer inputs of weight gradients", "all-gather", a, m)
            add("output layer backward", "reduce-scatter", a, m)
        else:
            add("output layer backward", "all-reduce", a, m)
        add("loss", "all-reduce", job.tokens_of_rank * LOSS_BYTES, LOSS_REDUCTIONS * m)
    return found


def keys_values_bytes(job: Job) -> int:
    """Keys and values of one rank's tokens and heads, 2 (s/c) b k d w / t."""
    return 2 * job.tokens_of_rank * job.model.kv_width // job.parallel.tp * job.element_bytes


def _context(job: Job, stage: int) -> list[Volume]:
    c, size = job.parallel.cp, keys_values_bytes(job)
    layers, forward = job.layers_of(stage) * job.micro_batches, forward_passes(job)
    if job.context == "ring":
        return [
            Volume("cp", "keys and values forward", "exchange", "cp", c, size, layers * forward * (c - 1)),
            Volume("cp", "keys, values and gradients backward", "exchange", "cp", c, 2 * size, layers * (c - 1)),
        ]
    return [
        Volume("cp", "keys and values forward", "all-gather", "cp", c, size * c, layers * forward),
        Volume("cp", "gradients of keys and values backward", "reduce-scatter", "cp", c, size * c, layers),
    ]


def routed_tokens(job: Job) -> int:
    """Tokens that one rank routes: with sequence parallelism each tensor-parallel rank has its part."""
    return job.tokens_of_rank // job.parallel.tp if job.sequence_parallel else job.tokens_of_rank


def dispatch_bytes(job: Job) -> int:
    """Send buffer of one dispatch with uniform routing, T K h w; the part for the own experts stays."""
    return routed_tokens(job) * job.model.experts_per_token * job.model.hidden * job.element_bytes


def _expert(job: Job, stage: int) -> list[Volume]:
    if not job.routed:
        return []
    e, size = job.parallel.ep, dispatch_bytes(job)
    layers, forward = job.layers_of(stage) * job.micro_batches, forward_passes(job)
    return [
        Volume("ep", name, "all-to-all", "ep", e, size, layers * calls)
        for name, calls in (
            ("dispatch forward", forward),
            ("combine forward", forward),
            ("combine backward", 1),
            ("dispatch backward", 1),
        )
    ]


def boundary_bytes(job: Job) -> int:
    """What one rank sends to the next stage: A, or its part A/t with sequence parallelism."""
    return job.tensor_bytes // job.parallel.tp if job.sequence_parallel else job.tensor_bytes


def _pipeline(job: Job, stage: int) -> list[Volume]:
    chunks = [virtual for virtual, _ in job.chunks(stage)]
    size, p, m = boundary_bytes(job), job.parallel.pp, job.micro_batches
    ahead = sum(virtual < job.n_virtual - 1 for virtual in chunks) * m
    back = sum(virtual > 0 for virtual in chunks) * m
    found = [
        Volume("pp", "activations forward", "send", "pp", p, size, ahead),
        Volume("pp", "gradients backward", "send", "pp", p, size, back),
    ]
    if job.model.tied_embeddings and p > 1 and stage in {0, p - 1}:
        size = vocabulary_held(job) * job.gradient_bytes
        found.append(Volume("pp", "gradients of tied embeddings", "all-reduce", "embedding", 2, size, 1))
    return found


def _gradients(job: Job, stage: int) -> list[Volume]:
    held, parallel = stage_held(job, stage), job.parallel
    reductions = job.micro_batches if job.reduce_each_micro_batch else 1
    found = []
    for what, groups, members, count in (
        ("gradients", "gradients", parallel.gradient_ranks, held.dense),
        ("gradients of experts", "expert-gradients", parallel.expert_gradient_ranks, held.experts),
    ):
        reduce = "reduce-scatter" if job.zero else "all-reduce"
        found.append(Volume("dp", what, reduce, groups, members, count * job.gradient_bytes, reductions))
        weights = what.replace("gradients", "weights")
        size = count * job.element_bytes
        if job.zero in {1, 2}:
            found.append(Volume("dp", weights, "all-gather", groups, members, size, 1))
        elif job.zero == 3:
            forward, backward = (1, 0) if job.keep_gathered else (job.micro_batches, job.micro_batches)
            found.append(Volume("dp", f"{weights} forward", "all-gather", groups, members, size, forward))
            found.append(Volume("dp", f"{weights} backward", "all-gather", groups, members, size, backward))
    return found


@dataclass(frozen=True, slots=True)
class KindTotal:
    """Bytes of one kind in a step, of the whole job."""

    total_bytes: int
    crossing_bytes: int
    """Between places: nodes, leaves or pods, by the numbers that were given."""
    worst_rank_bytes: int
    worst_rank_crossing_bytes: int
    """Mean over the ranks of the stage with the most."""


def kind_totals(job: Job, place: Ints) -> Mapping[str, KindTotal]:
    """Bytes of each kind in a step.

    Parameters
    ----------
    place : (n_ranks,)    number of the node, leaf or pod of each rank

    Rings carry equal bytes on each edge, all-to-all on each pair; a group's share of crossing edges is its share of
    crossing bytes.
    """
    parallel = job.parallel
    total: dict[str, list[int]] = {}
    worst: dict[str, list[int]] = {}
    share: dict[tuple[str, int, bool], tuple[int, int]] = {}
    per_stage = parallel.n_ranks // parallel.pp
    for stage in range(parallel.pp):
        of_stage: dict[str, list[int]] = {}
        for volume in stage_volumes(job, stage):
            if volume.operation == "send":
                step = 1 if volume.name.endswith("forward") else -1
                ranks, there = parallel.stage_ranks(stage), parallel.stage_ranks((stage + step) % parallel.pp)
                bytes_all = volume.group_bytes * volume.calls * per_stage
                crossing, edges = int((place[ranks] != place[there]).sum()), per_stage
            else:
                pairs = volume.operation == "all-to-all"
                key = (volume.groups, stage, pairs)
                groups = parallel.groups(volume.groups, stage)
                if key not in share:
                    share[key] = crossing_edges(groups, place, pairs=pairs)
                crossing, edges = share[key]
                bytes_all = volume.group_bytes * volume.calls * len(groups)
                if volume.groups == "embedding":
                    bytes_all //= 2  # each of its two stages lists it and sends half
            row = of_stage.setdefault(volume.kind, [0, 0])
            row[0] += bytes_all
            row[1] += bytes_all * crossing // edges
        for kind, row in of_stage.items():
            sums = total.setdefault(kind, [0, 0])
            most = worst.setdefault(kind, [0, 0])
            for number in (0, 1):
                sums[number] += row[number]
                most[number] = max(most[number], -(-row[number] // per_stage))
    return {kind: KindTotal(*total[kind], *worst[kind]) for kind in total}


def packed_nodes(job: Job) -> Ints:
    """(n_ranks,) node of each rank where consecutive ranks fill node after node."""
    return np.arange(job.parallel.n_ranks, dtype=np.int64) // job.gpus_per_node
