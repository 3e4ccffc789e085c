"""`fabric trace export`: schedules of scenarios and runs come back as traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pyarrow.compute as pc
import pytest

from fabric.cli.main import main
from fabric.collectives.transfers import Transfers
from fabric.runs.rundir import RunDir
from fabric.runs.simulate import Options, prepare, simulate
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario, load_scenario

JOB: Final = """model: {name: tiny, layers: 2, hidden: 64, feed_forward: 96, heads: 4, vocabulary: 100, sequence: 32}
gpus: 8
gpus_per_node: 4
parallel: {tp: 2, pp: PP, dp: DP}
batch: {sequence: 32, micro_batches: 2}
memory: {zero: 1}
compute: {gpu: h100-sxm, utilisation: 0.4}
"""
SCENARIO: Final = """name: small
topology: {kind: rail, nodes_per_pod: 2, rails: 4, spines: 1, host_rate: 100G, fabric_rate: 400G}
workload: [WORKLOAD]
transport: {qp: {per: pair}}
run: {duration: 50ms}
"""
COLLECTIVE: Final = "{kind: collective, operation: OPERATION, algorithm: ALGORITHM, size: 64KiB, repeat: 2}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def job(folder: Path, pp: int, dp: int) -> None:
    (folder / "job.yml").write_text(JOB.replace("PP", str(pp)).replace("DP", str(dp)))
    (folder / "small.yml").write_text(SCENARIO.replace("WORKLOAD", "{kind: job, job: job.yml}"))


def collective(folder: Path, operation: str, algorithm: str) -> None:
    entry = COLLECTIVE.replace("OPERATION", operation).replace("ALGORITHM", algorithm)
    (folder / "small.yml").write_text(SCENARIO.replace("WORKLOAD", entry))


def exported(capsys: pytest.CaptureFixture[str], source: str, *words: str) -> dict[str, Any]:
    assert main(["trace", "export", source, *words, "-o", "out", "--json"]) == 0
    entry: dict[str, Any] = json.loads(capsys.readouterr().out)["entries"][0]
    return entry


def transfers(scenario: Any) -> Transfers:  # noqa: ANN401
    return compile_scenario(scenario).params.transfers.rows


def imported(entry: dict[str, Any]) -> Any:  # noqa: ANN401  a scenario
    raw = {
        "name": "again",
        "topology": {"kind": "rail", "nodes_per_pod": 2, "rails": 4, "spines": 1, "host_rate": "100G",
                     "fabric_rate": "400G"},
        "workload": [entry["workload"]],
        "transport": {"qp": {"per": "pair"}},
        "run": {"duration": "50ms"},
    }  # fmt: skip
    return build_scenario(raw, Path("out/again.yml"))


def sent(rows: Transfers) -> list[int]:
    return [int(it) for it in rows.sent_bytes(16)]


@pytest.mark.parametrize("form", ["chakra", "goal", "goal-binary", "simai"])
def test_a_job_comes_back_with_the_bytes_of_every_rank(
    folder: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    pp = 1 if form == "simai" else 2
    job(folder, pp, 4 // pp)
    entry = exported(capsys, "small.yml", "--format", form)
    rows = transfers(load_scenario(folder / "small.yml"))
    assert sent(transfers(imported(entry))) == sent(rows)
    whole = form in {"chakra", "simai"}
    assert (entry["collectives"] > 0) == whole
    assert entry["collective_bytes"] + entry["message_bytes"] == sum(sent(rows))


@pytest.mark.parametrize(
    ("operation", "algorithm"),
    [("all-reduce", "double-binary-tree"), ("all-gather", "ring"), ("reduce-scatter", "pat"), ("all-to-all", "direct")],
)
@pytest.mark.parametrize("form", ["chakra", "simai", "goal"])
def test_a_collective_comes_back_as_the_operation_by_its_algorithm(
    folder: Path, capsys: pytest.CaptureFixture[str], operation: str, algorithm: str, form: str
) -> None:
    collective(folder, operation, algorithm)
    entry = exported(capsys, "small.yml", "--format", form)
    assert entry["collectives"] == (0 if form == "goal" else 2)
    again = transfers(imported(entry))
    assert again.sent_bytes(8).sum() == transfers(load_scenario(folder / "small.yml")).sent_bytes(8).sum()
    if form == "chakra":
        assert entry["workload"].get("algorithms", {}).get(operation, algorithm) == algorithm
        assert sent(again) == sent(transfers(load_scenario(folder / "small.yml")))


def test_the_schedule_of_a_run_is_delivered_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job(folder, 2, 2)
    scenario = load_scenario(folder / "small.yml")
    simulate(*prepare(scenario, text="t"), Options(folder / "run"))
    entry = exported(capsys, "run", "--format", "goal")
    simulate(*prepare(imported(entry), text="t"), Options(folder / "again"))
    tables = [RunDir.open(folder / name).transfers() for name in ("run", "again")]
    assert all(set(it["state"].to_pylist()) == {"done"} for it in tables)
    sums = [pc.sum(it["size_bytes"]).as_py() for it in tables]
    assert sums[0] == sums[1] == entry["message_bytes"]
    ends = [pc.max(it["arrived_ns"]).as_py() for it in tables]
    assert ends[1] == pytest.approx(ends[0], rel=0.02)
    # The run's tables say what the operations are: the job's file may change.
    whole = exported(capsys, "run", "--format", "chakra")
    assert whole["collective_bytes"] + whole["message_bytes"] == sums[0]
    assert whole["collectives"] > 0
    job(folder, 1, 4)
    assert main(["trace", "export", "run", "--format", "chakra", "-o", "out", "--force", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["entries"] == [whole]
    assert not any("changed since the run" in note for note in told["notes"])


def test_messages_instead_of_whole_operations(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collective(folder, "all-reduce", "ring")
    entry = exported(capsys, "small.yml", "--format", "chakra", "--messages")
    assert (entry["collectives"], entry["messages"]) == (0, 2 * 8 * 14)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["small.yml", "--format", "chakra", "-o", "small.yml"], "is not a folder"),
        (["small.yml", "--format", "goal", "-o", "o", "--messages"], "--messages: has no effect"),
        (["small.yml", "--format", "simai", "-o", "o"], "pipeline stages"),
        (["incast", "--format", "goal", "-o", "o"], "has no entry of kind collective, job, inference, trace"),
        (["incast", "--format", "simai", "-o", "o"], "has no entry of kind collective or job"),
        (["absent.yml", "--format", "goal", "-o", "o"], "absent.yml"),
        (["o", "--format", "simai", "-o", "o"], "no run"),
        (["o", "--format", "goal", "-o", "o", "--set", "a=1"], "--set: has no effect"),
        (["o", "--format", "goal", "-o", "o"], "o"),
    ],
)
def test_what_cannot_be_exported_is_one_clear_error(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    job(folder, 2, 2)
    (folder / "o").mkdir()
    assert main(["trace", "export", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "hint" in error


def test_files_are_not_overwritten_unless_forced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collective(folder, "all-reduce", "ring")
    words = ["trace", "export", "small.yml", "--format", "goal", "-o", "out"]
    assert main(words) == 0
    assert main(words) == 2
    assert "collective.goal: exists already" in capsys.readouterr().err
    assert main([*words, "--force"]) == 0
