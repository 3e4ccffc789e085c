"""Results of jobs: one division of steps for every reader, operations by group, and jobs alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from fabric.cli.main import main
from fabric.collectives.longest_path import Link, of_transfers
from fabric.collectives.transfers import Event, TransferList
from fabric.jobs.instant import ends_without_network_ps
from fabric.jobs.results import StepPlan, divide
from fabric.runs.rundir import RunDir
from telemetry.sources.recorded import store_of

JOB: Final = """model: {name: tiny, layers: 2, hidden: 128, feed_forward: 256, heads: 2, vocabulary: 256, sequence: 64}
gpus: 4
gpus_per_node: 2
parallel: {pp: 2, dp: 2, order: [tp, cp, pp, dp]}
batch: {sequence: 64, micro_batches: 2}
compute: {layer_forward: 10us, layer_backward: 20us}
"""
Ran = tuple[Path, Path]
"""(job file, run directory)."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Two jobs that share the only uplink of each leaf."""
    folder = tmp_path_factory.mktemp("jobs")
    (folder / "tiny.yml").write_text(JOB)
    loads = [{"kind": "job", "job": "tiny.yml", "name": name, "placement": "spread", "steps": 2} for name in "ab"]
    topology = {
        "kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4, "host_rate": "100G", "fabric_rate": "25G",
    }  # fmt: skip
    raw = {
        "name": "jobs", "topology": topology, "workload": loads, "transport": {"qp": {"per": "pair"}},
        "run": {"duration": "20ms"},
    }  # fmt: skip
    (folder / "jobs.yml").write_text(json.dumps(raw))
    assert main(["run", str(folder / "jobs.yml"), "--out", str(folder / "run"), "--quiet", "--yes"]) == 0
    return folder / "tiny.yml", folder / "run"


def told(run: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main(["job", "report", str(run), "--json", *options]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_metrics_and_report_divide_a_step_alike(ran: Ran, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = told(ran[1], capsys)["jobs"]
    store = store_of(RunDir.open(ran[1]))
    for part, metric in (
        ("duration", "step"), ("compute", "stage_computation"), ("bubble", "bubble"), ("slow_ranks", "slow_ranks"),
        ("exposed", "exposed_communication"),
    ):  # fmt: skip
        values = store.series(f"fabric_job_{metric}_seconds_total")
        for job in jobs:
            (series,) = (it for labels, it in values.items() if dict(labels)["workload"] == job["name"])
            assert series[1][-1] == pytest.approx(sum(step[f"{part}_ns"] for step in job["steps"]) / 1e9), part
    assert jobs[0]["steps"][0]["bubble_ns"] == 30_000
    assert jobs[0]["steps"][0]["exposed_ns"] > 0


def test_operations_are_counted_for_each_group_of_ranks_and_by_kind(ran: Ran) -> None:
    found = {(it["kind"], it["operation"]): it for it in RunDir.open(ran[1]).summary["collectives"]}
    assert set(found) == {("pp", "send"), ("dp", "all-reduce")}
    reduced = found["dp", "all-reduce"]
    assert reduced["algorithm"] == "ring"
    # One bucket a stage and step, among two ranks of each of two stages.
    assert (reduced["operations"], reduced["done"]) == (4, 4)
    assert found["pp", "send"]["operations"] == 2 * 2 * 2 * 2  # steps, micro-batches, directions, replicas
    assert 0 < reduced["busbw_min_bytes_per_s"] <= reduced["busbw_p50_bytes_per_s"] < 25e9 / 8  # the uplink


def test_the_summary_prints_jobs_and_collectives(ran: Ran, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(ran[1])]) == 0
    text = capsys.readouterr().out
    for word in ("Jobs", "bubble", "exposed", "Collective operations", "busbw", "Jain"):
        assert word in text


def test_a_job_alone_is_faster_and_is_simulated_once(ran: Ran, capsys: pytest.CaptureFixture[str]) -> None:
    file, run = ran
    first = told(run, capsys, "--alone", "--quiet")
    for job in first["jobs"]:
        assert job["alone"]["slowdown_ratio"] > 1.1  # both send gradients by one uplink
        assert len(job["alone"]["steps_ns"]) == 2
    assert 0.5 < first["slowdown_jain_ratio"] <= 1
    file.write_text("nonsense")  # neither the report nor kept results read it
    try:
        assert told(run, capsys, "--alone", "--quiet") == first
        (run / "alone" / "b" / "manifest.json").unlink()
        assert main(["job", "report", str(run), "--alone", "--quiet"]) == 2
        assert "Traceback" not in capsys.readouterr().err
        file.write_text(JOB.replace("20us", "21us"))
        assert main(["job", "report", str(run), "--alone", "--quiet"]) == 2
        assert "not those of the run any more" in capsys.readouterr().err
    finally:
        file.write_text(JOB)


@pytest.mark.parametrize("seed", range(8))
def test_ends_without_network_are_those_of_links_without_delay(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows, ends = TransferList(), 3
    for row in range(30):
        src, dst = random.integers(ends, size=2).tolist()
        local = src == dst
        count = int(random.integers(1, 4))
        rows.add(src, dst, count, small_bytes=0 if local else 1000, delay_ps=int(random.integers(100)) if local else 0)
        for earlier in random.choice(row, min(row, 2), replace=False).tolist() if row else ():
            was = rows.rows[earlier]
            event = Event.COMPLETED if was[0] == was[1] else Event.ARRIVED
            if was[1] == src:
                rows.need(earlier, row, lead=int(random.integers(0, 3)), per=int(random.integers(0, 2)), event=event)
    table = rows.build()
    assert ends_without_network_ps(table).max() == of_transfers(table, ends, Link(0, 0)).end_ps


def test_parts_of_a_step_add_up_however_short_it_is() -> None:
    plan = StepPlan(100, 30, 150)
    for duration, parts in {
        200: (100, 30, 20, 50), 140: (100, 30, 10, 0), 120: (100, 20, 0, 0), 60: (60, 0, 0, 0)
    }.items():  # fmt: skip
        step = divide(duration, plan)
        assert (step.compute_ps, step.bubble_ps, step.slow_ranks_ps, step.exposed_ps) == parts
        assert sum(parts) == duration
