"""A trace becomes transfers without losing a byte or an operation."""

from __future__ import annotations

import pytest

from fabric.errors import InputErrors
from fabric.traces.graph import OPERATIONS, Kind, Op, Trace
from fabric.traces.lower import SendDone, lower, minimum_bytes
from tests.traces.carriers import build, carry_out


def trace(*ranks: list[Op], **groups: tuple[int, ...]) -> Trace:
    return Trace([list(ops) for ops in ranks], "goal", ["t.goal"], "line", groups=groups)


def compute(ps: int, *after: int, **more: int) -> Op:
    return Op(Kind.COMPUTE, after, duration_ps=ps, **more)


def send(to: int, size: int, *after: int, tag: int = 0) -> Op:
    return Op(Kind.SEND, after, peer=to, size_bytes=size, tag=tag)


def recv(source: int, size: int, *after: int, tag: int = 0) -> Op:
    return Op(Kind.RECV, after, peer=source, size_bytes=size, tag=tag)


def collective(operation: str, size: int, *after: int, group: str = "", root: int = 0) -> Op:
    return Op(Kind.COLLECTIVE, after, operation=operation, size_bytes=size, group=group, root=root)


def end_ps(it: Trace, send_done: SendDone = SendDone.COMPLETED) -> int:
    return max(carry_out(lower(it, build, send_done).transfers, 1_000_000, 20), default=0)


def problems(it: Trace) -> list[str]:
    with pytest.raises(InputErrors) as caught:
        lower(it, build)
    return [str(problem) for problem in caught.value.problems]


def test_what_waits_for_a_receive_waits_for_the_arrival() -> None:
    it = trace([compute(5_000), send(1, 100, 0)], [recv(0, 100), compute(7_000, 0)])
    lowered = lower(it, build)
    assert carry_out(lowered.transfers)[0] == 5_000
    assert carry_out(lowered.transfers)[2] == 5_000 + 1_000_000 + 100 * 20 + 7_000
    assert lowered.account.bytes_in_file == lowered.account.bytes_posted == 100
    assert lowered.account.operations_in_file == lowered.account.operations_lowered == 4


@pytest.mark.parametrize(("done", "later_ps"), [(SendDone.COMPLETED, 2_002_000), (SendDone.POSTED, 0)])
def test_what_waits_for_a_send_waits_as_the_option_says(done: SendDone, later_ps: int) -> None:
    it = trace([send(1, 100), compute(3_000, 0)], [recv(0, 100)])
    assert carry_out(lower(it, build, done).transfers)[1] == later_ps + 3_000


def test_what_waits_for_a_receive_also_waits_for_what_the_receive_waited_for() -> None:
    it = trace([send(1, 1)], [compute(9_000_000), recv(0, 1, 0), compute(1_000, 1)])
    assert end_ps(it) == 9_001_000


def test_a_start_dependency_waits_for_the_begin_only() -> None:
    it = trace([compute(10_000), compute(50_000, 0), Op(Kind.COMPUTE, (), (1,), duration_ps=70_000, stream=1)])
    assert end_ps(it) == 80_000


def test_computations_of_one_stream_follow_each_other_and_others_overlap() -> None:
    assert end_ps(trace([compute(10), compute(20), compute(30)])) == 60
    assert end_ps(trace([compute(10), compute(20, stream=1), compute(30, stream=2)])) == 30


def test_the_order_in_a_stream_does_not_wait_for_a_message_of_a_later_computation() -> None:
    # Operation 0 waits for rank 1, which waits for operation 2: in the order of the file they would wait for ever.
    it = trace([recv(1, 1), compute(10, 0), compute(10), send(1, 1, 2)], [recv(0, 1), send(0, 1, 0)])
    assert end_ps(it) > 0


def test_an_empty_message_crosses_the_network_as_one_byte_and_is_counted() -> None:
    account = lower(trace([send(1, 0)], [recv(0, 0)]), build).account
    assert (account.bytes_in_file, account.bytes_posted, account.empty_messages) == (0, 1, 1)


def test_a_send_to_the_own_rank_needs_no_network() -> None:
    it = trace([send(0, 500), recv(0, 500), compute(3, 1)])
    account = lower(it, build).account
    assert (account.bytes_posted, account.local_bytes, account.operations_lowered) == (0, 500, 3)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("size", [1_048_576, 1_000_003, 3])
def test_a_collective_operation_posts_what_must_move(operation: str, n: int, size: int) -> None:
    it = trace(*([collective(operation, size), compute(1, 0)] for _ in range(n)))
    lowered = lower(it, build)
    assert list(lowered.transfers.problems()) == []
    assert lowered.account.bytes_posted == lowered.account.bytes_in_file == minimum_bytes(operation, n, size)
    carry_out(lowered.transfers)


def test_a_collective_operation_begins_at_a_rank_when_its_dependencies_are_done_there() -> None:
    ready = [collective("all-gather", 3_000), compute(1, 0)]
    late = [compute(5_000_000), collective("all-gather", 3_000, 0), compute(1, 1)]
    # Two steps of the last rank's share, which leaves 5 us late; an acknowledgement; then 1 ps.
    assert end_ps(trace(ready, ready, late)) == 5_000_000 + 2 * (1_000_000 + 1_000 * 20) + 1_000_000 + 1


def test_a_broadcast_begins_at_its_root_within_its_group() -> None:
    it = trace([], *([collective("broadcast", 64, group="g", root=3)] for _ in range(3)), g=(1, 2, 3))
    sent = lower(it, build).transfers.sent_bytes(4)
    assert sent.tolist() == [0, 0, 0, 128]


def test_calls_are_matched_by_group_and_order_not_by_index() -> None:
    it = trace(
        [collective("all-reduce", 8, group="a"), collective("all-gather", 16, 0)],
        [collective("all-gather", 16)],
        a=(0,),
    )
    assert lower(it, build).account.operations_lowered == 3


@pytest.mark.parametrize(
    ("it", "said"),
    [
        (trace([send(1, 4)], []), "no receive takes this message, to rank 1"),
        (trace([], [recv(0, 4)]), "no message from rank 0 with tag 0 is left"),
        (trace([send(1, 4, tag=1)], [recv(0, 4, tag=2)]), "no receive takes"),
        (trace([send(1, 8)], [recv(0, 4)]), "takes 4 B, but its message from rank 0 has 8 B"),
        (trace([send(7, 8)]), "its peer is rank 7; the trace has ranks 0 to 0"),
        (trace([compute(1, 1), compute(1, 0)]), "2 operations never begin, because 2 wait for each other"),
        (trace([compute(1, 0)]), "waits for itself"),
        (
            trace([recv(1, 1), send(1, 1, 0)], [recv(0, 1), send(0, 1, 0)]),
            "4 operations never begin, because 4 wait for each other",
        ),
        (
            trace(
                [collective("all-reduce", 1, 1, group="a"), collective("all-reduce", 1, group="b")],
                [collective("all-reduce", 1, group="a"), collective("all-reduce", 1, 0, group="b")],
                a=(0, 1),
                b=(0, 1),
            ),
            "wait for each other",
        ),
        (trace([collective("all-reduce", 1)], []), "takes part in 0 collective operations"),
        (trace([collective("all-reduce", 1)], [collective("all-reduce", 2)]), "all-reduce of 2 B, where rank 0 has"),
        (trace([collective("all-reduce", 1, group="x")]), "group 'x' has no list of ranks"),
        (trace([collective("all-reduce", 1, group="x")], x=(1,)), "rank 0 is not in group 'x'"),
        (trace([collective("broadcast", 1, root=4)]), "its root 4 is not in group"),
    ],
)
def test_what_cannot_be_carried_out_is_refused_with_its_place(it: Trace, said: str) -> None:
    found = problems(it)
    assert any(said in text for text in found), found
    assert "rank" in found[0]


def test_a_receive_from_any_source_takes_the_only_message_left() -> None:
    it = trace([recv(-1, 4, tag=-1), recv(2, 8, tag=5)], [send(0, 4, tag=9)], [send(0, 8, tag=5)])
    lowered = lower(it, build)
    assert lowered.order.sender_of == {(0, 0): (1, 0), (0, 1): (2, 0)}


def test_a_receive_from_any_source_with_two_candidates_is_refused() -> None:
    it = trace([recv(-1, 4), recv(-1, 4)], [send(0, 4)], [send(0, 4)])
    assert "2 candidates (rank 1 tag 0, rank 2 tag 0)" in problems(it)[0]
