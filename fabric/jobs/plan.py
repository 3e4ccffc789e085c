"""What a job needs, before anything runs: memory, volumes, times, and bounds of communication."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fabric.jobs.compute import Draw, chunk_ps
from fabric.jobs.experts import expert_capacity, expert_weights, route
from fabric.jobs.job import Job, RankMemory, held_of_ranks, rank_memory, stage_held
from fabric.jobs.load import LoadedJob
from fabric.jobs.model import active_parameters, model_flops_utilisation, parameters, step_work
from fabric.jobs.parallel import Ints, crossing_edges
from fabric.jobs.pipeline import Pass, bubble_ps, longest_path, orders
from fabric.jobs.storage import StoragePlan, storage_plan
from fabric.jobs.volumes import (
    KindTotal,
    Volume,
    boundary_bytes,
    kind_totals,
    packed_nodes,
    routed_tokens,
    stage_volumes,
)
from fabric.units import PS_PER_S

KINDS: Final = ("tp", "cp", "ep", "pp", "dp")
"""In the order of tables."""
HIDDEN: Final = ("inputs of weight gradients", "loss")
"""Ends of the names of operations that run beside computation, or are negligible."""


@dataclass(frozen=True, slots=True)
class StagePlan:
    """One rank of one stage."""

    layers: int
    parameters: int
    memory: RankMemory
    forward_ps: int
    """One micro-batch through all chunks."""
    backward_ps: int


@dataclass(frozen=True, slots=True)
class VolumePlan:
    """One operation and the stages that carry it out alike."""

    volume: Volume
    stages: tuple[int, ...]
    crossing_ratio: float
    """Share of its bytes that leave the node."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Communication of one kind in a step, of the ranks of the busiest stage."""

    scale_up_bytes: int
    network_bytes: int
    seconds: float
    """At least: the larger of the two links' times, without latency and contention."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Figures of a job; bytes per rank unless the name says otherwise."""

    parameters: int
    active_parameters: int
    tokens: int
    model_flop: int
    stages: tuple[StagePlan, ...]
    volumes: tuple[VolumePlan, ...]
    totals: Mapping[str, KindTotal]
    bounds: Mapping[str, Bound]
    bubble_ps: int
    """By formula, of the slowest stage's times."""
    step_compute_ps: int
    """Longest path without communication, optimizer included."""
    step_bound_ps: int
    """The same with pipeline transfers and collectives that nothing hides, at full rate: no run is faster by much."""
    utilisation_ratio: float
    """Model FLOP utilisation at step_bound_ps; 0 where the peak is unknown."""
    imbalance_ratio: float
    """Most loaded receiver of a dispatch / mean, one draw; 1 with uniform routing."""
    dropped_ratio: float
    fits: bool
    storage: StoragePlan | None
    """None where the job has no storage."""


def make_plan(loaded: LoadedJob, draw: Draw) -> Plan:
    """Plan of a job with ranks packed on nodes.

    Parameters
    ----------
    draw : (name of a stream) -> numpy Generator    for skewed routing
    """
    job = loaded.job
    p, nodes = job.parallel.pp, packed_nodes(job)
    stages = tuple(
        StagePlan(
            job.layers_of(stage),
            stage_held(job, stage).total,
            rank_memory(job, stage),
            sum(chunk_ps(job, virtual, forward=True) for virtual, _ in job.chunks(stage)),
            sum(chunk_ps(job, virtual, forward=False) for virtual, _ in job.chunks(stage)),
        )
        for stage in range(p)
    )
    volumes = _volumes(job, nodes)
    totals = kind_totals(job, nodes)
    bounds = {kind: _bound(job, total) for kind, total in totals.items()}
    compute = step_ps(job)
    bound = step_ps(job, volumes)
    slowest = max(stages, key=lambda stage: stage.forward_ps + stage.backward_ps)
    flop = step_work(job.model, job.tokens, job.sequence, causal=job.causal)
    peak = job.computing.peak_flops
    used = model_flops_utilisation(flop, bound / PS_PER_S, job.parallel.n_ranks, peak) if peak else 0.0
    imbalance, dropped = _skew(loaded, draw)
    return Plan(
        parameters(job.model),
        active_parameters(job.model),
        job.tokens,
        flop,
        stages,
        volumes,
        totals,
        bounds,
        bubble_ps(job.schedule, p, slowest.forward_ps, slowest.backward_ps, job.virtual_stages),
        compute,
        bound,
        used,
        imbalance,
        dropped,
        not job.gpu_memory_bytes or all(s.memory.total_bytes <= job.gpu_memory_bytes for s in stages),
        storage_plan(job, held_of_ranks(job), bound) if job.storage is not None else None,
    )


def _volumes(job: Job, nodes: Ints) -> tuple[VolumePlan, ...]:
    """Volumes of all stages; equal ones of several stages are one row."""
    rows: dict[tuple[Volume, float], list[int]] = {}
    for stage in range(job.parallel.pp):
        for volume in stage_volumes(job, stage):
            rows.setdefault((volume, _crossing(job, volume, stage, nodes)), []).append(stage)
    found = [VolumePlan(volume, tuple(stages), share) for (volume, share), stages in rows.items()]
    return tuple(sorted(found, key=lambda row: (KINDS.index(row.volume.kind), row.stages[0])))


def _crossing(job: Job, volume: Volume, stage: int, nodes: Ints) -> float:
    if volume.operation == "send":
        step = 1 if volume.name.endswith("forward") else -1
        here = job.parallel.stage_ranks(stage)
        there = job.parallel.stage_ranks((stage + step) % job.parallel.pp)
        return float((nodes[here] != nodes[there]).mean())
    groups = job.parallel.groups(volume.groups, stage)
    crossing, edges = crossing_edges(groups, nodes, pairs=volume.operation == "all-to-all")
    return crossing / edges


def _bound(job: Job, total: KindTotal) -> Bound:
    inside = total.worst_rank_bytes - total.worst_rank_crossing_bytes
    outside = total.worst_rank_crossing_bytes
    seconds = max(inside * 8 / job.links.scale_up_bps, outside * 8 / job.links.nic_bps)
    return Bound(inside, outside, seconds)


def bytes_ps(job: Job, size_bytes: float, crossing_ratio: float) -> float:
    """Time of a rank's bytes at full rate, both links at once."""
    inside = size_bytes * (1 - crossing_ratio) * 8 * PS_PER_S / job.links.scale_up_bps
    return max(inside, size_bytes * crossing_ratio * 8 * PS_PER_S / job.links.nic_bps)


def step_ps(job: Job, volumes: tuple[VolumePlan, ...] = ()) -> int:
    """Longest path of a step, without jitter; with `volumes` also collectives that computation waits for.

    A stage's collectives are spread evenly over its passes of one direction. Gradients and weights of data parallelism
    and the ring exchange of keys and values run beside computation and are not counted.
    """
    p = job.parallel.pp
    waits: dict[tuple[int, bool], float] = {}
    hop = 0.0
    for row in volumes:
        volume = row.volume
        per_rank = bytes_ps(job, volume.rank_bytes, row.crossing_ratio)
        if volume.kind == "pp" and volume.operation == "send":
            hop = max(hop, bytes_ps(job, boundary_bytes(job), row.crossing_ratio))
        elif volume.kind in {"tp", "ep", "cp"} and volume.operation != "exchange" and not volume.name.endswith(HIDDEN):
            for stage in row.stages:
                key = stage, volume.name.endswith("forward")
                waits[key] = waits.get(key, 0.0) + per_rank / job.micro_batches
    cost = {
        (virtual, forward): chunk_ps(job, virtual, forward=forward)
        + round(waits.get((virtual % p, forward), 0.0) / job.virtual_stages)
        for virtual in range(job.n_virtual)
        for forward in (True, False)
    }

    def duration(stage: int, each: Pass) -> int:
        return cost[each.chunk * p + stage, each.forward]

    plan = orders(job.schedule, p, job.micro_batches, job.virtual_stages)
    line = longest_path(plan, duration, round(hop), blocking=job.blocking_sends)
    return line.total_ps + job.computing.optimizer_ps


def _skew(loaded: LoadedJob, draw: Draw) -> tuple[float, float]:
    """(most loaded receiver / mean, share of dropped tokens) of one dispatch."""
    job, routing = loaded.job, loaded.routing
    if routing is None or not job.routed:
        return 1.0, 0.0
    generator = draw("job.routing")
    model, e, tokens = job.model, job.parallel.ep, routed_tokens(job)
    weights = expert_weights(routing.skew, model.experts, routing.exponent, generator)
    capacity = None
    if routing.capacity_factor is not None:
        capacity = expert_capacity(routing.capacity_factor, tokens * e, model.experts_per_token, model.experts)
    found = route(tokens, model.experts_per_token, e, weights, generator, capacity=capacity)
    return found.imbalance_ratio, found.dropped / (tokens * e * model.experts_per_token)
