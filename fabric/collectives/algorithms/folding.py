"""Folding of any number of ranks onto a power of two: the ranks beyond it give their data to a neighbour first.

With p = 2^floor(log2 n) and x = n - p, ranks 2i and 2i + 1 are a pair for i < x. The workers are 2i + 1 (i < x) and all
ranks from 2x on. Variants: `whole`: 2i gives everything to 2i + 1, which adds (MPICH); `halves`: the two exchange
halves, add, and 2i then gives its sum to 2i + 1, which adds half as much (Rabenseifner 2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fabric.collectives.schedule import Builder


@dataclass
class Last:
    """What a rank's next message waits for."""

    arrived: list[int] = field(default_factory=list)
    posted: list[int] = field(default_factory=list)
    reduced: list[int] = field(default_factory=list)
    """Cells that must be added before."""


@dataclass
class Workers:
    """The ranks that go on after folding."""

    ranks: list[int]
    """(p,) by number of the worker."""
    pairs: list[tuple[int, int]]
    """(idle rank, worker)."""
    last: list[Last]
    """(n,) by rank."""
    first_step: int


def send(out: Builder, last: Sequence[Last], src: int, dst: int, cells: Sequence[int], *, adds: bool, step: int) -> int:
    """One message after everything that its rank waits for; the receiver's state is for the caller to change."""
    row = out.message(src, dst, cells, adds=adds, step=step, reduced=last[src].reduced)
    for earlier in last[src].arrived:
        out.arrived(earlier, row)
    for earlier in last[src].posted:
        out.posted(earlier, row)
    return row


def exchange(out: Builder, last: list[Last], moves: Sequence[tuple[int, int, Sequence[int]]], *, adds: bool,
             step: int) -> None:  # fmt: skip
    """Messages of one step: each waits for the state before the step, and every rank then for what it sent and got."""
    rows = [send(out, last, src, dst, cells, adds=adds, step=step) for src, dst, cells in moves]
    fresh: dict[int, Last] = {}
    for (src, dst, cells), row in zip(moves, rows, strict=True):
        fresh.setdefault(src, Last()).posted.append(row)
        receiver = fresh.setdefault(dst, Last())
        receiver.arrived.append(row)
        if adds and out.request.reduction_fs_per_byte:
            receiver.reduced.extend(cells)
    for rank, state in fresh.items():
        if not state.posted:  # it has sent nothing that took up what it had received before
            before = last[rank]
            state = Last(before.arrived + state.arrived, before.posted, before.reduced + state.reduced)  # noqa: PLW2901
        last[rank] = state


def fold(out: Builder, n_cells: int, *, halves: bool = False) -> Workers:
    """Add the folding steps."""
    n = out.request.n_ranks
    power = 1 << (n.bit_length() - 1)
    extra = n - power
    pairs = [(2 * i, 2 * i + 1) for i in range(extra)]
    last = [Last() for _ in range(n)]
    middle, steps = n_cells // 2, 0
    if pairs and halves:
        swap: list[tuple[int, int, Sequence[int]]] = [(a, b, range(middle, n_cells)) for a, b in pairs]
        swap += [(b, a, range(middle)) for a, b in pairs]
        exchange(out, last, swap, adds=True, step=0)
        exchange(out, last, [(a, b, range(middle)) for a, b in pairs], adds=False, step=1)
        steps = 2
    elif pairs:
        exchange(out, last, [(a, b, range(n_cells)) for a, b in pairs], adds=True, step=0)
        steps = 1
    return Workers([b for _, b in pairs] + list(range(2 * extra, n)), pairs, last, steps)


def unfold(out: Builder, workers: Workers, n_cells: int, step: int) -> None:
    """The workers give the result to the idle ranks."""
    if workers.pairs:
        moves = [(worker, idle, range(n_cells)) for idle, worker in workers.pairs]
        exchange(out, workers.last, moves, adds=False, step=step)


def add_at_end(out: Builder, last: Sequence[Last]) -> None:
    """Additions after the last arrival that no message waits for."""
    for rank, state in enumerate(last):
        if state.reduced:
            for row in state.arrived:
                out.add_at_end(rank, row, out.bytes_of(state.reduced), posted=state.posted)
