"""Scenario files -> Scenario: read, override, validate, check; each stage reports all of its problems together."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from fabric import shipped
from fabric.errors import InputErrors, Problem
from fabric.scenario.checks import check
from fabric.scenario.problems import explain
from fabric.scenario.schema import Scenario
from fabric.scenario.yaml_input import parse_yaml, read_yaml

_STEP: Final = re.compile(r"([^.\[\]]+)|\[([0-9]+)\]")


def load_scenario(path: Path | str, sets: Sequence[str] = ()) -> Scenario:
    """A scenario from a file, or one that comes with the package, with `--set` overrides applied.

    Raises: InputErrors, with every problem of the first stage that finds any.
    """
    file = shipped.scenario(Path(path))
    return build_scenario(apply_overrides(read_yaml(file), sets), file)


def build_scenario(raw: Mapping[str, Any], file: Path) -> Scenario:
    """A scenario from plain data; `file` names it in messages and is where relative files are looked for."""
    try:
        scenario = Scenario.model_validate(dict(raw)).read_from(file)
    except ValidationError as error:
        raise InputErrors("checking the scenario", explain(error, raw, file.name)) from error
    problems = check(scenario)
    if problems:
        raise InputErrors("checking the scenario", problems)
    return scenario


def apply_overrides(raw: Mapping[str, Any], sets: Sequence[str]) -> dict[str, Any]:
    """`path=value` on top of a scenario's data.

    A path is dotted, list entries are counted from 0: 'transport.cc=none', 'workload[0].size=4MB'. The value is YAML,
    so 'switches.lossless=[3,4]' is a list; 'null' removes the field. The last step may be new, all others must exist,
    except that a section left out is created.

    Raises: InputErrors.
    """
    tree = deepcopy(dict(raw))
    problems: list[Problem] = []
    for item in sets:
        path, equals, text = item.partition("=")
        steps: list[str | int] = [int(number) if number else word for word, number in _STEP.findall(path)]
        if not equals or not steps or "".join(_spell(steps)) != path.replace(".", "", 0):
            problems.append(Problem(f"--set {item}", "is not path=value", "such as --set transport.cc=none"))
            continue
        try:
            value = parse_yaml(f"value: {text}" if text else "value: ''", Path("--set"))["value"]
        except InputErrors as error:
            problems.append(Problem(f"--set {item}", error.problems[0].text, "quote the value"))
            continue
        _put(tree, steps, value, item, problems)
    if problems:
        raise InputErrors("applying --set", problems)
    return tree


def _spell(steps: Sequence[str | int]) -> list[str]:
    return [f"[{step}]" if isinstance(step, int) else f".{step}" if number else step
            for number, step in enumerate(steps)]


def _put(tree: dict[str, Any], steps: Sequence[str | int], value: object, item: str, problems: list[Problem]) -> None:
    here: Any = tree
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        at = "".join(_spell(steps[:number])) or "the scenario"
        if isinstance(here, list):
            if not isinstance(step, int) or step >= len(here):
                problems.append(Problem(f"--set {item}", f"{at} is a list of {len(here)}", f"write {at}[0], ..."))
                return
        elif not isinstance(here, dict) or isinstance(step, int):
            problems.append(Problem(f"--set {item}", f"{at} has no parts", "write the whole value"))
            return
        if last:
            if value is None and isinstance(here, dict):
                here.pop(step, None)
            else:
                here[_key(here, step)] = value
            return
        if isinstance(here, dict) and _key(here, step) not in here:
            if number == 0 and step not in Scenario.model_fields:
                close = difflib.get_close_matches(str(step), Scenario.model_fields, n=1)
                problems.append(Problem(f"--set {item}", f"'{step}' is no section of a scenario",
                                        f"did you mean '{close[0]}'?" if close else ", ".join(Scenario.model_fields)))
                return
            here[step] = {}
        here = here[_key(here, step)]


def _key(here: Mapping[Any, Any] | list[Any], step: str | int) -> str | int:
    """Mappings such as dscp_to_tc have whole numbers for keys."""
    if isinstance(here, Mapping) and isinstance(step, str) and step.isdigit():
        return int(step)
    return step
