"""`fabric scenario check` reports problems of all stages, and none that only the others cause."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.errors import InputErrors
from fabric.scenario.compile.check_whole import check_whole

GOOD: dict[str, Any] = {
    "name": "whole",
    "topology": {
        "kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "host_rate": "100G",
        "fabric_rate": "100G", "host_cable": "3m", "fabric_cable": "30m",
    },
    "switches": {"asic": "trident3", "ecn": {"kmin": "100KB", "kmax": "400KB", "pmax": 0.2}},
    "workload": [
        {"kind": "incast", "receiver": "host1", "senders": ["host5"], "size": "1MB"},
        {"kind": "permutation", "size": "1MB"},
    ],
    "faults": [
        {"kind": "slow-receiver", "hosts": ["host2"], "drain": "20G", "at": "50us"},
        {"kind": "link-down", "link": "leaf1--spine1", "at": "100us"},
    ],
    "run": {"duration": "100ms", "seed": 1},
}  # fmt: skip


def places(path: Path, *changes: tuple[str, object]) -> list[str]:
    """Where there are problems, with some values changed: 'faults.0.hosts'."""
    data = yaml.safe_load(yaml.safe_dump(GOOD))
    for where, value in changes:
        *steps, last = [int(it) if it.isdigit() else it for it in where.split(".")]
        here = data
        for step in steps:
            here = here[step]
        here[last] = value
    file = path / "whole.yml"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    try:
        check_whole(file)
    except InputErrors as error:
        return [it.path.removeprefix("whole.yml: ") for it in error.problems]
    return []


HOST = ("faults.0.hosts", ["host40"])
CABLE = ("faults.1.link", "leaf2-spine1")
HOST_AND_CABLE = ["faults[0].hosts", "faults[1].link"]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ([], []),
        ([HOST, CABLE], HOST_AND_CABLE),
        ([("workload.0.receiver", "host99"), HOST, CABLE], ["workload[0].receiver", *HOST_AND_CABLE]),
        ([("workload.1.kind", "permutaton"), HOST, CABLE], ["workload[1].kind", *HOST_AND_CABLE]),
        ([("faults.0.drain", "20"), CABLE], ["faults[0].drain", "faults[1].link"]),
        ([("switches.ecn.pmax", "20%"), CABLE], ["switches.ecn.pmax", "faults[1].link"]),
        ([("topology.host_rate", 100), CABLE], ["topology.host_rate", "faults[1].link"]),
        ([("run.duration", 20), CABLE], ["run.duration", "faults[1].link"]),
        ([("topology.leaves", "x"), CABLE], ["topology.leaves"]),  # names may be others in the fabric that was meant
    ],
)  # fmt: skip
def test_a_stage_with_problems_does_not_hide_those_of_the_next(
    tmp_path: Path, changes: list[tuple[str, object]], found: list[str]
) -> None:
    assert places(tmp_path, *changes) == found
