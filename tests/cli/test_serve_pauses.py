"""A served run records the pauses that `fabric top` shows, whatever events its scenario asks for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabric.cli.main import main
from fabric.cli.serve import with_pauses
from fabric.scenario.load import load_scenario
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("scenario", "sets", "events"),
    [
        ("alerts/storm.yml", ["telemetry.events=[]"], ("pause",)),
        ("alerts/storm.yml", ["telemetry.events=[drop]"], ("drop", "pause")),
        ("alerts/storm.yml", ["telemetry.events=[pause]"], ("pause",)),
    ],
)
def test_a_served_run_records_pauses(scenario: str, sets: list[str], events: tuple[str, ...]) -> None:
    found = load_scenario(ROOT / "scenarios" / scenario, sets)
    assert with_pauses(found).telemetry.events == events
    assert with_pauses(found).workload == found.workload


def test_a_scenario_that_records_pauses_is_served_as_it_is() -> None:
    found = load_scenario(ROOT / "scenarios/pause-storm.yml", [])
    assert with_pauses(found) is found


def test_help_names_where_the_documentation_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out.replace("\n", " ")
    assert "Documentation: " in text
    assert Path(ROOT / "docs/index.md").is_file()


def test_every_scenario_that_a_guide_serves_records_its_pauses() -> None:
    """Also with --out, where a run has the events of its scenario alone."""
    docs = ROOT / "docs"
    guides = [docs / "tour.md", *(docs / "howto").glob("*.md"), *(docs / "tutorials").glob("*.md")]
    texts = [it.read_text(encoding="utf-8") for it in guides]
    served = {name for text in texts for name in re.findall(r"^\$ fabric serve (scenarios/\S+)", text, re.MULTILINE)}
    assert "scenarios/alerts/storm.yml" in served
    assert [name for name in served if "pause" not in load_scenario(ROOT / name).telemetry.events] == []
