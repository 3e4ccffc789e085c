"""SimAI's workload and topology files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from fabric.errors import InputErrors
from fabric.traces.graph import Kind
from fabric.traces.lower import lower
from fabric.traces.simai.topology import read_topology
from fabric.traces.simai.workload import group_ranks, read_workload, trace_of
from fabric.traces.summary import summarise
from tests.traces.carriers import build
from tests.traces.damaged_bytes import STEPS, damaged

HEAD: Final = (
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: {pp} vpp: 1 ga: {ga} all_gpus: {all} "
    "checkpoints: 1 0 checkpoint_initiates: 0 pp_comm{colon} {pp_comm}"
)
LAYERS: Final = """
2
attention -1 1000 ALLREDUCE 400 500 NONE 0 250 ALLGATHER 800 10
moe -1 2000 ALLTOALL_EP 600 700 ALLTOALL_EP 600 300 ALLREDUCE_DP_EP 200 20
"""
TOPOLOGY: Final = """6 2 1 1 5 H100
4 5
0 4 1440Gbps 0.000025ms 0
1 4 1440Gbps 0.000025ms 0
2 5 400Gbps 0.0005ms 0
3 5 400Gbps 0.0005ms 0
4 5 400Gbps 0.0005ms 0.25
"""


def workload(tmp_path: Path, *, pp: int = 1, ga: int = 1, gpus: int = 8, colon: str = ":", pp_comm: int = 0) -> Path:
    path = tmp_path / "w.txt"
    path.write_text(HEAD.format(pp=pp, ga=ga, all=gpus, colon=colon, pp_comm=pp_comm) + LAYERS)
    return path


def test_groups_are_consecutive_for_tensors_and_strided_for_data_and_experts(tmp_path: Path) -> None:
    read = read_workload(workload(tmp_path))
    assert group_ranks(read, 5) == {"tp": (4, 5), "dp": (1, 3, 5, 7), "ep": (5, 7), "dp_ep": (1, 5)}


def test_layers_post_the_bytes_of_their_groups(tmp_path: Path) -> None:
    path = workload(tmp_path)
    lowered = lower(trace_of(read_workload(path), path), build)
    # Of all ranks: 4 TP groups of 2, 2 DP groups of 4, 4 EP groups of 2 (forward and back), 4 DP_EP groups of 2.
    expected = 4 * 2 * 400 + 2 * 3 * 800 + 2 * 4 * 600 + 4 * 2 * 200
    assert lowered.account.bytes_posted == lowered.account.bytes_in_file == expected


def test_micro_batches_repeat_everything(tmp_path: Path) -> None:
    path = workload(tmp_path, ga=1)
    first = summarise(trace_of(read_workload(path), path))
    path = workload(tmp_path, ga=2)
    second = summarise(trace_of(read_workload(path), path))
    assert second.n_operations == 2 * first.n_operations
    assert second.without_network_ps == 2 * (first.without_network_ps or 0) > 0


def test_computations_follow_the_order_of_forward_and_backward(tmp_path: Path) -> None:
    path = workload(tmp_path)
    names = [op.name for op in trace_of(read_workload(path), path).ranks[0] if op.kind is Kind.COMPUTE]
    assert names == [
        "attention forward", "moe forward", "moe input gradient", "moe weight gradient", "moe update",
        "attention input gradient", "attention weight gradient", "attention update",
    ]  # fmt: skip
    # One at a time, and the network takes none: 1000 + 2000 + 700 + 300 + 20 + 500 + 250 + 10 ns.
    assert summarise(trace_of(read_workload(path), path)).without_network_ps == 4_780_000


@pytest.mark.parametrize("colon", [":", ""])
def test_stages_send_activations_forward_and_gradients_back(tmp_path: Path, colon: str) -> None:
    path = workload(tmp_path, pp=2, gpus=8, colon=colon, pp_comm=5_000, ga=3)
    trace = trace_of(read_workload(path), path)
    assert summarise(trace).message_bytes == 3 * 2 * 4 * 5_000
    assert summarise(trace).problems == ()
    assert any("micro-batches follow each other" in note for note in trace.notes)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID", "unknown policy 'HYBRID'"),
        ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "DATA", "policy DATA is not supported"),
        ("all_gpus: 8", "all_gpus: 7", "no multiple of TP 2 x PP 1"),
        ("ep: 2", "ep: 3", "EP 3 does not divide DP 4"),
        ("pp_comm: 0", "pp_comm: 8", "pp is 1 and pp_comm 8"),
        ("ga: 1", "ga: 0", "ga is 0"),
        ("ga: 1", "gas: 1", "unknown key 'gas'"),
        ("\n2\n", "\n3\n", "the number of layers is '3'; 2 lines follow"),
        ("ALLTOALL_EP 600 700", "ALLTOALL_XX 600 700", "column 4 is 'ALLTOALL_XX'"),
        ("800 10", "800", "has 11 columns"),
        ("800 10", "-8 10", "column 11 is '-8'"),
    ],
)
def test_a_wrong_workload_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = workload(tmp_path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputErrors) as caught:
        read_workload(path)
    assert said in str(caught.value)
    assert "w.txt:" in str(caught.value)


def test_a_workload_with_too_many_operations_is_refused_before_they_are_made(tmp_path: Path) -> None:
    path = workload(tmp_path, gpus=1_000_000, ga=1)
    with pytest.raises(InputErrors, match="use fewer layers"):
        trace_of(read_workload(path), path)


def test_a_topology_is_read_with_its_units(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(TOPOLOGY)
    read = read_topology(tmp_path / "t")
    assert (read.n_gpus, read.nvswitches, read.switches, read.gpu) == (4, (4,), (5,), "H100")
    assert read.links[0].rate_bps == 1_440 * 10**9
    assert read.links[0].latency_ps == 25_000
    assert read.links[4].error_ratio == 0.25


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("6 2 1 1 5", "6 2 1 1 6", "has 5 links, the first line says 6"),
        ("4 5\n", "4\n", "lists 1 switches, the first line says 1 + 1"),
        ("0 4 1440Gbps", "0 9 1440Gbps", "not a link between two of 6 nodes"),
        ("0 4 1440Gbps", "0 4 1440", "'1440' has no unit"),
        ("0.25", "25", "its error rate is '25'"),
        ("6 2 1 1", "2 2 1 1", "2 nodes, 2 switches of them"),
    ],
)
def test_a_wrong_topology_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in TOPOLOGY
    (tmp_path / "t").write_text(TOPOLOGY.replace(old, new, 1))
    with pytest.raises(InputErrors) as caught:
        read_topology(tmp_path / "t")
    assert said in str(caught.value)


@pytest.mark.parametrize("kind", ["workload", "topology"])
@pytest.mark.parametrize("step", STEPS)
def test_every_truncation_and_bit_flip_is_read_or_refused(tmp_path: Path, step: int, kind: str) -> None:
    path = workload(tmp_path)
    good = path.read_bytes() if kind == "workload" else TOPOLOGY.encode()
    every = list(damaged(good, step))
    refused = 0
    for data in every:
        path.write_bytes(data)
        try:
            if kind == "workload":
                trace_of(read_workload(path), path)
            else:
                read_topology(path)
        except InputErrors:
            refused += 1
    assert refused > len(every) // 2
