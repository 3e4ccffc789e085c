"""fabric alerts, as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from fabric.cli.main import main
from telemetry.alerts import ALERTS
from telemetry.render import rules_yaml


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, repo_root: Path) -> Path:
    """Fifteen milliseconds of a storm."""
    out = tmp_path_factory.mktemp("alerts") / "run"
    assert main(["run", str(repo_root / "scenarios/alerts/storm.yml"), "--out", str(out), "--quiet", "--until", "15ms"]
                ) == 0
    return out


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    capsys.readouterr()
    return capsys


def test_a_run_tells_its_incident_and_how_true_it_is(run: Path, said: pytest.CaptureFixture[str]) -> None:
    assert main(["alerts", "show", str(run)]) == 0
    text = said.readouterr().out
    assert "host1 kept leaf1:Ethernet0 from sending priority 3" in text
    assert "FabricPfcStorm ×1" in text
    assert "1 of 1 found, 1 of 1 incidents name the root of one" in text


def test_all_alerts_and_anomalies_are_told_on_demand(run: Path, said: pytest.CaptureFixture[str]) -> None:
    assert main(["alerts", "show", str(run), "--all", "--anomalies"]) == 0
    text = said.readouterr().out
    assert text.count("FabricPfcPauseRatioHigh") > 3
    assert "fabric_pfc_receive_paused_seconds_total" in text


def test_json_has_incidents_alerts_and_score(run: Path, said: pytest.CaptureFixture[str]) -> None:
    assert main(["alerts", "show", str(run), "--json", "--anomalies"]) == 0
    found = json.loads(said.readouterr().out)
    assert found["incidents"][0]["root_device"] == "host1"
    assert {it["labels"]["alertname"] for it in found["alerts"]} >= {"FabricPfcStorm", "FabricPfcPauseRatioHigh"}
    assert found["score"]["recall"] == 1.0
    assert found["score"]["delay_ns"] == 6_000_000
    assert found["anomalies"][0]["labels"] == {"device": "leaf1", "port": "Ethernet0", "priority": "3"}


def test_another_dilation_fires_at_the_same_simulated_moment(run: Path, said: pytest.CaptureFixture[str]) -> None:
    assert main(["alerts", "show", str(run), "--json", "--dilation", "1000"]) == 0
    found = json.loads(said.readouterr().out)
    assert found["incidents"][0]["fired_ns"] == 8_000_000, "rules scale with the dilation, so simulated time does not"


def test_rules_are_printed_or_written_with_what_pages(tmp_path: Path, said: pytest.CaptureFixture[str]) -> None:
    assert main(["alerts", "rules"]) == 0
    assert said.readouterr().out == rules_yaml()
    assert main(["alerts", "rules", "--out", str(tmp_path / "new"), "--dilation", "1000", "--pager",
                 "http://pager.example/", "--runbooks", "https://example.org/runbooks", "--dashboards",
                 "https://grafana.example/d"]) == 0
    rules = yaml.safe_load((tmp_path / "new" / "rules.yml").read_text())["groups"][0]
    assert rules["interval"] == "1s"
    storm = next(it for it in rules["rules"] if it.get("alert") == "FabricPfcStorm")
    assert storm["annotations"]["runbook_url"] == "https://example.org/runbooks/FabricPfcStorm.md"
    assert storm["annotations"]["dashboard_url"].startswith("https://grafana.example/d/")
    config = yaml.safe_load((tmp_path / "new" / "alertmanager.yml").read_text())
    assert config["receivers"][0]["webhook_configs"][0]["url"] == "http://pager.example/"


def test_the_list_names_every_alert(said: pytest.CaptureFixture[str]) -> None:
    assert main(["alerts", "list"]) == 0
    assert [line.split()[0] for line in said.readouterr().out.splitlines()] == [it.name for it in ALERTS]
    assert main(["alerts", "list", "--json"]) == 0
    assert len(json.loads(said.readouterr().out)) == len(ALERTS)


@pytest.mark.parametrize(("words", "text"), [
    (["show", "nowhere"], "nowhere"),
    (["rules", "--dilation", "0"], "0 is no dilation"),
    (["rules", "--dilation", "nan"], "nan is no dilation"),
    (["rules", "--pager", "http://pager.example/"], "has no effect without --out"),
    (["rules", "--out", "x", "--pager", "pager.example"], "'pager.example' is no URL"),
    (["rules", "--out", "x", "--tickets", "http://[::1"], "'http://[::1' is no URL"),
    (["bank", "--bank", "nowhere.yml"], "nowhere.yml"),
])
def test_bad_input_is_one_clear_error(words: list[str], text: str, said: pytest.CaptureFixture[str]) -> None:
    assert main(["alerts", *words]) == 2
    told = said.readouterr()
    assert text in told.err
    assert "Traceback" not in told.err
