"""Recursive doubling: in step k worker q exchanges all it has with worker q xor 2^k; few steps, many bytes."""

from __future__ import annotations

from collections.abc import Sequence

from fabric.collectives.algorithms.folding import add_at_end, exchange, fold, unfold
from fabric.collectives.schedule import Request, Schedule, builder


def recursive_doubling(request: Request) -> Schedule:
    """All-reduce of any n (folding.py); all-gather of powers of two."""
    out = builder(request)
    if request.operation == "all-gather":
        return _all_gather(request)
    workers = fold(out, 1)
    ranks, step = workers.ranks, workers.first_step
    power = len(ranks)
    for k in range(power.bit_length() - 1):
        moves: list[tuple[int, int, Sequence[int]]] = [(ranks[q], ranks[q ^ 1 << k], range(1)) for q in range(power)]
        exchange(out, workers.last, moves, adds=True, step=step)
        step += 1
    unfold(out, workers, 1, step)
    add_at_end(out, workers.last)
    return out.build("recursive-doubling")


def _all_gather(request: Request) -> Schedule:
    out = builder(request)
    workers = fold(out, request.n_ranks)
    for k in range(request.n_ranks.bit_length() - 1):
        moves: list[tuple[int, int, Sequence[int]]] = [
            (rank, rank ^ 1 << k, range(rank >> k << k, (rank >> k << k) + (1 << k))) for rank in workers.ranks
        ]
        exchange(out, workers.last, moves, adds=False, step=k)
    return out.build("recursive-doubling")
