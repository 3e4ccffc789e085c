"""Jobs of a run once more, each alone: the same placement, queue pairs, seed and faults, without the other workloads.

The runs are kept beside the run, in its folder `alone`, and read again while they belong to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from fabric.collectives.transfers import NEED_COLUMNS, TRANSFER_COLUMNS
from fabric.dataplane.state.params import Messages, Transfers
from fabric.runs import files
from fabric.runs.folder import ENDED
from fabric.runs.recompile import recompiled
from fabric.runs.rundir import RunDir
from fabric.runs.session import Hooks, Plan
from fabric.runs.simulate import Options, planned, simulate
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.scenario.estimate.admission import Admit
from fabric.scenario.schema.scenario import Scenario

FOLDER: Final = "alone"
Watch = Callable[[str], AbstractContextManager[Hooks]]
"""Name of a job -> hooks of its run, such as a line of progress."""


def jobs_alone(run: RunDir, names: Sequence[str], watch: Watch, admit: Admit | None = None) -> dict[str, RunDir]:
    """The run of each named entry of the workload alone, simulated where it was not yet.

    Raises: InputErrors where the run cannot be repeated, RunDirError where a folder cannot be written.
    """
    found = {name: kept for name in names if (kept := _kept(run, name)) is not None}
    missing = [name for name in names if name not in found]
    if missing:
        scenario, compiled = recompiled(run, "simulating the jobs alone", admit)
        how = run.manifest["how"]
        for name in missing:
            one = only(compiled, name)
            plan = _plan(run, scenario, one, name)
            out = run.path / FOLDER / name
            resume = _begun(out) == f"{plan.identity}/{how['order']}"
            options = Options(out, how["threads"], how["scheduler"], how["order"], resume=resume, force=not resume)
            with watch(name) as hooks:
                simulate(one, plan, options, hooks)
            found[name] = RunDir.open(out)
            if found[name].status == "interrupted":
                break
    return found


def only(compiled: CompiledScenario, name: str) -> CompiledScenario:
    """The scenario with the transfers of one entry of its workload and no other traffic."""
    given = compiled.params.transfers
    mine = np.array([operation.partition("/")[0] == name for operation in given.operations], np.bool_)
    kept = mine[given.rows.operation]
    number = np.cumsum(kept) - 1
    rows = given.rows
    needs = kept[rows.later]
    columns = {column: getattr(rows, column)[kept] for column in TRANSFER_COLUMNS}
    columns |= {column: getattr(rows, column)[needs] for column in NEED_COLUMNS}
    columns["earlier"], columns["later"] = number[columns["earlier"]], number[columns["later"]]
    transfers = Transfers(
        type(rows)(**columns), given.qp[kept], given.operations, given.rank_columns[:, kept], given.groups,
        [entry for entry in given.entries if entry.name == name],
    )  # fmt: skip
    none = np.empty(0, np.int64)
    params = replace(compiled.params, transfers=transfers, messages=Messages(none, none, none, none, none, none, none))
    ideal = compiled.ideal_transfers_ps
    return replace(
        compiled, params=params, expectations=(), labels=(), ideal_ps=none,
        ideal_transfers_ps=ideal[kept] if len(ideal) else ideal,
    )  # fmt: skip


def _plan(run: RunDir, scenario: Scenario, compiled: CompiledScenario, name: str) -> Plan:
    plan = planned(scenario, compiled, until_ps=int(run.manifest["duration_ps"]), text=run.manifest["scenario"]["text"])
    about: dict[str, Any] = {**plan.about, "alone": {"of": run.manifest["identity"], "name": name}}
    return replace(plan, name=f"{plan.name}: {name} alone", about=about)


def _kept(run: RunDir, name: str) -> RunDir | None:
    """A finished run of this entry alone, if it belongs to the run."""
    out = run.path / FOLDER / name
    if not (out / files.MANIFEST).is_file():
        return None
    found = RunDir.open(out)
    mine = found.manifest.get("alone") == {"of": run.manifest["identity"], "name": name}
    return found if mine and found.status in ENDED else None


def _begun(out: Path) -> str:
    """The identity of the run in a folder; '' where it holds none."""
    return str(RunDir.open(out).manifest["identity"]) if (out / files.MANIFEST).is_file() else ""
