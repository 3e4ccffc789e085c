"""The remedy for many senders at one port: by Kmin, XOFF and what reads marks, and never what is so already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.explain.eventlines import Severity
from fabric.explain.evidence import Evidence
from fabric.explain.pause_tree import Cause, Origin
from fabric.explain.pfc import explain_pfc
from fabric.runs import simulate as simulating
from fabric.runs.rundir import RunDir
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from telemetry.live.events import EventSink
from telemetry.live.world import LiveWorld


def verdict(path: Path, ecn: object, transport: dict[str, Any], faults: list[dict[str, Any]] | None = None) -> str:
    file = path / "scenario.yml"
    data = {
        "name": "meet",
        "topology": {
            "kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 6, "host_rate": "100G",
            "fabric_rate": "400G",
        },
        "switches": {"asic": "trident3", "ecn": ecn, "buffer": {"dynamic_th": -5}},
        "transport": transport,
        "workload": [{"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "2MB"}],
        "telemetry": {"interval": "100us"},
        "faults": faults or [],
        "run": {"duration": "2ms", "seed": 1},
    }  # fmt: skip
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    compiled, plan = simulating.prepare(build_scenario(data, file))
    simulating.simulate(compiled, plan, simulating.Options(path / "out"))
    return explain_pfc(Evidence(RunDir.open(path / "out"))).verdict


LOW = {"kmin": "20KB", "kmax": "200KB", "pmax": 0.2}


@pytest.mark.parametrize(
    ("ecn", "transport", "said", "unsaid"),
    [
        (LOW, {"cc": "dcqcn"}, ["ECN Kmin (20KB) is below XOFF (", "may cost completion time"], ["mark earlier"]),
        ({"kmin": "8MB", "kmax": "9MB", "pmax": 0.2}, {"cc": "dcqcn"}, ["mark earlier: Kmin (8MB) is not below"], []),
        (
            "off",
            {"cc": "dcqcn"},
            ["turn ECN on here, with Kmin 100KB, Kmax 400KB and Pmax 20%, both below XOFF ("],
            ["mark earlier"],
        ),
        (LOW, {"cc": "timely"}, ["transport.cc timely does not read ECN marks"], ["Kmin", "mark earlier"]),
        (LOW, {"cc": "none"}, ["transport.cc is none"], ["Kmin", "mark earlier"]),
    ],
)
def test_the_advice_is_not_what_is_so_already(
    tmp_path: Path, ecn: object, transport: dict[str, Any], said: list[str], unsaid: list[str]
) -> None:
    text = verdict(tmp_path, ecn, transport)
    assert "congested port leaf1:Ethernet0" in text
    assert [it for it in said if it not in text] == []
    assert [it for it in unsaid if it in text] == []


@pytest.mark.parametrize(
    ("control", "said"),
    [
        ("hpcc-pint", "transport.cc hpcc-pint does not read ECN marks"),
        ("none", "transport.cc is none"),
        ("cubic", "compare ECN Kmin ("),
        (None, "compare ECN Kmin ("),
    ],
)
def test_a_live_run_names_the_control_as_the_scenario_has_it(control: str | None, said: str) -> None:
    data = {
        "name": "meet",
        "topology": {
            "kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2, "host_rate": "100G",
            "fabric_rate": "100G",
        },
        "switches": {"asic": "trident3", "ecn": LOW},
        "transport": {} if control is None else {"cc": control},
        "workload": [{"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "2MB"}],
        "run": {"duration": "1ms"},
    }  # fmt: skip
    scenario = build_scenario(data, Path("meet.yml"))
    compiled = compile_scenario(scenario)
    world = LiveWorld(scenario, compiled, 1, EventSink("meet", compiled.fabric, lambda: 0.0, None, Severity.INFO))
    world.make_engine()
    port = compiled.fabric.port_called["leaf1:Ethernet0"]
    assert said in world._remedy(Origin(Cause.CONGESTION, port, 3))
