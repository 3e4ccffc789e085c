"""Flows on the fullest of equal links under a uniform hash, exactly."""

from __future__ import annotations

from itertools import product

import pytest

from fabric.theory.collisions import EXACT_FLOWS, chance_of_max, expected_delivered, expected_max_over_mean
from fabric.theory.routing import ecmp_monte_carlo, expected_delivered_single


@pytest.mark.parametrize(("flows", "links"), [(1, 4), (3, 2), (4, 3), (6, 3)])
def test_mean_and_chance_are_those_of_all_ways_to_throw(flows: int, links: int) -> None:
    largest = [max(throw.count(link) for link in range(links)) for throw in product(range(links), repeat=flows)]
    assert expected_max_over_mean(flows, links) == pytest.approx(sum(largest) / len(largest) * links / flows, rel=1e-9)
    for most in range(1, flows + 1):
        truth = sum(it >= most for it in largest) / len(largest)
        assert chance_of_max(flows, links, most) == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize(
    ("links", "queue_pairs", "published"),
    [(8, 1, 2.61), (8, 32, 1.25), (16, 4, 1.96), (32, 8, 1.80), (64, 1, 3.95), (64, 32, 1.43)],
)
def test_expectation_is_within_two_per_cent_of_monte_carlo(links: int, queue_pairs: int, published: float) -> None:
    exact = expected_max_over_mean(links * queue_pairs, links)
    assert exact == pytest.approx(published, rel=0.02)
    assert exact == pytest.approx(ecmp_monte_carlo(links, queue_pairs, draws=2000).max_over_mean, rel=0.02)


@pytest.mark.parametrize(
    ("links", "queue_pairs", "published"),
    [(8, 1, 0.653), (8, 4, 0.814), (16, 8, 0.865), (32, 16, 0.902), (64, 1, 0.638), (64, 32, 0.931)],
)
def test_share_that_fits_is_within_one_per_cent_of_monte_carlo(links: int, queue_pairs: int, published: float) -> None:
    exact = expected_delivered(links, queue_pairs)
    assert exact == pytest.approx(published, abs=0.01)
    assert exact == pytest.approx(ecmp_monte_carlo(links, queue_pairs, draws=2000).delivered, rel=0.01)
    assert expected_delivered(links, 1) == pytest.approx(expected_delivered_single(links), rel=1e-9)


def test_normal_limit_meets_the_exact_sum() -> None:
    for links in (2, 4, 16, 64):
        exact, limit = (expected_max_over_mean(flows, links) for flows in (EXACT_FLOWS, EXACT_FLOWS + 1))
        assert limit - 1 == pytest.approx(exact - 1, rel=0.05)


def test_one_link_takes_all() -> None:
    assert expected_max_over_mean(5, 1) == 1.0
    assert chance_of_max(5, 1, 5) == 1.0
