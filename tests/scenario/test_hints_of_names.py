"""Hints for a name that nothing has: what there is, of each kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.errors import InputErrors, Problem
from fabric.scenario.job_files import read_job
from fabric.topology.registry import build_topology, parse_topology
from fabric.topology.select import match_links


def test_a_job_that_is_no_file_is_answered_with_the_jobs_of_the_package_first(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"scenario{number}.yml").write_text("name: it\n", encoding="utf-8")
    with pytest.raises(InputErrors) as caught:
        read_job("tiny", (), tmp_path)
    assert caught.value.problems[0].hint.startswith("jobs: llama3-8b, ")
    with pytest.raises(InputErrors) as caught:
        read_job("scenario10.yml", (), tmp_path)
    assert "scenario1.yml" in caught.value.problems[0].hint


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
    assert problem.hint.startswith("nodes: host1, leaf1, spine1, host2, leaf2, spine2, ")
