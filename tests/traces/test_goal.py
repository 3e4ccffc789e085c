"""GOAL schedules: text, binary, damaged files, export of transfers."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.errors import InputErrors
from fabric.traces.formats import FORMATS, format_of, read_trace, write_trace
from fabric.traces.goal.binary import MAGIC, SIMULATED, read_goal_binary, write_goal_binary
from fabric.traces.goal.text import MAX_TAG, read_goal_text
from fabric.traces.goal.writing import goal_text, write_goal_text
from fabric.traces.graph import ANY, OPERATIONS, Kind, Op, Trace
from fabric.traces.lower import lower
from fabric.traces.summary import summarise
from fabric.traces.unfold import unfold
from tests.traces.carriers import build, carry_out
from tests.traces.damaged_bytes import STEPS, damaged

SAMPLE: Final = Path(__file__).resolve().parents[1] / "data/traces/goal/binary_tree_32.goal"
SMALL: Final = """num_ranks 2 // two
rank 0 {
  a: calc 100 cpu 2   /* a comment
  over two lines */ b: send 10b to 1 tag 3 cpu 1 nic 4
  c: recv 20b from -1 tag -1
  b requires a
  c irequires b
}
rank 1 {
x: recv 10b from 0 tag 3
send 20b to 0 tag 7
}
"""


def text_of(tmp_path: Path, text: str) -> Trace:
    path = tmp_path / "t.goal"
    path.write_text(text)
    return read_goal_text(path)


def test_the_sample_broadcasts_one_byte_to_31_ranks() -> None:
    lowered = lower(read_goal_text(SAMPLE), build)
    assert lowered.account.bytes_in_file == lowered.account.bytes_posted == 31
    assert lowered.account.operations_in_file == lowered.account.operations_lowered == 62
    # Five hops of the tree, and the acknowledgement of the last.
    assert max(carry_out(lowered.transfers, 1_000, 7)) == 5 * 1_007 + 1_000


def test_options_comments_and_dependencies_are_read(tmp_path: Path) -> None:
    a, b, c = text_of(tmp_path, SMALL).ranks[0]
    assert (a.duration_ps, a.stream, a.name) == (100_000, 2, "a")
    assert (b.size_bytes, b.peer, b.tag, b.stream, b.nic, b.after) == (10, 1, 3, 1, 4, (0,))
    assert (c.peer, c.tag, c.after_start) == (ANY, ANY, (1,))
    assert lower(text_of(tmp_path, SMALL), build).account.bytes_posted == 30


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("num_ranks 2", "num_ranks 3", "ends after 2 of 3 ranks"),
        ("num_ranks 2", "num_ranks 0", "num_ranks is 0"),
        ("num_ranks 2", "", "a rank before num_ranks"),
        ("rank 1 {", "rank 2 {", "rank 2 stands where rank 1 of 2 is expected"),
        ("nic 4", "nic 256", "nic 256"),
        ("tag 3 cpu 1", "cpu 1 tag 3", "not a statement"),
        ("b requires a", "b requires z", "label 'z' is not defined above"),
        ("b requires a", "b requires b", "waits for itself"),
        ("  c: recv", "  a: recv", "label 'a' is given twice"),
        ("c: recv 20b", "c: recv 20", "not a statement"),
        ("from -1", "from 2", "peer 2 is no rank"),
        ("tag 7", "tag -1", "tag -1"),
        ("tag 7", f"tag {2**32}", "tag 4294967296"),
        ("20b to 0", "9999999999999999999b to 0", "a message of"),
        ("over two lines */", "over two lines", "a comment begins here and does not end"),
        ("}\nrank 1", "rank 1", "rank 0 has not ended"),
        ("tag 7\n}", "tag 7", "rank 1 does not end"),
        ("calc 100", "calc 99999999999999999999", "lasts"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in SMALL
    with pytest.raises(InputErrors) as caught:
        text_of(tmp_path, SMALL.replace(old, new, 1))
    assert said in str(caught.value)
    assert "t.goal:" in str(caught.value)


@st.composite
def schedules(draw: st.DrawFn) -> Trace:
    """Traces that can be carried out: dependencies point backwards, messages have their receives last."""
    n = draw(st.integers(1, 4))
    ranks: list[list[Op]] = [[] for _ in range(n)]
    for number in range(draw(st.integers(0, 12))):
        rank, peer = draw(st.integers(0, n - 1)), draw(st.integers(0, n - 1))
        here = ranks[rank]
        some = st.lists(st.integers(0, max(len(here) - 1, 0)), max_size=2, unique=True) if here else st.just([])
        after = tuple(draw(some))
        after_start = tuple(it for it in draw(some) if it not in after)
        stream, nic = draw(st.integers(0, 3)), draw(st.integers(0, 255))
        if draw(st.booleans()):
            duration_ps = draw(st.integers(0, 10**6)) * 1000
            here.append(Op(Kind.COMPUTE, after, after_start, duration_ps, stream=stream))
        else:
            size = draw(st.integers(0, 2**40))
            here.append(
                Op(Kind.SEND, after, after_start, size_bytes=size, peer=peer, tag=number, stream=stream, nic=nic)
            )
            ranks[peer].append(Op(Kind.RECV, size_bytes=size, peer=rank, tag=number))
    return Trace(ranks, "goal", ["t"])


def plain(trace: Trace) -> list[list[tuple[object, ...]]]:
    return [[(op.kind, set(op.after), set(op.after_start), op.duration_ps, op.size_bytes, op.peer, op.tag, op.stream,
              op.nic) for op in ops] for ops in trace.ranks]  # fmt: skip


@given(schedules())
def test_text_and_binary_keep_every_field(tmp_path_factory: pytest.TempPathFactory, trace: Trace) -> None:
    folder = tmp_path_factory.mktemp("goal")
    write_goal_text(trace, folder / "t.goal", MAX_TAG)
    write_goal_binary(trace, folder / "t.bin")
    assert plain(read_goal_text(folder / "t.goal")) == plain(read_goal_binary(folder / "t.bin")) == plain(trace)
    account = lower(trace, build).account
    assert account.operations_lowered == trace.n_operations


def test_binary_files_have_the_documented_layout(tmp_path: Path) -> None:
    trace = Trace([[Op(Kind.COMPUTE, duration_ps=5_000), Op(Kind.SEND, (0,), size_bytes=9, peer=1, tag=6, nic=2)],
                   [Op(Kind.RECV, size_bytes=9, peer=0, tag=6, stream=1)]], "goal", ["t"])  # fmt: skip
    write_goal_binary(trace, tmp_path / "t.bin")
    data = (tmp_path / "t.bin").read_bytes()
    assert struct.unpack_from("<QIBB", data) == (4223, 2, 1, 2)
    start, end = struct.unpack_from("<QQ", data, 14)
    part = data[8 + start : 8 + end]
    assert struct.unpack_from("<III", part) == (2, 1, 0)
    assert struct.unpack_from("<IbIQIBBIIII", part, 12) == (0, 3, 0, 5, 0, 0, 0, 1, 0, 0, 1)
    assert struct.unpack_from("<IbIQIBBIIII", part, 12 + 39) == (1, 1, 1, 9, 6, 0, 2, 0, 1, 0, 1)
    assert part[12 + 78 :] == struct.pack("<I", 1)


def test_a_file_that_was_written_with_save_mem_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.bin").write_bytes(SIMULATED + b"x" * 50)
    assert format_of(tmp_path / "t.bin") == "goal-binary"
    with pytest.raises(InputErrors, match="--save-mem"):
        read_trace(tmp_path / "t.bin")


@pytest.mark.parametrize("step", STEPS)
def test_every_truncation_and_bit_flip_of_a_binary_file_is_read_or_refused(tmp_path: Path, step: int) -> None:
    path = tmp_path / "t.bin"
    write_goal_binary(text_of(tmp_path, SMALL), path)
    good = path.read_bytes()
    refused, every = 0, list(damaged(good, step))
    for data in every:
        path.write_bytes(data)
        try:
            found = summarise(read_goal_binary(path))
            assert len(data) == len(good), "a truncated file was read"
            refused += bool(found.problems)
        except InputErrors:
            refused += 1
    assert refused > len(every) // 2
    path.write_bytes(MAGIC + b"\xff" * 6)
    with pytest.raises(InputErrors, match="ranks"):
        read_goal_binary(path)


@pytest.mark.parametrize("step", STEPS)
def test_every_truncation_and_bit_flip_of_a_text_is_read_or_refused(tmp_path: Path, step: int) -> None:
    path = tmp_path / "t.goal"
    good = SMALL.encode()
    every = list(damaged(good, step))
    refused = 0
    for data in every:
        path.write_bytes(data)
        try:
            refused += bool(summarise(read_goal_text(path)).problems)
        except InputErrors:
            refused += 1
    assert refused > len(every) // 2


@pytest.mark.parametrize("name", ["goal", "goal-binary", "chakra"])
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("size", [4_096, 1_003])
def test_an_exported_collective_operation_has_the_same_bytes_and_times(
    tmp_path: Path, name: str, operation: str, size: int
) -> None:
    n = 5
    ranks = [
        [
            Op(Kind.COMPUTE, duration_ps=1_000 * (1 + rank)),
            Op(Kind.COLLECTIVE, (0,), operation=operation, size_bytes=size),
            Op(Kind.COMPUTE, (1,), duration_ps=7_000),
        ]
        for rank in range(n)
    ]
    trace = Trace(ranks, "chakra", ["t"])
    first = lower(trace, build)
    single = unfold(first.transfers, n)
    write_trace(single, tmp_path / "out", name, build)
    again = lower(FORMATS[name].read(tmp_path / "out"), build)
    assert again.account.bytes_posted == first.account.bytes_posted
    assert again.transfers.sent_bytes(n).tolist() == first.transfers.sent_bytes(n).tolist()
    assert max(carry_out(again.transfers, 1_000_000, 20)) == max(carry_out(first.transfers, 1_000_000, 20))


def test_remainders_of_a_nanosecond_are_carried_to_the_next_computation() -> None:
    ops = [Op(Kind.COMPUTE, (index - 1,) if index else (), duration_ps=1_400) for index in range(10)]
    lines = [line for line in goal_text(Trace([ops], "goal", ["t"]), MAX_TAG) if "calc" in line]
    assert sum(int(line.split()[2]) for line in lines) == 14
