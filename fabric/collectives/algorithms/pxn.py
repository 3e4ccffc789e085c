"""All-to-all with PXN: to reach another node, first the local rank on the destination's rail, which sends for all.

Rank (node m, place g) gives the rank at place h of its node what it has for place h of every node; that rank then
sends the blocks of its whole node to (m', h) in one message, so traffic between nodes stays on one rail. In nodes of G
ranks messages between nodes are G times larger and G times fewer than in direct exchange.
"""

from __future__ import annotations

from fabric.collectives.schedule import Builder, Request, Run, Schedule, builder, split


def pxn(request: Request) -> Schedule:
    """All-to-all in two hops."""
    n, size = request.n_ranks, request.node_size
    out = builder(request)
    for node in range(n // size):
        _Node(out, list(range(node * size, (node + 1) * size))).add()
    return out.build("pxn")


class _Node:
    def __init__(self, out: Builder, ranks: list[int]) -> None:
        self.out, self.ranks, self.size = out, ranks, len(ranks)
        self.n = out.request.n_ranks
        self.nodes = self.n // self.size
        self.before: dict[int, int] = {}

    def add(self) -> None:
        """Messages inside the node, those for other nodes first, then the messages between nodes."""
        local: dict[tuple[int, int], int] = {}
        for shift in range(1, self.size):
            for place, rank in enumerate(self.ranks):
                to = (place + shift) % self.size
                local[place, to] = self._inside(rank, to)
        for away in range(1, self.nodes):
            for place, rank in enumerate(self.ranks):
                there = (rank + away * self.size) % self.n
                row = self.out.message(rank, there, [source * self.n + there for source in self.ranks], adds=False,
                                       step=away)  # fmt: skip
                for other in range(self.size):
                    if other != place:
                        self.out.arrived(local[other, place], row, lead=away)
                self._in_order(rank, row)

    def _inside(self, rank: int, to: int) -> int:
        """Message k: the block for place `to` of the node k + 1 further on; the last is for the own node."""
        first = (self.ranks[to] + self.size) % self.n
        cut = split(self.out.request.n_elements, self.n)
        run = Run(first, self.size, self.n, base=rank * self.n, small=cut.small, longer_by=1, n_longer=cut.n_longer)
        row = self.out.series(rank, self.ranks[to], self.nodes, run, adds=False, step=0)
        self._in_order(rank, row)
        return row

    def _in_order(self, rank: int, row: int) -> None:
        if rank in self.before:
            self.out.posted(self.before[rank], row, lead=self.out.count(self.before[rank]))
        self.before[rank] = row
