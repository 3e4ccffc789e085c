"""Collective operations: what each rank ends with, what their size means, their bus bandwidth (nccl-tests 2.19.6).

A buffer is cut into blocks. Of `gather` kinds block b belongs to rank b; of all-to-all block s n + d goes from s to d.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

ALIGNMENT_BYTES: Final = 16
"""nccl-tests rounds the block of a rank down to a multiple of this (src/all_gather.cu and others)."""


class Blocks(IntEnum):
    """Into what the buffer of an operation is cut."""

    WHOLE = 0
    """One block."""
    RANKS = 1
    """n blocks, one of each rank."""
    PAIRS = 2
    """n x n blocks, one from each rank to each."""


class Wanted(IntEnum):
    """What an output block must hold."""

    NONE = 0
    SOURCE = 1
    """The value of the only rank that had it at first."""
    SUM = 2
    """The sum over all ranks."""


@dataclass(frozen=True)
class Operation:
    """One collective operation."""

    name: str
    ends_with: str
    """What every rank, or the root, ends with."""
    size_means: str
    blocks: Blocks
    factor_numerator: str
    """Bus bandwidth over algorithm bandwidth: '2(n-1)/n', '(n-1)/n' or '1'."""
    has_root: bool = False
    reduces: bool = False
    per_rank_count: bool = False
    """Whether the column `count` is the count of one rank's block, and blocks are rounded down to 16 B."""

    def bus_factor_ratio(self, n_ranks: int) -> float:
        """Bus bandwidth over algorithm bandwidth for n ranks (PERFORMANCE.md of nccl-tests)."""
        if n_ranks < 2 or self.factor_numerator == "1":
            return 1.0
        return (n_ranks - 1) / n_ranks * (2 if self.factor_numerator.startswith("2") else 1)

    def n_blocks(self, n_ranks: int) -> int:
        """Blocks of the operation."""
        return int(n_ranks**self.blocks)


OPERATIONS: Final[Mapping[str, Operation]] = {
    item.name: item
    for item in (
        Operation("all-reduce", "the sum of all inputs", "one input, which is one output", Blocks.WHOLE, "2(n-1)/n",
                  reduces=True),
        Operation("reduce-scatter", "its block of the sum", "one whole input", Blocks.RANKS, "(n-1)/n",
                  reduces=True, per_rank_count=True),
        Operation("all-gather", "the blocks of all ranks", "one whole output", Blocks.RANKS, "(n-1)/n",
                  per_rank_count=True),
        Operation("broadcast", "the root's buffer", "one buffer", Blocks.WHOLE, "1", has_root=True),
        Operation("reduce", "at the root the sum of all inputs", "one buffer", Blocks.WHOLE, "1", has_root=True,
                  reduces=True),
        Operation("scatter", "its block of the root's buffer", "the root's buffer", Blocks.RANKS, "(n-1)/n",
                  has_root=True, per_rank_count=True),
        Operation("gather", "at the root the blocks of all ranks", "the root's buffer", Blocks.RANKS, "(n-1)/n",
                  has_root=True, per_rank_count=True),
        Operation("all-to-all", "its block of every rank", "one send buffer", Blocks.PAIRS, "(n-1)/n",
                  per_rank_count=True),
        Operation("all-to-all-v", "its block of every rank, of uneven sizes", "the largest send buffer", Blocks.PAIRS,
                  "(n-1)/n", per_rank_count=True),
        Operation("send-recv", "the buffer of the rank before it", "one buffer", Blocks.RANKS, "1"),
    )
}  # fmt: skip


def had_at_first(operation: Operation, n_ranks: int, root: int) -> NDArray[np.bool_]:
    """(n_ranks, n_blocks) whether a rank has a value for a block at the start."""
    n, held = n_ranks, np.zeros((n_ranks, operation.n_blocks(n_ranks)), np.bool_)
    rank = np.arange(n)
    if operation.name in {"all-reduce", "reduce", "reduce-scatter"}:
        held[:] = True
    elif operation.name in {"broadcast", "scatter"}:
        held[root] = True
    elif operation.blocks is Blocks.PAIRS:
        held.reshape(n, n, n)[rank, rank, :] = True
    else:  # all-gather, gather, send-recv: its own block
        held[rank, rank] = True
    return held


def must_hold_at_end(operation: Operation, n_ranks: int, root: int) -> NDArray[np.int8]:
    """(n_ranks, n_blocks) Wanted of each block at each rank at the end."""
    n, wanted = n_ranks, np.zeros((n_ranks, operation.n_blocks(n_ranks)), np.int8)
    rank = np.arange(n)
    value = Wanted.SUM if operation.reduces else Wanted.SOURCE
    if operation.name in {"all-reduce", "all-gather", "broadcast"}:
        wanted[:] = value
    elif operation.name in {"reduce", "gather"}:
        wanted[root] = value
    elif operation.blocks is Blocks.PAIRS:
        wanted.reshape(n, n, n)[rank, :, rank] = value
    elif operation.name == "send-recv":
        wanted[(rank + 1) % n, rank] = value
    else:  # reduce-scatter, scatter
        wanted[rank, rank] = value
    return wanted


def printed_elements(operation: Operation, asked_bytes: int, n_ranks: int, element_bytes: int) -> int:
    """Elements of the size that nccl-tests carries out and prints for a size that is asked for.

    Block kinds: elements of n equal blocks, each rounded down to ALIGNMENT_BYTES; 1 MiB on 24 ranks is 1,048,320 B.
    """
    elements = asked_bytes // element_bytes
    if not operation.per_rank_count:
        return elements
    unit = max(ALIGNMENT_BYTES // element_bytes, 1)
    return elements // n_ranks // unit * unit * n_ranks
