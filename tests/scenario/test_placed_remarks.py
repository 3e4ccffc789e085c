"""Marking that PFC precedes, and marking within one packet, are said before a run, with field and remedy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric import shipped
from fabric.cli.main import main
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario, load_scenario
from fabric.scenario.placed_remarks import placed_remarks


def said(path: Path, switches: dict[str, Any], transport: dict[str, Any] | None = None, **sections: Any) -> list[str]:  # noqa: ANN401  sections
    data = {
        "name": "marks",
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2, "host_rate": "100G",
                     "fabric_rate": "100G"},
        "switches": {"asic": "trident3"} | switches,
        "transport": transport or {},
        "workload": [{"kind": "incast", "receiver": "host1", "senders": ["host3"], "size": "1MB"}],
        "run": {"duration": "2ms"},
        **sections,
    }  # fmt: skip
    (path / "marks.yml").write_text(yaml.safe_dump(data), encoding="utf-8")
    scenario = build_scenario(data, path / "marks.yml")
    return placed_remarks(scenario, compile_scenario(scenario))


def curve(kmin: str, kmax: str = "30MB", **more: Any) -> dict[str, Any]:  # noqa: ANN401  fields of a curve
    return {"ecn": {"kmin": kmin, "kmax": kmax, "pmax": 0.2} | more}


STATIC = {"buffer": {"static_th": "600KB", "reserved": "0B"}}


@pytest.mark.parametrize(
    ("switches", "begin"),
    [
        (curve("600KB") | STATIC, "switches.ecn.kmin: Kmin 600KB is not below XOFF (600KB) at "),
        (curve("599KB") | STATIC, ""),
        (curve("20MB"), "switches.ecn.kmin: Kmin 20MB is not below XOFF ("),
        (curve("3MB") | {"buffer": {"dynamic_th": -4}}, "switches.ecn.kmin: Kmin 3MB is not below XOFF ("),
        ({"overrides": [{"switch": "leaf1"} | curve("20MB")]}, "switches.overrides[0].ecn.kmin: Kmin 20MB"),
        ({"ecn_by_queue": {3: curve("20MB")["ecn"]}}, "switches.ecn_by_queue.3.kmin: Kmin 20MB"),
        (curve("4KB", "400KB"), "switches.ecn.kmin: Kmin 4KB is less than one packet ("),
        (curve("4200B", "400KB"), ""),
        ({}, ""),
        ({"ecn": "off"}, ""),
    ],
)
def test_marking_that_comes_too_late_or_too_early_is_remarked(
    switches: dict[str, Any], begin: str, tmp_path: Path
) -> None:
    found = said(tmp_path, switches)
    assert [it[: len(begin)] for it in found] == ([begin] if begin else [])
    assert all("give kmin " in it and " and kmax " in it for it in found)


def test_the_remedy_is_a_curve_without_a_remark(tmp_path: Path) -> None:
    for switches in (curve("20MB"), curve("3MB") | {"buffer": {"dynamic_th": -4}}, curve("600KB") | STATIC):
        [text] = said(tmp_path, switches)
        kmin, kmax = text.rpartition("give kmin ")[2].partition(",")[0].split(" and kmax ")
        assert said(tmp_path, switches | curve(kmin, kmax)) == []


@pytest.mark.parametrize(
    ("transport", "sections"), [({"cc": "timely"}, {}), ({"cc": "none"}, {}), ({}, {"pfc": "off"})]
)
def test_senders_that_read_no_marks_and_classes_that_lose_are_not_remarked(
    transport: dict[str, Any], sections: dict[str, Any], tmp_path: Path
) -> None:
    assert said(tmp_path, curve("20MB"), transport, **sections) == []


def test_the_check_prints_the_remark_and_exits_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(tmp_path, curve("20MB"))
    assert main(["scenario", "check", str(tmp_path / "marks.yml")]) == 0
    assert "  note: switches.ecn.kmin: Kmin 20MB is not below XOFF (" in capsys.readouterr().out
    assert main(["scenario", "check", str(tmp_path / "marks.yml"), "--json"]) == 0
    [one] = json.loads(capsys.readouterr().out)["scenarios"]
    assert len([it for it in one["remarks"] if "XOFF" in it]) == 1


@pytest.mark.slow
def test_no_scenario_of_the_package_has_a_remark_of_its_fabric() -> None:
    found = {}
    for path in (*shipped.scenarios(), *sorted((shipped.folder("scenarios") / "starters").glob("*.yml"))):
        scenario = load_scenario(path)
        if lines := placed_remarks(scenario, compile_scenario(scenario)):
            found[path.stem] = lines
    assert set(found) == {"remote-congestion"}  # a slow cable is what it shows
