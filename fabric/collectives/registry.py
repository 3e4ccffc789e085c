"""Algorithms by name: what builds them, which operations they carry out, which options they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from fabric.collectives.algorithms import (
    bruck,
    direct,
    halving_doubling,
    hierarchical,
    pairwise,
    pat,
    pxn,
    recursive_doubling,
    ring,
    trees,
)
from fabric.collectives.nccl.auto import Chosen, auto
from fabric.collectives.operations import OPERATIONS
from fabric.collectives.schedule import Request, Schedule

AUTO: Final = "auto"


@dataclass(frozen=True)
class Algorithm:
    """One algorithm."""

    build: Callable[[Request], Schedule]
    operations: tuple[str, ...]
    summary: str
    channels: bool = False
    """Whether `channels` has an effect."""
    pieces: str = ""
    """What `pieces` cuts; empty: it has no effect."""
    nodes: bool = False
    """Whether `node_size` has an effect."""
    needs_nodes: bool = False
    """Whether it needs nodes of two or more ranks."""
    power_of_two: tuple[str, ...] = ()
    """Operations that it carries out for powers of two only."""
    proportional: bool = True
    """Whether transfers are few for the messages of one channel; for the documentation."""


_ALL_REDUCE, _SCATTER, _GATHER = "all-reduce", "reduce-scatter", "all-gather"
_TREE = (_ALL_REDUCE, "broadcast", "reduce")
_RING = (_ALL_REDUCE, _SCATTER, _GATHER, "broadcast", "reduce")
_EXCHANGE = ("all-to-all", "all-to-all-v")

ALGORITHMS: Final[Mapping[str, Algorithm]] = {
    "ring": Algorithm(
        ring.ring, _RING, "each rank sends to the next one only", channels=True, pieces="slices", nodes=True
    ),
    "bidirectional-ring": Algorithm(
        ring.bidirectional_ring, _RING, "channels in pairs of opposite directions", channels=True, pieces="slices",
        nodes=True,
    ),
    "multi-ring": Algorithm(
        ring.multi_ring, _RING, "a ring for each rail, which stays on it", channels=True, pieces="slices", nodes=True,
        needs_nodes=True,
    ),
    "binary-tree": Algorithm(trees.binary_tree, _TREE, "NCCL's binary tree", pieces="chunks"),
    "double-binary-tree": Algorithm(
        trees.double_binary_tree, _TREE, "two binary trees with a half each", pieces="chunks"
    ),
    "halving-doubling": Algorithm(
        halving_doubling.halving_doubling, (_ALL_REDUCE, _SCATTER, _GATHER),
        "halve the range, then gather it back; ranks beyond a power of two give everything to a neighbour",
        power_of_two=(_SCATTER, _GATHER),
    ),
    "halving-doubling-halves": Algorithm(
        halving_doubling.halving_doubling_halves, (_ALL_REDUCE,),
        "the same; ranks beyond a power of two exchange halves with a neighbour",
    ),
    "recursive-doubling": Algorithm(
        recursive_doubling.recursive_doubling, (_ALL_REDUCE, _GATHER), "exchange everything at distances 1, 2, 4 ...",
        power_of_two=(_GATHER,),
    ),
    "bruck": Algorithm(bruck.bruck, (_GATHER, *_EXCHANGE), "ceil(log2 n) rounds for any n"),
    "pat": Algorithm(pat.pat, (_SCATTER, _GATHER), "Bruck's partners, the largest distance first"),
    "pairwise": Algorithm(pairwise.pairwise, _EXCHANGE, "n - 1 rounds, round s to r + s"),
    "pairwise-xor": Algorithm(
        pairwise.pairwise_xor, _EXCHANGE, "n - 1 rounds, round s with r xor s", power_of_two=_EXCHANGE
    ),
    "direct": Algorithm(
        direct.direct, (*_EXCHANGE, "scatter", "gather", "broadcast", _GATHER, "send-recv"),
        "every block to its destination at once",
    ),
    "hierarchical": Algorithm(
        hierarchical.hierarchical, (_ALL_REDUCE,), "rings in the nodes, then along the rails, then in the nodes",
        pieces="segments", nodes=True, needs_nodes=True,
    ),
    "pxn": Algorithm(
        pxn.pxn, ("all-to-all",), "to another node by the local rank on the destination's rail", nodes=True,
        needs_nodes=True,
    ),
}  # fmt: skip

Choose = Callable[[Request, str | None], Chosen]
"""(request, generation of the GPUs) -> the choice. Raises: InputErrors."""
CHOOSERS: Final[Mapping[str, Choose]] = {AUTO: auto}
"""Models that choose an algorithm and its options, by the name that a user writes instead of an algorithm."""


def problems(algorithm: str, request: Request) -> list[tuple[str, str]]:
    """(problem, remedy) of everything that prevents the algorithm from carrying out the request."""
    if request.operation not in OPERATIONS:
        return [(f"'{request.operation}' is not an operation", f"use one of {', '.join(OPERATIONS)}")]
    known = ALGORITHMS.get(algorithm)
    able = [name for name, item in ALGORITHMS.items() if request.operation in item.operations]
    if known is None:
        return [(f"'{algorithm}' is not an algorithm", f"use one of {', '.join(able)}")]
    found = []
    n, size = request.n_ranks, request.node_size
    if request.operation not in known.operations:
        found.append((f"{algorithm} has no {request.operation}", f"use one of {', '.join(able)}"))
    if request.operation in known.power_of_two and n & (n - 1):
        found.append(
            (
                f"{algorithm} needs a power of two of ranks for {request.operation}, not {n}",
                "change the number of ranks",
            )
        )
    if request.channels > 1 and not known.channels:
        found.append((f"{algorithm} has one channel", "remove channels"))
    if request.pieces > 1 and not known.pieces:
        found.append((f"{algorithm} does not cut its messages into pieces", "remove chunk"))
    if request.lockstep and (not known.channels or request.operation in {"broadcast", "reduce"}):
        found.append((f"{algorithm} has no channels in lockstep for {request.operation}", "remove lockstep"))
    elif request.lockstep and (request.channels == 1 or request.pieces > 1):
        text = "lockstep has no effect with one channel" if request.channels == 1 else "slices do not run in lockstep"
        found.append((text, "remove lockstep, or give channels and no chunk"))
    if size > 1 and not known.nodes:
        found.append((f"{algorithm} does not know nodes", "remove the number of ranks per node"))
    if n % size:
        found.append((f"{n} ranks are not a multiple of {size} per node", "change one of them"))
    if known.needs_nodes and size < 2:
        found.append((f"{algorithm} needs nodes of several ranks", "give the number of ranks per node"))
    if request.what.has_root and not 0 <= request.root < n:
        found.append((f"root {request.root} is not one of {n} ranks", f"use 0 to {n - 1}"))
    if not request.what.has_root and request.root:
        found.append((f"{request.operation} has no root", "remove root"))
    if (request.operation == "all-to-all-v") != (request.matrix is not None):
        found.append(("all-to-all-v needs a matrix of sizes, other operations have none", "give it, or remove it"))
    elif request.matrix is not None and request.matrix.shape != (n, n):
        found.append((f"the matrix of sizes is not {n} x {n}", "give a row and a column for each rank"))
    return found


def build(algorithm: str, request: Request) -> Schedule:
    """The schedule. Raises ValueError where problems() has any: callers with users ask it first."""
    found = problems(algorithm, request)
    if found:
        raise ValueError("; ".join(text for text, _ in found))
    return ALGORITHMS[algorithm].build(request)
