"""`fabric trace`: info, convert, compare."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from fabric.cli.main import main
from fabric.traces.chakra.writer import write_chakra
from fabric.traces.graph import Kind, Op, Trace

DATA: Final = Path(__file__).resolve().parents[1] / "data/traces"
GATHER: Final = DATA / "chakra/all_gather/8npus_1MB/all_gather"
LOG: Final = "all_to_all: alltoall_perf\n#  Rank  0 Group  0\n#  Rank  1 Group  0\n{}\n"
SMALL: Final = (
    "name: s\ntopology: {kind: leaf-spine, leaves: 1, spines: 1, hosts_per_leaf: 4, host_rate: 100G, "
    "fabric_rate: 100G}\nworkload: [WORKLOAD]\nrun: {duration: 10ms}\n"
)
ROW: Final = "{} 1 float none -1 {} 1 1 0 {} 1 1 0"


def test_info_says_what_a_trace_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "info", str(GATHER)]) == 0
    text = capsys.readouterr().out
    assert "chakra, 8 ranks" in text
    assert "all-gather   at least 56MiB between ranks" in text
    assert main(["trace", "info", str(GATHER), "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert about["operations"] == {"all-gather": 8}
    assert about["collective_bytes"] == {"all-gather": 8 * 7_340_032}


def test_info_of_a_trace_that_cannot_be_run_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.goal").write_text("num_ranks 2\nrank 0 {\nsend 4b to 1\n}\nrank 1 { }\n")
    assert main(["trace", "info", str(tmp_path / "t.goal")]) == 1
    assert "t.goal: rank 0 line 3: no receive takes this message" in capsys.readouterr().out


def test_a_collective_operation_converts_to_messages_of_the_chosen_algorithm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reduce = DATA / "chakra/all_reduce/8npus_1MB/all_reduce"
    for option, messages in (([], 2 * 8 * 7), (["--algorithm", "all-reduce=halving-doubling"], 2 * 3 * 8)):
        out = tmp_path / "a.goal"
        assert main(["trace", "convert", str(reduce), str(out), *option, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["operations_written"] == 2 * messages
        assert main(["trace", "convert", str(out), str(tmp_path / "a.bin")]) == 0
        assert main(["trace", "convert", str(tmp_path / "a.bin"), str(tmp_path / "a")]) == 0
        capsys.readouterr()
        assert main(["trace", "info", str(tmp_path / "a"), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["message_bytes"] == 2 * 7 * 2**20


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["info", "{tmp}"], "is a directory"),
        (["info", "{tmp}/absent"], "there is no such file, and no absent.0.et"),
        (["info", "{tmp}/x.0.et"], "is the file of one rank"),
        (["info", "{tmp}/text"], "is of no known format"),
        (["convert", "{tmp}/log", "{tmp}/a.goal"], "is a nccl-tests file"),
        (["convert", "{tmp}/x", "{tmp}/none/a"], "directory that exists"),
        (["convert", "{tmp}/x", "{tmp}/a", "--algorithm", "all-reduce=ring"], "has no effect"),
        (["convert", "{tmp}/x", "{tmp}/a.goal", "--algorithm", "ring"], "no operation or algorithm"),
        (["convert", "{tmp}/x", "{tmp}/a.goal", "--algorithm", "all-gather=pxn"], "pxn has no all-gather"),
        (
            ["convert", "{tmp}/y", "{tmp}/a.goal", "--algorithm", "all-reduce=hierarchical"],
            "needs nodes of several ranks",
        ),
        (["compare", "{tmp}/log", "{tmp}/text"], "has no line of results"),
    ],
)
def test_wrong_input_is_one_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    for rank in range(8):
        shutil.copy(GATHER.with_name(f"all_gather.{rank}.et"), tmp_path / f"x.{rank}.et")
    write_chakra(
        Trace([[Op(Kind.COLLECTIVE, operation="all-reduce", size_bytes=64)]] * 4, "chakra", ["y"]), tmp_path / "y"
    )
    (tmp_path / "text").write_text("hello\n")
    (tmp_path / "log").write_text("# nccl-tests\n" + ROW.format(8, 1, 1) + "\n")
    assert main(["trace", *(word.format(tmp=tmp_path) for word in words)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


def test_two_logs_are_compared_by_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, factor in (("a", 1), ("b", 2)):
        rows = "\n".join(ROW.format(size, factor * (10 + size / 100), 1) for size in (1_000, 2_000, 4_000))
        (tmp_path / name).write_text("# nccl-tests\n" + rows + "\n")
    assert main(["trace", "compare", str(tmp_path / "a"), str(tmp_path / "b"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["geometric_mean_ratio"] == pytest.approx(2.0)
    assert found["second_fit"]["alpha_us"] == pytest.approx(20.0)
    assert main(["trace", "compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert "mean ratio   2.000" in capsys.readouterr().out


def log_of(path: Path, test: str, n_ranks: int, times_us: dict[int, float]) -> Path:
    ranks = "".join(f"#  Rank {rank:2} Group  0 Pid 1 on node device {rank}\n" for rank in range(n_ranks))
    rows = "\n".join(ROW.format(size, f"{time_us:.2f}", 1) for size, time_us in times_us.items())
    path.write_text(f"# nccl-tests\n# Collective test starting: {test}_perf\n{ranks}{rows}\n")
    return path


def compared(capsys: pytest.CaptureFixture[str], log: Path, other: Path) -> dict[str, Any]:
    assert main(["trace", "compare", str(log), str(other), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`fabric collective` of two sizes, with its run directories."""
    out = tmp_path_factory.mktemp("table")
    words = ["--ranks", "4", "--sizes", "16KiB,64KiB", "--repeat", "2", "--warm-up", "1", "--out", str(out), "--quiet"]
    assert main(["collective", "all-reduce", *words]) == 0
    return out


def test_a_log_is_compared_with_a_table_of_simulated_collectives(
    tmp_path: Path, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = json.loads((table / "collective.json").read_text())["rows"]
    log = log_of(tmp_path / "log", "all_reduce", 4, {row["size_bytes"]: row["mean_time_ns"] / 500 for row in rows})
    found = compared(capsys, log, table)
    assert [it["size_bytes"] for it in found["ratios"]] == [16_384, 65_536]
    assert found["geometric_mean_ratio"] == pytest.approx(0.5, rel=1e-3)
    assert found["second_fit"]["beta_gbs"] == pytest.approx(2 * found["first_fit"]["beta_gbs"], rel=1e-2)


def test_a_log_is_compared_with_the_run_of_one_collective(
    tmp_path: Path, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = json.loads((table / "collective.json").read_text())["rows"][1]
    log = log_of(tmp_path / "log", "all_reduce", 4, {65_536: row["mean_time_ns"] / 1000, 131_072: 1.0})
    found = compared(capsys, log, table / "65536B")
    assert found["ratios"][0]["ratio"] == pytest.approx(1.0, rel=1e-3)
    assert found["only_first"] == [131_072]


def test_a_log_is_compared_with_the_operations_of_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def op(operation: str, size: int, *after: int, group: str = "") -> Op:
        return Op(Kind.COLLECTIVE, after, operation=operation, size_bytes=size, group=group)

    ops = [op("all-reduce", 40_000), op("all-reduce", 80_000, 0), op("all-gather", 8_000, 1)]
    ranks = [[*ops, op("all-reduce", 4_000, 2, group="1")] if rank < 2 else ops for rank in range(4)]
    write_chakra(Trace(ranks, "chakra", ["t"], groups={"1": (0, 1)}), tmp_path / "t")
    (tmp_path / "s.yml").write_text(SMALL.replace("WORKLOAD", "{kind: trace, file: t}"))
    assert main(["run", str(tmp_path / "s.yml"), "-o", str(tmp_path / "run"), "--quiet"]) == 0
    capsys.readouterr()
    found = compared(capsys, log_of(tmp_path / "log", "all_reduce", 4, {40_000: 10.0, 80_000: 10.0}), tmp_path / "run")
    assert found["second"]["n_ranks"] == 4
    times = [it["second_us"] for it in found["ratios"]]
    # Six steps of a quarter: 100 Gbit/s carry 12.5 KB in 1 us, headers not counted.
    assert times[0] > 6 * 10_000 / 12_500
    assert times[1] - times[0] == pytest.approx(6 * 10_000 / 12_500, rel=0.1)
    alone = log_of(tmp_path / "pair", "all_reduce", 2, {4_000: 1.0})
    assert compared(capsys, alone, tmp_path / "run")["second"]["n_ranks"] == 2
    for test, n in (("broadcast", 4), ("all_reduce", 3)):
        assert main(["trace", "compare", str(log_of(tmp_path / "x", test, n, {8: 1.0})), str(tmp_path / "run")]) == 2
        assert "all-reduce of 4 ranks, all-gather of 4 ranks, all-reduce of 2 ranks" in capsys.readouterr().err


def test_a_log_is_compared_with_an_all_to_all_of_messages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.yml").write_text(SMALL.replace("WORKLOAD", "{kind: all-to-all, size: 20KB}"))
    assert main(["run", str(tmp_path / "s.yml"), "-o", str(tmp_path / "run"), "--quiet"]) == 0
    capsys.readouterr()
    found = compared(capsys, log_of(tmp_path / "log", "alltoall", 4, {80_000: 10.0}), tmp_path / "run")
    assert found["ratios"][0]["second_us"] > 3 * 20_000 / 12_500


def test_a_run_without_a_collective_operation_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.yml").write_text(SMALL.replace("WORKLOAD", "{kind: permutation, size: 20KB, shift: 1}"))
    assert main(["run", str(tmp_path / "s.yml"), "-o", str(tmp_path / "run"), "--quiet"]) == 0
    log = log_of(tmp_path / "log", "all_reduce", 4, {8: 1.0})
    capsys.readouterr()
    assert main(["trace", "compare", str(log), str(tmp_path / "run")]) == 2
    assert "has neither a collective operation nor one all-to-all" in capsys.readouterr().err
    (tmp_path / "table").mkdir()
    (tmp_path / "table/collective.json").write_text('{"rows": 3}')
    assert main(["trace", "compare", str(log), str(tmp_path / "table")]) == 2
    assert "is not a table of `fabric collective`" in capsys.readouterr().err
