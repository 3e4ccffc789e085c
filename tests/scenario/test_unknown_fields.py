"""A file of another kind may hold a million unknown fields: many of them in one mapping are one error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.errors import InputErrors, Problem
from fabric.scenario.load import build_scenario
from fabric.topology.spec import MOST_UNKNOWN

CABLES = {"host_rate": "100G", "fabric_rate": "100G"}
SCENARIO: dict[str, Any] = {
    "name": "s",
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2, **CABLES},
    "workload": [{"kind": "permutation", "size": "1MB"}],
    "run": {"duration": "1ms"},
}


def unknown(count: int) -> dict[str, int]:
    return {f"key{number}": number for number in range(count)}


def problems(place: str, fields: dict[str, Any]) -> list[Problem]:
    raw = dict(SCENARIO)
    if place == "":
        raw |= fields
    elif place == "workload[0]":
        raw["workload"] = [raw["workload"][0] | fields]
    else:
        raw[place] = raw.get(place, {}) | fields
    with pytest.raises(InputErrors) as found:
        build_scenario(raw, Path("s.yml"))
    return list(found.value.problems)


@pytest.mark.parametrize("place", ["", "topology", "workload[0]", "transport", "run"])
def test_unknown_fields_are_named_up_to_a_number_and_counted_above_it(place: str) -> None:
    assert len(problems(place, unknown(MOST_UNKNOWN))) == MOST_UNKNOWN
    [many] = problems(place, unknown(MOST_UNKNOWN + 1))
    assert many.path == ("s.yml: " + place).removesuffix(": ")
    assert many.text == "has 201 unknown fields, such as 'key0'"
    assert many.hint == "remove them, or give a file of the kind that is read here"


def test_the_example_of_an_unknown_field_is_one_visible_line() -> None:
    [many] = problems("", {"a\n\x1b[31m; b": 1, **unknown(MOST_UNKNOWN)})
    assert "\n" not in many.text
    assert "\x1b" not in many.text
    assert many.hint.startswith("remove them")


def test_many_known_fields_of_a_free_mapping_are_no_error() -> None:
    groups = {f"duct{number}": ["leaf1"] for number in range(10 * MOST_UNKNOWN)}
    assert build_scenario({**SCENARIO, "risk_groups": groups}, Path("s.yml")).risk_groups is not None
