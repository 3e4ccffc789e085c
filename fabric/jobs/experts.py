"""Routing of tokens to experts: capacity, skew, and the rows of an uneven all-to-all.

Sources: Switch Transformers (arXiv 2101.03961), section 2.2, for the capacity; DeepSeek-V3 (arXiv 2412.19437), section
2.1.2, for routing to few nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Skew = Literal["uniform", "zipf", "dirichlet"]


def expert_capacity(factor: float, tokens: int, experts_per_token: int, experts: int) -> int:
    """Most tokens that an expert takes of a group: ceil(factor x tokens K / E)."""
    return ceil(factor * tokens * experts_per_token / experts)


def expert_weights(skew: Skew, experts: int, exponent: float, draw: np.random.Generator) -> NDArray[np.float64]:
    """(experts,) probabilities, sum 1.

    zipf: rank^-exponent over a random order of the experts; dirichlet: all concentrations equal to `exponent`, so that
    small values are skewed; uniform: 1/E.
    """
    if skew == "uniform":
        return np.full(experts, 1 / experts)
    if skew == "dirichlet":
        return draw.dirichlet(np.full(experts, exponent))
    weights = np.arange(1, experts + 1, dtype=np.float64) ** -exponent
    return draw.permutation(weights / weights.sum())


@dataclass(frozen=True, slots=True)
class Routed:
    """One dispatch within one group."""

    tokens: Ints
    """(ranks, ranks) tokens from row to column, the own ones on the diagonal."""
    dropped: int
    """Tokens above the capacity of their expert."""

    @property
    def received(self) -> Ints:
        """(ranks,) tokens that each rank receives from others."""
        return np.asarray(self.tokens.sum(axis=0) - np.diag(self.tokens), np.int64)

    @property
    def imbalance_ratio(self) -> float:
        """Most loaded receiver / mean: the step waits for it."""
        received = self.received
        return float(received.max() / received.mean()) if received.any() else 1.0


def route(
    tokens_of_rank: int,
    experts_per_token: int,
    ranks: int,
    weights: NDArray[np.float64],
    draw: np.random.Generator,
    *,
    capacity: int | None = None,
) -> Routed:
    """Counts of a dispatch: of each rank a multinomial draw over the experts; expert i is on rank i div (E/ranks).

    With a capacity the tokens of the ranks are taken in the order of their numbers until the expert is full, which is
    the order of their positions in the batch.
    """
    counts = draw.multinomial(tokens_of_rank * experts_per_token, weights, size=ranks).astype(np.int64)
    dropped = 0
    if capacity is not None:
        before = np.cumsum(counts, axis=0) - counts
        kept = np.clip(capacity - before, 0, counts)
        dropped = int((counts - kept).sum())
        counts = kept
    return Routed(counts.reshape(ranks, ranks, -1).sum(axis=2), dropped)


def padded_bytes(capacity: int, experts: int, ranks: int, token_bytes: int) -> int:
    """Bytes from each rank to each other where buffers are padded to the capacity: each rank has 1/ranks of it."""
    return ceil(capacity / ranks) * (experts // ranks) * token_bytes


def grouped_nic_bytes(tokens: int, experts_per_token: int, nodes_per_token: int, token_bytes: int) -> int:
    """Upper bound of what a rank sends through its NIC where a token reaches at most g nodes, one copy a node:
    T min(K, g) h w. Copies within a node go over the scale-up links.
    """
    return tokens * min(experts_per_token, nodes_per_token) * token_bytes
