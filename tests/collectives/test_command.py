"""`fabric collective`: the table, its accuracy, and wrong input."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from fabric.cli import collective as verb
from fabric.cli.main import main
from fabric.collectives import registry
from fabric.collectives.nccl.auto import SIMULATED
from fabric.collectives.nccl.choice import choose
from fabric.collectives.nccl.system import HOPPER_400G, System
from fabric.collectives.nccl.tables import Generation, Operation
from fabric.workload import spec as specs


def table(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["collective", *words, "--quiet", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_words_of_the_command_and_the_schema_are_those_of_the_registry() -> None:
    in_schema = set(get_args(specs.Operation))
    assert set(verb.OPERATIONS) == in_schema == {it for item in registry.ALGORITHMS.values()
                                                 for it in item.operations}  # fmt: skip
    assert set(get_args(specs.Algorithm)) == {*registry.ALGORITHMS, *registry.CHOOSERS}


@pytest.mark.parametrize("ranks", [2, 7, 16, 40])
def test_a_ring_takes_the_time_of_the_closed_form(ranks: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = table(capsys, "all-reduce", "--ranks", str(ranks), "--sizes", "4KiB,100003B,3MiB")
    assert found["ranks"] == ranks
    assert [row["size_bytes"] for row in found["rows"]] == [4096, 100_000, 3 * 2**20]
    for row in found["rows"]:
        assert abs(row["deviation_ratio"]) < 0.01, row
        assert row["busbw_bytes_per_s"] == pytest.approx(row["algbw_bytes_per_s"] * 2 * (ranks - 1) / ranks)
        assert row["algbw_bytes_per_s"] == pytest.approx(row["size_bytes"] / row["time_ns"] * 1e9)


@pytest.mark.parametrize(
    ("operation", "algorithm", "more"),
    [
        ("all-gather", "ring", ()), ("reduce-scatter", "pat", ()), ("all-gather", "bruck", ()),
        ("all-reduce", "halving-doubling", ()), ("all-reduce", "recursive-doubling", ()),
        ("all-to-all", "pairwise", ()), ("all-to-all", "bruck", ()), ("broadcast", "ring", ("--chunk", "64KiB")),
        ("reduce", "ring", ("--root", "3")), ("scatter", "direct", ()), ("gather", "direct", ("--root", "7")),
        ("send-recv", "direct", ()), ("all-reduce", "hierarchical", ("--ranks-per-node", "4")),
        ("all-reduce", "ring", ("--reduction-rate", "800G", "--send-latency", "1us")),
    ],
)  # fmt: skip
def test_operations_take_the_expected_time_without_contention(
    operation: str, algorithm: str, more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    found = table(capsys, operation, "--algorithm", algorithm, "--sizes", "16KiB,2MiB", *more)
    for row in found["rows"]:
        assert abs(row["deviation_ratio"]) < 0.02, row


@pytest.mark.parametrize("host_rate", ["100G", "400G"])
def test_a_ring_over_both_ports_of_each_nic_takes_the_time_of_both(
    host_rate: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Packets take the ports in turn; in the second case the links between switches are the slower ones."""
    (tmp_path / "planes.yml").write_text(
        "name: planes\n"
        "topology: {kind: dual-tor, racks: 2, hosts_per_rack: 1, spines: 2, planes: 2, "
        f"host_rate: {host_rate}, fabric_rate: 200G}}\n"
        "switches: {load_balancing: source-routed}\n"
        "workload: [{kind: collective, operation: all-reduce, algorithm: ring, size: 1MB}]\n"
        "run: {duration: 50ms, seed: 1}\n"
    )
    found = table(capsys, "all-reduce", str(tmp_path / "planes.yml"), "--sizes", "256KiB,8MiB")
    for row in found["rows"]:
        assert abs(row["deviation_ratio"]) < 0.02, row
    assert found["rows"][-1]["line_share_ratio"] == pytest.approx(0.94 if host_rate == "100G" else 0.47, abs=0.03)


@pytest.mark.parametrize("operation", ["all-to-all", "scatter", "gather"])
def test_messages_smaller_than_a_packet_cost_their_own_headers_and_acknowledgements(
    operation: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """64 ranks: messages of 1,552 B, which the goodput of full packets would make 3 to 4 % too fast, and of 16 KiB."""
    found = table(capsys, operation, "--algorithm", "direct", "--ranks", "64", "--sizes", "100003B,1MiB")
    for row in found["rows"]:
        assert abs(row["deviation_ratio"]) < 0.002, row


SERVERS = """
name: servers
topology: {kind: rail, nodes_per_pod: 3, rails: 4, spines: 4, host_rate: 400G, fabric_rate: 400G, scale_up: {}}
workload: [{kind: all-to-all, size: 1KB}]
run: {duration: 1s}
"""


@pytest.mark.parametrize(
    ("operation", "algorithm", "more"),
    [
        ("all-reduce", "hierarchical", ()),
        ("all-to-all", "pxn", ()),
        ("all-reduce", "multi-ring", ("--channels", "4")),
        ("all-reduce", "double-binary-tree", ("--set", "transport.cc=none")),
    ],
)  # fmt: skip
def test_schedules_over_scale_up_links_and_nics_take_the_expected_time(
    operation: str, algorithm: str, more: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "servers.yml"
    file.write_text(SERVERS)
    nodes = () if algorithm == "double-binary-tree" else ("--ranks-per-node", "4")
    words = (operation, str(file), "--algorithm", algorithm, "--sizes", "100003B,2MiB", *nodes, *more)
    for row in table(capsys, *words)["rows"]:
        assert abs(row["deviation_ratio"]) < 0.01, row


@pytest.mark.parametrize("algorithm", ["binary-tree", "double-binary-tree", "halving-doubling", "recursive-doubling"])
def test_ranks_that_share_a_port_by_packets_take_the_expected_time(
    algorithm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two children send to one parent; ranks that do not fold send before their partners have folded."""
    words = ("--ranks", "11", "--sizes", "1000003B", "--algorithm", algorithm, "--set", "transport.cc=none")
    row = table(capsys, "all-reduce", *words)["rows"][0]
    assert abs(row["deviation_ratio"]) < 0.01, row


SERVER = """
name: server
topology: {kind: server, gpus: 8, scale_up: {rate: 1440G, latency: 67ns, unit: 9000B}}
workload: [{kind: all-to-all, size: 1KB}]
run: {duration: 1s}
"""


def test_rings_in_lockstep_have_the_bandwidth_that_was_published_for_simai(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.yml"
    file.write_text(SERVER)
    words = ("--channels", "8", "--lockstep", "--send-latency", "2us", "--sizes", "16MiB,32MiB")
    rows = table(capsys, "all-reduce", str(file), *words)["rows"]
    published = [141.84, 153.68]  # GiB/s, Wang et al., NSDI 2025
    assert [row["busbw_bytes_per_s"] / 2**30 for row in rows] == pytest.approx(published, rel=0.01)
    assert all(abs(row["deviation_ratio"]) < 0.01 for row in rows)


def test_an_uneven_all_to_all_is_scaled_to_its_size_and_takes_the_time_of_the_fullest_port(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everyone sends most to rank 0, which receives 3 x 640 KiB; the line counts bytes where it adds up to the size."""
    file = tmp_path / "sizes.csv"
    file.write_text("# to rank\n655360, 4096, 4096, 4096\n")
    words = ("--ranks", "4", "--algorithm", "direct", "--sizes", "667648B,1MiB", "--set", "transport.cc=none")
    rows = table(capsys, "all-to-all-v", *words, "--matrix", str(file))["rows"]
    assert [row["size_bytes"] for row in rows] == [667_648, 2**20 - 4]
    for row in rows:
        assert abs(row["deviation_ratio"]) < 0.01, row
    fastest_ns = 3 * 655_360 * 8 / rows[0]["goodput_bps"] * 1e9
    assert rows[0]["time_ns"] == pytest.approx(fastest_ns + rows[0]["message_alpha_ns"], rel=0.02)
    skewed = ("--skew", "zipf", "--exponent", "1.2")
    assert table(capsys, "all-to-all-v", *words, *skewed)["rows"][0]["time_ns"] < rows[0]["time_ns"]


def test_operations_one_after_another_take_as_long_each(capsys: pytest.CaptureFixture[str]) -> None:
    once = table(capsys, "all-reduce", "--sizes", "64KiB")["rows"][0]
    often = table(capsys, "all-reduce", "--sizes", "64KiB", "--repeat", "3", "--warm-up", "1")["rows"][0]
    assert often["time_ns"] == pytest.approx(once["time_ns"], rel=0.01)


def test_block_sizes_are_rounded_as_nccl_tests_does(capsys: pytest.CaptureFixture[str]) -> None:
    row = table(capsys, "all-gather", "--ranks", "24", "--sizes", "1MiB")["rows"][0]
    assert (row["size_bytes"], row["count"]) == (1_048_320, 10_920)


def test_the_table_for_people_has_the_columns_of_nccl_tests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot, out = tmp_path / "plot.svg", tmp_path / "runs"
    words = ["all-reduce", "--sizes", "64KiB:1MiB:4", "--quiet", "--plot", str(plot), "--out", str(out)]
    assert main(["collective", *words]) == 0
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert lines[1].split()[:8] == ["size", "count", "type", "redop", "root", "time", "algbw", "busbw"]
    assert [line.split()[:5] for line in lines[3:6]] == [
        ["65536", "16384", "float", "sum", "-1"],
        ["262144", "65536", "float", "sum", "-1"],
        ["1048576", "262144", "float", "sum", "-1"],
    ]
    assert re.search(r"# fit: time = [0-9.]+ us \+ size / [0-9.]+ GB/s", text)
    assert plot.read_text().startswith("<svg ")
    assert len(json.loads((out / "collective.json").read_text())["rows"]) == 3
    assert main(["show", str(out / "65536B"), "messages", "--json"]) == 0


def test_a_scenario_gives_its_fabric_and_settings(capsys: pytest.CaptureFixture[str]) -> None:
    found = table(
        capsys, "all-reduce", "scenarios/all-to-all.yml", "--ranks", "8", "--sizes", "64KiB", "--placement",
        "across-leaves",
    )  # fmt: skip
    assert found["line_rate_bps"] == 100 * 10**9
    assert abs(found["rows"][0]["deviation_ratio"]) < 0.02


def test_nccls_model_is_asked_for_every_size(capsys: pytest.CaptureFixture[str]) -> None:
    system = System(Generation.HOPPER, 2, 8, HOPPER_400G)
    words = ["all-reduce", "--algorithm", "auto", "--ranks", "16", "--sizes", "1KiB,64MiB"]
    found = table(capsys, *words)
    for row in found["rows"]:
        choice = choose(system, Operation.ALL_REDUCE, row["size_bytes"])
        assert row["algorithm"] == SIMULATED[choice.best.algorithm]
        assert row["reason"] == f"NCCL's model: {choice.reason}"
    assert {row["algorithm"] for row in found["rows"]} == {"ring", "double-binary-tree"}
    assert found["rows"][1]["channels"] == choose(system, Operation.ALL_REDUCE, 64 * 2**20).channels
    assert main(["collective", *words, "--quiet"]) == 0
    assert "# 1024 B by double-binary-tree: NCCL's model: tree LL " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        (["all-to-all-v", "--sizes", "1KiB", "--algorithm", "direct"], ["all-to-all-v needs matrix or skew"]),
        (["all-to-all-v", "--sizes", "1KiB", "--algorithm", "direct", "--skew", "zipf"], ["skew and exponent belong"]),
        (["all-to-all-v", "--algorithm", "direct", "--matrix", "no-such.csv"], ["workload[0].matrix", "no-such.csv"]),
        (["all-reduce", "--sizes", "1KiB", "--lockstep"], ["lockstep has no effect with one channel"]),
        (["all-reduce", "--ranks", "1"], ["--ranks: 1 is not within 2..4096"]),
        (["all-reduce", "--sizes", "4"], ["--sizes: '4' has no unit"]),
        (["all-reduce", "--sizes", "4KiB:1KiB"], ["--sizes: '4KiB:1KiB' is not FROM:TO[:FACTOR]"]),
        (["all-reduce", "--sizes", "1KiB:4KiB:1"], ["is not FROM:TO[:FACTOR]"]),
        (["all-reduce", "--sizes", "1KiB:4KiB:2:2"], ["is not FROM:TO[:FACTOR]"]),
        (["all-reduce", "--sizes", "1KiB,1KiB"], ["is not 1 to 64 different sizes"]),
        (["all-reduce", "--algorithm", "rong", "--threads", "0"],
         ["--algorithm: 'rong' is no algorithm for all-reduce", "--threads: 0 threads", "2 problems"]),
        (["all-reduce", "--algorithm", "auto", "--ranks", "12", "--generation", "ampere"],
         ["workload[0].ranks_per_node: 12 ranks are not a multiple of 8"]),
        (["all-reduce", "--algorithm", "auto", "--generation", "ampere"],
         ["NCCL's channels on 1 x 8 GPUs of generation ampere are not known", "fabric collective choose"]),
        (["all-reduce", "--algorithm", "auto", "--chunk", "1KiB"], ["chunk: has no effect with algorithm: auto"]),
        (["all-reduce", "--generation", "hopper"], ["generation: has no effect without algorithm: auto"]),
        (["all-to-all", "--algorithm", "auto"], ["NCCL's model chooses no algorithm for all-to-all"]),
        (["all-to-all", "--algorithm", "ring"], ["'ring' is no algorithm for all-to-all", "pairwise"]),
        (["all-reduce", "--root", "2"], ["all-reduce has no root"]),
        (["broadcast", "--root", "8"], ["root 8 is not one of 8 ranks"]),
        (["all-reduce", "--algorithm", "hierarchical"], ["hierarchical needs nodes of several ranks"]),
        (["all-reduce", "--ranks-per-node", "3"], ["8 ranks are not a multiple of 3 per node"]),
        (["all-reduce", "--algorithm", "recursive-doubling", "--channels", "2", "--chunk", "1KiB"],
         ["recursive-doubling has one channel", "recursive-doubling does not cut its messages"]),
        (["all-reduce", "--chunk", "5"], ["workload[0].chunk"]),
        (["all-reduce", "--element", "3"], ["workload[0].element"]),
        (["all-gather", "--sizes", "100B"], ["100 B are no element for 8 ranks", "give 128B or more"]),
        (["all-reduce", "scenarios/all-to-all.yml", "--ranks", "33"], ["33 ranks need more than 32 host(s)"]),
        (["all-reduce", "no-such.yml"], ["no-such.yml"]),
    ],
)  # fmt: skip
def test_wrong_input_is_one_clear_error(words: list[str], texts: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collective", *words, "--quiet"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    for text in texts:
        assert text in shown.err
    assert "Traceback" not in shown.err
