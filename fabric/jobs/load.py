"""Job files and presets -> Job, with all problems of a stage together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from fabric.errors import FabricError, InputErrors, Problem
from fabric.jobs.algorithms import AlgorithmRule
from fabric.jobs.checks import problems
from fabric.jobs.job import Computing, Job, Links, MeasuredTimes
from fabric.jobs.model import Model
from fabric.jobs.parallel import Parallel
from fabric.jobs.presets import GPUS
from fabric.jobs.spec import ComputeSpec, JobSpec, ModelSpec, RoutingSpec, StorageSpec
from fabric.jobs.storage import DEFAULT_HOST_COPY_BPS, Checkpoint, Dataset, Storage
from fabric.topology.models import fields_at, model_at

STAGE: Final = "checking the job"
_DEFAULT_SCALE_UP_BPS: Final = 3600 * 10**9


@dataclass(frozen=True, slots=True)
class LoadedJob:
    """A job, and what only its plan needs."""

    job: Job
    routing: RoutingSpec | None
    seed: int
    description: str


def load_job(raw: Mapping[str, Any], where: str, name: str = "job") -> LoadedJob:
    """A mapping of a job file -> the job.

    Parameters
    ----------
    raw : mapping    of the file
    where : str      the file, for messages
    name : str       of the job, where the mapping gives none

    Raises: InputErrors with every problem of the fields, or, where those are in order, of their meaning.
    """
    try:
        spec = JobSpec.model_validate(dict(raw))
    except ValidationError as error:
        raise InputErrors(STAGE, [each for item in error.errors() for each in _schema(item, where)]) from error
    found = [replace(problem, path=f"{where}: {problem.path}") for problem in problems(spec, layers_of(spec))]
    if found:
        raise InputErrors(STAGE, found)
    return LoadedJob(build_job(spec, name), spec.routing, spec.seed, spec.description)


def layers_of(spec: JobSpec) -> tuple[int, ...]:
    """(p v,) layers of each virtual stage; not necessarily their sum: checks.py compares it."""
    parts, rule = spec.parallel.pp * spec.parallel.virtual_stages, spec.parallel.layers
    if not isinstance(rule, str):
        return rule
    if rule == "even":
        return (spec.model.layers // parts,) * parts
    each = (spec.model.layers + 2) // parts
    return tuple(each - (number == 0) - (number == parts - 1) for number in range(parts))


def build_job(spec: JobSpec, name: str) -> Job:
    """The job of a spec without problems."""
    shape, parallel, batch, memory = spec.model, spec.parallel, spec.batch, spec.memory
    model = model_of(shape)
    micro_batches = batch.micro_batches or (batch.global_batch or 0) // (batch.micro_batch * parallel.dp)
    gpu = GPUS.get(spec.compute.gpu or "")
    scale_up = spec.network.scale_up or (gpu.scale_up_bps if gpu else _DEFAULT_SCALE_UP_BPS)
    return Job(
        name=spec.name or name,
        model=model,
        parallel=Parallel(parallel.tp, parallel.pp, parallel.dp, parallel.cp, parallel.ep, parallel.order),
        layers=layers_of(spec),
        virtual_stages=parallel.virtual_stages,
        sequence=batch.sequence,
        micro_batch=batch.micro_batch,
        micro_batches=micro_batches,
        computing=_computing(spec.compute),
        links=Links(scale_up, spec.network.nic, spec.network.scale_up_latency, spec.network.nic_latency),
        gpus_per_node=spec.gpus_per_node,
        gpu_memory_bytes=spec.compute.memory or (gpu.memory_bytes if gpu else 0),
        sequence_parallel=parallel.sequence_parallel,
        context=parallel.context or "ring",
        schedule=spec.pipeline.schedule,
        blocking_sends=spec.pipeline.sends == "blocking",
        gradient_bytes=4 if memory.gradients == "fp32" else 2,
        zero=memory.zero,
        bucket_bytes=memory.bucket,
        recompute=memory.recompute,
        flash=memory.flash,
        causal=spec.compute.causal,
        keep_gathered=memory.keep_gathered,
        reduce_each_micro_batch=memory.reduce_each_micro_batch,
        collectives=tuple(
            AlgorithmRule(it.groups, it.operations, it.algorithm, it.channels, it.chunk, it.generation)
            for it in spec.collectives
        ),
        storage=_storage(spec.storage),
    )


def model_of(shape: ModelSpec) -> Model:
    """The shape with what it leaves out."""
    heads = shape.heads if shape.kv_heads is None else shape.kv_heads
    tied = shape.style == "gpt" if shape.tied_embeddings is None else shape.tied_embeddings
    return Model(**{**shape.model_dump(), "kv_heads": heads, "tied_embeddings": tied})


def _storage(spec: StorageSpec | None) -> Storage | None:
    if spec is None:
        return None
    made, data = spec.checkpoint, spec.dataset
    checkpoint = None
    if made is not None:
        checkpoint = Checkpoint(
            made.every or 0,
            made.interval or 0,
            made.mode == "async",
            made.writers == "all",
            made.bytes_per_parameter,
            made.stripe or 0,
            made.host_copy or DEFAULT_HOST_COPY_BPS,
        )
    return Storage(checkpoint, None if data is None else Dataset(data.bytes_per_token, data.prefetch))


def _computing(spec: ComputeSpec) -> Computing:
    peak = GPUS[spec.gpu].peak_flops if spec.gpu else round((spec.peak_tflops or 0) * 10**12)
    measured = None
    if spec.layer_forward is not None and spec.layer_backward is not None:
        measured = MeasuredTimes(
            spec.layer_forward, spec.layer_backward, spec.attention_share, spec.output_forward, spec.output_backward
        )
    slow = tuple((each.rank, each.factor) for each in spec.stragglers)
    return Computing(peak, spec.utilisation or 0.0, measured, spec.optimizer, spec.jitter, slow)


def _schema(item: ErrorDetails, where: str) -> list[Problem]:
    """One finding of pydantic in our words."""
    *parts, last = item["loc"] or ("",)
    # pydantic puts the kinds of a union between the fields; the last part of an unknown field is the user's own word.
    loc = [part for part in parts if not _is_kind(part)]
    loc += [last] if item["type"] == "extra_forbidden" or not _is_kind(last) else []
    path = f"{where}: " + "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in loc).lstrip(".")
    cause = item.get("ctx", {}).get("error")
    if isinstance(cause, FabricError):
        return [Problem(path, cause.text, cause.hint)]
    if item["type"] == "extra_forbidden":
        known = fields_at(JobSpec, [part for part in loc[:-1] if isinstance(part, str)])
        near = get_close_matches(str(loc[-1]), known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"the fields are {', '.join(sorted(known))}"
        return [Problem(path, "there is no such field", hint)]
    if item["type"] == "missing":
        return [Problem(path, "is missing", "add it; docs/jobs.md describes every field")]
    words = [part for part in loc if isinstance(part, str)]
    if item["type"] in {"model_type", "dict_type"}:
        hint = f"its fields are {', '.join(fields_at(JobSpec, words))}"
        return [Problem(path, f"{item['input']!r} is not a mapping", hint)]
    text = f"{item['input']!r}: {item['msg'][0].lower()}{item['msg'][1:]}"
    return [Problem(path, text, _description(words) or "docs/jobs.md describes every field")]


def _is_kind(part: int | str) -> bool:
    return isinstance(part, str) and ("[" in part or "literal" in part)


def _description(words: list[str]) -> str:
    """The description of a field; '' where there is none."""
    owner = model_at(JobSpec, words[:-1])
    field = owner.model_fields.get(words[-1]) if owner is not None and words else None
    return (field.description or "") if field is not None else ""
