"""One run of a study as a job of an executor: simulate, measure, remove what only the measurement needed."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric.runs.rundir import RunDir
from fabric.studies.simulation import Variant, simulate_variant
from fabric.units import PS_PER_NS
from fabric.whatif.felt import Felt, felt
from fabric.whatif.measure import Compared, Measured, compared, measured


@dataclass(frozen=True)
class Task:
    """The argument of a job."""

    data: Mapping[str, Any]
    file: Path
    """Of the scenario."""
    out: Path
    """Run directory of this run."""
    baseline: Path | None
    """Run directory to compare with; None: this is the baseline, whose directory is kept."""
    at_ps: int | None
    confirmed: bool = False


@dataclass(frozen=True)
class Outcome:
    """The value of a job."""

    measured: Measured
    compared: Compared | None
    headline: str
    packet_hops: int
    peak_rss_bytes: int
    """Most memory that the worker had until the end of this run."""
    felt: Felt | None
    """What users felt; None where no failure was simulated."""


def carry_out(task: Task) -> Outcome:
    """Simulate and measure one case. Raises: InputErrors, InvariantError."""
    data = task.data
    if task.baseline is not None:  # events are for explanations, and a run without them gives the same results
        data = {**data, "telemetry": {**(data.get("telemetry") or {}), "events": []}}
    try:
        run = simulate_variant(Variant(data, task.file, keep=task.out, confirmed=task.confirmed))
        folder = RunDir.open(task.out)
        found = measured(folder)
        against = noticed = None
        if task.baseline is not None:
            at_ns = None if task.at_ps is None else task.at_ps // PS_PER_NS
            base = RunDir.open(task.baseline)
            against = compared(folder, base, at_ns)
            noticed = None if at_ns is None else felt(folder, base, at_ns)
    finally:
        if task.baseline is not None:
            shutil.rmtree(task.out, ignore_errors=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Outcome(found, against, run.headline, run.packet_hops, peak, noticed)
