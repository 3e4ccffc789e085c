"""The first line of `fabric run` is the first root cause."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from fabric.cli.main import main
from tests.diagnosis.conftest import scenario

Capture = pytest.CaptureFixture[str]


def _said(folder: Path, capsys: Capture, *faults: dict[str, object]) -> tuple[list[str], Path]:
    """Lines of the verdict that `fabric run` prints, and its run."""
    data = scenario(*faults, run={"duration": "6ms"})
    data["workload"][0]["stop"] = "2ms"
    (folder / "scenario.yml").write_text(yaml.safe_dump(data), encoding="utf-8")
    assert main(["run", str(folder / "scenario.yml"), "--out", str(folder / "run"), "--quiet"]) in (0, 1)
    return [it for it in capsys.readouterr().out.splitlines() if it[2:4] in {"✗ ", "! ", "· ", "✓ "}], folder / "run"


def test_a_run_names_its_first_root_before_what_followed_from_it(tmp_path: Path, capsys: Capture) -> None:
    lines, run = _said(tmp_path, capsys, {"kind": "link-rate", "link": "host1--leaf1", "rate": "25G", "at": "1ms"})
    assert main(["explain", "roots", str(run), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["roots"]["roots"][0]
    assert lines[0].startswith(f"  ! a link became slower: {first['place']} (")
    assert "fabric explain roots" in lines[0]


def test_a_run_without_a_root_begins_with_its_outcome_and_is_not_diagnosed(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("telemetry.sources.headline.roots_of", lambda *_, **__: pytest.fail("diagnosed"))
    lines, _ = _said(tmp_path, capsys)
    assert lines[0].startswith("  ✓ all ")
