"""Any file gives a compiled scenario or InputErrors, never another exception."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from fabric.scenario.yaml_input import parse_yaml, read_yaml

FOLDER = Path(__file__).parents[2] / "scenarios"
SMALL = [read_yaml(FOLDER / f"{name}.yml") for name in ("incast", "pause-storm", "ecn-drift", "vxlan-mtu", "dual-tor")]
JUNK = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        3,
        10**30,
        1.5,
        float("nan"),
        float("inf"),
        "",
        "x",
        "*",
        "host1",
        "leaf1",
        "leaf1:*",
        "1MB",
        "0B",
        "100G",
        "10us",
        "1e-30s",
        "99999999999999s",
        "auto",
        "off",
        "never",
        [],
        {},
        [None],
        {"kind": "incast"},
        ["host1", "host1"],
        {3: "strict"},
        [[]],
        {"": 1},
        "leaf1--spine1",
        "leaf[",
        "☃",
        "a" * 5000,
    ]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:  # noqa: ANN401  YAML data
    inner = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    return [path, *(place for key, child in inner for place in places(child, (*path, key)))]


def replaced(raw: dict[str, Any], path: tuple[Any, ...], value: object) -> dict[str, Any]:
    copy: Any = deepcopy(raw)
    here = copy
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = value
    return copy  # type: ignore[no-any-return]


def answer(raw: dict[str, Any]) -> None:
    try:
        compile_scenario(build_scenario(raw, FOLDER / "fuzz.yml"))
    except InputErrors as error:
        problems = error.problems
    else:
        return
    assert problems
    assert all(problem.text for problem in problems)


@settings(max_examples=120)
@given(raw=st.sampled_from(SMALL), data=st.data())
def test_any_one_value_replaced_by_junk_is_compiled_or_explained(raw: dict[str, Any], data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(places(raw)[1:]))
    answer(replaced(raw, path, data.draw(JUNK)))


@settings(max_examples=80)
@given(raw=st.sampled_from(SMALL), data=st.data())
def test_any_field_added_anywhere_is_compiled_or_explained(raw: dict[str, Any], data: st.DataObject) -> None:
    section = data.draw(st.sampled_from(["switches", "hosts", "transport", "run", "telemetry", "vxlan"]))
    names = {
        "switches": [
            "pool",
            "memory",
            "cell",
            "mtu",
            "latency",
            "tc_to_pg",
            "watchdog",
            "overrides",
            "hash",
            "lossless",
            "scheduler",
            "pfc_priorities",
            "buffer",
            "shared_headroom",
            "asic",
        ],
        "hosts": ["drain", "rx_buffer", "rx_xoff", "mtu", "overrides", "latency"],
        "transport": ["mtu", "window", "qp", "ack_dscp", "dscp", "dcqcn", "recovery"],
        "run": ["seed", "stop", "no_progress"],
        "telemetry": ["interval", "events"],
        "vxlan": ["dscp", "ecn"],
    }[section]
    changed = deepcopy(raw)
    changed.setdefault(section, {})
    changed[section][data.draw(st.sampled_from(names))] = data.draw(JUNK)
    answer(changed)


@settings(max_examples=200)
@given(st.text(alphabet="ab:-[]{}&*!|>#\"'\n 01", max_size=60))
def test_any_text_is_a_mapping_or_explained(text: str) -> None:
    try:
        found: Any = parse_yaml(text, Path("fuzz.yml"))
    except InputErrors as error:
        found = {problem.path: problem.text for problem in error.problems}
    assert isinstance(found, dict)
