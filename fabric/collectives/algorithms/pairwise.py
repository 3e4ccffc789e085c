"""Pairwise exchange: all-to-all in n - 1 rounds of one message each way.

In round s rank r sends to r + s and receives from r - s; `pairwise-xor`, for powers of two, exchanges with r xor s.
A rank begins a round when it has posted its message of the round before and has received that round's.
"""

from __future__ import annotations

from collections.abc import Callable

from fabric.collectives.algorithms.folding import Last, exchange
from fabric.collectives.schedule import Request, Schedule, builder


def pairwise(request: Request) -> Schedule:
    """Rounds of rotations, any n."""
    n = request.n_ranks
    return _build(request, "pairwise", lambda rank, s: (rank + s) % n)


def pairwise_xor(request: Request) -> Schedule:
    """Rounds of exchanges, powers of two."""
    return _build(request, "pairwise-xor", lambda rank, s: rank ^ s)


def _build(request: Request, name: str, partner: Callable[[int, int], int]) -> Schedule:
    n, out = request.n_ranks, builder(request)
    last = [Last() for _ in range(n)]
    for s in range(1, n):
        moves = [(rank, partner(rank, s), (rank * n + partner(rank, s),)) for rank in range(n)]
        exchange(out, last, moves, adds=False, step=s - 1)
    return out.build(name)
