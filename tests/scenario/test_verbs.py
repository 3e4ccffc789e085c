"""`fabric scenario` and `fabric model` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabric.cli.main import main

ROOT = Path(__file__).parents[2]
INCAST = str(ROOT / "scenarios" / "incast.yml")


def spoken(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def test_a_good_scenario_is_checked_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = spoken(capsys, "scenario", "check", INCAST)
    assert (code, err) == (0, "")
    assert "ok, 16 hosts, 6 switches, 15 messages of 15,000,000 B, 0 faults, at most 10ms; a run: about " in out
    assert [it for it in out.splitlines()[1:] if not it.startswith("  note: run.duration (10ms)")] == []


def test_overrides_reach_the_check(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = spoken(capsys, "scenario", "check", INCAST, "--set", "workload[0].size=2MB", "--json")
    assert code == 0
    assert json.loads(out)["scenarios"][0]["bytes"] == 30_000_000


def test_the_problems_of_all_files_are_reported_together(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yml").write_text("name: x\nrun: {duration: 5}\n", encoding="utf-8")
    code, out, err = spoken(capsys, "scenario", "check", str(tmp_path / "a.yml"), INCAST, str(tmp_path / "b.yml"))
    assert (code, out) == (2, "")
    assert "a.yml: run.duration: 5 has no unit" in err
    assert "b.yml: topology: is missing" in err
    assert "Traceback" not in err


def test_what_a_scenario_means_is_shown_with_sources(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = spoken(capsys, "scenario", "show", INCAST, "--json")
    card = json.loads(out)
    assert code == 0
    assert card["scenario"]["switches"]["asic"] == "trident3"
    assert all(default["source"] for default in card["defaults"])
    assert card["dcqcn"]["cnp_interval_ps"] == 4_000_000


def test_schema_and_documents_are_written_on_demand(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = spoken(capsys, "scenario", "schema")
    assert code == 0
    assert json.loads(out)["title"] == "Scenario"
    for verb, name in (("scenario", "scenario.md"), ("model", "model-card.md")):
        assert spoken(capsys, verb, "docs", "--out", str(tmp_path / name))[0] == 0
        assert (tmp_path / name).read_text(encoding="utf-8") == (ROOT / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["asic", "asics", "mmus", "dcqcn", "ecn"])
def test_every_name_that_is_listed_can_be_shown(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert name in json.loads(spoken(capsys, "model", "list", "--json")[1])
    code, out, _ = spoken(capsys, "model", "show", name)
    assert code == 0
    assert len(out) > 200
    assert json.loads(spoken(capsys, "model", "show", name, "--json")[1])


def test_an_unknown_model_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = spoken(capsys, "model", "show", "dcqn")
    assert code == 2
    assert "did you mean 'dcqcn'?" in err
