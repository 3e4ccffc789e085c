"""A search of runs that are computed, not simulated."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from small_study import Inline, written

from fabric.scenario.schema.expectations import METRICS
from fabric.studies.columns import run_schema
from fabric.studies.dataset import claimed
from fabric.studies.jobs import Failure, Function, Job, Result
from fabric.studies.plan import examine_corners, load_study
from fabric.studies.simulation import Run, Variant
from fabric.studies.sweep import Standing
from fabric.studies.sweep import about as about_study
from fabric.studies.tune import Tuned, Tuning

PARAMETERS = {
    "kmin": {"set": "switches.ecn.kmin", "log_range": {"from": "1KB", "to": "1MB"}},
    "ratio": {"set": "switches.ecn.kmax", "factor_of": "kmin", "range": {"from": 1.5, "to": 8.0}},
    "cc": {"set": "transport.cc", "values": ["dcqcn", "none"]},
}


def fake_run(variant: Variant) -> Run:
    """Least p99 at Kmin 30KB, least paused time at 3KB; Kmax hardly matters; a seed adds noise; large Kmin drops."""
    values = variant.values
    kmin = float(str(values["switches.ecn.kmin"]).rstrip("BKM")) * (
        1000 if "K" in str(values["switches.ecn.kmin"]) else 1
    )
    kmin *= 1e6 if "MB" in str(values["switches.ecn.kmin"]) else 1
    noise = 1 + 0.001 * (int(str(values["run.seed"])) % 7)
    p99 = (1 + abs(np.log(kmin / 30_000))) * noise * (2 if values["transport.cc"] == "none" else 1)
    metrics: dict[str, Any] = dict.fromkeys(METRICS, 0)
    metrics |= {"fct.p99": round(1e6 * p99), "pfc.paused_time": round(1e6 * abs(np.log(kmin / 3000)) * noise)}
    metrics["drops.lossless"] = int(kmin > 500_000)
    return Run(
        "done", "", metrics, True, "", 1, json.dumps({"switches": {"ecn": SETTINGS}}), np.zeros(0, np.int64), 0, 0
    )


SETTINGS = {"kmin": "30KB", "kmax": "60KB", "pmax": 0.2}


class Counting(Inline):
    """Inline; counts the runs, and loses some with their worker."""

    done = 0

    def __init__(self, lost: tuple[int, ...] = (), why: str = "killed") -> None:
        super().__init__()
        self._lost = lost
        self._why = why

    def results(self, function: Function, jobs: deque[Job]) -> Iterator[Result]:
        for result in super().results(function, jobs):
            self.done += 1
            if self.done in self._lost:
                yield Result(result.key, None, Failure(self._why, "the worker process died 3 times"))  # type: ignore[arg-type]
                continue
            yield result
            if self._most is not None and self.done >= self._most:
                raise KeyboardInterrupt


def study(folder: Path, **changes: object) -> Path:
    fields: dict[str, object] = {
        "parameters": PARAMETERS,
        "repetitions": {"seeds": 2},
        "objectives": {"fct.p99": "min", "pfc.paused_time": "min"},
        "baseline": {"kmin": "100KB", "ratio": 4.0, "cc": "none"},
        "tune": {"trials": 40, "confirm": 3},
    }
    return written(folder, **(fields | changes))


def tuned(
    file: Path,
    out: Path,
    *,
    most: int | None = None,
    resume: bool = False,
    executor: Counting | None = None,
    on_result: Callable[[Standing], None] | None = None,
) -> tuple[Tuned, int]:
    plan = load_study(file, search=True)
    executor = executor or Counting()
    executor._most = most
    with claimed(out, run_schema(plan), resume=resume, force=False) as folder:
        about = about_study(plan, examine_corners(plan))
        finished = folder.resume(about) if resume else []
        if not resume:
            folder.begin(about)
        try:
            found = Tuning(plan, folder, finished, executor, on_result).run()
        finally:
            folder.end("done")
    return found, executor.done
