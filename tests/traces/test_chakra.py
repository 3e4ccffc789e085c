"""Chakra files: samples of ASTRA-sim, pitfalls of the encoding, damaged files."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from fabric.errors import InputErrors
from fabric.traces.builder import builder
from fabric.traces.chakra import stream
from fabric.traces.chakra.messages import CollectiveType, NodeType, messages
from fabric.traces.chakra.reader import OPERATION, read_chakra
from fabric.traces.chakra.stream import framed, frames
from fabric.traces.chakra.writer import write_chakra
from fabric.traces.graph import Kind, Op, Trace
from fabric.traces.lower import Build, lower
from fabric.traces.summary import summarise
from tests.traces import carriers
from tests.traces.damaged_bytes import STEPS, damaged

SAMPLES: Final = Path(__file__).resolve().parents[1] / "data/traces/chakra"
SENT: Final = {
    ("all_reduce", 4): 1_572_864,
    ("all_reduce", 8): 1_835_008,
    ("reduce_scatter", 4): 786_432,
    ("reduce_scatter", 8): 917_504,
    ("all_to_all", 4): 786_432,
    ("all_to_all", 8): 917_504,
    ("all_gather", 4): 3_145_728,
    ("all_gather", 8): 7_340_032,
}
"""Bytes that each rank sends with a ring, all-to-all directly; comm_size of an all-gather is the share of a rank."""


def sample(operation: str, n: int) -> Path:
    return SAMPLES / f"{operation}/{n}npus_1MB/{operation}"


def node(number: int, kind: NodeType, deps: tuple[int, ...] = (), **attributes: object) -> bytes:
    made = messages().node(id=number, type=int(kind), data_deps=deps)
    for name, value in attributes.items():
        if name == "duration_micros":
            made.duration_micros = int(str(value))
        elif name == "values":
            made.inputs.values = value
        elif isinstance(value, bool):
            made.attr.add(name=name).bool_val = value
        elif isinstance(value, int):
            made.attr.add(name=name).int64_val = value
        elif isinstance(value, bytes):
            made.attr.add(name=name).bytes_val = value
        else:
            made.attr.add(name=name).string_val = value
    return framed(made.SerializeToString())


def write(folder: Path, *ranks: tuple[bytes, ...]) -> Path:
    for rank, nodes in enumerate(ranks):
        head = framed(messages().metadata(version="0.0.4").SerializeToString())
        (folder / f"t.{rank}.et").write_bytes(head + b"".join(nodes))
    return folder / "t"


def problems(prefix: Path) -> str:
    with pytest.raises(InputErrors) as caught:
        read_chakra(prefix)
    return str(caught.value)


@pytest.mark.parametrize(("operation", "n"), SENT)
@pytest.mark.parametrize("build", [carriers.build, builder()], ids=["tests", "registry"])
def test_samples_send_the_bytes_of_the_published_simulator(operation: str, n: int, build: Build) -> None:
    lowered = lower(read_chakra(sample(operation, n)), build)
    assert lowered.transfers.sent_bytes(n).tolist() == [SENT[operation, n]] * n
    assert lowered.account.bytes_in_file == lowered.account.bytes_posted == n * SENT[operation, n]
    assert lowered.account.operations_in_file == lowered.account.operations_lowered == n


def test_the_node_of_rank_0_has_no_id_and_its_comm_type_is_zero() -> None:
    trace = read_chakra(sample("all_reduce", 4))
    assert [ops[0].number for ops in trace.ranks] == [0, 1, 2, 3]
    assert {ops[0].operation for ops in trace.ranks} == {"all-reduce"}


def test_gzip_and_plain_files_read_alike(tmp_path: Path) -> None:
    for rank in range(4):
        data = sample("all_gather", 4).with_name(f"all_gather.{rank}.et").read_bytes()
        (tmp_path / f"g.{rank}.et").write_bytes(gzip.compress(data))
    assert read_chakra(tmp_path / "g").ranks == read_chakra(sample("all_gather", 4)).ranks


def test_dependencies_may_name_later_nodes_and_chains_of_computations_add_up(tmp_path: Path) -> None:
    prefix = write(
        tmp_path, (node(7, NodeType.COMP, (3,), duration_micros=5), node(3, NodeType.COMP, (), duration_micros=2))
    )
    trace = read_chakra(prefix)
    assert [(op.number, op.after, op.duration_ps) for op in trace.ranks[0]] == [
        (3, (), 2_000_000),
        (7, (0,), 5_000_000),
    ]
    assert summarise(trace).without_network_ps == 7_000_000


def test_cpu_and_gpu_computations_overlap_and_those_of_one_kind_do_not(tmp_path: Path) -> None:
    nodes = [node(i, NodeType.COMP, (), duration_micros=10, is_cpu_op=i < 2) for i in range(4)]
    assert summarise(read_chakra(write(tmp_path, tuple(nodes)))).without_network_ps == 20_000_000


def test_groups_come_from_metadata_that_may_follow_their_use(tmp_path: Path) -> None:
    groups = json.dumps([json.dumps([{"pg_name": "5", "ranks": [1, 0]}, {"pg_name": "0", "ranks": []}])])
    calls = [node(1, NodeType.COMM_COLL, comm_type=2, comm_size=10, pg_name=name) for name in ("5", "0")]
    meta = node(9, NodeType.METADATA, values=groups)
    trace = read_chakra(write(tmp_path, (calls[0], meta), (calls[0], meta)))
    assert trace.groups["5"] == (1, 0)
    assert trace.ranks[0][0].size_bytes == 20
    assert lower(trace, carriers.build).account.bytes_posted == 20


def test_groups_come_from_a_file(tmp_path: Path) -> None:
    call = node(1, NodeType.COMM_COLL, comm_type=0, comm_size=12, pg_name="1")
    other = node(1, NodeType.COMM_COLL, comm_type=0, comm_size=30, pg_name="2")
    prefix = write(tmp_path, (call,), (other,), (call,))
    (tmp_path / "t.groups.json").write_text('{"1": [0, 2], "2": [1]}')
    assert lower(read_chakra(prefix), carriers.build).transfers.sent_bytes(3).tolist() == [12, 0, 12]
    (tmp_path / "t.groups.json").write_text('{"1": [0, 3], "2": [1, 1], "3": 4}')
    text = problems(prefix)
    assert "3 problems" in text
    assert "has a rank that the trace has not" in text


def test_huge_and_unknown_attributes_have_no_effect(tmp_path: Path) -> None:
    call = node(0, NodeType.COMM_COLL, comm_type=7, comm_size=9, program=b"x" * 200_000, colour="red")
    assert lower(read_chakra(write(tmp_path, (call,), (call,), (call,))), carriers.build).account.bytes_posted == 18


def test_messages_are_matched_by_source_destination_and_tag(tmp_path: Path) -> None:
    prefix = write(
        tmp_path,
        (
            node(0, NodeType.COMM_SEND, comm_src=0, comm_dst=1, comm_tag=4, comm_size=100),
            node(1, NodeType.COMM_SEND, (0,), comm_src=0, comm_dst=1, comm_tag=3, comm_size=50),
        ),
        (
            node(4, NodeType.COMM_RECV, comm_src=0, comm_dst=1, comm_tag=3, comm_size=50),
            node(5, NodeType.COMM_RECV, comm_src=0, comm_dst=1, comm_tag=4, comm_size=100),
        ),
    )
    lowered = lower(read_chakra(prefix), carriers.build)
    assert lowered.order.sender_of == {(1, 0): (0, 1), (1, 1): (0, 0)}
    assert lowered.account.bytes_posted == 150


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ((node(1, NodeType.COMM_COLL, comm_size=4),), "has no attribute comm_type"),
        ((node(1, NodeType.COMM_COLL, comm_type=0),), "has no attribute comm_size"),
        ((node(1, NodeType.COMM_COLL, comm_type=0, comm_size="big"),), "its comm_size is 'big'"),
        ((node(1, NodeType.COMM_COLL, comm_type=0, comm_size=-1),), "its comm_size is -1 B"),
        ((node(1, NodeType.COMM_COLL, comm_type=77, comm_size=4),), "unknown comm_type 77"),
        ((node(1, 23),), "unknown type 23"),  # type: ignore[arg-type]
        ((node(1, NodeType.COMP), node(1, NodeType.COMP)), "the id is given twice"),
        ((node(1, NodeType.COMP, (8,)),), "depends on nodes that are not in the file: 8"),
        (
            (node(1, NodeType.COMM_SEND, comm_src=1, comm_dst=0, comm_size=1),),
            "sends from rank 1 in the file of rank 0",
        ),
        ((node(1, NodeType.COMM_SEND, comm_src=0, comm_dst=9, comm_size=1),), "its peer is rank 9"),
        ((node(1, NodeType.COMP, duration_micros=2**63),), "durations are at most"),
        ((node(1, NodeType.METADATA, values='[{"pg_name": "1", "ranks": [0, 7]}]'),), "a rank that the trace has not"),
    ],
)
def test_a_wrong_node_is_named(tmp_path: Path, nodes: tuple[bytes, ...], said: str) -> None:
    text = problems(write(tmp_path, nodes))
    assert said in text
    assert "t.0.et: node 1" in text


def test_missing_ranks_are_named(tmp_path: Path) -> None:
    prefix = write(tmp_path, (), (), ())
    (tmp_path / "t.1.et").unlink()
    assert "1 of 3 files are missing: t.1.et" in problems(prefix)


def test_a_length_beyond_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    write(tmp_path, ())
    with (tmp_path / "t.0.et").open("ab") as file:
        file.write(b"\xff\xff\xff\xff\x0f")
    assert "a message of 4,294,967,295 B" in problems(tmp_path / "t")


def test_an_unpacked_file_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MAX_FILE_BYTES", 100_000)
    data = framed(b"") + framed(b"\x12\x0a" + b"a" * 10) * 100_000
    (tmp_path / "bomb.0.et").write_bytes(gzip.compress(data))
    with pytest.raises(InputErrors, match="more than"):
        list(frames(tmp_path / "bomb.0.et"))


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("step", STEPS)
def test_every_truncation_and_bit_flip_is_read_or_refused_with_one_error(
    tmp_path: Path, step: int, *, packed: bool
) -> None:
    good = sample("all_to_all", 4).with_name("all_to_all.1.et").read_bytes()
    good = gzip.compress(good, mtime=0) if packed else good
    for rank in (0, 2, 3):
        shutil.copy(sample("all_to_all", 4).with_name(f"all_to_all.{rank}.et"), tmp_path / f"f.{rank}.et")
    every = list(damaged(good, step))
    refused = named = 0
    for data in every:
        (tmp_path / "f.1.et").write_bytes(data)
        try:
            summary = summarise(read_chakra(tmp_path / "f"))
            refused += bool(summary.problems)
        except InputErrors as error:
            refused += 1
            named += any(it.path.startswith(str(tmp_path / "f")) for it in error.problems)
    assert refused > len(every) // 4
    assert named > refused // 2


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    ops = [
        Op(Kind.COMPUTE, duration_ps=1_234_567, stream=3),
        Op(Kind.COLLECTIVE, (0,), operation="all-gather", size_bytes=40, group="pair", name="gather"),
        Op(Kind.COLLECTIVE, (1,), operation="broadcast", size_bytes=7, root=1),
        Op(Kind.COMPUTE, (1, 2)),
    ]
    sender = [*ops, Op(Kind.SEND, (3,), peer=1, size_bytes=5, tag=9)]
    receiver = [*ops, Op(Kind.RECV, (3,), peer=0, size_bytes=5, tag=9)]
    trace = Trace([sender, receiver], "transfers", ["t"], groups={"pair": (1, 0)})
    write_chakra(trace, tmp_path / "w")
    again = read_chakra(tmp_path / "w")
    assert again.groups == trace.groups
    for was, now in zip(sender + receiver, again.ranks[0] + again.ranks[1], strict=True):
        assert replace(now, number=0, name="") == replace(was, name="")
    assert carriers.carry_out(lower(again, carriers.build).transfers) == carriers.carry_out(
        lower(trace, carriers.build).transfers
    )


def test_an_all_gather_without_equal_shares_is_refused(tmp_path: Path) -> None:
    trace = Trace([[Op(Kind.COLLECTIVE, operation="all-gather", size_bytes=7)]] * 2, "goal", ["t"])
    with pytest.raises(InputErrors, match="no equal shares of 2 ranks"):
        write_chakra(trace, tmp_path / "w")
    assert list(tmp_path.iterdir()) == []


def test_every_comm_type_is_known() -> None:
    assert set(OPERATION) == set(CollectiveType)
