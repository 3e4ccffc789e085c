"""Short runs that tests of explanations read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fabric.explain.evidence import Evidence
from fabric.forwarding.message_ports import message_paths
from fabric.runs import simulate
from fabric.runs.rundir import RunDir
from fabric.runs.session import Hooks
from fabric.scenario.load import build_scenario

TOPOLOGY = {
    "kind": "leaf-spine",
    "leaves": 2,
    "spines": 2,
    "hosts_per_leaf": 4,
    "host_rate": "100G",
    "fabric_rate": "100G",
}


def simulated(folder: Path, **sections: Any) -> Evidence:  # noqa: ANN401  a scenario's sections
    raw: dict[str, Any] = {
        "name": "test",
        "topology": TOPOLOGY,
        "switches": {"asic": "trident3"},
        "transport": {"cc": "none"},
        "telemetry": {"interval": "10us"},
        "run": {"duration": "5ms", "seed": 2},
        **sections,
    }
    file = folder / "scenario.yml"
    file.write_text(json.dumps(raw))
    compiled, plan = simulate.prepare(build_scenario(raw, file))
    simulate.simulate(compiled, plan, simulate.Options(out=folder / "run"), Hooks(paths=message_paths))
    return Evidence(RunDir.open(folder / "run"))


def incast(senders: int, size: str) -> list[dict[str, Any]]:
    names = [f"host{row}" for row in range(5, 5 + senders)]
    return [{"kind": "incast", "receiver": "host1", "senders": names, "size": size}]
