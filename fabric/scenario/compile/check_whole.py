"""Every problem of a scenario file that one pass can find: a stage with problems does not hide those of later stages.

Compilation stops at the first stage with problems, because the next one reads what is wrong. Here the parts that have
problems are removed (entries of `workload` and `faults`, and single values), and the rest is checked again. A problem
that is there only because a part was removed is no problem of the file, so a later pass reports only problems of parts
from which nothing was removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

from fabric import shipped
from fabric.errors import FabricError, InputErrors, Problem
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario, place
from fabric.scenario.load import apply_overrides, build_scenario, load_scenario
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.yaml_input import read_yaml

_LISTS: Final = ("workload", "faults")
_SETTINGS: Final = ("switches", "hosts", "transport", "run", "telemetry")
"""Sections of which single values are removed. Without a value of the topology the fabric would be another one."""
_ENTRY: Final = re.compile(rf"^({'|'.join(_LISTS)})\[([0-9]+)\]")
_STEP: Final = re.compile(r"([^.\[\]]+)|\[([0-9]+)\]")
_PASSES: Final = 12
_NOTHING: Final = object()
_NO_ENTRY: Final = -1
_STAND_INS: Final = {("topology", "_rate"): "100G", ("topology", "_cable"): "3m", ("run", "duration"): "1s"}
"""(section, end of a field's name) -> a value for required fields that decide no name."""


def check_whole(file: Path, sets: Sequence[str] = ()) -> tuple[Scenario, CompiledScenario]:
    """A scenario, checked and compiled. Raises: InputErrors with the problems of all stages."""
    try:
        scenario = load_scenario(file, sets)
        return scenario, compile_scenario(scenario)
    except InputErrors as first:
        raise InputErrors(first.stage, [*first.problems, *_later(file, sets, first.problems)]) from first


def _later(file: Path, sets: Sequence[str], first: Sequence[Problem]) -> list[Problem]:
    """Problems of the parts in which the first stage found none."""
    try:
        named = shipped.scenario(file)
        tree = deepcopy(apply_overrides(read_yaml(named), sets))
    except (FabricError, OSError):
        return []
    kept = {name: list(range(len(tree[name]))) for name in _LISTS if isinstance(tree.get(name), list)}
    found: list[Problem] = []
    touched: set[str] = set()
    there = tuple(first)
    for _ in range(_PASSES):
        if not _without(tree, kept, [_place_of(it) for it in there], touched):
            break
        try:
            place(build_scenario(tree, named))
            break
        except InputErrors as error:
            there = error.problems
        except FabricError:
            break
        reported = {(it.path, it.text) for it in (*first, *found)}
        here = [_moved(it, kept) for it in there]
        found += [it for it in here if (it.path, it.text) not in reported and _is_its_own(it, touched)]
    return found


def _place_of(problem: Problem) -> str:
    """'faults[0].hosts' of 'mine.yaml: faults[0].hosts'."""
    return problem.path.rpartition(": ")[2]


def _is_its_own(problem: Problem, touched: Iterable[str]) -> bool:
    """Whether a problem would be there without the parts that were taken out."""
    where = _place_of(problem)
    section = re.split(r"[.\[]", where)[0]
    if where.startswith(f"workload[{_NO_ENTRY}]"):
        return False
    if section not in (*_LISTS, *_SETTINGS) or where in _LISTS or "no effect" in problem.text:
        return False
    return not any(
        where.startswith(it) or (it.startswith(where) and re.split(r"[.\[]", it)[-1] in problem.text) for it in touched
    )


def _without(tree: dict[str, Any], kept: dict[str, list[int]], places: Iterable[str], touched: set[str]) -> bool:
    """Take out the parts at some places, as they are counted in `tree`; False where one must stay."""
    entries: dict[str, set[int]] = {}
    for where in places:
        if entry := _ENTRY.match(where):
            entries.setdefault(entry[1], set()).add(int(entry[2]))
        elif not _value_without(tree, where):
            return False
        else:
            touched.add(where)
    for name, rows in entries.items():
        touched |= {f"{name}[{kept[name][row]}]" for row in rows if row < len(kept.get(name, ()))}
        tree[name] = [it for row, it in enumerate(tree[name]) if row not in rows]
        kept[name] = [it for row, it in enumerate(kept[name]) if row not in rows]
    if not tree.get("workload") and "workload" in kept:  # a scenario without traffic is refused
        tree["workload"], kept["workload"] = [{"kind": "permutation", "size": "1MB"}], [_NO_ENTRY]
    return bool(entries) or bool(touched)


def _value_without(tree: dict[str, Any], where: str) -> bool:
    """Remove one written value of a section of settings, or replace it by one on which no name depends."""
    steps: list[str | int] = [int(number) if number else word for word, number in _STEP.findall(where)]
    if len(steps) < 2:
        return False
    here: Any = tree
    for step in steps[:-1]:
        if not (isinstance(here, dict) and step in here):
            return False
        here = here[step]
    if not isinstance(here, dict):
        return False
    name = str(steps[-1])
    fitting = (it for (section, end), it in _STAND_INS.items() if section == steps[0] and name.endswith(end))
    stand_in = next(fitting, None)
    if stand_in is not None and here.get(name) != stand_in:
        here[name] = stand_in
        return True
    if steps[0] not in _SETTINGS:
        return False
    return here.pop(name, _NOTHING) is not _NOTHING or _value_without(tree, where.rpartition(".")[0])


def _moved(problem: Problem, kept: dict[str, list[int]]) -> Problem:
    """With the number that its entry has in the file."""
    file, colon, where = problem.path.rpartition(": ")
    entry = _ENTRY.match(where)
    if entry is None or int(entry[2]) >= len(kept.get(entry[1], ())):
        return problem
    number = kept[entry[1]][int(entry[2])]
    return Problem(f"{file}{colon}{entry[1]}[{number}]{where[entry.end() :]}", problem.text, problem.hint)
