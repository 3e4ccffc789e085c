"""Binary tree and double binary tree, pipelined in chunks.

The tree is NCCL's (ncclGetBtree): rank 0 is the root, and the other ranks form an in-order tree under it. The double
tree has a second one in which inner ranks and leaves are exchanged, so that each rank is inner in at most one
(Sanders, Speck, Traeff 2009); for odd n only rank 0 is the exception. Each tree carries one half.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabric.collectives.schedule import Builder, Request, Run, Schedule, builder, part, split

Parents = Sequence[int | None]


def binary_tree_parents(n: int) -> list[int | None]:
    """(n,) parent of each rank; None: the root."""
    return [None, *(_parent(rank, n) for rank in range(1, n))]


def _parent(rank: int, n: int) -> int:
    low = rank & -rank
    up = (rank ^ low) | (low << 1)
    return rank ^ low if up >= n else up


def double_tree_parents(n: int) -> tuple[list[int | None], list[int | None]]:
    """Both trees: the second is the mirror image of the first (n even) or the first shifted by one rank (n odd)."""
    first = binary_tree_parents(n)
    if n % 2:
        second = [None if (up := first[(rank - 1) % n]) is None else (up + 1) % n for rank in range(n)]
    else:
        second = [None if (up := first[n - 1 - rank]) is None else n - 1 - up for rank in range(n)]
    return first, second


def with_root(parents: Parents, root: int) -> list[int | None]:
    """The same tree with its ranks shifted so that `root` is its root."""
    n, shift = len(parents), (root - list(parents).index(None)) % len(parents)
    shifted = [parents[(rank - shift) % n] for rank in range(n)]
    return [None if up is None else (up + shift) % n for up in shifted]


def binary_tree(request: Request) -> Schedule:
    """One tree with the whole buffer."""
    return _build(request, "binary-tree", [binary_tree_parents(request.n_ranks)])


def double_binary_tree(request: Request) -> Schedule:
    """Two trees with a half each."""
    return _build(request, "double-binary-tree", list(double_tree_parents(request.n_ranks)))


def _build(request: Request, name: str, trees: Sequence[Parents]) -> Schedule:
    out = builder(request, chunks=len(trees), parts=(request.pieces,))
    for number, parents in enumerate(trees):
        if request.operation != "all-reduce":
            parents = with_root(parents, request.root)  # noqa: PLW2901
        _Tree(out, parents, number, part(request.n_elements, len(trees), number)).add()
    return out.build(name)


class _Tree:
    """Transfers of one tree: up with additions, then down."""

    def __init__(self, out: Builder, parents: Parents, number: int, elements: int) -> None:
        request = out.request
        cut = split(elements, request.pieces)
        self.out, self.parents, self.pieces = out, parents, request.pieces
        self.largest_bytes = cut.of(0) * request.element_bytes
        self.run = Run(0, 1, request.pieces, base=number * request.pieces, small=cut.small, longer_by=1,
                       n_longer=cut.n_longer)  # fmt: skip
        self.children: list[list[int]] = [[] for _ in parents]
        for rank, up in enumerate(parents):
            if up is not None:
                self.children[up].append(rank)
        self.root = list(parents).index(None)
        order = [self.root]
        for rank in order:
            order.extend(self.children[rank])
        self.from_root = order
        self.height = [0] * len(parents)
        self.depth = [0] * len(parents)
        for rank in reversed(order):
            self.height[rank] = max((self.height[child] + 1 for child in self.children[rank]), default=0)
        for rank in order[1:]:
            self.depth[rank] = self.depth[parents[rank] or 0] + 1

    def add(self) -> None:
        """All transfers that the operation has."""
        operation = self.out.request.operation
        up = self._up() if operation != "broadcast" else {}
        if operation != "reduce":
            self._down(up)
            return
        for number, child in enumerate(self.children[self.root]):
            self.out.reduce_last(self.root, up[child], self.largest_bytes, additions=number + 1)

    def _up(self) -> dict[int, int]:
        rows: dict[int, int] = {}
        for rank in reversed(self.from_root):
            parent, children = self.parents[rank], self.children[rank]
            if parent is None:
                continue
            rows[rank] = self.out.series(rank, parent, self.pieces, self.run, adds=True, step=self.height[rank],
                                         reductions=len(children))  # fmt: skip
            for child in children:
                self.out.arrived(rows[child], rows[rank], lead=1, per=1)
        return rows

    def _down(self, up: dict[int, int]) -> None:
        rows: dict[int, int] = {}
        start = self.height[self.root] if up else 0
        for rank in self.from_root:
            for child in self.children[rank]:
                at_top = rank == self.root
                row = self.out.series(rank, child, self.pieces, self.run, adds=False, step=start + self.depth[rank],
                                      reductions=len(self.children[rank]) if at_top and up else 0)  # fmt: skip
                rows[child] = row
                for before in [up[other] for other in self.children[rank] if up] if at_top else [rows[rank]]:
                    self.out.arrived(before, row, lead=1, per=1)
