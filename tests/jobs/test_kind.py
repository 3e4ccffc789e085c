"""`kind: job`: jobs of a scenario have separate nodes, and their steps are told after the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from fabric.cli.main import main

JOB: Final = """model: {name: tiny, layers: 2, hidden: 64, feed_forward: 128, heads: 2, vocabulary: 256, sequence: 64}
gpus: 4
gpus_per_node: 2
parallel: {pp: 2, dp: 2}
batch: {sequence: 64, micro_batches: 2}
compute: {layer_forward: 10us, layer_backward: 20us}
"""


def scenario(folder: Path, *loads: dict[str, Any]) -> Path:
    (folder / "tiny.yml").write_text(JOB)
    topology = {
        "kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4, "host_rate": "100G", "fabric_rate": "400G",
    }  # fmt: skip
    raw = {
        "name": "jobs", "topology": topology, "workload": [{"kind": "job", "job": "tiny.yml", **it} for it in loads],
        "transport": {"qp": {"per": "pair"}}, "run": {"duration": "20ms"},
    }  # fmt: skip
    file = folder / "jobs.yml"
    file.write_text(json.dumps(raw))
    return file


def test_two_jobs_have_nodes_of_their_own_and_steps_whose_parts_add_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = scenario(tmp_path, {"name": "a", "steps": 2, "placement": "spread"}, {"name": "b"})
    assert main(["run", str(file), "--out", str(tmp_path / "run"), "--quiet", "--yes"]) == 0
    capsys.readouterr()
    assert main(["job", "report", str(tmp_path / "run"), "--json"]) == 0
    jobs = json.loads(capsys.readouterr().out)["jobs"]
    assert [(job["name"], len(job["steps"])) for job in jobs] == [("a", 2), ("b", 1)]
    for job in jobs:
        for step in job["steps"]:
            parts = [step[part] for part in ("compute_ns", "bubble_ns", "slow_ranks_ns", "exposed_ns")]
            assert step["duration_ns"] == pytest.approx(np.sum(parts))
            assert step["compute_ns"] == 60_000  # one layer a stage, two micro-batches
            assert step["bubble_ns"] == 30_000
            assert step["exposed_ns"] > 0


@pytest.mark.parametrize(
    ("loads", "texts"),
    [
        ([{"name": "a"}, {"name": "b"}, {"name": "c"}], ["workload[2].job", "4 GPUs need 2 nodes; 0 of 4 are free"]),
        ([{"job": "tny.yml"}], ["tny.yml"]),
        ([{"overrides": ["parallel.tp=3"]}], ["workload[0].job"]),
    ],
)
def test_wrong_jobs_are_clear_errors(
    loads: list[dict[str, Any]], texts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(scenario(tmp_path, *loads)), "--check"]) == 2
    shown = capsys.readouterr().err
    assert all(text in shown for text in texts), shown
    assert "Traceback" not in shown


def test_a_run_without_jobs_has_no_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = scenario(tmp_path, {})
    raw = json.loads(file.read_text())
    raw["workload"] = [{"kind": "permutation", "size": "1KB"}]
    file.write_text(json.dumps(raw))
    assert main(["run", str(file), "--out", str(tmp_path / "run"), "--quiet", "--yes"]) == 0
    assert main(["job", "report", str(tmp_path / "run")]) == 2
    assert "no entry of its workload is a job" in capsys.readouterr().err
