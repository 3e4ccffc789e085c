"""The schedules that a run carried out, by entry of its workload, from its directory.

The tables of the directory tell what operations are. Those of a run by an older version do not: the scenario, which is
in the directory, does; a job's file is read again, and its schedule compared with the one that was carried out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fabric import shipped
from fabric.collectives.transfers import NEED_COLUMNS, TRANSFER_COLUMNS, OperationGroup, Transfers
from fabric.errors import InputErrors, Problem
from fabric.runs.rundir import RunDir
from fabric.runs.schedule import read
from fabric.runs.transfers import plan_of
from fabric.scenario.load import build_scenario
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.surroundings import surroundings
from fabric.workload.exported import Schedule, Schedules, schedule
from fabric.workload.spec import CollectiveSpec, JobLoad


def schedules(run: RunDir) -> Schedules:
    """As of a scenario before its run. Raises: InputErrors where the run has no transfers."""
    rows, operations = read(run)
    if not len(rows):
        text = "is a run without transfers: its workload is messages of hosts"
        hint = "name a run of a collective, a job or a trace"
        raise InputErrors("exporting the run", [Problem(str(run.path), text, hint)])
    table = run.transfers()
    plan = plan_of(table)
    group_of = dict(zip(plan.operations, plan.groups, strict=True))
    hosts = [table[end].to_pylist() for end in ("src", "dst")]
    entry_of = np.array([name.partition("/")[0] for name in operations], np.str_)[rows.operation]
    names = list(dict.fromkeys(entry_of.tolist()))
    found = Schedules([_entry(name, np.flatnonzero(entry_of == name), rows, operations, hosts, group_of)
                      for name in names], [])  # fmt: skip
    return replace(found, entries=list(_told(run, found)))


def _entry(
    name: str, mine: np.ndarray[tuple[int], np.dtype[np.int64]], rows: Transfers, operations: Sequence[str],
    hosts: Sequence[Sequence[str]], group_of: dict[str, OperationGroup],
) -> Schedule:  # fmt: skip
    place = np.full(len(rows), -1, np.int64)
    place[mine] = np.arange(len(mine))
    needs = place[rows.later] >= 0
    cut = {it: getattr(rows, it)[mine] for it in TRANSFER_COLUMNS}
    cut |= {it: getattr(rows, it)[needs] for it in NEED_COLUMNS}
    used, cut["operation"] = np.unique(cut["operation"], return_inverse=True)
    found = Transfers(**cut | {"earlier": place[cut["earlier"]], "later": place[cut["later"]]})
    on: dict[int, str] = {}
    for ranks, names in ((rows.src, hosts[0]), (rows.dst, hosts[1])):
        for row in mine.tolist():
            on.setdefault(int(ranks[row]), names[row])
    # A rank that neither sends nor receives has no row, and so no host that the run's directory knows.
    of_rank = [on.get(rank, "") for rank in range(max(on) + 1)]
    named = [operations[number] for number in used.tolist()]
    groups = [group_of[operation] for operation in named]
    return Schedule(name, found, of_rank, groups, [it.removeprefix(f"{name}/") for it in named])


def _told(run: RunDir, found: Schedules) -> Iterator[Schedule]:
    """The entries; of a run by an older version the scenario tells what its tables do not know of operations."""
    scenario = scenario_of(run)
    problems: list[Problem] = []
    around = surroundings(scenario, run.fabric, problems)
    told: dict[str, Schedule] = {}
    for number, spec in enumerate(scenario.workload):
        if isinstance(spec, JobLoad | CollectiveSpec):
            name = spec.name or spec.kind
            entry = schedule(spec, name, f"workload[{number}]", around)
            if entry is not None:
                told[name] = entry
    for it in found.entries:
        if any(group.operation for group in it.groups) or it.name not in told:
            yield it
            continue
        other = told[it.name]
        if _is_same(it.rows, other.rows):
            group_of = dict(zip(other.operations, other.groups, strict=True))
            yield replace(it, groups=[group_of[operation] for operation in it.operations])
        else:
            found.notes.append(f"{it.name}: its file has changed since the run, so its operations are messages")
            yield it
    for problem in problems:
        found.notes.append(f"{problem.path}: {problem.text}, so its operations are messages")


def _is_same(one: Transfers, other: Transfers) -> bool:
    return all(np.array_equal(getattr(one, it), getattr(other, it)) for it in ("src", "dst", "count", "small_bytes"))


def scenario_of(run: RunDir) -> Scenario:
    """The scenario that a run carried out, from its directory; files that it names are where they were."""
    told = run.manifest["scenario"]
    return build_scenario(told["resolved"], shipped.scenario(Path(told["file"])))
