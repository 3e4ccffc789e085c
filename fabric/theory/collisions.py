"""Unevenness of a uniform hash: n equal flows on m links at random, exactly.

The number of flows on the fullest link of a uniform hash is the largest of a multinomial. P(largest <= k) is the
coefficient of x^n in (sum over j <= k of x^j / j!)^m, times n! / m^n; it is summed with the terms of a Poisson variable
of mean n / m, so that nothing overflows. Row V16 of docs/fidelity.md measures the same by Monte Carlo
(theory/routing.py).
"""

from __future__ import annotations

from functools import lru_cache
from math import erfc, exp, lgamma, log, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

EXACT_FLOWS: Final = 4096
"""Above this many flows the normal limit is used: with 64 links its excess over 1 is 4 % too small there."""

Floats = NDArray[np.float64]


@lru_cache(maxsize=4096)
def expected_max_over_mean(flows: int, links: int) -> float:
    """Mean of (flows on the fullest link) / (flows / links), for `flows` >= 1 equal flows and a uniform hash."""
    if links == 1:
        return 1.0
    if flows > EXACT_FLOWS:
        # Standard deviation of a link's share times sqrt(links / (links - 1)), for the shares sum to a constant.
        return 1.0 + _largest_normal(links) * sqrt(links / flows)
    low = -(-flows // links)
    mean = float(low)
    for most in range(low, flows):
        missed = 1.0 - _at_most(flows, links, most)
        mean += missed
        if missed < 1e-9:
            break
    return mean * links / flows


@lru_cache(maxsize=4096)
def chance_of_max(flows: int, links: int, most: int) -> float:
    """Probability that the fullest link has `most` flows or more."""
    if links == 1 or most <= -(-flows // links):
        return 1.0
    if flows > EXACT_FLOWS:
        sigma = sqrt(flows / links * (1 - 1 / links))
        return min(1.0, links * _upper_tail((most - 0.5 - flows / links) / sigma))
    return max(0.0, 1.0 - _at_most(flows, links, most - 1))


def expected_delivered(links: int, queue_pairs: int) -> float:
    """Share of the load that fits where as many line-rate pairs of hosts as links each split evenly over their queue
    pairs, spread by a uniform hash: the mean of min(X / queue_pairs, 1), X binomial.

    Tends to 1 - 1/e with one queue pair a pair (theory/routing.py: expected_delivered_single).
    """
    flows, chance = links * queue_pairs, 1 / links
    if links == 1:
        return 1.0
    log_n = lgamma(flows + 1)
    found = 0.0
    for count in range(flows + 1):
        weight = exp(
            log_n
            - lgamma(count + 1)
            - lgamma(flows - count + 1)
            + count * log(chance)
            + (flows - count) * log(1 - chance)
        )
        found += weight * min(count / queue_pairs, 1.0)
    return found


def _at_most(flows: int, links: int, most: int) -> float:
    """P(no link has more than `most`)."""
    mean = flows / links
    term = np.array([exp(j * log(mean) - mean - lgamma(j + 1)) for j in range(min(most, flows) + 1)])
    total = _power(term, links, flows)
    # Poisson terms sum to the Poisson chance of `flows` in all; the condition on that total gives the multinomial.
    norm = exp(flows * log(flows) - flows - lgamma(flows + 1))
    return float(min(1.0, total[flows] / norm)) if len(total) > flows else 0.0


def _power(term: Floats, exponent: int, degree: int) -> Floats:
    """term ** exponent as polynomials, up to x ** degree."""
    result = np.ones(1)
    square = term
    while exponent:
        if exponent & 1:
            result = np.convolve(result, square)[: degree + 1]
        exponent >>= 1
        if exponent:
            square = np.convolve(square, square)[: degree + 1]
    return result


def _upper_tail(z: float) -> float:
    return 0.5 * erfc(z / sqrt(2))


@lru_cache(maxsize=256)
def _largest_normal(n: int) -> float:
    """Mean of the largest of n independent standard normal variables."""
    z = np.linspace(-9.0, 9.0, 4001)
    below = np.array([1.0 - _upper_tail(float(value)) for value in z])
    density = np.where(z > 0, 1.0, 0.0) - below**n
    return float(((density[1:] + density[:-1]) / 2 * np.diff(z)).sum())  # np.trapezoid is of NumPy 2
