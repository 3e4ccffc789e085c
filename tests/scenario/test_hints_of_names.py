"""Hints for a name that nothing has: what there is, of each kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.errors import InputErrors, Problem
from fabric.scenario.job_files import read_job
from fabric.scenario.yaml_input import read_yaml
from fabric.topology.registry import build_topology, parse_topology
from fabric.topology.select import match_links, match_ports, nearest


def test_a_job_that_is_no_file_is_answered_with_the_jobs_of_the_package_first(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"scenario{number}.yml").write_text("name: it\ntopology: {}\n", encoding="utf-8")
    (tmp_path / "mine.yml").write_text("name: mine\nmodel: llama3-8b\n", encoding="utf-8")
    with pytest.raises(InputErrors) as caught:
        read_job("small", (), tmp_path)
    [problem] = caught.value.problems
    assert problem.hint.startswith("jobs: ")
    assert "scenario" not in problem.hint
    assert {"llama3-8b", "mine.yml"} <= set(problem.hint.removeprefix("jobs: ").split(", "))
    with pytest.raises(InputErrors) as caught:
        read_job("mein.yml", (), tmp_path)
    assert caught.value.problems[0].hint == "did you mean 'mine.yml'?"


def test_a_scenario_that_is_no_file_is_answered_with_scenarios(tmp_path: Path) -> None:
    (tmp_path / "qqqqqqqq.yml").write_text("name: it\ntopology: {}\n", encoding="utf-8")
    (tmp_path / "qqqqqqqr.yml").write_text("model: llama3-8b\n", encoding="utf-8")
    with pytest.raises(InputErrors) as caught:
        read_yaml(tmp_path / "qqqqqqqr")
    assert caught.value.problems[0].hint == "did you mean 'qqqqqqqq.yml'?"


def test_the_nodes_that_a_hint_lists_are_of_every_tier() -> None:
    raw = {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 2,
        "hosts_per_leaf": 16,
        "host_rate": "100G",
        "fabric_rate": "100G",
    }
    problems: list[Problem] = []
    match_links(build_topology(parse_topology(raw)), "tor9--spine1", "faults[0].link", problems)
    [problem] = problems
    assert problem.hint == "nodes: host9, leaf1, spine1, host19, leaf2, spine2, host29, host1, ... (36 in all)"


def test_a_switch_that_a_rail_fabric_has_not_is_answered_with_near_names_and_switches() -> None:
    raw = {"kind": "rail", "pods": 2, "nodes_per_pod": 8, "rails": 4, "spines": 2, "host_rate": "400G"}
    fabric = build_topology(parse_topology({**raw, "fabric_rate": "400G"}))
    problems: list[Problem] = []
    match_ports(fabric, "leaf3", "faults[0].port", problems)
    names = problems[0].hint.removeprefix("nodes: ").split(", ")
    assert "p1-rail3" in names[:3]
    assert {fabric.by_name[name].tier for name in names[:3]} == {0, 1, 2}


def test_a_list_begins_with_the_nearest_and_has_a_few_of_each_kind() -> None:
    hosts, ports = [f"host{number}" for number in range(1, 40)], [f"swp{number}" for number in range(1, 5)]
    assert nearest("sw-port-99", [*hosts, *ports], "names").startswith("names: swp1, host")
    few = nearest("sw-port-99", [*hosts, *ports], "names").removeprefix("names: ").split(", ")
    assert {"swp1", "swp2", "swp3", "swp4"} < set(few)
    assert nearest("", ["b", "a"]) == "valid: b, a"
    assert nearest("zzz", ["alpha", "fuzz", "beta"], "words").startswith("words: fuzz, alpha, beta")
    assert nearest("x", []) == ""
