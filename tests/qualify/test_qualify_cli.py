"""`fabric qualify`: exit codes, formats, and what a configuration lacks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from fabric.cli.main import main
from fabric.qualify import case_runs
from fabric.qualify.cases import cases_of, plans, scenarios_of
from tests.qualify import rocev2_runs
from tests.qualify.qualify_mutants import HEALTHY, Config, healthy
from tests.recordings import SONIC

Captured = pytest.CaptureFixture[str]


def written(folder: Path, config: Config) -> Path:
    path = folder / "config_db.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def tc1(config: Path, *words: str) -> int:
    return main(["qualify", "sonic-rocev2", str(config), "--case", "TC1", "--ports", "4", *words])


def test_a_healthy_switch_is_green_with_the_counters_behind_it(capsys: Captured) -> None:
    assert tc1(HEALTHY, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["green"] is True
    assert data["checks"] == {"green": 13}
    (scenario,) = data["scenarios"]
    assert scenario["run"]["plan_ns"] == 180 * 10**9
    assert scenario["run"]["steady"] is True
    assert all(it["counters"] for it in scenario["checks"])
    assert scenario["run"]["ports_not_tried"] == ["Ethernet32", "Ethernet40", "Ethernet48", "Ethernet56"]
    assert data["not_emulated"]


def test_every_format_says_that_the_checks_are_green(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    found: list[case_runs.CaseRun] = []
    real = case_runs.runs_of

    def once(*words: Any) -> Iterator[case_runs.CaseRun]:  # noqa: ANN401  as runs_of()
        if not found:
            found.extend(real(*words))
        return iter(found)

    monkeypatch.setattr(case_runs, "runs_of", once)
    said = {}
    for style in ("text", "markdown", "html", "junit"):
        assert tc1(HEALTHY, "--format", style) == 0
        said[style] = capsys.readouterr().out
    for style in ("text", "markdown", "html"):
        assert "13 green" in said[style]
        assert "180s" in said[style]
    assert said["markdown"].count("| green |") == 13
    suite = ET.fromstring(said["junit"])  # noqa: S314  our own text
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("13", "0", "0")


def test_a_red_check_ends_with_1_and_says_why(tmp_path: Path, capsys: Captured) -> None:
    config = healthy()
    config["DSCP_TO_TC_MAP"]["AZURE"]["48"] = "7"
    assert tc1(written(tmp_path, config)) == 1
    text = capsys.readouterr().out
    assert "red      11" in text
    assert "the plan has ACKs (DSCP 48) in queue 6, the configuration at Ethernet0: queue 7" in text
    assert "not emulated:" in text


def test_a_lacking_class_is_a_finding_and_no_green(tmp_path: Path, capsys: Captured) -> None:
    config = healthy()
    for row in config["PORT_QOS_MAP"].values():
        row["pfc_enable"] = ""
    out = tmp_path / "junit.xml"
    assert tc1(written(tmp_path, config), "--format", "junit", "-o", str(out)) == 1
    suite = ET.parse(out).getroot()  # noqa: S314  our own file
    assert suite.get("skipped") == "13"
    failures = [it.get("message", "") for it in suite.iter("failure")]
    assert any("no test port of leaf1 has PFC for it" in it for it in failures)
    assert capsys.readouterr().out == ""


def test_too_few_ports_are_a_finding(capsys: Captured) -> None:
    words = ["qualify", "sonic-rocev2", str(HEALTHY), "--case", "TC1", "--ports", "64", "--json"]
    assert main(words) == 1
    (scenario,) = json.loads(capsys.readouterr().out)["scenarios"]
    assert scenario["findings"] == ["leaf1 has 8 ports of 400G that are up, and 64 were asked for"]
    assert {it["result"] for it in scenario["checks"]} == {"not run"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["qualify"], "no test plan was named"),
        (["qualify", "sonic-rocev2"], "no configuration was given"),
        (["qualify", "sonic-roce", str(HEALTHY)], "sonic-rocev2"),
        (["qualify", "sonic-rocev2", str(HEALTHY), "--case", "TC5"], "TC5"),
        (["qualify", "sonic-rocev2", str(HEALTHY), "--dut", "leaf9"], "leaf9"),
        (["qualify", "sonic-rocev2", str(SONIC / "fabric_ok")], "--dut"),
        (["qualify", "sonic-rocev2", "nothing.json"], "nothing.json"),
        (["qualify", "--list", "--ports", "4"], "--ports"),
        (["qualify", "sonic-rocev2", str(HEALTHY), "--json", "--format", "html"], "contradicts"),
        (["qualify", "sonic-rocev2", str(HEALTHY), "--ports", "1"], "no number of ports"),
    ],
)
def test_bad_input_ends_with_2_and_a_remedy(words: list[str], said: str, capsys: Captured) -> None:
    assert main(words) == 2
    assert said in capsys.readouterr().err


def test_the_list_has_every_check(capsys: Captured) -> None:
    assert main(["qualify", "--list"]) == 0
    text = capsys.readouterr().out
    assert text.count("    check ") == sum(len(case.checks) for plan in plans() for case in cases_of(plan))
    assert "L10  PFC deadlock detection: not emulated" in text
    assert main(["qualify", "sonic-rocev2", "--list", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["plans"]["sonic-rocev2"]) == 4


def test_a_case_that_is_not_emulated_is_named_and_is_not_green(capsys: Captured) -> None:
    assert main(["qualify", "sonic-pfc-lossy", str(HEALTHY), "--case", "Y03", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["scenarios"] == []
    (text,) = data["not_emulated"]
    assert text.startswith("Y03, global PAUSE (802.3x) is ignored: the model has no 802.3x PAUSE frames")
    assert data["green"] is False


def test_a_case_that_is_not_emulated_is_named_in_every_format(capsys: Captured) -> None:
    for style in ("text", "markdown", "html", "junit", "json"):
        assert main(["qualify", "sonic-pfc-lossy", str(HEALTHY), "--case", "Y02", "--format", style]) == 1
        assert "Y02, malformed PFC frame handling" in capsys.readouterr().out


def test_the_table_of_whole_plans_has_every_check_of_the_plan_for_each_configuration() -> None:
    rows = json.loads(rocev2_runs.RESULTS.read_text(encoding="utf-8"))
    assert [it["configuration"] for it in rows] == list(rocev2_runs.CONFIGURATIONS)
    every = {
        (f"{case.case}/{run.name}", check.id)
        for case in cases_of(rocev2_runs.PLAN)
        for run in scenarios_of(case)
        for check in case.checks
        if check.is_of(run.name)
    }
    for row in rows:
        assert {(it["scenario"], check) for it in row["scenarios"] for check in it["checks"]} == every


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(rocev2_runs.CONFIGURATIONS)))
def test_the_table_of_whole_plans_is_what_the_command_says(number: int) -> None:
    kept = json.loads(rocev2_runs.RESULTS.read_text(encoding="utf-8"))[number]
    assert rocev2_runs.measured(kept["configuration"])["scenarios"] == kept["scenarios"]
