"""Serving of inference requests: arrivals, dispatch to prefill, and decoding in continuous batches.

Prefill and decode are on different GPUs (DistServe, arXiv 2401.09670; Splitwise, arXiv 2311.18677). An instance
prefills one prompt at a time, in order of arrival. A decode instance works in iterations (Orca, OSDI 2022): before each
one it takes waiting sequences, the first come first, up to its batch; every sequence gets one token, and leaves when it
has all. An iteration takes what inference.decode_seconds says of its batch. Memory for caches is not limited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabric.jobs.inference import decode_seconds
from fabric.jobs.model import Model
from fabric.units import PS_PER_S

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Requests:
    """Columns (n,), in order of arrival."""

    arrival_ps: Ints
    prompt_tokens: Ints
    output_tokens: Ints


@dataclass(frozen=True, slots=True)
class Serving:
    """Instances and their speed."""

    model: Model
    gpus: int
    """Of an instance, tensor-parallel."""
    prefill_instances: int
    decode_instances: int
    batch: int
    """Most sequences of a decode instance at a time."""
    peak_flops: int
    utilisation_ratio: float
    """Share of the peak that prefill reaches."""
    memory_bytes_per_s: int
    memory_ratio: float
    """Share of the memory's rate that decoding reaches."""
    cache_bytes: int
    """Width of an element of the cache."""
    all_reduce_ps: int
    """Of one decoding all-reduce between the GPUs of an instance; two a layer."""


def poisson_requests(
    rate_per_s: float, count: int, prompt: int, output: int, variation: float, start_ps: int, draw: np.random.Generator
) -> Requests:
    """Poisson arrivals; lengths from log-normal distributions with these means and this coefficient of variation.

    variation : 0: every prompt and output has the mean length
    """
    gaps = draw.exponential(PS_PER_S / rate_per_s, count)
    arrival = start_ps + np.cumsum(gaps).astype(np.int64)
    prompts, outputs = (_lengths(mean, variation, count, draw) for mean in (prompt, output))
    return Requests(arrival, prompts, outputs)


def _lengths(mean: int, variation: float, count: int, draw: np.random.Generator) -> Ints:
    if not variation:
        return np.full(count, mean, np.int64)
    sigma = np.sqrt(np.log1p(variation**2))
    drawn = draw.lognormal(np.log(mean) - sigma**2 / 2, sigma, count)
    return np.maximum(np.rint(drawn), 1).astype(np.int64)


def dispatched(arrival_ps: Ints, duration_ps: Ints, instances: int) -> Ints:
    """(n,) instance of each request: the one that is free first, by the known times of prefill."""
    free = np.zeros(instances, np.int64)
    found = np.empty(len(arrival_ps), np.int64)
    for row, (arrival, duration) in enumerate(zip(arrival_ps.tolist(), duration_ps.tolist(), strict=True)):
        best = int(np.argmin(np.maximum(free, arrival)))
        found[row] = best
        free[best] = max(int(free[best]), arrival) + duration
    return found


def decoded(serving: Serving, requests: Requests, instance: Ints, ready_ps: Sequence[int | None]) -> list[int | None]:
    """(n,) when the last token of each request is there; None where its cache never arrived.

    Parameters
    ----------
    instance : (n,)    decode instance of each request
    ready_ps : (n,)    when the cache is complete there, with which the first token counts as made
    """
    found: list[int | None] = [None] * len(ready_ps)
    for number in range(serving.decode_instances):
        rows = [row for row in np.flatnonzero(instance == number).tolist() if ready_ps[row] is not None]
        rows.sort(key=lambda row: (ready_ps[row] or 0, row))
        for row, end in _iterations(serving, requests, rows, [ready_ps[row] or 0 for row in rows]):
            found[row] = end
    return found


def _iterations(
    serving: Serving, requests: Requests, rows: Sequence[int], ready_ps: Sequence[int]
) -> list[tuple[int, int]]:
    """(request, end) of one instance."""
    now, taken = 0, 0
    active: list[list[int]] = []  # request, tokens to come, tokens in its cache
    found = []
    while taken < len(rows) or active:
        if not active:
            now = max(now, ready_ps[taken])
        while taken < len(rows) and ready_ps[taken] <= now and len(active) < serving.batch:
            row = rows[taken]
            left = int(requests.output_tokens[row]) - 1  # the first one came from prefill
            if left:
                active.append([row, left, int(requests.prompt_tokens[row]) + 1])
            else:
                found.append((row, ready_ps[taken]))
            taken += 1
        if not active:
            continue
        now += iteration_ps(serving, len(active), sum(each[2] for each in active) / len(active))
        for each in active:
            each[1] -= 1
            each[2] += 1
        found += [(each[0], now) for each in active if not each[1]]
        active = [each for each in active if each[1]]
    return found


def iteration_ps(serving: Serving, batch: int, context_tokens: float) -> int:
    """Time of one token of each sequence of a batch."""
    seconds = decode_seconds(
        serving.model,
        batch,
        context_tokens,
        serving.gpus,
        serving.memory_bytes_per_s * serving.memory_ratio,
        element_bytes=serving.cache_bytes,
        collective_s=serving.all_reduce_ps / PS_PER_S,
        tensor_parallel=serving.gpus > 1,
    )
    return round(seconds * PS_PER_S)
