"""Ring algorithms: every rank sends to the next one only.

Chunk numbers are those of NCCL's kernel (all_reduce.h): in step s of the first half the rank at place p sends chunk
(p - 1 - s) mod n, which the next one adds; it ends that half with chunk p complete. In step s of the second half it
sends chunk (p - s) mod n, which the next one takes over. With one formula, (p - 1 - s) mod n for s = 0 .. 2n - 3.

Every channel is a ring with its part of each chunk; a chunk may be cut into slices that are forwarded one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fabric.collectives.algorithms import ring_orders
from fabric.collectives.operations import Blocks
from fabric.collectives.schedule import Builder, Request, Run, Schedule, builder, part, split

Order = Callable[[Request, int], list[int]]


def ring(request: Request) -> Schedule:
    """One direction."""
    return _build(request, "ring", ring_orders.rotated)


def bidirectional_ring(request: Request) -> Schedule:
    """Channels in pairs of opposite directions."""
    return _build(request, "bidirectional-ring", ring_orders.both_ways)


def multi_ring(request: Request) -> Schedule:
    """A ring for each rail, which stays on it between nodes."""
    return _build(request, "multi-ring", ring_orders.along_rails)


def _build(request: Request, name: str, order: Order) -> Schedule:
    if request.operation in {"broadcast", "reduce"}:
        return _chain(request, name, order)
    n, channels, slices = request.n_ranks, request.channels, request.pieces
    out = builder(request, chunks=n, parts=(channels, slices))
    lanes = []
    for channel in range(channels):
        lane = _Lane(out, order(request, channel), channel)
        lanes.append(lane)
        if request.operation != "all-gather":
            lane.steps(0, n - 1, adds=True)
        if request.operation != "reduce-scatter":
            lane.steps(n - 1, 2 * (n - 1), adds=False)
        else:
            lane.finish()
    if request.lockstep:
        _join(out, lanes)
    return out.build(name)


def _join(out: Builder, lanes: Sequence[_Lane]) -> None:
    """A rank begins a step of a channel when the messages of the step before have arrived on all channels."""
    place_of = [{rank: place for place, rank in enumerate(lane.ranks)} for lane in lanes]
    for lane, places in zip(lanes, place_of, strict=True):
        for other, there in zip(lanes, place_of, strict=True):
            if other is lane:
                continue
            for phase, (rows, theirs) in enumerate(zip(lane.phases, other.phases, strict=True)):
                for rank, place in places.items():
                    arriving = there[rank] - 1
                    if out.count(rows[place]) > 1:
                        out.arrived(theirs[arriving], rows[place], lead=0, per=1)
                    if phase:
                        before = other.phases[phase - 1][arriving]
                        out.arrived(before, rows[place], lead=out.count(before))


@dataclass
class _Lane:
    """One channel: `rows[slice][place]` are the transfers of the phase that was added last."""

    out: Builder
    ranks: Sequence[int]
    channel: int

    def __post_init__(self) -> None:
        request, n = self.out.request, len(self.ranks)
        self.rows: list[list[int]] = []
        self.phases: list[list[int]] = []
        """Of each phase the transfers of the first slice by place."""
        self.slices, self.whole = request.pieces, split(request.n_elements, n)
        # Chunks are numbered by place, so that a series of messages is one formula. Where chunks are the blocks of
        # ranks and differ in size, in another order than that of ranks, they keep their ranks' numbers.
        self.by_place = (
            request.what.blocks is Blocks.WHOLE or not self.whole.n_longer or list(self.ranks) == list(range(n))
        )
        if self.by_place and request.what.blocks is Blocks.RANKS:
            for place, rank in enumerate(self.ranks):
                at = (place * request.channels + self.channel) * self.slices
                self.out.cell_block[at : at + self.slices] = rank

    def steps(self, begin: int, end: int, *, adds: bool) -> None:
        """Steps begin .. end - 1; cut where the number of additions before a posting changes."""
        request, n = self.out.request, len(self.ranks)
        adding = bool(request.reduction_fs_per_byte) and request.what.reduces
        inner = [step for step in ((1, n) if adding else ()) if begin < step < end]
        if not self.by_place:
            inner = list(range(begin + 1, end))
        cuts = [begin, *inner, end]
        for low, high in pairwise(cuts):
            if low < high:
                self._phase(low, high, adds=adds, additions=int(adding and 1 <= low < n))

    def _phase(self, low: int, high: int, *, adds: bool, additions: int) -> None:
        out, ranks, n, count = self.out, self.ranks, len(self.ranks), high - low
        before = self.rows
        self.rows = [
            [
                out.series(ranks[place], ranks[(place + 1) % n], count, self._run(place, low, piece),
                           adds=adds, step=low, reductions=additions)
                for place in range(n)
            ]
            for piece in range(self.slices)
        ]  # fmt: skip
        self.phases.append(self.rows[0])
        for piece, own in enumerate(self.rows):
            for place in range(n):
                if before:
                    out.arrived(before[piece][place - 1], own[place], lead=out.count(before[piece][place - 1]))
                if count > 1:
                    out.arrived(own[place - 1], own[place], lead=0, per=1)
                self._in_order(before, piece, place, count)

    def _in_order(self, before: list[list[int]], piece: int, place: int, count: int) -> None:
        """A rank posts the messages of a channel one after another."""
        rows = self.rows
        if piece:
            self.out.posted(rows[piece - 1][place], rows[piece][place], lead=1, per=1)
            return
        if before:
            self.out.posted(before[-1][place], rows[0][place], lead=self.out.count(before[-1][place]))
        if count > 1 and self.slices > 1:
            self.out.posted(rows[-1][place], rows[0][place], lead=0, per=1)

    def _run(self, place: int, low: int, piece: int) -> Run:
        n, request = len(self.ranks), self.out.request
        chunk = (place - 1 - low) % n
        inner = (request.channels, self.channel, self.slices, piece)
        small = part(self.whole.small, *inner)
        longer_by = part(self.whole.small + 1, *inner) - small
        return Run(
            chunk if self.by_place else self.ranks[chunk], -1, n,
            base=self.channel * self.slices + piece, scale=request.channels * self.slices,
            small=small, longer_by=longer_by, n_longer=self.whole.n_longer if longer_by else 0,
        )  # fmt: skip

    def finish(self) -> None:
        """The last addition of each rank: its own block."""
        n, request = len(self.ranks), self.out.request
        for piece, own in enumerate(self.rows):
            for place, row in enumerate(own):
                last = (place + 1) % n
                index = last if self.by_place else self.ranks[last]
                each = part(request.n_elements, n, index, request.channels, self.channel, self.slices, piece)
                self.out.add_at_end(self.ranks[last], row, each * request.element_bytes)


def _chain(request: Request, name: str, order: Order) -> Schedule:
    """Broadcast from the root along each ring, or reduction along it to the root, piece by piece."""
    n, channels, pieces = request.n_ranks, request.channels, request.pieces
    out = builder(request, chunks=channels, parts=(pieces,))
    reduces = request.operation == "reduce"
    for channel in range(channels):
        ranks = order(request, channel)
        at = ranks.index(request.root) + (1 if reduces else 0)
        ranks = ranks[at:] + ranks[:at]
        cut = split(part(request.n_elements, channels, channel), pieces)
        run = Run(0, 1, pieces, base=channel * pieces, small=cut.small, longer_by=1, n_longer=cut.n_longer)
        before = -1
        for place in range(n - 1):
            row = out.series(ranks[place], ranks[place + 1], pieces, run, adds=reduces, step=place,
                             reductions=int(reduces and place > 0))  # fmt: skip
            if place:
                out.arrived(before, row, lead=1, per=1)
            before = row
        if reduces and before >= 0:
            out.reduce_last(request.root, before, cut.of(0) * request.element_bytes)
    return out.build(name)
