"""Every algorithm is proved: right results in random orders that respect only the declared needs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fabric.collectives.closed_forms import closed_form
from fabric.collectives.longest_path import Link, longest_path
from fabric.collectives.operations import OPERATIONS
from fabric.collectives.proof import ScheduleError, check_sizes, port_conflicts, prove, totals, without_need
from fabric.collectives.registry import ALGORITHMS, build, problems
from fabric.collectives.schedule import Request
from fabric.collectives.transfers import Event
from tests.collectives.requests_of import PAIRS, a_request, possible


@pytest.mark.parametrize(("algorithm", "operation"), PAIRS)
def test_every_algorithm_does_what_its_operation_says(algorithm: str, operation: str) -> None:
    tried = 0
    for request in possible(algorithm, operation, [1, 2, 3, 4, 5, 8, 12], [1, 1003]):
        prove(build(algorithm, request), orders=1, seed=tried)
        tried += 1
    assert tried >= 3


@given(
    st.sampled_from(PAIRS), st.integers(1, 24), st.integers(0, 200), st.integers(1, 3), st.integers(1, 3),
    st.sampled_from([0, 7]), st.integers(0, 2**32),
)  # fmt: skip
@example(("pairwise-xor", "all-to-all-v"), 3, 5, 1, 1, 0, 0)
def test_any_number_of_ranks_and_elements_is_proved(
    pair: tuple[str, str], n: int, elements: int, channels: int, pieces: int, reduction: int, seed: int
) -> None:
    algorithm, operation = pair
    item = ALGORITHMS[algorithm]
    node = 2 if item.needs_nodes else 1

    def of_ranks(ranks: int) -> Request:
        return a_request(
            operation, ranks, elements, channels=channels if item.channels else 1, pieces=pieces if item.pieces else 1,
            node_size=node, reduction=reduction,
        )  # fmt: skip

    request = of_ranks(n * node)
    if problems(algorithm, request):  # no power of two
        request = of_ranks((1 << n.bit_length() - 1) * node)
    prove(build(algorithm, request), orders=1, seed=seed)


@pytest.mark.parametrize("operation", ["all-reduce", "reduce-scatter", "all-gather"])
@pytest.mark.parametrize("algorithm", ["ring", "bidirectional-ring", "multi-ring"])
def test_rings_in_lockstep_are_proved_and_take_every_steps_latency(algorithm: str, operation: str) -> None:
    free = a_request(operation, 8, 8 * 3 * 1600, channels=3, node_size=4, latency=500_000)
    request = replace(free, lockstep=True)
    schedule = build(algorithm, request)
    prove(schedule, orders=2)
    form = closed_form(algorithm, request, Link(1_000_000, 20_000))
    assert form is not None
    end = longest_path(schedule, Link(1_000_000, 20_000)).end_ps
    assert form.time_ps == pytest.approx(end, rel=1e-4)
    assert longest_path(build(algorithm, free), Link(1_000_000, 20_000)).end_ps < end


@pytest.mark.parametrize("n", [37, 63, 64])
@pytest.mark.parametrize("algorithm", ["ring", "double-binary-tree", "halving-doubling", "recursive-doubling"])
def test_all_reduce_of_many_ranks_is_exact(algorithm: str, n: int) -> None:
    prove(build(algorithm, a_request("all-reduce", n, 1003)), orders=1)


@pytest.mark.parametrize("algorithm", ["ring", "double-binary-tree", "halving-doubling"])
def test_more_than_64_ranks_are_proved_with_random_sums(algorithm: str) -> None:
    prove(build(algorithm, a_request("all-reduce", 100, 1003)), orders=1)


@pytest.mark.parametrize(
    ("algorithm", "operation"),
    [("ring", "all-reduce"), ("binary-tree", "all-reduce"), ("halving-doubling", "all-reduce"),
     ("recursive-doubling", "all-reduce"), ("bruck", "all-to-all"), ("pat", "reduce-scatter"),
     ("hierarchical", "all-reduce"), ("pxn", "all-to-all")],
)  # fmt: skip
def test_a_schedule_without_one_of_its_needs_of_arrival_is_refused(algorithm: str, operation: str) -> None:
    size = 2 if ALGORITHMS[algorithm].needs_nodes else 1
    schedule = build(algorithm, a_request(operation, 8 if algorithm in {"bruck", "pat"} else 6, 120, node_size=size))
    arrivals = np.flatnonzero(schedule.transfers.event == Event.ARRIVED)
    found = 0
    for need in arrivals.tolist():
        weaker = replace(schedule, transfers=without_need(schedule.transfers, need))
        try:
            prove(weaker, orders=12)
        except ScheduleError:
            found += 1
    assert found == len(arrivals)


def test_a_message_that_takes_over_instead_of_adding_is_found() -> None:
    schedule = build("ring", a_request("all-reduce", 4, 10))
    first = schedule.carriages[0]
    assert first is not None
    wrong = replace(schedule, carriages=(replace(first, adds=False), *schedule.carriages[1:]))
    with pytest.raises(ScheduleError, match="ends with a wrong value"):
        prove(wrong)


def test_a_size_that_is_not_that_of_the_cells_is_found() -> None:
    schedule = build("ring", a_request("all-reduce", 4, 10))
    wrong = replace(schedule, transfers=replace(schedule.transfers, small_bytes=schedule.transfers.small_bytes + 1))
    with pytest.raises(ScheduleError, match="bytes and carries"):
        check_sizes(wrong)


def test_needs_in_a_cycle_are_found() -> None:
    schedule = build("ring", a_request("all-reduce", 2, 10))
    table = schedule.transfers
    cycle = replace(
        table, earlier=np.append(table.earlier, [0, 1]), later=np.append(table.later, [1, 0]),
        lead=np.append(table.lead, [1, 1]), per=np.append(table.per, [0, 0]), event=np.append(table.event, [0, 0]),
    )  # fmt: skip
    with pytest.raises(ScheduleError, match="wait for one another"):
        prove(replace(schedule, transfers=cycle))


@pytest.mark.parametrize("algorithm", [name for name, operation in PAIRS if operation == "all-reduce"])
@pytest.mark.parametrize(("n", "elements"), [(2, 7), (8, 800), (9, 1003), (12, 5)])
def test_all_reduce_moves_no_more_than_it_must(algorithm: str, n: int, elements: int) -> None:
    size = 2 if ALGORITHMS[algorithm].needs_nodes else 1
    request = a_request("all-reduce", n, elements, node_size=size)
    if problems(algorithm, request):
        request = replace(request, n_ranks=8)
    moved = totals(build(algorithm, request)).total_bytes
    least = 2 * (request.n_ranks - 1) * elements * 4
    if algorithm == "recursive-doubling":  # minimal in steps, not in bytes
        assert moved >= least
    elif algorithm == "halving-doubling-halves" and request.n_ranks & (request.n_ranks - 1):
        # The pairs exchange halves, and one of them moves again: S instead of S/2 + S/2, then half once more.
        assert least <= moved <= least + (request.n_ranks - 8) * (elements // 2 + 8) * 4
    else:
        assert moved == least


@pytest.mark.parametrize("n", range(2, 20))
@pytest.mark.parametrize(
    ("algorithm", "operation"),
    [("ring", "all-reduce"), ("halving-doubling", "all-reduce"), ("recursive-doubling", "all-reduce"),
     ("bruck", "all-gather"), ("bruck", "all-to-all"), ("pat", "all-gather"), ("pat", "reduce-scatter"),
     ("pairwise", "all-to-all"), ("direct", "send-recv")],
)  # fmt: skip
def test_a_rank_sends_and_receives_one_message_a_step(algorithm: str, operation: str, n: int) -> None:
    assert port_conflicts(build(algorithm, a_request(operation, n, 1003))) == 0


@pytest.mark.parametrize("n", range(2, 20))
def test_logarithmic_algorithms_have_logarithmic_steps(n: int) -> None:
    rounds = (n - 1).bit_length()
    for algorithm, operation in (("bruck", "all-gather"), ("bruck", "all-to-all"), ("pat", "all-gather")):
        assert build(algorithm, a_request(operation, n, 1003)).n_steps == rounds


def test_messages_between_nodes_stay_on_a_rail() -> None:
    for algorithm, operation in (("pxn", "all-to-all"), ("hierarchical", "all-reduce"), ("multi-ring", "all-reduce")):
        request = a_request(operation, 16, 1600, node_size=4, channels=4 if algorithm == "multi-ring" else 1)
        for move in build(algorithm, request).moves():
            if move.sender // 4 != move.receiver // 4:
                assert move.sender % 4 == move.receiver % 4, algorithm


def test_ring_channels_leave_nodes_by_all_rails() -> None:
    moves = build("ring", a_request("all-reduce", 16, 1600, node_size=4, channels=4)).moves()
    assert {move.sender % 4 for move in moves if move.sender // 4 != move.receiver // 4} == {0, 1, 2, 3}


def test_a_ring_of_1024_ranks_has_two_transfers_a_rank() -> None:
    schedule = build("ring", a_request("all-reduce", 1024, 2**20))
    assert len(schedule.transfers) == 2 * 1024
    assert schedule.transfers.n_messages == 2_095_104
    check_sizes(build("ring", a_request("all-reduce", 100, 2**20)))


def test_problems_are_told_together() -> None:
    request = Request("all-gather", 6, 100, channels=2, pieces=2, root=3, node_size=4)
    texts = [text for text, _ in problems("recursive-doubling", request)]
    assert len(texts) == 6
    assert "recursive-doubling needs a power of two of ranks for all-gather, not 6" in texts
    with pytest.raises(ValueError, match="power of two"):
        build("recursive-doubling", request)
    assert problems("rong", request)[0][0] == "'rong' is not an algorithm"
    assert problems("ring", replace(request, operation="sum"))[0][0] == "'sum' is not an operation"


def test_every_operation_has_an_algorithm() -> None:
    assert {operation for _, operation in PAIRS} == set(OPERATIONS)
