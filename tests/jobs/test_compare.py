"""`fabric job compare`: placements beside each other, and each job alone on the GPUs that it has beside the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from fabric.cli.main import main
from fabric.jobs.alone import alone

JOB: Final = """model: {name: tiny, layers: 2, hidden: 256, feed_forward: 512, heads: 2, vocabulary: 256, sequence: 64}
gpus: 4
gpus_per_node: 1
parallel: {dp: 4}
batch: {sequence: 64, micro_batches: 1}
compute: {layer_forward: 1us, layer_backward: 2us}
"""
RAW: Final[dict[str, Any]] = {
    "name": "two",
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4, "host_rate": "100G",
                 "fabric_rate": "100G"},
    "workload": [{"kind": "job", "name": name, "job": "tiny.yml"} for name in ("a", "b")],
    "transport": {"qp": {"per": "pair"}}, "run": {"duration": "50ms"},
    "expectations": ["simulated.time < 1s"],
}  # fmt: skip


def test_alone_keeps_one_job_on_its_gpus_from_the_start() -> None:
    entry = {**RAW["workload"][1], "arrival": "5us", "placement": "spread"}
    found = alone({**RAW, "admission": "fifo", "workload": [RAW["workload"][0], entry]}, "b", "/b.csv")
    job = {"kind": "job", "name": "b", "job": "tiny.yml"}
    assert found["workload"] == [{**job, "placement": "file", "placement_file": "/b.csv"}]
    assert not {"admission", "expectations"} & set(found)
    with pytest.raises(KeyError):
        alone(RAW, "c", "x")


@pytest.mark.slow
def test_jobs_apart_have_no_slowdown_and_jobs_that_share_a_spine_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tiny.yml").write_text(JOB)
    (tmp_path / "topology.conf").write_text("SwitchName=s0 Nodes=host[1-4]\nSwitchName=s1 Nodes=host[5-8]\n")
    (tmp_path / "two.yml").write_text(json.dumps(RAW))
    ways = f"packed,spread,slurm={tmp_path / 'topology.conf'}"
    page = tmp_path / "page.html"
    words = ["job", "compare", str(tmp_path / "two.yml"), "--placements", ways, "--json", "--quiet", "--yes"]
    assert main([*words, "--html", str(page)]) == 0
    found = json.loads(capsys.readouterr().out)
    slowdown = {(row["variant"], row["name"]): row["slowdown"] for row in found["rows"]}
    assert slowdown["packed", "a"] == slowdown["packed", "b"] == slowdown["slurm", "a"] == pytest.approx(1, abs=1e-3)
    assert min(slowdown["spread", "a"], slowdown["spread", "b"]) > 1.2
    assert [it["variant"] for it in found["variants"]] == ["packed", "spread", "slurm"]
    assert "Slowdown" in page.read_text()
