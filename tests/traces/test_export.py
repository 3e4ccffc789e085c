"""Export of schedules: what comes back has the same messages and takes the same time."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from fabric.collectives.registry import ALGORITHMS, build
from fabric.collectives.schedule import Request
from fabric.collectives.transfers import Event, OperationGroup, TransferList, Transfers, expand
from fabric.traces.builder import builder
from fabric.traces.export import ENDINGS, write
from fabric.traces.formats import read_trace
from fabric.traces.graph import OPERATIONS, Kind
from fabric.traces.lower import lower
from tests.traces.carriers import carry_out

SEEDS = range(12)
Messages = Counter[tuple[int, int, int]]


def messages(rows: Transfers) -> Messages:
    """(source, destination, size) -> how many."""
    full = expand(rows)
    found: Messages = Counter()
    for row, size in zip(full.transfer.tolist(), full.size_bytes.tolist(), strict=True):
        if rows.src[row] != rows.dst[row] and size:
            found[int(rows.src[row]), int(rows.dst[row]), size] += 1
    return found


def random_schedule(seed: int) -> tuple[Transfers, list[OperationGroup], int]:
    """Computations, messages and collective operations of random groups, each behind the last work of its ranks."""
    choose = random.Random(seed)
    n = choose.randint(2, 7)
    table, groups = TransferList(), []
    last: list[list[tuple[int, Event]]] = [[] for _ in range(n)]

    def behind(row: int, rank: int) -> None:
        for earlier, event in last[rank]:
            table.need(earlier, row, lead=table.rows[earlier][2], event=event)

    for number in range(choose.randint(3, 9)):
        kind = choose.choice(("compute", "send", "collective", "collective"))
        if kind == "compute":
            rank = choose.randrange(n)
            row = table.add(rank, rank, choose.randint(1, 3), delay_ps=1000 * choose.randint(0, 90), operation=number)
            behind(row, rank)
            last[rank] = [(row, Event.COMPLETED)]
            groups.append(OperationGroup("compute"))
        elif kind == "send":
            src, dst = choose.sample(range(n), 2)
            row = table.add(src, dst, choose.randint(1, 4), small_bytes=choose.randint(1, 9000), unit_bytes=1,
                            n_longer=1, stride=1, modulus=3, operation=number)  # fmt: skip
            behind(row, src)
            last[dst] = [*last[dst], (row, Event.ARRIVED)]
            if choose.random() < 0.5:
                last[src] = [(row, choose.choice((Event.COMPLETED, Event.POSTED)))]
            groups.append(OperationGroup("send"))
        else:
            members = sorted(choose.sample(range(n), choose.randint(2, n)))
            operation = choose.choice(OPERATIONS)
            size = choose.choice((len(members) * 1000, len(members) * 4096, 100_003))
            one = builder()(operation, len(members), size, 1)
            begins = {}
            for rank in members:
                begins[rank] = table.add(rank, rank, operation=number)
                behind(begins[rank], rank)
            first = table.extend(one, members, number)
            ends = {rank: table.add(rank, rank, operation=number) for rank in members}
            for row in range(first, first + len(one)):
                src, dst, count = table.rows[row][:3]
                table.need(begins[src], row, event=Event.COMPLETED)
                table.need(row, ends[src], lead=count, event=Event.COMPLETED)
                table.need(row, ends[dst], lead=count, event=Event.ARRIVED)
            for rank in members:
                table.need(begins[rank], ends[rank], event=Event.COMPLETED)
                last[rank] = [(ends[rank], Event.COMPLETED)]
            groups.append(OperationGroup(operation, "ring", size_bytes=size, ranks=len(members)))
    return table.build(), groups, n


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("form", [*ENDINGS, "chakra messages"])
def test_a_random_schedule_comes_back_with_its_messages_and_time(tmp_path: Path, seed: int, form: str) -> None:
    rows, groups, n = random_schedule(seed)
    assert list(rows.problems()) == []
    whole = form == "chakra"
    written = write(rows, groups, n, (tmp_path, "t"), form.removesuffix(" messages"), collectives=whole)
    again = lower(read_trace(written.file), builder())
    assert messages(again.transfers) == messages(rows)
    account = again.account
    assert account.operations_in_file == account.operations_lowered
    assert account.bytes_posted == sum(size * many for (*_, size), many in messages(rows).items())
    ends = [max(carry_out(it, 1_000_000, 20), default=0) for it in (again.transfers, rows)]
    assert ends[0] == pytest.approx(ends[1], abs=1000 * len(rows))
    n_calls = sum(op.kind is Kind.COLLECTIVE for ops in written.trace.ranks for op in ops)
    assert n_calls == (sum(it.ranks for it in groups if _is_whole(it)) if whole else 0)


def _is_whole(group: OperationGroup) -> bool:
    """Chakra holds an all-gather by the share of a rank."""
    return group.operation in OPERATIONS and not (group.operation == "all-gather" and group.size_bytes % group.ranks)


@pytest.mark.parametrize("algorithm", ["ring", "halving-doubling", "double-binary-tree", "bruck", "direct", "pairwise"])
def test_an_operation_of_any_algorithm_is_written_whole_and_names_its_algorithm(tmp_path: Path, algorithm: str) -> None:
    operation = ALGORITHMS[algorithm].operations[0].replace("all-to-all-v", "all-to-all")
    rows = build(algorithm, Request(operation, 8, 4096, element_bytes=1)).transfers
    group = OperationGroup(operation, algorithm, size_bytes=4096, ranks=8)
    written = write(rows, [group], 8, (tmp_path, "t"), "chakra", collectives=True)
    assert [[op.kind for op in ops] for ops in written.trace.ranks] == [[Kind.COLLECTIVE]] * 8
    again = lower(read_trace(written.file), builder(written.algorithms))
    assert messages(again.transfers) == messages(rows)


def test_what_may_be_another_operation_stays_messages(tmp_path: Path) -> None:
    rows = build("ring", Request("all-reduce", 4, 4096, element_bytes=1)).transfers
    for group in (
        OperationGroup("all-reduce", size_bytes=8192, ranks=4),  # more than its messages move
        OperationGroup("all-reduce", size_bytes=4096, ranks=8),  # more ranks than its messages connect
        OperationGroup("exchange", size_bytes=4096),
        OperationGroup(),
    ):
        written = write(rows, [group], 4, (tmp_path, "t"), "chakra", collectives=True)
        assert {op.kind for ops in written.trace.ranks for op in ops} <= {Kind.SEND, Kind.RECV, Kind.COMPUTE}


def test_an_all_gather_without_equal_shares_stays_messages(tmp_path: Path) -> None:
    rows = build("ring", Request("all-gather", 3, 1000, element_bytes=1)).transfers
    group = OperationGroup("all-gather", size_bytes=1000, ranks=3)
    written = write(rows, [group], 3, (tmp_path, "t"), "chakra", collectives=True)
    assert all(op.kind is not Kind.COLLECTIVE for ops in written.trace.ranks for op in ops)
    assert messages(lower(read_trace(written.file), builder()).transfers) == messages(rows)


@pytest.mark.parametrize("form", ["goal", "goal-binary"])
def test_delays_of_the_messages_of_a_transfer_share_a_stream(tmp_path: Path, form: str) -> None:
    """GOAL has 256 streams a rank; the delays of a transfer follow each other."""
    request = Request("all-reduce", 6, 1_000_003, element_bytes=1, channels=2, pieces=30, send_latency_ps=1_000_000)
    rows = build("ring", request).transfers
    written = write(rows, [OperationGroup()], 6, (tmp_path, "t"), form, collectives=False)
    assert {op.stream for ops in written.trace.ranks for op in ops} <= set(range(4))
    again = lower(read_trace(written.file), builder()).transfers
    assert messages(again) == messages(rows)
    assert max(carry_out(again)) == pytest.approx(max(carry_out(rows)), rel=1e-3)
