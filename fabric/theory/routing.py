"""Loops that deadlock, shares under PFC, collisions of ECMP, cyclic buffer dependencies."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import networkx as nx
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def loop_deadlock_threshold_bps(link_bps: int, links: int, crossings: int) -> Fraction:
    """Injection rate above which a routing loop of lossless links fills and stops: r > n B / t.

    Each injected packet crosses `crossings` cables of the loop before its TTL ends, evenly spread over its `links`
    cables, so one carries r * crossings / links; from B on its queue grows, pauses go round and nothing moves again.
    Source: Hu et al., HotNets 2016, section 3 (there t is the TTL).
    """
    return Fraction(link_bps * links, crossings)


def shares_by_port_bps(capacity_bps: int, senders_by_port: Sequence[Sequence[str]]) -> dict[str, Fraction]:
    """Shares of greedy lossless senders to one egress: PFC acts per ingress port, so each port gets an equal share,
    which its senders divide.

    Source: Zhu et al., SIGCOMM 2015, section 2.2 (parking lot).
    """
    used = [port for port in senders_by_port if port]
    return {sender: Fraction(capacity_bps, len(used) * len(port)) for port in used for sender in port}


@dataclass(frozen=True, slots=True)
class Balance:
    """Evenness of flows over equal-cost links; means over draws."""

    max_over_mean: float
    jain: float
    delivered: float
    """Share of the offered load that fits, each link being as fast as a pair."""


def balance(load: Floats) -> Balance:
    """Evenness of a load matrix (draws, links) in units of the rate of a link."""
    mean = load.mean(axis=1)
    jain = load.sum(axis=1) ** 2 / (load.shape[1] * (load**2).sum(axis=1))
    delivered = np.minimum(load, 1.0).sum(axis=1) / load.sum(axis=1)
    return Balance(float((load.max(axis=1) / mean).mean()), float(jain.mean()), float(delivered.mean()))


def load_matrix(choice: NDArray[np.int64], links: int, weight: float) -> Floats:
    """(draws, flows) of chosen links -> (draws, links) of load, each flow `weight`."""
    draws = choice.shape[0]
    cells = choice + links * np.arange(draws)[:, None]
    counts = np.bincount(cells.reshape(-1), minlength=draws * links).reshape(draws, links)
    return np.asarray(counts * weight, np.float64)


def ecmp_monte_carlo(
    uplinks: int, queue_pairs: int, *, pairs: int | None = None, draws: int = 400, seed: int = 1
) -> Balance:
    """Line-rate pairs (default: as many as uplinks), each split evenly over its queue pairs, on random uplinks."""
    generator = np.random.default_rng(seed)
    n_pairs = uplinks if pairs is None else pairs
    choice = generator.integers(0, uplinks, (draws, n_pairs * queue_pairs))
    return balance(load_matrix(choice, uplinks, 1.0 / queue_pairs))


def expected_delivered_single(uplinks: int) -> float:
    """QP = 1: a link is used with probability 1 - (1 - 1/n)^n, which tends to 1 - 1/e."""
    return float(1.0 - (1.0 - 1.0 / uplinks) ** uplinks)


Hop = tuple[str, str]
"""A directed cable: (sender, receiver)."""


def buffer_dependency_cycles(
    paths: Iterable[Sequence[str]], tags: Mapping[tuple[str, ...], Sequence[int]] | None = None
) -> int:
    """Cyclic buffer dependencies of paths (nodes from source to destination): in the graph that joins each cable
    to the next one on some path, the strongly connected components of more than one cable.

    `tags` gives the priority that each cable of a path is crossed in, where a path changes it (Hu et al., CoNEXT 2017,
    Tagger: one more per bounce); buffers of different priorities do not wait for each other.
    Source: Dally and Seitz 1987; Hu et al., HotNets 2016.
    """
    graph: nx.DiGraph[tuple[Hop, int]] = nx.DiGraph()
    for path in paths:
        hops = list(itertools.pairwise(path))
        tag = tags[tuple(path)] if tags is not None and tuple(path) in tags else [0] * len(hops)
        places = list(zip(hops, tag, strict=True))
        graph.add_edges_from(itertools.pairwise(places))
    return sum(1 for part in nx.strongly_connected_components(graph) if len(part) > 1)


def stopped_by(paths: Iterable[Sequence[str]], cable: Hop) -> set[Hop]:
    """Directed cables that end up paused once one is paused for ever: those from which a path leads into a stopped
    cable.

    Lossless queues are first in, first out, so a stopped packet stops all packets behind it at the same ingress.
    """
    hops = [list(itertools.pairwise(path)) for path in paths]
    stopped = {cable}
    grown = True
    while grown:
        before = len(stopped)
        for path in hops:
            last = max((place for place, hop in enumerate(path) if hop in stopped), default=0)
            stopped.update(path[:last])
        grown = len(stopped) > before
    return stopped
