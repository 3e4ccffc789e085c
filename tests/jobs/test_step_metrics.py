"""Step times of jobs, and times of inference, as metrics of runs with and without a directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from fabric.runs.job_summary import StepTimes, step_metrics
from fabric.runs.measured import WITHOUT_WARM_UP, Measured, measure_run
from fabric.runs.simulate import Options, prepare
from fabric.scenario.load import build_scenario
from fabric.scenario.schema.expectations import METRICS, summary_key, to_summary
from fabric.units import PS_PER_NS

JOB: Final = """model: {name: tiny, layers: 2, hidden: 64, feed_forward: 128, heads: 2, vocabulary: 256, sequence: 64}
gpus: 4
gpus_per_node: 2
parallel: {pp: 2, dp: 2}
batch: {sequence: 64, micro_batches: 2}
compute: {layer_forward: 10us, layer_backward: 20us}
"""
STEPS: Final = 3


def scenario(folder: Path, *loads: dict[str, Any], **more: Any) -> Path:  # noqa: ANN401  parts of a scenario file
    (folder / "tiny.yml").write_text(JOB)
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4, "host_rate": "100G",
                "fabric_rate": "400G"}  # fmt: skip
    raw = {"name": "s", "topology": topology, "workload": list(loads), "transport": {"qp": {"per": "pair"}},
           "run": {"duration": "20ms"}, "telemetry": {"interval": "10us"}, **more}  # fmt: skip
    file = folder / "s.yml"
    file.write_text(json.dumps(raw))
    return file


def job(name: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"kind": "job", "name": name, "job": "tiny.yml", "steps": STEPS, **more}


def measured(file: Path, **options: Any) -> Measured:  # noqa: ANN401
    return measure_run(*prepare(build_scenario(json.loads(file.read_text()), file)), **options)


def summary(folder: Path, file: Path) -> dict[str, Any]:
    measured(file, recorded=Options(folder / "run"))
    found: dict[str, Any] = json.loads((folder / "run" / "summary.json").read_text())
    return found


def test_step_metrics_are_those_of_the_steps_of_all_jobs(tmp_path: Path) -> None:
    told = summary(tmp_path, scenario(tmp_path, job("a"), job("b")))
    took = [step["duration_ns"] for it in told["jobs"] for step in it["steps"]]
    metrics = told["metrics"]
    assert metrics["step.done"] == len(took) == 2 * STEPS
    assert metrics["step.mean_ns"] == pytest.approx(np.mean(took))
    assert metrics["step.max_ns"] == max(took)


def test_a_run_without_directory_measures_steps_and_inference_as_a_recorded_run(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("arrival_us,prompt_tokens,output_tokens\n0,64,4\n100,64,4\n")
    model = {"name": "m", "layers": 2, "hidden": 256, "feed_forward": 512, "heads": 4, "vocabulary": 256,
             "sequence": 64}  # fmt: skip
    serving = {"kind": "inference", "name": "serve", "model": model, "gpus": 2, "prefill_hosts": ["host[12]"],
               "all_reduce": "1us", "decode_hosts": ["host[56]"], "requests_file": "r.csv", "batch": 1}  # fmt: skip
    file = scenario(tmp_path, job("a"), serving)
    recorded = summary(tmp_path, file)["metrics"]
    told = {summary_key(name): to_summary(name, value) for name, value in measured(file).metrics.items()}
    assert told["step.done"] == STEPS
    assert told["inference.done"] == 2
    assert told == recorded


def test_a_run_without_a_job_has_no_step_metrics(tmp_path: Path) -> None:
    ring = {"kind": "collective", "operation": "all-reduce", "algorithm": "ring", "size": "40KB"}
    found = measured(scenario(tmp_path, ring)).metrics
    assert {found[name] for name in METRICS if name.startswith("step.")} == {None}


def test_steps_that_began_before_the_warm_up_are_not_measured(tmp_path: Path) -> None:
    file = scenario(tmp_path, job("a"))
    steps = summary(tmp_path, file)["jobs"][0]["steps"]
    first_ps = round(steps[0]["duration_ns"] * PS_PER_NS)
    found = measured(file, warm_up_ps=first_ps // 2).metrics
    assert found["step.done"] == STEPS - 1
    assert found["step.max"] == round(max(it["duration_ns"] for it in steps[1:]) * PS_PER_NS)
    assert {"inference.ttft.p99", "inference.done"} <= WITHOUT_WARM_UP


def test_a_step_that_begins_at_the_end_of_the_warm_up_is_measured() -> None:
    steps = StepTimes(np.array([0, 100]), np.array([100, 50]))
    assert step_metrics(steps.after(100)) == step_metrics(StepTimes(np.array([100]), np.array([50])))
    assert step_metrics(steps.after(101))["step.done"] == 0
    assert step_metrics(steps.after(101))["step.mean"] is None
