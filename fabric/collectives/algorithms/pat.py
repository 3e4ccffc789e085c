"""PAT, parallel aggregated trees (NCCL): the partners of Bruck's algorithm, the largest distance first.

All-gather: at distance d = 2^k, k downwards, a rank sends to the rank d after it every block that it has whose way so
far is a multiple of 2d and that is still needed there; a block takes the bits of its distance from the highest. The
far blocks travel first, which is why an implementation needs to store few of them. Reduce-scatter is the same
backwards in time. Here each distance is one message; NCCL cuts larger ones into several.
Source: Jeaugey, 'PAT: a new algorithm for all-gather and reduce-scatter operations at scale' (arXiv 2506.20252).
"""

from __future__ import annotations

from collections.abc import Sequence

from fabric.collectives.algorithms.folding import Last, add_at_end, exchange
from fabric.collectives.schedule import Request, Schedule, builder


def pat(request: Request) -> Schedule:
    """All-gather and reduce-scatter of any n."""
    n, out = request.n_ranks, builder(request)
    last = [Last() for _ in range(n)]
    rounds = (n - 1).bit_length()
    adds = request.operation == "reduce-scatter"
    for step in range(rounds):
        distance = 1 << (step if adds else rounds - 1 - step)
        moves: list[tuple[int, int, Sequence[int]]] = []
        for rank in range(n):
            blocks = [(rank - way) % n for way in reversed(range(0, n - distance, 2 * distance))]
            to = (rank + distance) % n
            moves.append((to, rank, blocks) if adds else (rank, to, blocks))
        exchange(out, last, moves, adds=adds, step=step)
    add_at_end(out, last)
    return out.build("pat")
