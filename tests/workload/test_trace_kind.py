"""Workloads of `kind: trace`: every byte of the file is delivered, every operation is done."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

import pyarrow.compute as pc
import pytest

from fabric.errors import InputErrors
from fabric.runs.rundir import RunDir
from fabric.runs.simulate import Options, prepare, simulate
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.estimate.estimator import estimate
from fabric.scenario.load import build_scenario
from fabric.traces.chakra.writer import write_chakra
from fabric.traces.graph import OPERATIONS, Kind, Op, Trace
from fabric.traces.lower import minimum_bytes
from fabric.workload.spec import TraceOperation

DATA: Final = Path(__file__).resolve().parents[1] / "data/traces"
GOAL: Final = """num_ranks 3
rank 0 {
a: calc 20000
b: send 70000b to 1 tag 1
b requires a
c: send 5b to 2
}
rank 1 {
a: recv 70000b from 0 tag 1
b: calc 30000
b requires a
c: send 0b to 2 tag 9
c requires b
}
rank 2 {
recv 0b from 1 tag 9
recv 5b from -1 tag -1
}
"""


def scenario(folder: Path, **load: Any) -> Any:  # noqa: ANN401
    raw = {
        "name": "trace",
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4, "host_rate": "100G",
                     "fabric_rate": "100G"},
        "workload": [{"kind": "trace", **load}],
        "run": {"duration": "50ms"},
    }  # fmt: skip
    return build_scenario(raw, folder / "trace.yml")


def simulated(folder: Path, **load: Any) -> RunDir:  # noqa: ANN401
    made = scenario(folder, **load)
    simulate(*prepare(made, text="trace"), Options(folder / "run"))
    return RunDir.open(folder / "run")


def table(run: RunDir) -> Any:  # noqa: ANN401
    import pyarrow.parquet as pq

    return pq.read_table(run.file("transfers.parquet"))


@pytest.mark.parametrize(
    ("operation", "sent"),
    [("all_reduce", 1_835_008), ("reduce_scatter", 917_504), ("all_to_all", 917_504), ("all_gather", 7_340_032)],
)
def test_a_run_delivers_every_byte_of_a_chakra_trace(tmp_path: Path, operation: str, sent: int) -> None:
    for rank in range(8):
        shutil.copy(DATA / f"chakra/{operation}/8npus_1MB/{operation}.{rank}.et", tmp_path)
    rows = table(simulated(tmp_path, file=operation))
    assert pc.sum(rows["size_bytes"]).as_py() == 8 * sent
    assert set(rows["state"].to_pylist()) == {"done"}
    by_rank = rows.group_by("src").aggregate([("size_bytes", "sum")])
    assert set(by_rank["size_bytes_sum"].to_pylist()) == {sent}


def test_a_run_follows_the_dependencies_of_a_goal_schedule(tmp_path: Path) -> None:
    (tmp_path / "t.goal").write_text(GOAL)
    rows = {it["operation"]: it for it in table(simulated(tmp_path, file="t.goal")).to_pylist()}
    assert set(rows) == {"trace/0 compute", "trace/1 send", "trace/2 send", "trace/3 compute", "trace/4 send"}
    assert all(it["state"] == "done" for it in rows.values())
    assert rows["trace/1 send"]["start_ns"] == 20_000
    assert rows["trace/2 send"]["start_ns"] == 0
    assert rows["trace/4 send"]["start_ns"] == rows["trace/1 send"]["arrived_ns"] + 30_000
    assert rows["trace/4 send"]["size_bytes"] == 1  # an empty message crosses the network as one byte


def test_the_estimate_counts_the_messages_of_a_trace(tmp_path: Path) -> None:
    (tmp_path / "t.goal").write_text(GOAL)
    made = scenario(tmp_path, file="t.goal")
    assert estimate(made, compile_scenario(made).fabric).figures["messages"].likely == 3


@pytest.mark.parametrize(
    ("load", "said"),
    [
        ({"file": "t.goal", "hosts": ["host1", "host2"]}, "t.goal has 3 ranks, and 2 hosts are given"),
        ({"file": "absent"}, "there is no such file, and no absent.0.et"),
        ({"file": "bad.goal"}, "bad.goal:1: num_ranks is 0"),
        ({"file": "t.goal", "ranks_per_node": 2}, "workload[0].ranks_per_node: has no effect"),
        ({"file": "t.goal", "send_done": "never"}, "send_done"),
    ],
)
def test_a_wrong_trace_is_named_with_its_field(tmp_path: Path, load: dict[str, Any], said: str) -> None:
    (tmp_path / "t.goal").write_text(GOAL)
    (tmp_path / "bad.goal").write_text("num_ranks 0\n")
    with pytest.raises(InputErrors) as caught:
        compile_scenario(scenario(tmp_path, **load))
    assert said in str(caught.value)
    assert "workload[0]" in str(caught.value)


def with_nodes(folder: Path, groups: Mapping[str, tuple[int, ...]], operation: str, **load: Any) -> Any:  # noqa: ANN401
    """The transfers of an operation of 1 MiB in each group, on two servers of four GPUs."""
    ranks = [
        [Op(Kind.COLLECTIVE, operation=operation, size_bytes=2**20, group=group)
         for group, members in (groups or {"": range(8)}).items() if rank in members]
        for rank in range(8)
    ]  # fmt: skip
    write_chakra(Trace(ranks, "chakra", ["t"], groups=dict(groups)), folder / "t")
    raw = {
        "name": "trace",
        "topology": {"kind": "rail", "nodes_per_pod": 2, "rails": 4, "spines": 1, "host_rate": "100G",
                     "fabric_rate": "400G", "scale_up": {"profile": "h100-hgx"}},
        "workload": [{"kind": "trace", "file": "t", **load}],
        "run": {"duration": "50ms"},
    }  # fmt: skip
    return compile_scenario(build_scenario(raw, folder / "trace.yml")).params.transfers


def crossing(made: Any) -> int:  # noqa: ANN401
    """Messages between the servers."""
    rows = made.rows
    return int(rows.count[rows.src // 4 != rows.dst // 4].sum())


def test_ranks_of_a_server_are_neighbours_in_a_ring(tmp_path: Path) -> None:
    groups = {"g": (0, 4, 1, 5, 2, 6, 3, 7)}
    assert crossing(with_nodes(tmp_path, groups, "all-reduce")) == 2 * 14  # out of each server, in every step
    assert crossing(with_nodes(tmp_path, groups, "all-reduce", ranks_per_node=1)) == 8 * 14


@pytest.mark.parametrize(
    ("members", "operation", "named", "carried_out_by"),
    [
        (range(8), "all-reduce", "hierarchical", "hierarchical"),
        ((0, 1, 2, 3), "all-reduce", "hierarchical", "ring"),
        ((0, 4), "all-reduce", "hierarchical", "ring"),
        (range(8), "all-to-all", "pxn", "pxn"),
        (range(8), "all-to-all", "bruck", "bruck"),
        (range(8), "all-reduce", "double-binary-tree", "double-binary-tree"),
    ],
)
def test_the_algorithm_of_an_operation_is_chosen(
    tmp_path: Path, members: Sequence[int], operation: str, named: str, carried_out_by: str
) -> None:
    groups = {"g": tuple(members), "h": tuple(range(8))}
    made = with_nodes(tmp_path, groups, operation, algorithms={operation: named})
    assert [it.algorithm for it in made.groups] == [carried_out_by, named]
    least = sum(minimum_bytes(operation, len(each), 2**20) for each in groups.values())
    assert made.rows.sent_bytes(8).sum() >= least


def test_a_hierarchy_sends_a_share_of_the_buffer_out_of_each_server(tmp_path: Path) -> None:
    rows = with_nodes(tmp_path, {}, "all-reduce", algorithms={"all-reduce": "hierarchical"}).rows
    out = (rows.src < 4) & (rows.dst >= 4)
    # Each of 4 rails reduces and gathers a quarter over 2 servers: 2 (2-1) / 2 of it.
    assert sum(int(rows.sizes_bytes(row).sum()) for row in out.nonzero()[0]) == 2**20


def test_auto_takes_the_nodes_of_nccls_model(tmp_path: Path) -> None:
    made = with_nodes(tmp_path, {}, "all-reduce", algorithms={"all-reduce": "auto"}, ranks_per_node=8)
    assert [it.algorithm for it in made.groups] == ["ring"]


@pytest.mark.parametrize(
    ("load", "said"),
    [
        ({"algorithms": {"all-reduce": "auto"}, "generation": "volta"}, "all-reduce=auto"),
        ({"algorithms": {"all-reduce": "auto"}, "generation": "volta"}, "2 x 4 GPUs of generation volta are not known"),
        ({"algorithms": {"all-reduce": "pxn"}}, "pxn has no all-reduce"),
        ({"algorithms": {"all-reduce": "hierarchical"}, "ranks_per_node": 1}, "all-reduce: hierarchical has no effect"),
        ({"algorithms": {"all-reduce": "hierarchical"}, "ranks_per_node": 3}, "hierarchical needs nodes of several"),
        ({"algorithms": {"all-reduce": "rign"}}, "workload[0].algorithms.all-reduce"),
        ({"algorithms": {"allreduce": "ring"}}, "workload[0].algorithms"),
        ({"algorithms": {"all-gather": "ring"}}, "workload[0].algorithms.all-gather: has no effect"),
        ({"generation": "hopper"}, "workload[0].generation: has no effect"),
    ],
)
def test_a_choice_that_is_not_possible_is_refused(tmp_path: Path, load: dict[str, Any], said: str) -> None:
    with pytest.raises(InputErrors) as caught:
        with_nodes(tmp_path, {}, "all-reduce", **load)
    assert said in str(caught.value)


def test_words_of_the_schema_are_those_of_traces() -> None:
    assert get_args(TraceOperation) == OPERATIONS
