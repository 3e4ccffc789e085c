"""A job as a user writes it: one strict model for each mapping of a job file. Shapes only; load.py has the meaning."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from fabric.errors import UnitError
from fabric.jobs.presets import GPUS, MODELS
from fabric.topology.quantities import PlannedTimePs, RateBps, SizeBytes, TimePs
from fabric.topology.select import nearest
from fabric.topology.spec import Line, Name, Strict

Count = Annotated[int, Field(ge=1, le=2**20)]


def model_fields(value: Any) -> Any:  # noqa: ANN401  what YAML holds
    """The name of a preset -> its fields."""
    if not isinstance(value, str):
        return value
    if value not in MODELS:
        raise UnitError(
            f"{value!r} is no model",
            nearest(value, MODELS, "models") or f"use one of {', '.join(MODELS)}, or a mapping",
        )
    model = MODELS[value]
    return {field: getattr(model, field) for field in ModelSpec.model_fields if field != "source"}


def _gpu(value: Any) -> Any:  # noqa: ANN401  what YAML holds
    if isinstance(value, str) and value not in GPUS:
        raise UnitError(
            f"{value!r} is no GPU", nearest(value, GPUS, "GPUs") or f"use one of {', '.join(GPUS)}, or give peak_tflops"
        )
    return value


class ModelSpec(Strict):
    """Shape of a decoder-only transformer."""

    name: Name = Field(description="Name in tables.")
    layers: int = Field(ge=1, le=10_000, description="Number of layers.")
    hidden: int = Field(ge=1, le=2**20, description="Hidden size.")
    feed_forward: int = Field(ge=1, le=2**22, description="Width of the feed-forward part; of one expert.")
    heads: int = Field(ge=1, le=2**16, description="Attention heads.")
    kv_heads: int | None = Field(None, ge=1, le=2**16, description="Key-value heads; as many as heads where absent.")
    vocabulary: int = Field(ge=1, le=2**24, description="Size of the vocabulary.")
    sequence: int = Field(ge=1, le=2**24, description="Longest sequence, tokens.")
    style: Literal["llama", "gpt"] = Field(
        "llama", description="llama: gated feed-forward, RMSNorm, no biases; gpt: two matrices, LayerNorm, biases."
    )
    tied_embeddings: bool | None = Field(
        None, description="The output layer uses the matrix of the embedding; by default with style: gpt only."
    )
    experts: int = Field(0, ge=0, le=2**16, description="Experts of each layer; 0: a dense model.")
    experts_per_token: int = Field(0, ge=0, le=2**10, description="Experts of a token.")


class ParallelSpec(Strict):
    """How the model and the batch are divided. tp x pp x dp x cp = gpus."""

    tp: Count = Field(1, description="Tensor parallelism.")
    pp: Count = Field(1, description="Pipeline stages.")
    dp: Count = Field(1, description="Data parallelism: replicas.")
    cp: Count = Field(1, description="Context parallelism: parts of a sequence.")
    ep: Count = Field(1, description="Expert parallelism, within the data-parallel ranks.")
    order: Annotated[tuple[Literal["tp", "cp", "dp", "pp"], ...], Field(strict=False)] = Field(
        ("tp", "cp", "dp", "pp"), description="Axes of the rank numbers, the fastest first (Megatron's order)."
    )
    virtual_stages: Count = Field(1, description="Chunks of each stage; more than 1 with schedule: interleaved.")
    sequence_parallel: bool = Field(False, description="Divide activations between the tensor-parallel parts too.")
    context: Literal["ring", "all-gather"] | None = Field(
        None, description="Exchange of keys and values with cp above 1; ring where absent."
    )
    layers: Literal["even", "ends"] | Annotated[tuple[int, ...], Field(strict=False, max_length=2**14)] = Field(
        "even",
        description="even: equal numbers; ends: the first and last virtual stage have one fewer; or one number each.",
    )


class BatchSpec(Strict):
    """A step."""

    sequence: Annotated[int, Field(ge=1, le=2**24)] = Field(description="Tokens of a sequence.")
    micro_batch: Count = Field(1, description="Sequences of a micro-batch.")
    micro_batches: Count | None = Field(None, description="Micro-batches of a step and replica.")
    global_batch: Count | None = Field(None, description="Instead: sequences of a step, all replicas together.")


class MemorySpec(Strict):
    """What is kept, and in which width."""

    zero: Literal[0, 1, 2, 3] = Field(
        0, description="ZeRO stage: 1 shards the optimizer, 2 gradients too, 3 (FSDP) weights too."
    )
    recompute: Literal["none", "selective", "full"] = Field("none", description="Activations computed a second time.")
    flash: bool = Field(True, description="Attention scores are never stored.")
    gradients: Literal["fp32", "bf16"] = Field("fp32", description="Width of gradients in memory and in reductions.")
    bucket: SizeBytes = Field(25 * 2**20, description="Size of a gradient bucket.")
    keep_gathered: bool = Field(False, description="zero: 3 gathers weights once a step, not per micro-batch.")
    reduce_each_micro_batch: bool = Field(
        False, description="Reduce gradients after each micro-batch, not once a step."
    )


class PipelineSpec(Strict):
    """Order of the passes."""

    schedule: Literal["gpipe", "1f1b", "interleaved"] = Field("1f1b", description="Order of the passes on a stage.")
    sends: Literal["asynchronous", "blocking"] = Field(
        "asynchronous", description="blocking: a stage computes nothing while it sends."
    )


class StragglerSpec(Strict):
    """A rank that computes more slowly."""

    rank: int = Field(ge=0, lt=2**20, description="Rank.")
    factor: float = Field(gt=0, le=1000, description="Its computing times are multiplied by this.")


class ComputeSpec(Strict):
    """Computing times: from a peak and a utilisation, or measured."""

    gpu: Annotated[str | None, BeforeValidator(_gpu)] = Field(None, description="h100-sxm or a100-sxm.")
    peak_tflops: float | None = Field(None, gt=0, le=10**6, description="Instead: dense 16-bit peak of another GPU.")
    memory: SizeBytes | None = Field(None, gt=0, description="Memory of another GPU.")
    utilisation: float | None = Field(None, gt=0, le=1, description="Share of the peak that matrices reach.")
    causal: bool = Field(True, description="Attention skips blocks above the diagonal.")
    layer_forward: TimePs | None = Field(None, gt=0, description="Measured: a layer's forward pass, one micro-batch.")
    layer_backward: TimePs | None = Field(None, gt=0, description="Measured: a layer's backward pass.")
    attention_share: float = Field(
        0.5, gt=0, lt=1, description="With measured times: share of the attention block in them."
    )
    output_forward: TimePs = Field(0, description="With measured times: output layer and loss.")
    output_backward: TimePs = Field(0, description="With measured times: their backward pass.")
    optimizer: TimePs = Field(0, description="Optimizer step, after the gradients are reduced.")
    jitter: float = Field(0, ge=0, le=10, description="Coefficient of variation of each rank's time per micro-batch.")
    stragglers: Annotated[tuple[StragglerSpec, ...], Field(strict=False, max_length=4096)] = Field(
        (), description="Ranks that compute more slowly."
    )


class NetworkSpec(Strict):
    """Links of a GPU, for predictions without a fabric; one direction."""

    nic: RateBps = Field(400 * 10**9, description="Rate of its NIC.")
    scale_up: RateBps | None = Field(
        None, description="Rate to the GPUs of its node; that of the GPU's preset, else 3600G."
    )
    nic_latency: TimePs = Field(5_000_000, description="Latency of a message between nodes.")
    scale_up_latency: TimePs = Field(1_000_000, description="Latency of a message within a node.")


class RoutingSpec(Strict):
    """How tokens choose experts, for the load of the busiest rank."""

    skew: Literal["zipf", "dirichlet"] = Field(description="Distribution of the experts' weights.")
    exponent: float = Field(gt=0, le=1000, description="Zipf's exponent, or the concentration of Dirichlet.")
    capacity_factor: float | None = Field(
        None, gt=0, le=1000, description="Tokens above ceil(factor x tokens K / E) of an expert are dropped."
    )


class CollectiveRule(Strict):
    """By which algorithm collectives of the job are carried out."""

    algorithm: str = Field(
        min_length=1, description="Algorithm (docs/collectives.md), or auto: what NCCL's model chooses for each size."
    )
    groups: Annotated[tuple[Literal["tp", "cp", "ep", "pp", "dp"], ...], Field(strict=False)] = Field(
        (), description="Groups of ranks to which it applies; all where absent."
    )
    operations: Annotated[
        tuple[Literal["all-reduce", "reduce-scatter", "all-gather", "all-to-all"], ...], Field(strict=False)
    ] = Field((), description="Operations to which it applies; all that the algorithm carries out where absent.")
    channels: int = Field(1, ge=1, le=64, description="Rings side by side.")
    chunk: SizeBytes | None = Field(None, gt=0, description="Largest message; larger ones are cut into equal pieces.")
    generation: Literal["volta", "ampere", "hopper", "blackwell"] | None = Field(
        None, description="GPUs, with algorithm: auto; hopper where absent."
    )


class CheckpointSpec(Strict):
    """When and how the state is stored."""

    every: Count | None = Field(None, description="Steps from one checkpoint to the next.")
    interval: PlannedTimePs | None = Field(
        None,
        gt=0,
        description="Instead: time between them, such as 60min, rounded to whole steps without communication.",
    )
    mode: Literal["sync", "async"] = Field(
        "sync",
        description="sync: ranks wait until their part is stored; async: they wait for the copy to host memory, which "
        "is written beside the next steps.",
    )
    bytes_per_parameter: Annotated[int, Field(ge=1, le=64)] = Field(
        14, description="fp32 weights and two moments: 12; with the 16-bit copy of the weights: 14."
    )
    writers: Literal["one-replica", "all"] = Field(
        "one-replica", description="one-replica: one rank writes each part of the state; all: every replica its share."
    )
    stripe: Annotated[SizeBytes, Field(gt=0)] | None = Field(
        None, description="Size of pieces that go to the storage nodes in turn; a writer's part is one where absent."
    )
    host_copy: Annotated[RateBps, Field(gt=0)] | None = Field(
        None, description="With mode: async: rate from a GPU to host memory; 200G (25 GB/s) where absent."
    )


class DatasetSpec(Strict):
    """What a step reads."""

    bytes_per_token: Annotated[int, Field(ge=1, le=2**20)] = Field(
        4, description="Bytes read for each token; text takes 2 to 4, images and video far more."
    )
    prefetch: Annotated[int, Field(ge=0, le=64)] = Field(
        1, description="Steps ahead of their use at which data are requested."
    )


class StorageSpec(Strict):
    """Checkpoints and the dataset."""

    checkpoint: CheckpointSpec | None = Field(None, description="None are written where absent.")
    dataset: DatasetSpec | None = Field(None, description="Nothing is read where absent.")


class JobSpec(Strict):
    """A training job."""

    name: Name | None = Field(None, description="Name of the job; of the file where absent.")
    description: Line = Field("", max_length=500, description="One line.")
    model: Annotated[ModelSpec, BeforeValidator(model_fields)] = Field(description="Name of a preset, or its shape.")
    gpus: Count = Field(description="GPUs of the job.")
    gpus_per_node: Annotated[int, Field(ge=1, le=1024)] = Field(8, description="GPUs with one scale-up network.")
    parallel: ParallelSpec = Field(ParallelSpec(), description="Sizes of the groups.")
    batch: BatchSpec = Field(description="Sequences and micro-batches.")
    memory: MemorySpec = Field(MemorySpec(), description="ZeRO, recomputation, buckets.")
    pipeline: PipelineSpec = Field(PipelineSpec(), description="Order of the passes.")
    compute: ComputeSpec = Field(description="Computing times.")
    network: NetworkSpec = Field(NetworkSpec(), description="Rates for predictions.")
    routing: RoutingSpec | None = Field(None, description="Skewed choice of experts; uniform where absent.")
    collectives: Annotated[tuple[CollectiveRule, ...], Field(strict=False, max_length=64)] = Field(
        (), description="Algorithms by group and operation, the last match decides; rings, and direct all-to-all."
    )
    storage: StorageSpec | None = Field(None, description="Checkpoints and dataset; neither where absent.")
    seed: int = Field(0, ge=0, lt=2**63, description="Of jitter and skew.")
