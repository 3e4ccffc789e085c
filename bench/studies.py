"""Many runs: what carrying them out costs beside the runs, two processes against one, and memory over many runs."""

from __future__ import annotations

import os
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any, Final

import yaml

from bench import cases
from bench.machine import median
from bench.startup import command
from fabric.runs import simulate
from fabric.scenario.load import build_scenario
from fabric.studies.columns import run_schema
from fabric.studies.dataset import StudyResults, claimed
from fabric.studies.jobs import Job
from fabric.studies.local import LocalProcesses
from fabric.studies.plan import build_study, examine
from fabric.studies.simulation import Variant, simulate_variant
from fabric.studies.sweep import Standing, Sweep, about

_HOSTS: Final = 64
_SIZE: Final = "3MB"
"""Of each of 64 messages: about 3 million packet-hops, a second or less."""
_INCAST: Final = {"kind": "incast", "receiver": "host1", "fan_in": 7, "size": "20KB"}


def studies(*, quick: bool = False) -> dict[str, Any]:
    """Overhead, scaling and memory; each a plain number."""
    runs, small = (6, 200) if quick else (20, 10_000)
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        file = cases.write(cases.permutation(_HOSTS, _SIZE), folder)
        one, two = (_swept(file, folder / f"out{workers}", runs, workers) for workers in (1, 2))
        recorded = median([_recorded(file, folder / f"run{number}") for number in range(3)])
        shell_s = command(["run", str(file), "--out", str(folder / "shell"), "--quiet"])
        memory = _memory(cases.write(cases.scenario("small", 16, _INCAST), folder), small)
    return {
        "runs": runs,
        "run_s": one["job_s"],
        "overhead_ratio": one["elapsed_s"] / (one["job_s"] * one["counted"]) - 1,
        "throughput_ratio": one["elapsed_s"] / one["counted"] / (two["elapsed_s"] / two["counted"]),
        "recorded_s": recorded,
        "shell_s": shell_s,
        **memory,
    }


def _swept(file: Path, out: Path, runs: int, workers: int) -> dict[str, float]:
    """A study of one point, from the end of each worker's first run to the end of the last run."""
    raw = {"name": "bench", "scenario": str(file), "measures": ["fct.p99"], "repetitions": {"seeds": runs + workers}}
    plan = build_study(raw, file, "")
    examined = examine(plan)
    ends: list[float] = []

    def note(_: Standing) -> None:
        ends.append(time.perf_counter())

    with claimed(out, run_schema(plan), resume=False, force=False) as home:
        home.begin(about(plan, examined))
        sweep = Sweep(plan, examined, home)
        with LocalProcesses(workers) as executor:
            sweep.run(executor, note)
        home.flush()
    walls = sorted((cost["run"], cost["wall_s"]) for cost in StudyResults(out).costs().to_pylist())
    return {
        "elapsed_s": ends[-1] - ends[workers - 1],
        "counted": float(len(ends) - workers),
        "job_s": sum(wall for _, wall in walls[workers:]) / (len(walls) - workers),
    }


def _recorded(file: Path, out: Path) -> float:
    """Wall time of the same run with a run directory, in a process that has its kernels."""
    began = time.perf_counter()
    scenario = build_scenario(yaml.safe_load(file.read_text(encoding="utf-8")), file)
    simulate.simulate(*simulate.prepare(scenario), simulate.Options(out))
    return time.perf_counter() - began


def with_memory(variant: Variant) -> tuple[int, str]:
    """Simulate, and read the memory of this worker: (bytes, digest)."""
    digest = simulate_variant(variant).digest
    with Path("/proc/self/statm").open(encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"), digest


def _memory(file: Path, runs: int) -> dict[str, Any]:
    """Memory of one worker over many small runs."""
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    jobs = deque(Job(str(seed), Variant(data, file, {"run.seed": seed})) for seed in range(runs))
    found = []
    began = time.perf_counter()
    with LocalProcesses(1) as executor:
        for result in executor.results(with_memory, jobs):
            found.append(result.value[0])
            if len(found) == 1:
                began = time.perf_counter()
    tenth = runs // 10
    return {
        "small_runs": runs,
        "small_run_s": (time.perf_counter() - began) / (runs - 1),
        "memory_early_bytes": found[tenth],
        "memory_late_bytes": found[-1],
    }
