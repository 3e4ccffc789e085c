"""Growth as changes of a scenario: one more pod, faster links, one more job, or any value.

Each text of `--grow` is one variant; its parts are joined by '+':

    pod              one pod more (a leaf more in a leaf-spine fabric, a rack more with two ToRs)
    400G:800G        every rate of the topology that is 400G becomes 800G
    job              the last job of the workload once more, in front of it the last entry where there is no job
    PATH=VALUE       as --set
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from fabric.errors import InputErrors, Problem, UnitError
from fabric.scenario.load import apply_overrides
from fabric.topology.quantities import exact_rate
from fabric.units import parse_rate_bps

_PODS: Final = {
    "clos3": ("pods", None),
    "leaf-spine": ("leaves", None),
    "rail": ("pods", 1),
    "dual-tor": ("racks", None),
}
"""Kind of topology -> (field that counts its pods, default)."""
RATES: Final = ("host_rate", "fabric_rate", "core_rate")
STAGE: Final = "growing the scenario"


def grown(data: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The scenario's data after the growth of one `--grow`. Raises: InputErrors."""
    found = deepcopy(dict(data))
    problems: list[Problem] = []
    place = f"--grow {text}"
    for part in (it.strip() for it in text.split("+")):
        if part == "pod":
            _pod(found, place, problems)
        elif part == "job":
            _job(found, place, problems)
        elif "=" in part:
            found = apply_overrides(found, [part])
        elif ":" in part:
            _rates(found, part, place, problems)
        else:
            hint = "pod, job, 400G:800G, or a value such as topology.spines=8; several joined by '+'"
            problems.append(Problem(place, f"'{part}' is no growth", hint))
    if problems:
        raise InputErrors(STAGE, problems)
    return found


def _pod(data: dict[str, Any], place: str, problems: list[Problem]) -> None:
    topology = data.get("topology", {})
    kind = topology.get("kind")
    if kind not in _PODS:
        text = f"a topology of kind {kind} has no number of pods"
        problems.append(Problem(place, text, "change its file, and compare two runs with `fabric diff`"))
        return
    field, default = _PODS[kind]
    count = topology.get(field, default)
    if isinstance(count, int):  # otherwise the schema names the problem
        topology[field] = count + 1


def _job(data: dict[str, Any], place: str, problems: list[Problem]) -> None:
    loads = data.get("workload")
    if not isinstance(loads, list) or not loads or not all(isinstance(it, dict) for it in loads):
        problems.append(Problem(place, "the workload has no entry", "add one to the scenario"))
        return
    jobs = [it for it in loads if it.get("kind") == "job"] or loads
    again = deepcopy(jobs[-1])
    names = {it.get("name") or it.get("kind") for it in loads}
    stem = again.get("name") or again.get("kind")
    again["name"] = next(name for n in range(2, len(loads) + 3) if (name := f"{stem}-{n}") not in names)
    loads.append(again)


def _rates(data: dict[str, Any], part: str, place: str, problems: list[Problem]) -> None:
    words = part.split(":")
    try:
        old, new = (parse_rate_bps(it) for it in words)
    except (UnitError, ValueError):
        problems.append(Problem(place, f"'{part}' is not two rates", "such as 400G:800G"))
        return
    topology = data.get("topology", {})
    changed = 0

    def swap(holder: Any, key: Any) -> None:  # noqa: ANN401  parts of a mapping as YAML has them
        nonlocal changed
        try:
            same = parse_rate_bps(holder[key]) == old
        except (UnitError, TypeError, AttributeError):
            return
        if same:
            holder[key] = exact_rate(new)
            changed += 1

    for field in RATES:
        if field in topology:
            swap(topology, field)
    rates = topology.get("host_rates")
    if isinstance(rates, list):
        for index in range(len(rates)):
            swap(rates, index)
    for name in ("link_overrides", "links"):
        for entry in topology.get(name) or ():
            if isinstance(entry, dict) and "rate" in entry:
                swap(entry, "rate")
    if not changed:
        problems.append(Problem(place, f"no rate of the topology is {words[0]}", "name one that its fields have"))
