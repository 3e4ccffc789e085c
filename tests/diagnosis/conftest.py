"""Runs of small fabrics, each simulated once for all tests."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.cli.main import main
from fabric.runs.rundir import RunDir
from telemetry.diagnosis.diagnose import diagnose
from telemetry.diagnosis.root import Root
from telemetry.sources.recorded import store_of

Diagnose = Callable[[Mapping[str, Any]], list[Root]]

ALERTS = Path(__file__).parents[2] / "scenarios/alerts"
LEAF_SPINE = {
    "kind": "leaf-spine",
    "leaves": 4,
    "spines": 2,
    "hosts_per_leaf": 4,
    "host_rate": "100G",
    "fabric_rate": "100G",
}


def scenario(*faults: Mapping[str, Any], **changes: Any) -> dict[str, Any]:  # noqa: ANN401  values of a scenario file
    """16 hosts behind 4 leaves and 2 spines at a quarter of their load, 6 ms; `changes` replace whole sections."""
    found: dict[str, Any] = {
        "name": "diagnosed",
        "topology": LEAF_SPINE,
        "switches": {"asic": "trident3"},
        "transport": {"qp": {"per": "pair"}, "retransmit_timeout": "1ms"},
        "workload": [
            {"name": "background", "kind": "poisson", "sizes": "fixed", "size": "64KB", "load": 0.25, "stop": "6ms"}
        ],
        "faults": list(faults),
        "telemetry": {"interval": "500us", "events": []},
        "run": {"duration": "6ms", "stop": "duration"},
    }
    return found | changes


def played(folder: Path, data: Mapping[str, Any]) -> RunDir:
    """The run of a scenario, in a folder."""
    (folder / "scenario.yml").write_text(yaml.safe_dump(dict(data)), encoding="utf-8")
    assert main(["run", str(folder / "scenario.yml"), "--out", str(folder / "run"), "--quiet"]) in (0, 1)
    return RunDir.open(folder / "run")


_DIAGNOSED: dict[str, list[Root]] = {}
"""Scenario to its roots: several faults share one healthy twin."""


@pytest.fixture
def diagnosed(tmp_path_factory: pytest.TempPathFactory) -> Diagnose:
    """Simulate a scenario, once, and name the roots from its recorded metrics."""

    def roots_of(data: Mapping[str, Any]) -> list[Root]:
        key = json.dumps(data, sort_keys=True)
        if key not in _DIAGNOSED:
            _DIAGNOSED[key] = simulate(data)
        return _DIAGNOSED[key]

    def simulate(data: Mapping[str, Any]) -> list[Root]:
        folder = tmp_path_factory.mktemp("diagnosed")
        for schedule in ALERTS.glob("*.goal"):
            shutil.copy(schedule, folder)
        run = played(folder, data)
        return diagnose(store_of(run), run.fabric)

    return roots_of
