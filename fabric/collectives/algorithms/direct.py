"""Direct: every block goes from its source to its destination at once, without steps.

All-to-all: n - 1 messages of each rank, to r + 1 first, so that receivers are not all the same. Scatter and gather:
n - 1 messages of, or to, the root. Send-recv: one message to the next rank. All-gather: the rank's block to all others.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabric.collectives.schedule import Request, Schedule, builder


def direct(request: Request) -> Schedule:
    """All messages at once; a rank posts its own one after another."""
    n, root, out = request.n_ranks, request.root, builder(request)
    moves: list[tuple[int, int, int]]
    match request.operation:
        case "scatter":
            moves = [(root, rank, rank) for rank in _after(root, n)]
        case "gather":
            moves = [(rank, root, rank) for rank in _after(root, n)]
        case "broadcast":
            moves = [(root, rank, 0) for rank in _after(root, n)]
        case "send-recv":
            moves = [(rank, (rank + 1) % n, rank) for rank in range(n)] if n > 1 else []
        case "all-gather":
            moves = [(rank, to, rank) for rank in range(n) for to in _after(rank, n)]
        case _:
            moves = [(rank, to, rank * n + to) for rank in range(n) for to in _after(rank, n)]
    before: dict[int, int] = {}
    for src, dst, cell in moves:
        cells: Sequence[int] = (cell,)
        row = out.message(src, dst, cells, adds=False, step=0)
        if src in before:
            out.posted(before[src], row)
        before[src] = row
    return out.build("direct")


def _after(rank: int, n: int) -> list[int]:
    return [(rank + s) % n for s in range(1, n)]
