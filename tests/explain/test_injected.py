"""Frames that a fault of the scenario discards: which fault, where, and when."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.cli.main import main

Capture = pytest.CaptureFixture[str]
CABLE = "leaf1:Ethernet8--spine1:Ethernet0"
SMALL: dict[str, Any] = {
    "name": "lost",
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2,
                 "host_rate": "100G", "fabric_rate": "100G"},
    "workload": [{"kind": "incast", "receiver": "host1", "senders": ["host3", "host4"], "size": "400KB"}],
    "telemetry": {"interval": "20us"},
    "run": {"duration": "400us", "stop": "duration"},
}  # fmt: skip


def reasons(folder: Path, capsys: Capture, *faults: dict[str, Any]) -> tuple[list[str], str]:
    """Why each row of `explain drops` was lost by a fault, and the verdict of `run`."""
    (folder / "lost.yml").write_text(yaml.safe_dump(SMALL | {"faults": list(faults)}), encoding="utf-8")
    assert main(["run", str(folder / "lost.yml"), "--out", str(folder / "run"), "--quiet"]) in (0, 1)
    said = capsys.readouterr().out
    assert main(["explain", "drops", str(folder / "run"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["drops"]["drops"]
    return [it["why"] for it in rows if it["reason"] == "injected"], said


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ({"kind": "link-silent", "link": "leaf1--spine1", "at": "20us", "until": "30us"},
         f"link-silent of {CABLE}, from 20us to 30us"),
        ({"kind": "link-silent", "link": "leaf1--spine1", "at": "20us"}, f"link-silent of {CABLE}, from 20us on"),
        ({"kind": "switch-crash", "switch": "spine1", "carrier": "kept", "at": "20us"},
         "switch-crash of spine1, from 20us on"),
        ({"kind": "drop-every", "port": "leaf1:Ethernet8", "every": 10, "at": "20us"},
         "drop-every (every 10 data frames) of leaf1:Ethernet8, from 20us on"),
    ],
    ids=["silent for a while", "silent", "hung switch", "drop-every"],
)  # fmt: skip
def test_the_fault_is_named_with_its_place_and_time(
    fault: dict[str, Any], text: str, tmp_path: Path, capsys: Capture
) -> None:
    elsewhere = {"kind": "link-silent", "link": "host2--leaf1", "at": "20us"}
    found, said = reasons(tmp_path, capsys, fault, elsewhere)
    assert found
    assert all(it.startswith(f"a fault of the scenario asked for it: {text}") for it in found)
    assert not any("host2" in it for it in found)
    assert f"a fault of the scenario asked for it: {text}" in said


def test_two_faults_at_one_port_are_both_named_in_order_of_time(tmp_path: Path, capsys: Capture) -> None:
    found, _ = reasons(
        tmp_path, capsys,
        {"kind": "drop-every", "port": "leaf1:Ethernet8", "every": 10, "at": "30us"},
        {"kind": "link-silent", "link": "leaf1--spine1", "at": "20us", "until": "25us"},
    )  # fmt: skip
    assert any(it.index("link-silent") < it.index("drop-every") for it in found if "drop-every" in it)
