"""What a run's transfers are for, as metrics sum them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple

from fabric.jobs.results import StepTime, divide
from fabric.runs.job_plans import EntryPlan
from fabric.runs.operations import operations_of
from fabric.runs.transfers import TransferPlan
from telemetry.catalogue.jobs import JobTables, OperationClass


def job_tables(plan: TransferPlan, entries: Sequence[EntryPlan]) -> JobTables:
    """Workloads, classes of operations, and steps, which are divided as `fabric run` divides them.

    Parameters
    ----------
    entries : of the run's manifest (fabric/runs/job_plans.py), in the order of the workloads
    """
    found = operations_of(plan)
    steps = {entry.name: entry.steps for entry in entries}

    def divided(workload: int, step: int, duration_ps: int) -> StepTime | None:
        planned = steps.get(found.workloads[workload], ())
        return divide(duration_ps, planned[step]) if step < len(planned) else None

    return JobTables(
        found.workloads, tuple(OperationClass(*astuple(it)) for it in found.classes), found.instance, found.class_of,
        found.workload_of, found.step, found.sent_bytes, found.bus_bytes, found.size_bytes, divided,
        found.beside,
    )  # fmt: skip
