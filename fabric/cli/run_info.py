"""RunInfo for the metrics: what a run is called, and which of its messages are a collective's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fabric import __version__
from fabric.report import endstate
from fabric.report.rundir import RunDir
from fabric.report.session import Plan
from telemetry.derive import Collective, RunInfo


def of_plan(plan: Plan) -> RunInfo:
    """Of a run that is about to be played."""
    about = plan.about
    return RunInfo(__version__, plan.name, plan.name, str(about["model"]), int(about["seed"]), ideal_ps=plan.ideal_ps,
                   vnis=tuple(about["vnis"]),
                   collectives=collectives_of(about["scenario"]["resolved"]["workload"], plan.labels))


def of_run(run: RunDir) -> RunInfo:
    """Of a run that was played."""
    manifest = run.manifest
    workload = manifest["scenario"]["resolved"]["workload"]
    return RunInfo(str(manifest["version"]), str(manifest["name"]), str(manifest["name"]), str(manifest["model"]),
                   int(manifest["seed"]), ideal_ps=endstate.ideal_ps(run),
                   vnis=tuple(manifest.get("vnis", ())),
                   collectives=collectives_of(workload, run.messages(["id"])["id"].to_pylist()))


def collectives_of(workload: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> tuple[Collective, ...]:
    """The all-to-all parts of a workload.

    Parameters
    ----------
    workload : the scenario's `workload`, resolved
    labels : of every message: 'NAME/NUMBER', numbered in order of repetition
    """
    found = []
    parts = np.array([label.rpartition("/")[0] for label in labels])
    for spec in workload:
        mine = parts == (spec["name"] or spec["kind"])
        if spec["kind"] == "all-to-all" and mine.any():
            # n ranks send n * (n - 1) messages a repetition.
            per_repetition = int(mine.sum()) // int(spec["repeat"])
            ranks = round((1 + (1 + 4 * per_repetition) ** 0.5) / 2)
            repetition = np.full(len(labels), -1)
            repetition[mine] = np.arange(int(mine.sum())) // per_repetition
            found.append(Collective(str(spec["name"] or spec["kind"]), ranks, repetition))
    return tuple(found)
