"""Gradient buckets: the order in which gradients become ready, cut into pieces that are reduced together.

PyTorch DDP reduces 25 MiB at a time, Megatron 40 million elements or more. Gradients become ready from the last layer
backwards. Here a bucket is full at exactly its size; libraries close it with the tensor that fills it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabric.jobs.job import Job, embedding_held, layer_held, output_held


@dataclass(frozen=True, slots=True)
class Unit:
    """Parameters whose gradients become ready together, or whose weights are gathered together."""

    name: str
    """'output', 'embedding', or the number of the layer within its virtual stage."""
    dense: int
    experts: int


@dataclass(frozen=True, slots=True)
class Bucket:
    """A piece of the gradients."""

    elements: int
    ready_after: int
    """Index of the unit that fills it, in the order of the backward pass."""


def units(job: Job, virtual: int) -> list[Unit]:
    """Units of a virtual stage in the order of the backward pass."""
    layer = layer_held(job)
    found = [Unit("output", output_held(job), 0)] if virtual == job.n_virtual - 1 else []
    found += [Unit(str(number), layer.dense, layer.experts) for number in reversed(range(job.layers[virtual]))]
    if virtual == 0:
        found.append(Unit("embedding", embedding_held(job), 0))
    return found


def buckets(sizes: Sequence[int], most: int) -> list[Bucket]:
    """Cut a sequence of gradients into buckets of `most` elements; the last one is what is left.

    >>> [(b.elements, b.ready_after) for b in buckets([5, 5, 2], 4)]
    [(4, 0), (4, 1), (4, 2)]
    """
    found: list[Bucket] = []
    waiting = 0
    for number, size in enumerate(sizes):
        waiting += size
        while waiting >= most:
            found.append(Bucket(most, number))
            waiting -= most
    if waiting:
        found.append(Bucket(waiting, len(sizes) - 1))
    return found
