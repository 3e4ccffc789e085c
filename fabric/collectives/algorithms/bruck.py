"""Bruck's algorithms for any n in ceil(log2 n) rounds (Bruck et al. 1997).

All-gather: in round k a rank sends the first min(2^k, n - 2^k) blocks it has, its own first, to the rank 2^k before it.
All-to-all: in round k it sends every block whose distance to its destination has bit k to the rank 2^k after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabric.collectives.algorithms.folding import Last, exchange
from fabric.collectives.schedule import Request, Schedule, builder


def bruck(request: Request) -> Schedule:
    """All-gather and all-to-all."""
    n, out = request.n_ranks, builder(request)
    last = [Last() for _ in range(n)]
    for k in range((n - 1).bit_length()):
        distance = 1 << k
        moves: list[tuple[int, int, Sequence[int]]]
        if request.operation == "all-gather":
            count = min(distance, n - distance)
            moves = [(r, (r - distance) % n, [(r + i) % n for i in range(count)]) for r in range(n)]
        else:
            moves = [(r, (r + distance) % n, _through(r, k, n)) for r in range(n)]
        exchange(out, last, moves, adds=False, step=k)
    return out.build("bruck")


def _through(rank: int, k: int, n: int) -> list[int]:
    """All-to-all blocks that a rank sends in round k: those at distance i are by then i mod 2^k from their source."""
    low = (1 << k) - 1
    return [
        (source := (rank - (i & low)) % n) * n + (source + i) % n
        for i in range(1 << k, n)
        if i >> k & 1
    ]  # fmt: skip
