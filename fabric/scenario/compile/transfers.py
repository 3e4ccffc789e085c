"""Transfers of all entries of `workload:`, joined for the engine and checked as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.collectives.transfers import NEED_COLUMNS, TRANSFER_COLUMNS, Event, OperationGroup, ScheduleEntry
from fabric.collectives.transfers import Transfers as Schedule
from fabric.dataplane.state.params import Transfers, no_transfers
from fabric.dataplane.state.schedule import cycle_of, unfinished
from fabric.errors import Problem
from fabric.scenario.schema.scenario import Scenario
from fabric.topology.model import Fabric
from fabric.workload.placed import PlacedTransfers

MOST_RECORDED: Final = 2_000_000
"""Messages of transfers up to which their times are recorded without being asked for: 50 MB of results."""
_MOST_NAMED: Final = 8
Ints = NDArray[np.int64]


def problems_of(placed: PlacedTransfers, name: str, path: str, fabric: Fabric, duration_ps: int) -> Iterator[Problem]:
    """What is wrong with one entry's transfers."""
    rows = placed.rows
    wrong = list(rows.problems())
    if len(rows) and max(rows.src.max(), rows.dst.max()) >= len(placed.host_of):
        wrong.append("a transfer names a rank without a host")
    if placed.groups and len(placed.groups) != len(names_of(placed, name)):
        wrong.append(f"{len(placed.groups)} groups are given for {len(names_of(placed, name))} operations")
    for text in wrong:
        yield Problem(path, text, "correct the schedule")
    if wrong or not len(rows):
        return
    shared = np.flatnonzero((rows.src != rows.dst) & (placed.src == placed.dst))
    if len(shared):
        row = int(shared[0])
        host = fabric.nodes[int(placed.src[row])].name
        yield Problem(
            path,
            f"ranks {rows.src[row]} and {rows.dst[row]} exchange messages and are both on '{host}'",
            "place ranks that exchange messages on different hosts",
        )
    late = rows.start_ps >= duration_ps
    if late.any():
        start_us = rows.start_ps[late].min() / 1e6
        yield Problem(
            path,
            f"a transfer starts at {start_us:g} us, after the end of the run (run.duration)",
            "start it earlier or run longer",
        )
    stuck = unfinished(rows)
    if len(stuck):
        cycle = cycle_of(rows, stuck)
        text = " -> ".join(_told(placed, name, row) for row in [*cycle[:_MOST_NAMED], cycle[0]])
        yield Problem(
            path, f"{len(stuck)} transfers can never finish; these wait for each other: {text}", "remove one need"
        )


def records_messages(scenario: Scenario, messages: float) -> bool:
    """Whether a run of this scenario, with this many messages of transfers, records the times of each."""
    wanted = scenario.telemetry.transfer_messages
    return messages > 0 and (messages <= MOST_RECORDED if wanted is None else wanted == "on")


def _told(placed: PlacedTransfers, name: str, row: int) -> str:
    rows = placed.rows
    operation = names_of(placed, name)[int(rows.operation[row])]
    return f"#{row} of {operation} (rank {rows.src[row]} to rank {rows.dst[row]})"


def names_of(placed: PlacedTransfers, name: str) -> list[str]:
    """'ENTRY/OPERATION' of each operation of an entry."""
    n_operations = int(placed.rows.operation.max(initial=-1)) + 1
    given = placed.operations or [str(number) for number in range(n_operations)]
    return [f"{name}/{operation}" for operation in given]


def joined(entries: Sequence[tuple[str, PlacedTransfers]], qp: Ints) -> Transfers:
    """One table of all entries, ranks replaced by NodeIds; qp: (n,), -1 for computations."""
    parts: dict[str, list[Ints]] = {column: [] for column in (*TRANSFER_COLUMNS, *NEED_COLUMNS)}
    operations: list[str] = []
    groups: list[OperationGroup] = []
    offset = 0
    for name, placed in entries:
        rows = replace(
            placed.rows,
            src=placed.src,
            dst=placed.dst,
            operation=placed.rows.operation + len(operations),
            earlier=placed.rows.earlier + offset,
            later=placed.rows.later + offset,
        )
        for column, found in parts.items():
            found.append(getattr(rows, column))
        named = names_of(placed, name)
        operations += named
        groups += placed.groups or [OperationGroup()] * len(named)
        offset += len(rows)
    if not offset:
        return no_transfers()
    for column, more in zip(NEED_COLUMNS, _between(entries), strict=True):
        parts[column].append(more)
    columns = {column: np.concatenate(found).astype(np.int64) for column, found in parts.items()}
    ranks = np.concatenate([[placed.rows.src, placed.rows.dst] for _, placed in entries], axis=1).astype(np.int64)
    told = [replace(placed.entry or ScheduleEntry(name), name=name) for name, placed in entries if len(placed)]
    return Transfers(Schedule(**columns), qp, operations, ranks, groups, told)


def _between(entries: Sequence[tuple[str, PlacedTransfers]]) -> Ints:
    """(5, n) needs between entries, in the order of NEED_COLUMNS: a job waits for those that hold its hosts."""
    ends: dict[tuple[str, int], list[int]] = {}
    offset = 0
    for name, placed in entries:
        for row, host in zip((placed.ends + offset).tolist(), placed.src[placed.ends].tolist(), strict=True):
            ends.setdefault((name, host), []).append(row)
        offset += len(placed)
    found: list[tuple[int, int, int, int, int]] = []
    offset = 0
    for _, placed in entries:
        for row, name in placed.after:
            holders = ends.get((name, int(placed.src[row])), [])
            found += [(earlier, offset + row, 1, 0, Event.COMPLETED) for earlier in holders]
        offset += len(placed)
    return np.array(found, np.int64).reshape(-1, len(NEED_COLUMNS)).T
