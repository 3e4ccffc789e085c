"""The builder of schedules from the registry of algorithms, one for each operation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from fabric.collectives.nccl.auto import Chosen
from fabric.collectives.registry import ALGORITHMS, CHOOSERS, build, problems
from fabric.collectives.schedule import Request
from fabric.collectives.transfers import TransferList, Transfers
from fabric.errors import InputErrors, Problem
from fabric.traces.graph import OPERATIONS

DEFAULT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "all-reduce": "ring",
        "reduce-scatter": "ring",
        "all-gather": "ring",
        "broadcast": "ring",
        "reduce": "ring",
        "all-to-all": "direct",
        "scatter": "direct",
        "gather": "direct",
    }
)
"""The algorithms that exist for any number of ranks and size and send no more bytes than must move. A trace does not
say which algorithm its communication library used."""
WITHOUT_NODES: Final = {"multi-ring": "ring", "hierarchical": "ring", "pxn": "direct"}
"""What an algorithm over nodes is where a group has one rank in each node, or all in one: the phase that is left."""


@dataclass(frozen=True)
class Builder:
    """Schedules of collective operations by the algorithm that is chosen for each; a Build of lower.py."""

    chosen: Mapping[str, str] = field(default_factory=dict)
    """Operation -> a name of ALGORITHMS or CHOOSERS, where it is not that of DEFAULT."""
    generation: str | None = None
    """Of the GPUs, for what a model chooses (nccl/tables.py)."""

    def choice(self, operation: str, n_ranks: int, size_bytes: int, node_size: int) -> Chosen:
        """The algorithm and its options. Raises: InputErrors where it cannot carry out the operation."""
        named = self.chosen.get(operation, DEFAULT[operation])
        request = Request(operation, n_ranks, size_bytes, element_bytes=1, node_size=max(node_size, 1))
        where = f"{operation}={named}"
        if named in CHOOSERS:
            try:
                return CHOOSERS[named](request, self.generation)
            except InputErrors as error:
                raise InputErrors("algorithms", [Problem(where, it.text, it.hint) for it in error.problems]) from error
        alone = node_size in {1, n_ranks} and operation in ALGORITHMS[named].operations
        if named in WITHOUT_NODES and alone:
            named, request = WITHOUT_NODES[named], Request(operation, n_ranks, size_bytes, element_bytes=1)
        elif not ALGORITHMS[named].nodes:  # the order of the ranks is all that such an algorithm takes from nodes
            request = Request(operation, n_ranks, size_bytes, element_bytes=1)
        found = problems(named, request)
        if found:
            raise InputErrors("algorithms", [Problem(where, text, hint) for text, hint in found])
        return Chosen(named, request, "")

    def __call__(self, operation: str, n_ranks: int, size_bytes: int, node_size: int) -> Transfers:
        """The schedule. Raises: InputErrors."""
        if n_ranks == 1 or size_bytes == 0:
            return TransferList().build()
        choice = self.choice(operation, n_ranks, size_bytes, node_size)
        return build(choice.algorithm, choice.request).transfers


def builder(chosen: Mapping[str, str] = MappingProxyType({}), generation: str | None = None) -> Builder:
    """A builder with an algorithm for each operation: DEFAULT, or the chosen one. Buffers are cut by the byte.

    Raises: InputErrors where an operation or algorithm is unknown.
    """
    names = (*ALGORITHMS, *CHOOSERS)
    wrong = [
        Problem(f"{operation}={algorithm}", "no operation or algorithm of this name", "operations: "
                f"{', '.join(OPERATIONS)}; algorithms: {', '.join(names)}")
        for operation, algorithm in chosen.items()
        if operation not in OPERATIONS or algorithm not in names
    ]  # fmt: skip
    if wrong:
        raise InputErrors("algorithms", wrong)
    return Builder(dict(chosen), generation)
