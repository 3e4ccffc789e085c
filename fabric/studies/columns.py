"""The table of a study: one row for each run, the same whatever carried it out, and a second table of its costs.

Names end in their unit, as in summary.json. A parameter is a column under its own name with the unit of its values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fabric.errors import RunDirError
from fabric.scenario.schema.expectations import METRICS, summary_key, to_summary
from fabric.studies.design import Point
from fabric.studies.jobs import Result
from fabric.studies.levels import Kind, Levels
from fabric.studies.plan import Cell, StudyPlan
from fabric.studies.simulation import Run
from fabric.units import PS_PER_NS

PERCENTILES: Final = np.arange(0, 101)
"""Of completion times, kept of every run for distributions over runs."""
_SUFFIX: Final[Mapping[Kind, str]] = {"size": "_bytes", "time": "_ns", "rate": "_bps", "length": "_mm"}
_COUNTS: Final = frozenset(name for name, (kind, _) in METRICS.items() if kind == "count")
COSTS: Final = pa.schema(
    [
        ("run", pa.int64()),
        ("wall_s", pa.float64()),
        ("compile_s", pa.float64()),
        ("simulate_s", pa.float64()),
        ("worker", pa.string()),
        ("attempts", pa.int32()),
    ]
)
"""Rows of the second table: what a run took, and where."""


def parameter_column(levels: Levels) -> pa.Field:
    """The column of a parameter: 'kmin' of sizes is kmin_bytes; a factor is a plain number."""
    if levels.kind in _SUFFIX:
        return pa.field(levels.name + _SUFFIX[levels.kind], pa.float64() if levels.kind == "time" else pa.int64())
    return pa.field(levels.name, {"whole": pa.int64(), "number": pa.float64()}.get(levels.kind, pa.string()))


def parameter_value(levels: Levels, point: Point) -> Any:  # noqa: ANN401  a value of the column
    """The value of a parameter in its column."""
    value = point.values[levels.name]
    if levels.kind == "text" or value.number is None:
        return value.shown
    if levels.kind == "time":
        return value.number / PS_PER_NS
    return float(value.number) if levels.kind == "number" else int(value.number)


def run_schema(plan: StudyPlan) -> pa.Schema:
    """The columns of the table of runs."""
    return pa.schema(
        [
            ("run", pa.int64()),
            ("point", pa.int32()),
            ("workload", pa.string()),
            ("repetition", pa.int32()),
            ("seed", pa.int64()),
            *(parameter_column(it) for it in plan.levels.values()),
            ("status", pa.string()),
            ("failure", pa.string()),
            ("feasible", pa.bool_()),
            *((summary_key(name), pa.int64() if name in _COUNTS else pa.float64()) for name in METRICS),
            ("fct_percentiles_ns", pa.list_(pa.float64())),
            ("headline", pa.string()),
            ("packet_hops", pa.int64()),
            ("digest", pa.string()),
            ("scenario", pa.string()),
        ]
    )


def run_row(plan: StudyPlan, cell: Cell, repetition: int, run: Run | None, failure: str) -> dict[str, Any]:
    """The row of a finished run; `run` is None where it failed, with the reason."""
    metrics = {} if run is None else run.metrics
    return {
        "run": run_number(plan, cell, repetition),
        "point": cell.point.number,
        "workload": cell.workload.name,
        "repetition": repetition,
        "seed": plan.values(cell, repetition)["run.seed"],
        **{parameter_column(it).name: parameter_value(it, cell.point) for it in plan.levels.values()},
        "status": "failed" if run is None else run.status,
        "failure": failure or None,
        "feasible": None if run is None else is_feasible(plan, metrics),
        **{summary_key(name): to_summary(name, metrics.get(name)) for name in METRICS},
        "fct_percentiles_ns": None if run is None else percentiles_ns(run.fct_ps),
        "headline": None if run is None else run.headline,
        "packet_hops": None if run is None else run.packet_hops,
        "digest": None if run is None else run.digest,
        "scenario": None if run is None else run.resolved,
    }


def check_row(plan: StudyPlan, cell: Cell, repetition: int, row: Mapping[str, Any], folder: str) -> None:
    """Whether a row of a resumed study is that of this run: its workload, seed and parameters.

    Raises: RunDirError where it is not. Points that are drawn or searched for are numbered in their order, and another
    version of SciPy, NumPy or a sampler has others.
    """
    wanted = {
        "point": cell.point.number,
        "workload": cell.workload.name,
        "repetition": repetition,
        "seed": plan.values(cell, repetition)["run.seed"],
        **{parameter_column(it).name: parameter_value(it, cell.point) for it in plan.levels.values()},
    }
    others = [f"{name} {row.get(name)} and not {value}" for name, value in wanted.items() if row.get(name) != value]
    if others:
        raise RunDirError(
            f"{folder}: run {row['run']} has {', '.join(others)}: it was kept for another point of the study",
            "go on with the versions of numpy, scipy, optuna and cmaes it was begun with, or start again with --force",
        )


def cost_row(number: int, result: Result) -> dict[str, Any]:
    """The row of COSTS of a run."""
    run: Run | None = result.value
    return {
        "run": number,
        "wall_s": result.wall_s,
        "compile_s": None if run is None else run.compile_s,
        "simulate_s": None if run is None else run.simulate_s,
        "worker": result.worker,
        "attempts": result.attempts,
    }


def run_number(plan: StudyPlan, cell: Cell, repetition: int) -> int:
    """Number of a run, the same however many repetitions other cells need."""
    return cell.number * plan.most_seeds + repetition


def is_feasible(plan: StudyPlan, metrics: Mapping[str, Any]) -> bool:
    """Whether a run meets every constraint; a metric without a value meets none."""
    return all(metrics[it.metric] is not None and it.holds(metrics[it.metric]) for it in plan.study.constraints)


def percentiles_ns(fct_ps: NDArray[np.int64]) -> list[float]:
    """Completion times in ns at PERCENTILES, without interpolation; [] without messages."""
    if not fct_ps.size:
        return []
    places = np.maximum(np.ceil(PERCENTILES / 100 * fct_ps.size).astype(np.int64) - 1, 0)
    return [float(it) / PS_PER_NS for it in fct_ps[places]]
