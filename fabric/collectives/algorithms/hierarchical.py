"""Hierarchical all-reduce over nodes of G ranks, segment by segment.

Reduce-scatter by a ring in the node, all-reduce by a ring over the M nodes along each rail with 1/G of the data,
all-gather by a ring in the node. With several segments one network works on a segment while the other has the next.
"""

from __future__ import annotations

from dataclasses import replace

from fabric.collectives.schedule import Builder, Request, Run, Schedule, builder, part, split


def hierarchical(request: Request) -> Schedule:
    """The three phases of every segment; cells are (segment, chunk of the place, chunk of the node)."""
    size = request.node_size
    nodes = request.n_ranks // size
    out = builder(request, chunks=request.pieces, parts=(size, nodes))
    for segment in range(request.pieces):
        _Segment(out, segment, size, nodes).add()
    return out.build("hierarchical")


class _Segment:
    """One segment; `arrived` and `posted` are rows of the phase before by rank."""

    def __init__(self, out: Builder, segment: int, size: int, nodes: int) -> None:
        self.out, self.size, self.nodes = out, size, nodes
        self.elements = part(out.request.n_elements, out.request.pieces, segment)
        self.base = segment * size * nodes
        self.step = segment
        self.arrived: dict[int, int] = {}
        self.posted: dict[int, int] = {}

    def add(self) -> None:
        """All phases in order."""
        size, nodes, out = self.size, self.nodes, self.out
        servers = [[node * size + place for place in range(size)] for node in range(nodes)]
        rails = [[node * size + place for node in range(nodes)] for place in range(size)]
        chunk = split(self.elements, size)
        whole = self._run(size, self.base, nodes, chunk.small, chunk.n_longer)
        for ranks in servers:
            self._ring(ranks, whole, 0, size - 1, adds=True, additions=(0, 1))
        self.step += size - 1
        for place, ranks in enumerate(rails):
            cut = split(chunk.of(place), nodes)
            run = self._run(nodes, self.base + place * nodes, 1, cut.small, cut.n_longer)
            last_ps = out.reduction_ps(chunk.of(place) * out.request.element_bytes) if size > 1 else 0
            self._ring(ranks, run, 0, nodes - 1, adds=True, additions=(0, 1), first_ps=last_ps)
            self._ring(ranks, run, nodes - 1, 2 * (nodes - 1), adds=False, additions=(1, 0))
        self.step += 2 * (nodes - 1) - (size - 1)
        for ranks in servers:
            self._ring(ranks, whole, size - 1, 2 * (size - 1), adds=False, additions=(int(nodes == 1), 0))

    @staticmethod
    def _run(chunks: int, base: int, width: int, small: int, n_longer: int) -> Run:
        return Run(0, -1, chunks, base=base, scale=width, width=width, small=small, longer_by=1, n_longer=n_longer)

    def _ring(
        self, ranks: list[int], run: Run, begin: int, end: int, *, adds: bool, additions: tuple[int, int],
        first_ps: int = 0,
    ) -> None:  # fmt: skip
        """Steps begin .. end - 1 of a ring, numbered as in ring.py.

        Parameters: `additions` of a chunk before the first message and before each later one; `first_ps`: time of the
        addition that ends the phase before.
        """
        out, n = self.out, len(ranks)
        alike = not out.request.reduction_fs_per_byte or (additions[0] == additions[1] and not first_ps)
        middle = end if alike else min(begin + 1, end)
        for low, high, number, extra in ((begin, middle, additions[0], first_ps), (middle, end, additions[1], 0)):
            if low >= high:
                continue
            rows = [
                out.series(rank, ranks[(place + 1) % n], high - low, replace(run, first=(place - 1 - low) % n),
                           adds=adds, step=self.step + low, reductions=number, extra_ps=extra)
                for place, rank in enumerate(ranks)
            ]  # fmt: skip
            for place, rank in enumerate(ranks):
                if rank in self.arrived:
                    out.arrived(self.arrived[rank], rows[place], lead=out.count(self.arrived[rank]))
                if rank in self.posted:
                    out.posted(self.posted[rank], rows[place], lead=out.count(self.posted[rank]))
                if high - low > 1:
                    out.arrived(rows[place - 1], rows[place], lead=0, per=1)
            for place, rank in enumerate(ranks):
                self.posted[rank], self.arrived[rank] = rows[place], rows[place - 1]
