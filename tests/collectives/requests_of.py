"""Requests that every algorithm is tested with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fabric.collectives.registry import ALGORITHMS, problems
from fabric.collectives.schedule import Request

PAIRS = [(name, operation) for name, item in ALGORITHMS.items() for operation in item.operations]
"""Every algorithm with every operation that it has."""


def a_request(
    operation: str,
    n: int,
    elements: int,
    *,
    channels: int = 1,
    pieces: int = 1,
    node_size: int = 1,
    reduction: int = 0,
    latency: int = 0,
) -> Request:
    """A request with a root in the middle, and random sizes for all-to-all-v (some are 0)."""
    matrix = None
    if operation == "all-to-all-v":
        matrix = np.random.default_rng(n).integers(0, elements + 1, (n, n))
        elements = int(matrix.sum(axis=1).max())
    rooted = operation in {"broadcast", "reduce", "scatter", "gather"}
    return Request(
        operation, n, elements, 4, root=(n - 1) // 2 if rooted else 0, channels=channels, pieces=pieces,
        node_size=node_size, send_latency_ps=latency, reduction_fs_per_byte=reduction, matrix=matrix,
    )  # fmt: skip


def possible(algorithm: str, operation: str, ranks: list[int], elements: list[int]) -> Iterator[Request]:
    """Requests of all kinds that the algorithm can carry out."""
    for n in ranks:
        for count in elements:
            for channels, pieces, node_size, reduction in (
                (1, 1, 1, 0), (1, 1, 1, 7), (2, 3, 1, 7), (1, 1, 4, 0), (1, 3, 1, 0), (1, 2, 2, 7), (4, 1, 4, 0),
            ):  # fmt: skip
                request = a_request(
                    operation, n, count, channels=channels, pieces=pieces, node_size=node_size, reduction=reduction
                )
                if not problems(algorithm, request):
                    yield request
