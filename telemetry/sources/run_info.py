"""RunInfo for the metrics: the name of a run, and the messages that belong to collectives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fabric import __version__
from fabric.runs import endstate
from fabric.runs.job_plans import plans_of
from fabric.runs.rundir import RunDir
from fabric.runs.session import Plan
from fabric.runs.transfers import plan_of
from fabric.workload.registry import MESSAGE_KINDS
from telemetry.catalogue.derive import Collective, RunInfo
from telemetry.catalogue.jobs import JobTables, OperationClass
from telemetry.sources.job_tables import job_tables


def of_plan(plan: Plan) -> RunInfo:
    """RunInfo of a run before its start."""
    about = plan.about
    return RunInfo(
        __version__,
        plan.name,
        plan.name,
        str(about["model"]),
        int(about["seed"]),
        ideal_ps=plan.ideal_ps,
        vnis=tuple(about["vnis"]),
        collectives=collectives_of(about["scenario"]["resolved"]["workload"], plan.labels),
        jobs=None if plan.transfers is None else job_tables(plan.transfers, plans_of(about)),
    )


def of_run(run: RunDir) -> RunInfo:
    """RunInfo of a finished run."""
    manifest = run.manifest
    workload = manifest["scenario"]["resolved"]["workload"]
    return RunInfo(
        str(manifest["version"]),
        str(manifest["name"]),
        str(manifest["name"]),
        str(manifest["model"]),
        int(manifest["seed"]),
        ideal_ps=endstate.ideal_ps(run),
        vnis=tuple(manifest.get("vnis", ())),
        collectives=collectives_of(workload, run.messages(["id"])["id"].to_pylist()),
        jobs=_recorded_jobs(run),
    )


def _recorded_jobs(run: RunDir) -> JobTables | None:
    table = run.transfers()
    return job_tables(plan_of(table), plans_of(run.manifest)) if len(table) else None


def collectives_of(workload: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> tuple[Collective, ...]:
    """The parts of a workload that are collectives.

    Parameters
    ----------
    workload : the scenario's `workload`, resolved
    labels : label of every message: 'NAME/NUMBER', numbered in order of repetition
    """
    found = []
    parts = np.array([label.rpartition("/")[0] for label in labels])
    for spec in workload:
        name, kind = str(spec["name"] or spec["kind"]), MESSAGE_KINDS.get(spec["kind"])
        mine = parts == name
        if kind is not None and kind.ranks is not None and mine.any():
            per_repetition = int(mine.sum()) // int(spec["repeat"])
            repetition = np.full(len(labels), -1)
            repetition[mine] = np.arange(int(mine.sum())) // per_repetition
            of = OperationClass(name, str(spec["kind"]), "direct", "")
            found.append(Collective(of, kind.ranks(per_repetition), repetition))
    return tuple(found)
