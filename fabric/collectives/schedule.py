"""A schedule: the transfers of one collective operation, and what each of their messages carries.

The transfers are what the network is asked to carry; the carriages say which cells of the buffer a message has in it,
and whether the receiver adds or takes over. A cell is the smallest part of the buffer that any message carries. One
table serves both, so what is proved (proof.py) is what is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabric.collectives.operations import OPERATIONS, Blocks, Operation
from fabric.collectives.transfers import Event, TransferList, Transfers

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Request:
    """One collective operation that is asked for."""

    operation: str
    n_ranks: int
    n_elements: int
    """Of the size that the operation's `size_means` names."""
    element_bytes: int = 4
    root: int = 0
    channels: int = 1
    pieces: int = 1
    """Slices of a ring's chunk, chunks of a tree's or chain's buffer, segments of a hierarchy."""
    node_size: int = 1
    """Ranks of one node, which are numbered one after another: rank = node node_size + place."""
    send_latency_ps: int = 0
    """Time that a rank needs for every message between the last need and the posting."""
    reduction_fs_per_byte: int = 0
    """Time to add one byte of a received message."""
    lockstep: bool = False
    """Of rings: a rank begins a step when it has the messages of all channels, not those of one."""
    matrix: Ints | None = None
    """(n_ranks, n_ranks) elements from row to column; all-to-all-v only."""

    @property
    def what(self) -> Operation:
        """The operation."""
        return OPERATIONS[self.operation]

    @property
    def size_bytes(self) -> int:
        """The size as nccl-tests prints it."""
        return self.n_elements * self.element_bytes


class Split(NamedTuple):
    """Elements cut into parts of which the first `n_longer` have one more."""

    small: int
    n_longer: int

    def of(self, part: int) -> int:
        """Elements of one part."""
        return self.small + (part < self.n_longer)


def split(elements: int, parts: int) -> Split:
    """With E elements in k parts the first E mod k are one longer."""
    return Split(*divmod(elements, parts))


def part(elements: int, parts: int, *more: int) -> int:
    """Elements of a part of a part ...: `part(E, k, i)`, `part(E, k, i, k2, i2)`; the last number is an index."""
    here = split(elements, parts).of(more[0])
    return part(here, more[1], *more[2:]) if len(more) > 1 else here


@dataclass(frozen=True)
class Run:
    """Cells of message k by formula: `width` cells from base + ((first + stride k) mod modulus) scale on.

    Sizes follow the same index: `small` elements, one more below `n_longer` if the two sizes differ.
    """

    first: int
    stride: int
    modulus: int
    base: int = 0
    scale: int = 1
    width: int = 1
    small: int = 0
    longer_by: int = 0
    n_longer: int = 0

    def cells(self, k: int) -> range:
        """Cells of message k."""
        start = self.base + (self.first + self.stride * k) % self.modulus * self.scale
        return range(start, start + self.width)


@dataclass(frozen=True)
class Carriage:
    """What the messages of one transfer carry."""

    what: Run | Sequence[int]
    """Cells of message k by formula, or of the only message."""
    adds: bool
    """Whether the receiver adds; else it takes over."""
    step: int
    """Step of message 0 in lockstep; message k is k steps later."""

    def cells(self, k: int) -> Sequence[int]:
        """Cells of message k."""
        return self.what.cells(k) if isinstance(self.what, Run) else self.what


class Move(NamedTuple):
    """One message in lockstep."""

    step: int
    sender: int
    receiver: int
    cells: tuple[int, ...]
    adds: bool


@dataclass(frozen=True)
class Schedule:
    """An algorithm applied to a request."""

    request: Request
    algorithm: str
    transfers: Transfers
    carriages: tuple[Carriage | None, ...]
    """(n,) of each transfer; None: a computation."""
    cell_bytes: Ints
    """(n_cells,) sizes."""
    cell_block: Ints
    """(n_cells,) block of the operation that a cell is in."""

    def moves(self) -> Iterator[Move]:
        """All messages that are not empty, transfer by transfer."""
        for row, carriage in enumerate(self.carriages):
            if carriage is None:
                continue
            sizes = self.transfers.sizes_bytes(row)
            for k in range(len(sizes)):
                if sizes[k]:
                    yield Move(carriage.step + k, int(self.transfers.src[row]), int(self.transfers.dst[row]),
                               tuple(carriage.cells(k)), carriage.adds)  # fmt: skip

    @property
    def n_messages(self) -> int:
        """Messages that are sent: neither computations nor empty ones."""
        return sum(
            int(np.count_nonzero(self.transfers.sizes_bytes(row)))
            for row, carriage in enumerate(self.carriages)
            if carriage is not None
        )

    @property
    def n_steps(self) -> int:
        """Steps in lockstep."""
        return max((move.step for move in self.moves()), default=-1) + 1


@dataclass
class Builder:
    """Collects the transfers of a schedule with their carriages."""

    request: Request
    cell_elements: Ints
    cell_block: Ints
    rows: TransferList = field(default_factory=TransferList)
    carriages: list[Carriage | None] = field(default_factory=list)

    def series(
        self, src: int, dst: int, count: int, run: Run, *, adds: bool, step: int, reductions: int = 0, extra_ps: int = 0
    ) -> int:
        """Messages by formula; each waits for `reductions` additions of its own size, and extra_ps. Returns the row."""
        each = self.request.element_bytes
        self.carriages.append(Carriage(run, adds, step))
        return self.rows.add(
            src, dst, count, small_bytes=run.small * each, unit_bytes=run.longer_by * each, n_longer=run.n_longer,
            first=run.first, stride=run.stride, modulus=run.modulus, delay_ps=self.request.send_latency_ps + extra_ps,
            delay_fs_per_byte=self.request.reduction_fs_per_byte * reductions,
        )  # fmt: skip

    def message(
        self, src: int, dst: int, cells: Sequence[int], *, adds: bool, step: int, reduced: Sequence[int] = ()
    ) -> int:
        """One message of any cells, posted after the addition of the cells `reduced`. Returns the row."""
        self.carriages.append(Carriage(cells, adds, step))
        delay = self.request.send_latency_ps + self.reduction_ps(self.bytes_of(reduced))
        return self.rows.add(src, dst, small_bytes=self.bytes_of(cells), delay_ps=delay)

    def reduce_last(self, rank: int, earlier: int, each_bytes: int, *, additions: int = 1) -> None:
        """Time of additions after the messages of `earlier`, of at most so many bytes each, that nothing else needs."""
        delay = self.reduction_ps(each_bytes * additions)
        if not delay:
            return
        count = self.rows.rows[earlier][2]
        self.carriages.append(None)
        row = self.rows.add(rank, rank, count, delay_ps=delay)
        self.rows.need(earlier, row, lead=1, per=1)

    def add_at_end(self, rank: int, earlier: int, size_bytes: int, *, posted: Sequence[int] = ()) -> None:
        """Time of an addition after the last message of `earlier`, that no message needs; and after own postings."""
        delay = self.reduction_ps(size_bytes)
        if delay:
            self.carriages.append(None)
            row = self.rows.add(rank, rank, delay_ps=delay)
            self.arrived(earlier, row, lead=self.count(earlier))
            for before in posted:
                self.posted(before, row)

    def bytes_of(self, cells: Sequence[int]) -> int:
        """Size of cells."""
        if isinstance(cells, range):
            cells = np.arange(cells.start, cells.stop, cells.step)  # type: ignore[assignment]
        index = np.asarray(cells, np.int64)
        return int(self.cell_elements[index].sum()) * self.request.element_bytes

    def reduction_ps(self, size_bytes: int) -> int:
        """Time to add so many bytes."""
        return size_bytes * self.request.reduction_fs_per_byte // 1000

    def arrived(self, earlier: int, later: int, *, lead: int = 1, per: int = 0) -> None:
        """A need of arrival."""
        self.rows.need(earlier, later, lead=lead, per=per, event=Event.ARRIVED)

    def posted(self, earlier: int, later: int, *, lead: int = 1, per: int = 0) -> None:
        """A need of posting."""
        self.rows.need(earlier, later, lead=lead, per=per, event=Event.POSTED)

    def count(self, row: int) -> int:
        """Messages of a row."""
        return self.rows.rows[row][2]

    def build(self, algorithm: str) -> Schedule:
        """The schedule."""
        return Schedule(
            self.request, algorithm, self.rows.build(), tuple(self.carriages),
            self.cell_elements * self.request.element_bytes, self.cell_block,
        )  # fmt: skip


def builder(request: Request, *, chunks: int = 1, parts: Sequence[int] = ()) -> Builder:
    """A builder whose cells are a regular cut: of WHOLE operations the buffer into `chunks`, of RANKS operations into
    the blocks of ranks, and each of these again into `parts[0]`, each of those into `parts[1]`, and so on.
    """
    n = request.n_ranks
    if request.operation == "send-recv":
        sizes, block = [request.n_elements] * n, np.arange(n)
    elif request.what.blocks is Blocks.RANKS:
        sizes, block = _cut([request.n_elements], n), np.arange(n)
    elif request.what.blocks is Blocks.PAIRS:
        block = np.arange(n * n)
        sizes = request.matrix.ravel().tolist() if request.matrix is not None else _cut([request.n_elements], n) * n
    else:
        sizes, block = _cut([request.n_elements], chunks), np.zeros(chunks, np.int64)
    for count in parts:
        sizes, block = _cut(sizes, count), np.repeat(block, count)
    return Builder(request, np.array(sizes, np.int64), np.asarray(block, np.int64))


def _cut(sizes: Sequence[int], parts: int) -> list[int]:
    return [split(elements, parts).of(index) for elements in sizes for index in range(parts)]
