"""By which algorithms a job's collectives are carried out: rules of the job's file, and what a builder is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from fabric.collectives.transfers import Transfers

DEFAULT_REDUCTION: Final = "ring"
DEFAULT_EXCHANGE: Final = "direct"
"""Of all-to-all."""

JOB_OPERATIONS: Final = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
NCCL_CHOOSES: Final = ("all-reduce", "reduce-scatter", "all-gather")
"""Those of a job for which NCCL's tuning model chooses; all-to-all is always direct there."""


@dataclass(frozen=True, slots=True)
class AlgorithmRule:
    """One entry of `collectives:`; of several that match an operation the last decides."""

    groups: tuple[str, ...]
    """Kinds of groups; empty: all."""
    operations: tuple[str, ...]
    """Empty: all that the algorithm carries out."""
    algorithm: str
    """Of the registry, or auto."""
    channels: int = 1
    chunk_bytes: int | None = None
    """Largest message; None: not cut."""
    generation: str | None = None
    """Of the GPUs, for auto."""


@dataclass(frozen=True, slots=True)
class GroupShape:
    """The ranks that carry out an operation."""

    kind: str = ""
    """tp, cp, ep, pp, dp; '': unknown."""
    node_size: int = 1
    """Consecutive members that are in one node; 1 where members are not evenly divided among nodes."""


UNKNOWN: Final = GroupShape()


class CollectiveBuilder(Protocol):
    """Chooses an algorithm and builds its schedule."""

    def __call__(self, operation: str, n_ranks: int, size_bytes: int, group: GroupShape = UNKNOWN, /) -> Transfers:
        """Transfers of ranks 0..n_ranks-1.

        operation: all-reduce, reduce-scatter, all-gather or all-to-all; size_bytes as volumes.py defines it.
        """


def node_size(members: Sequence[int], gpus_per_node: int) -> int:
    """Consecutive members of a group in one node, where ranks fill node after node; 1 where nodes have unequal numbers
    of them.
    """
    nodes = [rank // gpus_per_node for rank in members]
    size = next((place for place, node in enumerate(nodes) if node != nodes[0]), len(nodes))
    blocks = [nodes[start : start + size] for start in range(0, len(nodes), size)]
    even = all(len(block) == size and len(set(block)) == 1 for block in blocks)
    return size if even and len({block[0] for block in blocks}) == len(blocks) else 1
