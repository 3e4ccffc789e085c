"""Recursive halving and doubling (Rabenseifner): halve the range at distances 1, 2, 4 ..., then gather back.

Workers are numbered 0 .. p - 1 (folding.py). In halving step k a worker exchanges with worker q xor 2^k: the lower
keeps the lower half of its range and gives the upper one. In doubling, k downwards, each gives all it has.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabric.collectives.algorithms.folding import add_at_end, exchange, fold, unfold
from fabric.collectives.schedule import Request, Schedule, builder


def halving_doubling(request: Request) -> Schedule:
    """Any n for all-reduce, powers of two for its halves; ranks beyond the power give their whole buffer."""
    return _build(request, "halving-doubling", halves=False)


def halving_doubling_halves(request: Request) -> Schedule:
    """The same with the folding that exchanges halves."""
    return _build(request, "halving-doubling-halves", halves=True)


def _build(request: Request, name: str, *, halves: bool) -> Schedule:
    power = 1 << (request.n_ranks.bit_length() - 1)
    out = builder(request, chunks=power)
    workers = fold(out, power, halves=halves)
    ranks, last, step = workers.ranks, workers.last, workers.first_step
    rounds = power.bit_length() - 1
    # Ranges by worker before each halving step; whole blocks in another order where blocks belong to ranks.
    ranges = [[range(power)] * power]
    for k in range(rounds):
        ranges.append([_half(ranges[-1][q], upper=bool(q >> k & 1)) for q in range(power)])
    owner = _owner(ranges[-1]) if request.operation != "all-reduce" else None
    if request.operation != "all-gather":
        for k in range(rounds):
            moves: list[tuple[int, int, Sequence[int]]] = [
                (ranks[q], ranks[q ^ 1 << k], _of(owner, ranges[k + 1][q ^ 1 << k])) for q in range(power)
            ]
            exchange(out, last, moves, adds=True, step=step)
            step += 1
    if request.operation != "reduce-scatter":
        for k in reversed(range(rounds)):
            moves = [(ranks[q], ranks[q ^ 1 << k], _of(owner, ranges[k + 1][q])) for q in range(power)]
            exchange(out, last, moves, adds=False, step=step)
            step += 1
        unfold(out, workers, power, step)
    add_at_end(out, last)
    return out.build(name)


def _half(cells: range, *, upper: bool) -> range:
    middle = (cells.start + cells.stop) // 2
    return range(middle, cells.stop) if upper else range(cells.start, middle)


def _owner(ends: Sequence[range]) -> list[int]:
    """(p,) rank whose range ends as a cell: the lowest distance halves first, so the order is that of reversed bits."""
    owner = [0] * len(ends)
    for rank, cells in enumerate(ends):
        owner[cells.start] = rank
    return owner


def _of(owner: Sequence[int] | None, cells: range) -> Sequence[int]:
    return cells if owner is None else [owner[cell] for cell in cells]
