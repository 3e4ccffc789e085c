"""Scenario files -> Scenario: read, override, validate, check; each stage reports all of its problems together."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from fabric import shipped
from fabric.errors import InputErrors, Problem
from fabric.garbage_collection import without_collector
from fabric.scenario.problems import explain
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.yaml_input import parse_yaml, read_yaml

_SECTIONS: Final = tuple(Scenario.model_fields)
_OF_A_RUN: Final = "manifest.json"
"""The file of a run's folder that is most easily taken for what was run."""
_STEP: Final = re.compile(r"([^.\[\]]+)|\[([0-9]+)\]")


def load_scenario(path: Path | str, sets: Sequence[str] = ()) -> Scenario:
    """A scenario from a file, or one that comes with the package, with `--set` overrides applied.

    Raises: InputErrors, with every problem of the first stage that has problems.
    """
    file = shipped.scenario(Path(path))
    raw = read_yaml(file)
    if file.name == _OF_A_RUN and "format" in raw:
        hint = f"name its folder, {file.parent}, where this command takes a run; else the scenario file of the run"
        raise InputErrors("reading the scenario", [Problem(str(file), "is a file of a run, not a scenario", hint)])
    return build_scenario(apply_overrides(raw, sets), file)


def build_scenario(raw: Mapping[str, Any], file: Path) -> Scenario:
    """A scenario from plain data; `file` names it in messages, and its folder is the base of relative paths."""
    try:
        with without_collector():
            scenario = Scenario.model_validate(dict(raw)).read_from(file)
    except ValidationError as error:
        raise InputErrors("checking the scenario", explain(error, raw, file.name)) from error
    from fabric.scenario.checks import check  # noqa: PLC0415  it loads the engine, which a file with errors does not need

    problems = check(scenario)
    if problems:
        raise InputErrors("checking the scenario", problems)
    return scenario


_SET: Final = "--set "
"""Begins the place of a problem of the command line."""


def apply_overrides(
    raw: Mapping[str, Any], sets: Sequence[str], what: str = "scenario", sections: Collection[str] = _SECTIONS
) -> dict[str, Any]:
    """`path=value` on top of a scenario's data, or of another file's, whose sections are given.

    A path is dotted, list entries are counted from 0: 'transport.cc=none', 'workload[0].size=4MB'. The value is YAML,
    so 'switches.lossless=[3,4]' is a list; 'null' removes a field that is written. The last step may be new; all others
    must exist, except that an absent section is created.

    Raises: InputErrors.
    """
    tree = dict(raw)
    own: set[str | int] = set()
    problems: list[Problem] = []
    for item in sets:
        path, equals, text = item.partition("=")
        steps: list[str | int] = [int(number) if number else word for word, number in _STEP.findall(path)]
        if not equals or not steps or "".join(_spell(steps)) != path.replace(".", "", 0):
            problems.append(Problem(f"{_SET}{item}", "is not path=value", "such as --set transport.cc=none"))
            continue
        try:
            value = parse_yaml(f"value: {text}" if text else "value: ''", Path("--set"))["value"]
        except InputErrors as error:
            problems.append(Problem(f"{_SET}{item}", error.problems[0].text, "quote the value"))
            continue
        _own_section(tree, steps[0], own)
        _put(tree, steps, value, f"{_SET}{item}", problems, what, sections)
    if problems:
        raise InputErrors("applying --set", problems)
    return tree


def apply_values(raw: Mapping[str, Any], values: Mapping[str, object]) -> dict[str, Any]:
    """As apply_overrides, with Python values: {'transport.cc': 'none', 'switches.lossless': [3, 4]}; None removes.

    Raises: InputErrors.
    """
    tree = dict(raw)
    own: set[str | int] = set()
    problems: list[Problem] = []
    for path, value in values.items():
        steps: list[str | int] = [int(number) if number else word for word, number in _STEP.findall(path)]
        if not steps or "".join(_spell(steps)) != path.replace(".", "", 0):
            problems.append(Problem(f"set {path!r}", "is no path", "such as 'transport.cc' or 'workload[0].size'"))
            continue
        _own_section(tree, steps[0], own)
        _put(tree, steps, deepcopy(value), f"set {path!r}", problems)
    if problems:
        raise InputErrors("applying values", problems)
    return tree


def _own_section(tree: dict[Any, Any], step: str | int, own: set[str | int]) -> None:
    """Replace a section that is about to be changed by a copy, once. The other sections, which may hold 100,000
    messages, are shared with the data that was read.
    """
    section = _key(tree, step)
    if section in tree and section not in own:
        tree[section] = deepcopy(tree[section])
    own.add(section)


def _spell(steps: Sequence[str | int]) -> list[str]:
    return [
        f"[{step}]" if isinstance(step, int) else f".{step}" if number else step for number, step in enumerate(steps)
    ]


_START_FROM_A_PRESET: Final = (("transport", "dcqcn"), ("switches", "ecn"))
_WHOLE_CURVE: Final = {"kmin", "kmax", "pmax"}


def _put(
    tree: dict[str, Any], steps: Sequence[str | int], value: object, place: str, problems: list[Problem],
    what: str = "scenario", sections: Collection[str] = _SECTIONS,
) -> None:  # fmt: skip
    here: Any = tree
    if tuple(steps[:-1]) in _START_FROM_A_PRESET:  # a name there is a preset, which one value changes alone
        section, field = tree.get(str(steps[0])), str(steps[1])
        named = section.get(field) if isinstance(section, dict) else None
        if isinstance(section, dict) and isinstance(named, str) and named != "off" and value is not None:
            section[field] = {"preset": named}
        elif isinstance(named, dict) and {*named, steps[-1]} >= _WHOLE_CURVE and value is not None:
            named.pop("preset", None)  # of which nothing is left
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        at = "".join(_spell(steps[:number])) or f"the {what}"
        if isinstance(here, list):
            if not isinstance(step, int) or step >= len(here):
                problems.append(Problem(place, f"{at} is a list of {len(here)}", f"write {at}[0], ..."))
                return
        elif not isinstance(here, dict) or isinstance(step, int):
            hint = "write the whole value"
            if list(steps[:number]) == ["switches", "ecn"] and isinstance(here, str):
                hint += ": kmin, kmax and pmax, or preset and what differs from it"
            problems.append(Problem(place, f"{at} has no parts", hint))
            return
        if last:
            if value is None and isinstance(here, dict):
                removed = here.pop(step, None)
                if steps == ["transport", "cc"] and place.startswith(_SET):
                    text = "null is no congestion control: without the field the default, dcqcn, counts"
                    problems.append(Problem(place, text, "write none for no congestion control, or dcqcn"))
                elif removed is None and place.startswith(_SET):  # a study's null is its default
                    problems.append(Problem(place, "removes nothing: the field is not written", "leave it out"))
            else:
                here[_key(here, step)] = value
            return
        if isinstance(here, dict) and _key(here, step) not in here:
            if number == 0 and step not in sections:
                close = difflib.get_close_matches(str(step), sections, n=1)
                problems.append(
                    Problem(
                        place,
                        f"'{step}' is no section of a {what}",
                        f"did you mean '{close[0]}'?" if close else ", ".join(sections),
                    )
                )
                return
            here[step] = {}
        here = here[_key(here, step)]


def _key(here: Mapping[Any, Any] | list[Any], step: str | int) -> str | int:
    """Mappings such as dscp_to_tc have whole numbers for keys."""
    if isinstance(here, Mapping) and isinstance(step, str) and step.isdigit():
        return int(step)
    return step
