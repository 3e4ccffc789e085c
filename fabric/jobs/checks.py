"""Contradictions of a job: divisions that leave a rest, options without effect. All are found together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.collectives.registry import ALGORITHMS, CHOOSERS
from fabric.errors import Problem
from fabric.jobs.algorithms import JOB_OPERATIONS, NCCL_CHOOSES
from fabric.jobs.spec import JobSpec, ModelSpec
from fabric.topology.select import nearest

MAX_PASSES: Final = 2_000_000
"""Passes of a pipeline, p m v: the longest path visits each twice."""


def problems(spec: JobSpec, layers: tuple[int, ...]) -> list[Problem]:
    """Every contradiction; paths are relative to the job. `layers` are those of the virtual stages."""
    return [
        *_model(spec),
        *_groups(spec),
        *_layers(spec, layers),
        *_batch(spec),
        *_memory(spec),
        *_compute(spec),
        *_collectives(spec),
        *_storage(spec),
    ]


def _divides(path: str, value: int, what: str, by: int, because: str) -> Iterator[Problem]:
    if value % by:
        yield Problem(path, f"{value:,} {what} do not divide by {because} {by:,}", "change one of the two")


def _model(spec: JobSpec) -> Iterator[Problem]:
    model, tp = spec.model, spec.parallel.tp
    kv_heads = model.heads if model.kv_heads is None else model.kv_heads
    yield from model_problems(model)
    yield from _divides("parallel.tp", model.heads, "heads", tp, "tp:")
    yield from _divides("parallel.tp", kv_heads, "key-value heads", tp, "tp:")
    yield from _divides("parallel.tp", model.feed_forward, "elements of feed_forward", tp, "tp:")


def model_problems(model: ModelSpec) -> Iterator[Problem]:
    """Contradictions of a model; paths are those of a field `model`."""
    kv_heads = model.heads if model.kv_heads is None else model.kv_heads
    yield from _divides("model.hidden", model.hidden, "elements", model.heads, "heads:")
    yield from _divides("model.heads", model.heads, "heads", kv_heads, "kv_heads:")
    if model.experts_per_token > model.experts:
        text = f"{model.experts_per_token} experts per token, but the model has {model.experts}"
        yield Problem("model.experts_per_token", text, "give experts, or a smaller number")
    if model.experts and not model.experts_per_token:
        yield Problem("model.experts_per_token", "is 0, so that no expert is used", "give 1 or more")


def _collectives(spec: JobSpec) -> Iterator[Problem]:
    for number, rule in enumerate(spec.collectives):
        path, chooses = f"collectives[{number}]", rule.algorithm in CHOOSERS
        known = ALGORITHMS.get(rule.algorithm)
        if known is None and not chooses:
            names = [*ALGORITHMS, *CHOOSERS]
            hint = nearest(rule.algorithm, names, "algorithms") or f"use one of {', '.join(names)}"
            yield Problem(f"{path}.algorithm", f"{rule.algorithm!r} is not an algorithm", hint)
            continue
        able = NCCL_CHOOSES if known is None else known.operations
        usable = [name for name in able if name in JOB_OPERATIONS]
        for operation in rule.operations:
            if operation not in able:
                hint = f"it has {', '.join(usable)}" if usable else "use another algorithm"
                yield Problem(f"{path}.operations", f"{rule.algorithm} has no {operation}", hint)
        if not usable:
            yield Problem(f"{path}.algorithm", f"{rule.algorithm} has no operation of a job", "use another algorithm")
        if rule.channels > 1 and (known is None or not known.channels):
            yield Problem(f"{path}.channels", f"has no effect with {rule.algorithm}", "remove it")
        if rule.chunk is not None and (known is None or not known.pieces):
            yield Problem(f"{path}.chunk", f"has no effect with {rule.algorithm}", "remove it")
        if rule.generation is not None and not chooses:
            yield Problem(f"{path}.generation", f"has no effect with {rule.algorithm}", "use algorithm: auto")


def _groups(spec: JobSpec) -> Iterator[Problem]:
    parallel = spec.parallel
    ranks = parallel.tp * parallel.pp * parallel.dp * parallel.cp
    if ranks != spec.gpus:
        text = f"tp x pp x dp x cp = {parallel.tp} x {parallel.pp} x {parallel.dp} x {parallel.cp} = {ranks:,}, not "
        hint = f"set gpus: {ranks}"
        rest = parallel.tp * parallel.pp * parallel.cp
        if spec.gpus % rest == 0:
            hint += f", or dp: {spec.gpus // rest}"
        yield Problem("gpus", text + f"{spec.gpus:,}", hint)
    if sorted(parallel.order) != ["cp", "dp", "pp", "tp"]:
        yield Problem("parallel.order", "does not name each axis once", "write tp, cp, dp and pp, the fastest first")
    if spec.gpus > spec.gpus_per_node:
        yield from _divides("gpus_per_node", spec.gpus, "GPUs", spec.gpus_per_node, "gpus_per_node:")
    if parallel.ep > 1:
        if not spec.model.experts:
            yield Problem("parallel.ep", "the model has no experts, so ep has no effect", "remove it")
        else:
            yield from _divides("parallel.ep", spec.model.experts, "experts", parallel.ep, "ep:")
        yield from _divides("parallel.ep", parallel.dp, "data-parallel ranks", parallel.ep, "ep:")
        if parallel.tp > 1 and not parallel.sequence_parallel:
            text = "ep and tp above 1 would route each token tp times"
            yield Problem("parallel.sequence_parallel", text, "set sequence_parallel: true")
    if spec.routing is not None and (parallel.ep == 1 or not spec.model.experts):
        yield Problem("routing", "has no effect without parallel.ep above 1", "remove it, or give ep")
    if parallel.sequence_parallel and parallel.tp == 1:
        yield Problem("parallel.sequence_parallel", "has no effect with tp: 1", "remove it, or raise tp")
    if parallel.context is not None and parallel.cp == 1:
        yield Problem("parallel.context", "has no effect with cp: 1", "remove it, or raise cp")


def _layers(spec: JobSpec, layers: tuple[int, ...]) -> Iterator[Problem]:
    parallel, count, pipeline = spec.parallel, spec.model.layers, spec.pipeline
    parts = parallel.pp * parallel.virtual_stages
    if len(layers) != parts:
        text = f"{len(layers)} numbers for pp x virtual_stages = {parts} virtual stages"
        yield Problem("parallel.layers", text, "give one number for each")
    elif sum(layers) != count or min(layers) < 0:
        text = (
            f"{count} layers are not divided by {parallel.layers if isinstance(parallel.layers, str) else 'this list'}"
        )
        hint = f"pp x virtual_stages is {parts}: change it, or give layers: one number for each, with the sum {count}"
        yield Problem("parallel.layers", text, hint)
    interleaved = pipeline.schedule == "interleaved"
    if parallel.virtual_stages > 1 and not interleaved:
        text = f"{parallel.virtual_stages} needs pipeline.schedule: interleaved, not {pipeline.schedule}"
        yield Problem("parallel.virtual_stages", text, "change one of the two")
    if interleaved and parallel.virtual_stages == 1:
        yield Problem("pipeline.schedule", "interleaved needs parallel.virtual_stages above 1", "give it, or use 1f1b")
    if interleaved and parallel.pp == 1:
        yield Problem("pipeline.schedule", "interleaved has no effect with pp: 1", "use 1f1b, or raise pp")
    if pipeline.sends == "blocking" and parallel.pp == 1:
        yield Problem("pipeline.sends", "has no effect with pp: 1", "remove it, or raise pp")


def _batch(spec: JobSpec) -> Iterator[Problem]:
    batch, parallel = spec.batch, spec.parallel
    if (batch.micro_batches is None) == (batch.global_batch is None):
        text = "micro_batches and global_batch are both given, or neither"
        yield Problem("batch.micro_batches", text, "give one of them")
        return
    replica = batch.micro_batch * parallel.dp
    if batch.global_batch is not None and (batch.global_batch < replica or batch.global_batch % replica):
        text = f"{batch.global_batch:,} sequences do not divide by micro_batch x dp = {replica:,}"
        yield Problem("batch.global_batch", text, f"use a multiple of {replica:,}")
        return
    m = batch.micro_batches or (batch.global_batch or 0) // replica
    if spec.pipeline.schedule == "interleaved" and m % parallel.pp:
        low = m - m % parallel.pp
        text = f"{m} micro-batches are no multiple of pp: {parallel.pp}, which interleaved needs"
        hint = f"use {low} or {low + parallel.pp}" if low else f"use {parallel.pp}"
        yield Problem("batch.micro_batches" if batch.micro_batches else "batch.global_batch", text, hint)
    if parallel.pp * parallel.virtual_stages * m > MAX_PASSES:
        text = f"pp x virtual_stages x micro-batches is more than {MAX_PASSES:,}"
        yield Problem("batch.micro_batches", text, "give fewer")
    if batch.sequence > spec.model.sequence:
        text = f"{batch.sequence:,} tokens are more than the model's {spec.model.sequence:,}"
        yield Problem("batch.sequence", text, "shorten it, or raise model.sequence")
    parts = parallel.cp * (parallel.tp if parallel.sequence_parallel else 1)
    names = "cp x tp =" if parallel.sequence_parallel else "cp:"
    yield from _divides("batch.sequence", batch.sequence, "tokens", parts, names)


def _memory(spec: JobSpec) -> Iterator[Problem]:
    memory, parallel = spec.memory, spec.parallel
    if memory.zero and parallel.dp * parallel.cp == 1:
        yield Problem("memory.zero", f"{memory.zero} has no effect with dp: 1 and cp: 1", "remove it")
    if memory.keep_gathered and memory.zero != 3:
        yield Problem("memory.keep_gathered", "has no effect without zero: 3", "remove it")
    if memory.bucket < 4:
        yield Problem("memory.bucket", f"{memory.bucket} bytes hold no gradient", "use a size such as 25MiB")


def _storage(spec: JobSpec) -> Iterator[Problem]:
    storage = spec.storage
    if storage is None:
        return
    if storage.checkpoint is None and storage.dataset is None:
        yield Problem("storage", "has no effect without checkpoint and dataset", "give one of them, or remove it")
    made = storage.checkpoint
    if made is None:
        return
    if (made.every is None) == (made.interval is None):
        yield Problem("storage.checkpoint", "every and interval are both given, or neither", "give one of them")
    if made.mode == "sync" and made.host_copy is not None:
        yield Problem("storage.checkpoint.host_copy", "has no effect with mode: sync", "remove it, or use mode: async")
    if made.writers == "all" and spec.parallel.dp * spec.parallel.cp == 1:
        text = "all has no effect with dp: 1 and cp: 1: there is one replica"
        yield Problem("storage.checkpoint.writers", text, "remove it")


def _compute(spec: JobSpec) -> Iterator[Problem]:
    compute = spec.compute
    ways = {
        "gpu": compute.gpu is not None,
        "peak_tflops": compute.peak_tflops is not None,
        "layer_forward and layer_backward": compute.layer_forward is not None or compute.layer_backward is not None,
    }
    given = [name for name, there in ways.items() if there]
    measured = ways["layer_forward and layer_backward"]
    # A GPU beside measured times says how much memory there is.
    if not given or (len(given) > 1 and not (measured and compute.gpu is not None and len(given) == 2)):
        text = f"{' and '.join(given)} are all given" if given else "says neither a GPU nor measured times"
        yield Problem("compute", text, f"give one of {', '.join(ways)}")
    if measured and (compute.layer_forward is None or compute.layer_backward is None):
        missing = "layer_forward" if compute.layer_forward is None else "layer_backward"
        yield Problem(f"compute.{missing}", "is missing beside the other measured time", "give both")
    if not measured:
        if given and compute.utilisation is None:
            yield Problem("compute.utilisation", "is missing", "give the share of the peak, such as 0.45")
        for field in ("output_forward", "output_backward"):
            if getattr(compute, field):
                yield Problem(f"compute.{field}", "has no effect without layer_forward", "remove it")
        if "attention_share" in compute.model_fields_set:
            yield Problem("compute.attention_share", "has no effect without layer_forward", "remove it")
    elif compute.utilisation is not None:
        yield Problem("compute.utilisation", "has no effect with measured times", "remove it")
    if measured and "causal" in compute.model_fields_set:
        yield Problem("compute.causal", "has no effect with measured times", "remove it")
    if measured and spec.memory.recompute == "selective":
        text = "selective adds work that layer_backward does not tell"
        yield Problem("memory.recompute", text, "include it in layer_backward, and use none with flash: true")
    if compute.gpu is not None and compute.memory is not None:
        yield Problem("compute.memory", f"{compute.gpu} has a known memory", "remove it")
    ranks = [straggler.rank for straggler in compute.stragglers]
    for number, rank in enumerate(ranks):
        if rank >= spec.gpus:
            yield Problem(f"compute.stragglers[{number}].rank", f"there is no rank {rank}", f"use 0..{spec.gpus - 1}")
        if rank in ranks[:number]:
            yield Problem(f"compute.stragglers[{number}].rank", f"rank {rank} is given twice", "remove one of them")
