"""Times of a run's collective operations by size, as nccl-tests measures them: to compare with its logs.

- A directory of `fabric collective --out` has a run for each size, and its table.
- A run of one workload of kind collective: as that table, the mean over the ranks, without warm-up.
- Other runs of transfers (traces, jobs): from the first posting of an operation to its last arrival, mean over calls.
- A run of messages: one all-to-all.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from fabric.errors import InputErrors, Problem
from fabric.reading import MIB, read_text
from fabric.runs.collective_times import measured, prepare_collective
from fabric.runs.exported import scenario_of, schedules
from fabric.runs.rundir import RunDir
from fabric.scenario.compile.scenario import compile_scenario
from fabric.traces.fold import Call, fold
from fabric.traces.nccl_tests.compare import Series
from fabric.units import PS_PER_US
from fabric.workload.exported import Schedule
from fabric.workload.spec import CollectiveSpec

TABLE: Final = "collective.json"
STAGE: Final = "comparison"
_NS_PER_US: Final = 1000


def of_folder(folder: Path, like: Series) -> Series:
    """The operation that the other series names, or the only one.

    Parameters
    ----------
    like : Series    what it is compared with: operation '' and ranks 0 are not known

    Raises: InputErrors where there is no such operation, or it did not end; RunDirError.
    """
    if (folder / TABLE).is_file():
        return _of_table(folder / TABLE)
    run = RunDir.open(folder)
    scenario = scenario_of(run)
    spec = scenario.workload[0]
    if len(scenario.workload) == 1 and isinstance(spec, CollectiveSpec):
        prepared = prepare_collective(scenario, compile_scenario(scenario, None))
        found = measured(prepared, run)
        times = {found.size_bytes: found.mean_time_ps / PS_PER_US}
        return Series(str(folder), spec.operation, prepared.request.n_ranks, times)
    if len(run.transfers(["transfer"])):
        return _of_transfers(run, like)
    return _of_messages(run)


def _of_table(file: Path) -> Series:
    """The table of `fabric collective`; nccl-tests prints the mean over ranks as well (-a 1)."""
    text = read_text(file, MIB, stage=STAGE)
    try:
        table = json.loads(text)
        times = {int(row["size_bytes"]): float(row["mean_time_ns"]) / _NS_PER_US for row in table["rows"]}
        return Series(str(file.parent), str(table["operation"]), int(table["ranks"]), times)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        hint = "make it again: fabric collective OPERATION --out DIR"
        raise InputErrors(STAGE, [Problem(str(file), "is not a table of `fabric collective`", hint)]) from error


def _of_transfers(run: RunDir, like: Series) -> Series:
    taken: dict[tuple[str, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    table = run.transfers(["start_ns", "arrived_ns", "state", "operation"])
    start, arrived = (table[name].to_numpy(zero_copy_only=False).astype(float) for name in ("start_ns", "arrived_ns"))
    names = np.array(table["operation"].to_pylist(), np.str_)
    for it in schedules(run).entries:
        mine = np.flatnonzero(np.char.startswith(names, f"{it.name}/"))
        for call, rows in _calls(it):
            begins, ends = start[mine[rows]], arrived[mine[rows]]
            if np.isnan(begins).any() or np.isnan(ends).any():
                text = f"{it.operations[call.number]} did not end"
                raise InputErrors(STAGE, [Problem(str(run.path), text, "run it for longer")])
            taken[call.operation, len(call.ranks)][call.size_bytes].append((ends.max() - begins.min()) / _NS_PER_US)
    able = [key for key in taken if like.operation in {"", key[0]} and like.n_ranks in {0, key[1]}]
    if len(able) != 1:
        known = ", ".join(f"{operation} of {n} ranks" for operation, n in taken) or "no whole collective operation"
        wanted = f"{like.operation or 'an operation'} of {like.n_ranks or 'some'} ranks"
        text = f"has {known}; {like.name} has {wanted}"
        raise InputErrors(STAGE, [Problem(str(run.path), text, "compare with a run of that operation")])
    operation, n_ranks = able[0]
    times = {size: sum(each) / len(each) for size, each in taken[able[0]].items()}
    return Series(str(run.path), operation, n_ranks, times)


def _calls(it: Schedule) -> list[tuple[Call, Any]]:
    """Each collective operation with its rows that cross the network."""
    found = []
    for call in dict.fromkeys(fold(it.rows, it.groups).calls.values()):
        rows = it.rows
        inside = (rows.operation == call.number) & np.isin(rows.src, call.ranks) & (rows.src != rows.dst)
        found.append((call, np.flatnonzero(inside & (rows.small_bytes + rows.unit_bytes > 0))))
    return found


def _of_messages(run: RunDir) -> Series:
    """One all-to-all of hosts."""
    columns = ["src", "dst", "size_bytes", "start_ns", "end_ns", "state"]
    rows = run.messages(columns).to_pydict()
    pairs = set(zip(rows["src"], rows["dst"], strict=True))
    hosts = {name for pair in pairs for name in pair}
    n, blocks = len(hosts), set(rows["size_bytes"])
    if len(pairs) != n * (n - 1) or len(rows["src"]) != len(pairs) or len(blocks) != 1:
        text = "has neither a collective operation nor one all-to-all: every host to every other once, in one size"
        hint = "run a workload of kind collective, or one of kind all-to-all alone"
        raise InputErrors(STAGE, [Problem(str(run.path), text, hint)])
    if set(rows["state"]) != {"done"}:
        raise InputErrors(STAGE, [Problem(str(run.path), "has messages that did not end", "run it for longer")])
    time_us = (max(rows["end_ns"]) - min(rows["start_ns"])) / _NS_PER_US
    # nccl-tests prints the whole send buffer, with the block that stays at its rank.
    return Series(str(run.path), "all-to-all", n, {n * blocks.pop(): time_us})
