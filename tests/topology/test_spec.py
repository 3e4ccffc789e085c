from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from fabric.errors import InputErrors
from fabric.topology.quantities import exact_length, exact_rate, exact_size, exact_time
from fabric.topology.registry import parse_topology
from fabric.topology.spec import TopologySpec
from fabric.units import parse_length_mm, parse_rate_bps, parse_size_bytes, parse_time_ps

GOOD = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2, "host_rate": "100G", "fabric_rate": "400G"}


def problems_of(raw: object) -> list[str]:
    with pytest.raises(InputErrors) as caught:
        parse_topology(raw)
    return [f"{problem.path}: {problem.text} ({problem.hint})" for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("write", "read"),
    [
        (exact_rate, parse_rate_bps),
        (exact_time, parse_time_ps),
        (exact_size, parse_size_bytes),
        (exact_length, parse_length_mm),
    ],
)
@given(value=st.integers(0, 2**53))
def test_quantities_are_written_without_loss(
    write: Callable[[int], str], read: Callable[[object], int], value: int
) -> None:
    assert read(write(value)) == value


def test_a_spec_dumped_as_json_is_read_back_equal() -> None:
    adapter = TypeAdapter(TopologySpec)
    spec = parse_topology({**GOOD, "link_overrides": [{"a": "leaf1", "b": "spine*", "rate": "100G"}]})
    assert adapter.validate_json(adapter.dump_json(spec)) == spec


def test_all_mistakes_are_reported_together_with_the_nearest_spelling() -> None:
    found = problems_of({**GOOD, "leaves": "2", "hosts_per_leaf": 0, "host_rate": 100, "fabric_rat": "1G"})
    assert [line.split(":")[0] for line in found] == [
        "topology.host_rate",
        "topology.leaves",
        "topology.hosts_per_leaf",
        "topology.fabric_rat",
    ]
    assert "100 has no unit" in found[0]
    assert "did you mean 'fabric_rate'?" in found[-1]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"host_rates": ["25G"]}, "host_rate and host_rates are both given, or neither"),
        ({"host_rate": None}, "host_rate and host_rates are both given, or neither"),
        ({"host_cable": "3m", "host_delay": "15ns"}, "host_cable and host_delay are both given"),
        ({"kind": "leafspine"}, "did you mean 'leaf-spine'?"),
        ({"link_overrides": [{"a": "leaf1", "b": "spine1"}]}, "changes nothing"),
        ({"name": "two words"}, "topology.name"),
        ({"leaves": 4096, "hosts_per_leaf": 4096}, "16,785,408 cables, more than 131,072"),
    ],
)
def test_contradictions_are_refused(changes: dict[str, Any], expected: str) -> None:
    assert any(expected in line for line in problems_of({**GOOD, **changes}))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            {
                "kind": "clos3",
                "pods": 1,
                "leaves_per_pod": 1,
                "spines_per_pod": 4,
                "super_spines": 6,
                "hosts_per_leaf": 1,
                "host_rate": "1G",
                "fabric_rate": "1G",
            },
            "use 4 or 8, or core: full",
        ),
        (
            {"kind": "rail", "nodes_per_pod": 2, "spines": 0, "host_rate": "1G", "fabric_rate": "1G"},
            "rails unconnected",
        ),
        (
            {
                "kind": "rail",
                "pods": 2,
                "endpoints": "node",
                "nodes_per_pod": 2,
                "spines": 0,
                "host_rate": "1G",
                "fabric_rate": "1G",
            },
            "2 pods unconnected",
        ),
        (
            {
                "kind": "dual-tor",
                "racks": 1,
                "hosts_per_rack": 1,
                "spines": 3,
                "planes": 2,
                "host_rate": "1G",
                "fabric_rate": "1G",
            },
            "cannot be halved",
        ),
        ({"kind": "custom"}, "give nodes and links, or file"),
        ({"kind": "custom", "file": "x.json", "default_cable": "1m", "default_delay": "5ns"}, "both given"),
        ({"kind": "custom", "default_rate": "1G"}, "default_rate has no effect without file"),
        ({}, "has no kind"),
        ("leaf-spine", "valid dictionary"),
    ],
)
def test_every_kind_refuses_what_it_cannot_be(raw: object, expected: str) -> None:
    assert any(expected in line for line in problems_of(raw))


def test_two_contradictions_of_one_model_are_two_problems() -> None:
    assert len(problems_of({**GOOD, "host_rates": ["1G"], "fabric_cable": "1m", "fabric_delay": "5ns"})) == 2


def test_json_schema_tells_editors_that_quantities_are_text_with_units() -> None:
    schema = TypeAdapter(TopologySpec).json_schema()
    rate = schema["$defs"]["LeafSpineSpec"]["properties"]["fabric_rate"]
    assert rate["type"] == "string"
    assert "400G" in rate["examples"]
    assert rate["description"] == "Rate of each cable between switches."
