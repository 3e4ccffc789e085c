"""Inference: key-value cache, and lower bounds of the time to the first and to each further token.

Sources: Pope et al. (arXiv 2211.05102) for the bounds by work and by memory; DistServe (arXiv 2401.09670) for prefill
and decode on different GPUs, and for goodput.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabric.jobs.model import Model, active_parameters, parameters


def kv_bytes_per_token(model: Model, element_bytes: int = 2) -> int:
    """Keys and values of one token in all layers, 2 L k d w."""
    return 2 * model.layers * model.kv_width * element_bytes


def kv_transfer_seconds(model: Model, prompt_tokens: int, nic_bps: int, shards: int = 1) -> float:
    """Time to move a prompt's cache from prefill to decode; each shard has a separate NIC."""
    return kv_bytes_per_token(model) * prompt_tokens * 8 / (nic_bps * shards)


def exposed_transfer_seconds(
    model: Model, prompt_tokens: int, nic_bps: int, prefill_s: float, shards: int = 1
) -> float:
    """What is left of the transfer after prefill where each layer is sent once it is computed.

    The last layer, or the lag of a network that is slower than prefill.
    """
    whole = kv_transfer_seconds(model, prompt_tokens, nic_bps, shards)
    first = prefill_s / model.layers
    return max(whole / model.layers, first + whole - prefill_s)


def prefill_flop(model: Model, prompt_tokens: int) -> int:
    """Work of a prompt: 2P + 2 L h s for each token on average (causal); P the active parameters."""
    return prompt_tokens * (2 * active_parameters(model) + 2 * model.layers * model.hidden * prompt_tokens)


def prefill_seconds(model: Model, prompt_tokens: int, gpus: int, peak_flops: float, utilisation: float = 1.0) -> float:
    """Lower bound: the work at the peak."""
    return prefill_flop(model, prompt_tokens) / (gpus * peak_flops * utilisation)


def decode_seconds(
    model: Model,
    batch: int,
    context_tokens: float,
    gpus: int,
    memory_bytes_per_s: float,
    *,
    element_bytes: int = 2,
    collective_s: float = 0.0,
    tensor_parallel: bool = False,
) -> float:
    """Lower bound of one token of each sequence of a batch: weights and caches are read once from memory.

    With experts every weight is counted, as a large batch reaches all experts. `collective_s` is the time of one small
    all-reduce; there are two in a layer.
    """
    read = parameters(model) * element_bytes + batch * context_tokens * kv_bytes_per_token(model, element_bytes)
    waits = collectives_per_token(model) * collective_s if tensor_parallel else 0.0
    return read / (gpus * memory_bytes_per_s) + waits


def collectives_per_token(model: Model) -> int:
    """Tensor-parallel all-reduces of a decoded token: 2L."""
    return 2 * model.layers


def decode_all_reduce_bytes(model: Model, batch: int, element_bytes: int = 2) -> int:
    """Size of each of them, n h w."""
    return batch * model.hidden * element_bytes


def time_to_first_token(queue_s: float, prefill_s: float, last_piece_s: float) -> float:
    """TTFT: queue, prefill, and transfer of the last piece of the cache."""
    return queue_s + prefill_s + last_piece_s


def time_per_output_token(first_s: float, end_s: float, tokens: int) -> float:
    """TPOT: (end - first token)/(tokens - 1). Raises: ValueError for fewer than two tokens."""
    if tokens < 2:
        raise ValueError("a request of one token has no time per output token")
    return (end_s - first_s) / (tokens - 1)


@dataclass(frozen=True, slots=True)
class Request:
    """A finished request."""

    ttft_s: float
    tpot_s: float


def goodput(requests: Sequence[Request], ttft_limit_s: float, tpot_limit_s: float, seconds: float) -> float:
    """Requests a second within both limits."""
    met = sum(each.ttft_s <= ttft_limit_s and each.tpot_s <= tpot_limit_s for each in requests)
    return met / seconds
