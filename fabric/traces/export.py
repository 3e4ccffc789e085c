"""Schedules in ranks -> files of another tool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabric.collectives.transfers import OperationGroup, Transfers
from fabric.errors import InputErrors, Problem
from fabric.traces.builder import DEFAULT
from fabric.traces.chakra.reader import groups_file
from fabric.traces.chakra.writer import write_chakra
from fabric.traces.fold import Call, fold
from fabric.traces.goal.binary import write_goal_binary
from fabric.traces.goal.text import MAX_TAG
from fabric.traces.goal.writing import write_goal_text
from fabric.traces.graph import Trace
from fabric.traces.order import carry_out
from fabric.traces.unfold import unfold

ENDINGS: Final = {"chakra": "", "goal": ".goal", "goal-binary": ".bin"}
"""Format -> what is added to the name; Chakra files add their rank."""


@dataclass(frozen=True)
class Written:
    """One trace that was written."""

    file: Path
    """What names it for a reader: of Chakra files their prefix."""
    trace: Trace
    algorithms: dict[str, str]
    """Collective operation -> the algorithm of the schedule, where it is not the reader's default."""
    notes: list[str]


def as_trace(
    rows: Transfers, groups: Sequence[OperationGroup], n_ranks: int, name: str, *, collectives: bool
) -> tuple[Trace, list[Call], list[str]]:
    """A schedule in the neutral form, its collective operations, and what is not in it.

    Raises: InputErrors where it is too large, or cannot be carried out once its collective operations are whole.
    """
    if not collectives:
        return unfold(rows, n_ranks, name), [], []
    folded = fold(rows, groups, equal_shares=True)
    trace = unfold(folded.transfers, n_ranks, name, folded.calls)
    try:
        carry_out(trace)
    except InputErrors as error:
        text = f"its collective operations overlap in a way that whole operations cannot: {error.problems[0].text}"
        raise InputErrors("export", [Problem(name, text, "write messages: --messages, or --format goal")]) from error
    notes = ["delays of single messages of collective operations are left out"] if folded.has_delays else []
    return trace, list(dict.fromkeys(folded.calls.values())), notes


def write(
    rows: Transfers, groups: Sequence[OperationGroup], n_ranks: int, target: tuple[Path, str], form: str, *,
    collectives: bool,
) -> Written:  # fmt: skip
    """Write one schedule.

    Parameters
    ----------
    target : (folder that exists, name)
    form : a name of ENDINGS
    collectives : keep collective operations where the format has them; else each becomes its messages

    Raises: InputErrors; OSError.
    """
    folder, name = target
    trace, calls, notes = as_trace(rows, groups, n_ranks, name, collectives=collectives and form == "chakra")
    file = folder / f"{name}{ENDINGS[form]}"
    if form == "chakra":
        write_chakra(trace, file)
    elif form == "goal":
        write_goal_text(trace, file, MAX_TAG)
    else:
        write_goal_binary(trace, file)
    algorithms: dict[str, str] = {}
    for call in calls:
        used = algorithms.setdefault(call.operation, call.algorithm)
        if used != call.algorithm:
            notes.append(f"{call.operation} by {used} and by {call.algorithm}: a reader takes one for all")
    chosen = {it: used for it, used in algorithms.items() if used not in {"", DEFAULT[it]}}
    return Written(file, trace, chosen, list(dict.fromkeys(notes)))


def files_of(name: Path, form: str, n_ranks: int) -> list[Path]:
    """The files that `write` makes."""
    if form != "chakra":
        return [name.with_name(name.name + ENDINGS[form])]
    return [groups_file(name), *(name.with_name(f"{name.name}.{rank}.et") for rank in range(n_ranks))]
