"""Jobs of a finished run: their steps, their place in the queue, and their storage, from the run directory alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fabric.errors import InputErrors, Problem
from fabric.runs.job_summary import job_rows
from fabric.runs.rundir import RunDir
from fabric.runs.storage_times import StorageTime, storage_times
from fabric.units import PS_PER_NS, parse_time_ps


@dataclass(frozen=True)
class JobTimes:
    """One entry that computes."""

    row: Mapping[str, Any]
    """Its entry of `jobs` in summary.json."""
    arrival_ps: int
    start_ps: int
    """When the last rank began."""
    end_ps: int | None
    """When the last rank ended its last step; an asynchronous checkpoint may still be written. None: not in the run."""
    storage: list[StorageTime]

    @property
    def name(self) -> str:
        """Of the entry."""
        return str(self.row["name"])

    @property
    def steps(self) -> list[Mapping[str, float]]:
        """Parts of each step that ended, as in summary.json."""
        return list(self.row["steps"])


def job_times(run: RunDir, *, required: bool = True) -> list[JobTimes]:
    """The jobs of a run, in the order of the workload.

    Raises: InputErrors where the run has no job and one is required.
    """
    found = job_rows(run.summary)
    if not found:
        if not required:
            return []
        text = "no entry of its workload is a job, or computes anything"
        raise InputErrors("dividing the steps", [Problem(str(run.path), text, "run a scenario with kind: job")])
    table = run.transfers(["operation", "end_ns", "src", "start_ns", "arrived_ns", "size_bytes"])
    ends = table["end_ns"].to_numpy(zero_copy_only=False)
    operation = np.array(table["operation"].to_pylist(), dtype=object)
    arrivals = {
        entry.get("name") or entry["kind"]: entry.get("arrival")
        for entry in run.manifest["scenario"]["resolved"]["workload"]
    }
    jobs = []
    for row in found:
        begun = [np.flatnonzero(operation == f"{row['name']}/step 0 {what}") for what in ("begin", "launched")]
        start_ns = max((float(np.nanmax(ends[at], initial=0)) for at in begun if len(at)), default=0.0)
        arrival = arrivals.get(row["name"])
        whole = row["completion_ns"] is not None
        jobs.append(
            JobTimes(
                row,
                parse_time_ps(arrival) if arrival else 0,
                int(start_ns * PS_PER_NS),
                int((row["begin_ns"] + row["completion_ns"]) * PS_PER_NS) if whole else None,
                storage_times(table, row["name"]),
            )
        )
    return jobs
