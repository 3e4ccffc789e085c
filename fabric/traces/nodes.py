"""Nodes of ranks: which ranks of a group share a scale-up domain, and the order in which its schedule takes them.

A ring that leaves a node and comes back later crosses the network more often than it must. Collective libraries order
the ranks of a communicator by node for that reason (NCCL, graph search of rings), and hierarchical algorithms need it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class Arranged(NamedTuple):
    """Ranks of a group in the order of a schedule."""

    ranks: tuple[int, ...]
    """The root first, then the others of its node, then node by node."""
    node_size: int
    """Ranks of each node; 0 where nodes are not known, or have different numbers of them."""


def arranged(members: Sequence[int], root: int | None, nodes: Sequence[int]) -> Arranged:
    """The members by node, nodes in the order of their first members.

    Parameters
    ----------
    members : ranks of the group in its order
    root : the rank that begins or ends the operation, None without one
    nodes : (n_ranks,) node of each rank of the trace; ranks of one node share a scale-up domain; () : none is known
    """
    at = members.index(root) if root is not None else 0
    turned = tuple(members[at:]) + tuple(members[:at])
    if not nodes:
        return Arranged(turned, 0)
    first: dict[int, int] = {}
    for place, rank in enumerate(turned):
        first.setdefault(nodes[rank], place)
    sizes = set(Counter(nodes[rank] for rank in turned).values())
    ordered = tuple(sorted(turned, key=lambda rank: first[nodes[rank]]))  # stable: within a node as in the group
    return Arranged(ordered, sizes.pop() if len(sizes) == 1 else 0)
