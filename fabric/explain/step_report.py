"""The section of a report about its schedule of transfers: ranks by time, and the critical path by cause."""

from __future__ import annotations

from typing import Final

import numpy as np

from fabric.errors import RunDirError
from fabric.explain.critical_path import NEVER, Path
from fabric.explain.evidence import Evidence
from fabric.explain.intervals import joined
from fabric.explain.step import Step, by_cause, causes_table, path_table, stragglers_table, verdict
from fabric.explain.step_links import link_use, path_map
from fabric.render.document import Bar, Block, Gantt, Prose, Section, Table
from fabric.units import count
from fabric.visible import command

MAX_LANES: Final = 64
MAX_LINES: Final = 40
PIXELS: Final = 1200
"""Bars of a lane closer together than this part of the time are drawn as one."""
KINDS: Final = ("computation", "sending", "critical path")


def step_section(evidence: Evidence) -> tuple[Section, ...]:
    """No section where the run has no transfers."""
    if not evidence.run.summary.get("transfers"):
        return ()
    try:
        step = Step(evidence)
        choice = step.choose(None)
        path = step.path(choice)
    except RunDirError as error:  # their messages were not recorded, or none was posted
        return (Section("step", "Schedule", (Prose(f"{error.text}: {error.hint}."),)),)
    lines = step.lines(path)
    causes = by_cause(lines)
    stragglers = step.stragglers(choice)
    table = path_table(lines, path)
    left = len(table.rows) - MAX_LINES
    if left > 0:
        longest = sorted(sorted(range(len(lines)), key=lambda row: -lines[row].lasted_ns)[:MAX_LINES])
        more = command("fabric", "explain", "step", evidence.run.path)
        note = f"The longest {MAX_LINES}; {count(left, 'shorter stretch', 'shorter stretches')}: {more}."
        table = Table(table.key, table.title, table.columns, tuple(table.rows[row] for row in longest), note)
    blocks: tuple[Block, ...] = (
        Prose(verdict(path, causes, stragglers)),
        _gantt(step, path),
        *path_map(step, path),
        *link_use(step, path),
        causes_table(causes, path.end_ns - path.start_ns),
        table,
        *([stragglers_table(stragglers)] if stragglers else []),
    )
    return (Section("step", "Schedule", blocks),)


def _gantt(step: Step, path: Path) -> Gantt:
    """Ranks by time: those on the critical path first where there are too many, in order of rank."""
    found, transfers = step.found, step.transfers
    entries = list(dict.fromkeys(name.partition("/")[0] for name in step.operations))
    entry = np.array([entries.index(name.partition("/")[0]) for name in step.operations])[transfers.operation]
    who = [(int(entry[row]), int(transfers.src[row]), step.src[row]) for row in range(len(transfers))]
    every = dict.fromkeys(who)
    on_path = {who[int(found.transfer[it.row])] for it in path.stretches if it.row != NEVER}
    ranks = sorted(every, key=lambda it: (it not in on_path, it))[:MAX_LANES]
    lanes = {it: row for row, it in enumerate(sorted(ranks))}
    lane = np.array([lanes.get(it, NEVER) for it in who], np.int64)[found.transfer]
    local = (transfers.src == transfers.dst)[found.transfer]
    until = np.where(local, found.end_ns, found.arrived_ns)
    until = np.where(until == NEVER, step.evidence.end_ns, until)
    gap = (path.end_ns - path.start_ns) // PIXELS
    bars = [
        Bar(row, kind, start, stop)
        for row in range(len(lanes))
        for kind, wanted in ((1, ~local), (0, local))
        for start, stop in joined(found.start_ns, until, (lane == row) & wanted, gap)
    ]
    bars += [
        Bar(int(lane[it.row]), 2, it.start_ns, it.end_ns, it.kind.value if it.end_ns - it.start_ns > 2 * gap else "")
        for it in path.stretches
        if it.row != NEVER and lane[it.row] != NEVER
    ]
    left = len(every) - len(lanes)
    more = f" {count(left, 'rank')} that are not on the critical path are left out." if left else ""
    note = "A rank sends from the posting of a message to its arrival; where its lane is empty, it waits." + more
    many = len(entries) > 1
    names = tuple(f"{entries[number] if many else 'rank'} {rank} ({host})" for number, rank, host in lanes)
    return Gantt("ranks", "Ranks by time", names, KINDS, tuple(bars), note)
