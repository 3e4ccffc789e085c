"""Orders in which rings visit the ranks."""

from __future__ import annotations

from fabric.collectives.schedule import Request


def rotated(request: Request, channel: int) -> list[int]:
    """Ring `channel` visits the ranks of every node in an order that ends at place `channel`, so it leaves the node
    there: with one NIC at each place, every channel uses another NIC. Without nodes: 0, 1, 2 ...
    """
    size = request.node_size
    return [
        node * size + (channel + 1 + place) % size
        for node in range(request.n_ranks // size)
        for place in range(size)
    ]  # fmt: skip


def both_ways(request: Request, channel: int) -> list[int]:
    """Every second channel is the one before it in the opposite direction."""
    order = rotated(request, channel // 2)
    return order[::-1] if channel % 2 else order


def along_rails(request: Request, channel: int) -> list[int]:
    """As `rotated` in even nodes and backwards in odd ones, so that a ring leaves a node at the place at which it
    enters the next one: its messages between nodes stay on one rail, but for the last node of an odd number.
    """
    size = request.node_size
    order = rotated(request, channel)
    nodes = [order[start : start + size] for start in range(0, len(order), size)]
    return [rank for number, ranks in enumerate(nodes) for rank in (ranks[::-1] if number % 2 else ranks)]
