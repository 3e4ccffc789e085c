"""Inference requests: arrivals, dispatch to prefill, and continuous batches in decoding."""

from __future__ import annotations

from typing import Final

import numpy as np
import pytest

from fabric.jobs.inference import decode_seconds
from fabric.jobs.model import Model
from fabric.jobs.serving import Requests, Serving, decoded, dispatched, iteration_ps, poisson_requests

MODEL: Final = Model("m", 2, 64, 128, 4, 4, 256, 64)


def serving(batch: int, instances: int = 1, gpus: int = 1) -> Serving:
    return Serving(MODEL, gpus, 1, instances, batch, 10**12, 0.5, 10**12, 0.5, 2, 1_000_000)


def requests(*rows: tuple[int, int, int]) -> Requests:
    return Requests(*np.array(rows, np.int64).reshape(-1, 3).T)


def test_poisson_arrivals_have_the_rate_and_lengths_the_mean_and_variation() -> None:
    made = poisson_requests(1000.0, 20_000, 400, 50, 0.5, 7, np.random.default_rng(1))
    gaps = np.diff(made.arrival_ps)
    assert made.arrival_ps.min() >= 7
    assert gaps.mean() == pytest.approx(10**9, rel=0.03)
    assert gaps.std() == pytest.approx(10**9, rel=0.03)  # exponential: as large as the mean
    assert made.prompt_tokens.mean() == pytest.approx(400, rel=0.02)
    assert made.prompt_tokens.std() / made.prompt_tokens.mean() == pytest.approx(0.5, rel=0.05)
    fixed = poisson_requests(1000.0, 5, 400, 50, 0.0, 0, np.random.default_rng(1))
    assert fixed.prompt_tokens.tolist() == [400] * 5


def test_a_request_goes_to_the_instance_that_is_free_first() -> None:
    arrival, duration = np.array([0, 1, 2, 3, 100]), np.array([10, 3, 5, 1, 1])
    assert dispatched(arrival, duration, 2).tolist() == [0, 1, 1, 1, 0]


def test_one_sequence_takes_an_iteration_for_each_token_after_the_first() -> None:
    made = serving(4)
    ends = decoded(made, requests((0, 10, 4)), np.array([0]), [1_000])
    expected = 1_000 + sum(iteration_ps(made, 1, context) for context in (11, 12, 13))
    assert ends == [expected]
    assert decoded(made, requests((0, 10, 1)), np.array([0]), [1_000]) == [1_000]


def test_a_sequence_joins_between_iterations_and_waits_where_the_batch_is_full() -> None:
    made = serving(2)
    rows = requests((0, 10, 3), (0, 10, 3), (0, 10, 2))
    one = iteration_ps(made, 1, 11)
    ends = decoded(made, rows, np.array([0, 0, 0]), [0, 1, 2])
    second = one + iteration_ps(made, 2, (12 + 11) / 2)  # request 1 joins after the first iteration
    assert ends[0] == second
    third = second + iteration_ps(made, 2, (12 + 11) / 2)  # request 2 takes the place of request 0
    assert ends[1:] == [third, third]


def test_instances_do_not_share_a_batch_and_lost_caches_have_no_end() -> None:
    made = serving(1, instances=2)
    rows = requests((0, 10, 3), (0, 10, 3), (0, 10, 3))
    ends = decoded(made, rows, np.array([0, 1, 0]), [5, 5, None])
    assert ends[0] == ends[1]
    assert ends[2] is None


def test_an_iteration_reads_weights_and_caches_and_adds_the_all_reduces_of_several_gpus() -> None:
    alone, four = iteration_ps(serving(8), 8, 100.0), iteration_ps(serving(8, gpus=4), 8, 100.0)
    read = decode_seconds(MODEL, 8, 100.0, 1, 0.5e12)
    assert alone == round(read * 1e12)
    assert four == pytest.approx(alone / 4 + 2 * MODEL.layers * 1_000_000, abs=2)
