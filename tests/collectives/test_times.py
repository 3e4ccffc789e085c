"""Closed forms against the longest path through the schedule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fabric.collectives.acknowledgements import with_acknowledgements
from fabric.collectives.closed_forms import FORMS, closed_form
from fabric.collectives.longest_path import Link, Links, longest_path, of_transfers
from fabric.collectives.registry import ALGORITHMS, build, problems
from fabric.collectives.transfers import Event, TransferList
from fabric.workload.collective import repeated
from tests.collectives.requests_of import PAIRS, a_request

LINK = Link(1_000_000, 20_000)
"""1 us and 400 Gb/s."""


def test_every_algorithm_has_an_entry() -> None:
    assert set(FORMS) == set(ALGORITHMS)


@pytest.mark.parametrize(("algorithm", "operation"), PAIRS)
def test_an_exact_form_equals_the_longest_path(algorithm: str, operation: str) -> None:
    for n in (2, 3, 4, 5, 8, 16):
        for channels, pieces, reduction, latency in (
            (1, 1, 0, 0), (1, 1, 7000, 0), (1, 1, 7000, 300_000), (2, 1, 0, 0), (1, 3, 0, 0), (1, 16, 0, 0),
        ):  # fmt: skip
            request = a_request(
                operation, n, n * 4800, channels=channels, pieces=pieces, reduction=reduction, latency=latency,
                node_size=2 if ALGORITHMS[algorithm].needs_nodes else 1,
            )  # fmt: skip
            if problems(algorithm, request):
                continue
            for link in (LINK, Link(10_000, 20_000)):
                form = closed_form(algorithm, request, link)
                if form is not None:
                    found = longest_path(build(algorithm, request), link).end_ps
                    within = 1e-4 if form.exact else 0.6
                    assert form.time_ps == pytest.approx(found, rel=within), (request, form)


@pytest.mark.parametrize("n", [2, 3, 7, 16, 31, 64])
@pytest.mark.parametrize("operation", ["all-reduce", "reduce-scatter", "all-gather"])
def test_a_ring_of_chunks_that_differ_takes_the_time_of_the_longest(operation: str, n: int) -> None:
    for elements in (1, n - 1, n * 1000 + 1):
        request = a_request(operation, n, elements, latency=5000, reduction=3000)
        form = closed_form("ring", request, LINK)
        assert form is not None
        assert form.exact
        assert longest_path(build("ring", request), LINK).end_ps == pytest.approx(form.time_ps, rel=1e-6, abs=4 * n)


def test_slices_hide_the_latency_where_the_port_never_idles() -> None:
    one = a_request("all-reduce", 8, 8 * 64_000)
    sliced = replace(one, pieces=4)
    u = LINK.tx_ps(16_000 * 4)
    assert longest_path(build("ring", one), LINK).end_ps == 14 * (4 * u + LINK.alpha_ps)
    assert longest_path(build("ring", sliced), LINK).end_ps == 14 * 4 * u + LINK.alpha_ps


def test_two_directions_gain_nothing_where_one_port_serves_both() -> None:
    request = a_request("all-reduce", 8, 8 * 64_000, channels=2)
    ways = [longest_path(build(name, request), LINK).end_ps for name in ("ring", "bidirectional-ring")]
    assert ways[0] == ways[1]


def test_two_trees_are_faster_than_one_for_large_sizes() -> None:
    request = a_request("all-reduce", 16, 16 * 2**18, pieces=64)
    one, two = (longest_path(build(name, request), LINK).end_ps for name in ("binary-tree", "double-binary-tree"))
    assert two < 0.75 * one


def test_receivers_take_one_message_at_a_time() -> None:
    request = a_request("gather", 5, 5 * 1000)
    assert longest_path(build("direct", request), LINK).end_ps == LINK.alpha_ps + 4 * LINK.tx_ps(4000)


def test_an_empty_message_arrives_with_the_one_before_it() -> None:
    rows = TransferList()
    # Sizes 8, 0, 0; the answer needs all three, and must not be sent before the first has arrived.
    first = rows.add(0, 1, 3, small_bytes=0, unit_bytes=8, n_longer=1, stride=1, modulus=3)
    answer = rows.add(1, 0, small_bytes=8)
    rows.need(first, answer, lead=3)
    times = of_transfers(rows.build(), 2, LINK)
    assert times.end_ps == 2 * (LINK.alpha_ps + LINK.tx_ps(8))
    assert times.by_rank_ps[1] == LINK.alpha_ps + LINK.tx_ps(8)


def test_completion_is_known_at_the_sender_after_the_way_back() -> None:
    rows = TransferList()
    first = rows.add(0, 1, small_bytes=1000)
    computation = rows.add(0, 0, delay_ps=77, start_ps=5)
    second = rows.add(0, 2, small_bytes=1000)
    rows.need(first, second, event=Event.COMPLETED)
    rows.need(computation, second, event=Event.COMPLETED)
    times = of_transfers(rows.build(), 3, LINK)
    one = LINK.alpha_ps + LINK.tx_ps(1000)
    assert times.by_rank_ps == (82, one, 2 * one + LINK.alpha_ps)


def test_one_rank_takes_no_time() -> None:
    form = closed_form("ring", a_request("all-reduce", 1, 100), LINK)
    assert form is not None
    assert form.time_ps == 0
    assert closed_form("pxn", a_request("all-to-all", 4, 100, node_size=2), LINK) is None


def test_a_schedule_again_begins_where_each_rank_has_ended() -> None:
    request = a_request("all-reduce", 5, 5000)
    schedule = build("ring", request)
    once, thrice = (of_transfers(repeated(schedule, times, 7_000), 5, LINK).end_ps for times in (1, 3))
    assert once == longest_path(schedule, LINK).end_ps + 7_000
    assert thrice - 7_000 == pytest.approx(3 * (once - 7_000), rel=0.01)


NEAR = Link(936_000, 2_700)
"""A scale-up link of 370 GB/s."""


@pytest.mark.parametrize(("algorithm", "operation"), [("hierarchical", "all-reduce"), ("pxn", "all-to-all")])
@pytest.mark.parametrize(("nodes", "size"), [(2, 2), (3, 8), (8, 4)])
def test_a_form_of_two_networks_equals_the_longest_path_over_both(
    algorithm: str, operation: str, nodes: int, size: int
) -> None:
    n = nodes * size
    for each, near in ((4800, NEAR), (40, NEAR), (4800, Link(936_000, 60_000))):
        request = a_request(operation, n, n * each, node_size=size)
        schedule = build(algorithm, request)
        rows = schedule.transfers
        inside = rows.src // size == rows.dst // size
        links = Links(
            np.where(inside, near.alpha_ps, LINK.alpha_ps), np.where(inside, near.fs_per_byte, LINK.fs_per_byte),
            rows.src * 2 + inside, rows.dst * 2 + inside, rows.src * n + rows.dst, each // 2,
        )  # fmt: skip
        form = closed_form(algorithm, request, LINK, near)
        assert form is not None
        assert form.exact
        assert form.time_ps == pytest.approx(longest_path(schedule, links).end_ps, rel=2e-3)


def test_queues_of_a_port_take_turns_and_those_of_another_port_do_not_wait() -> None:
    rows = TransferList()
    for dst in (1, 2, 3):
        rows.add(0, dst, small_bytes=1000)
    made, one = rows.build(), np.ones(3, np.int64)

    def arrivals(port: list[int], quantum: int) -> tuple[int, ...]:
        links = Links(one * 0, one * 1000, np.array(port), np.arange(3), np.arange(3), quantum)
        return of_transfers(made, 4, links).by_rank_ps[1:]

    assert arrivals([0, 0, 0], 0) == (1000, 2000, 3000)
    assert arrivals([0, 0, 0], 100) == (2600, 2900, 3000)
    assert arrivals([0, 0, 1], 100) == (1800, 2000, 1000)


def test_acknowledgements_cost_time_only_while_a_port_sends_and_receives() -> None:
    rows = TransferList()
    rows.add(0, 1, small_bytes=1000)
    rows.add(1, 0, small_bytes=500)
    rows.add(2, 3, small_bytes=1000)
    made, every = rows.build(), np.ones(3, np.int64)
    links = Links(every * 0, every * 1000, made.src, made.dst, np.arange(3))
    found = with_acknowledgements(made, 4, links, np.full(3, 0.1))
    assert found.fs_per_byte.tolist() == [1050, 1100, 1000]
