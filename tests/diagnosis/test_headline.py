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


def test_a_queue_that_pauses_before_it_marks_is_told_with_both_numbers(tmp_path: Path, capsys: Capture) -> None:
    data = {
        "name": "late",
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4,
                     "host_rate": "100G", "fabric_rate": "400G"},
        "switches": {"ecn": {"kmin": "100KB", "kmax": "400KB", "pmax": 0.2},
                     "overrides": [{"switch": "leaf1", "ecn": {"kmin": "30MB", "kmax": "40MB", "pmax": 0.2}}]},
        "workload": [
            {"name": "a", "kind": "incast", "receiver": "host1", "size": "8MB",
             "senders": ["host2", "host3", "host5", "host6", "host7"]},
            {"name": "b", "kind": "incast", "receiver": "host8", "senders": ["host4", "host7"], "size": "2MB"},
        ],
        "run": {"duration": "10ms"},
    }  # fmt: skip
    (tmp_path / "scenario.yml").write_text(yaml.safe_dump(data), encoding="utf-8")
    assert main(["run", str(tmp_path / "scenario.yml"), "--out", str(tmp_path / "run"), "--quiet"]) == 0
    assert "  ! a queue pauses before it marks: leaf1:Ethernet0 (class 3)" in capsys.readouterr().out
    assert main(["explain", "roots", str(tmp_path / "run"), "--json"]) == 0
    root = json.loads(capsys.readouterr().out)["roots"]["roots"][0]
    act = root["act"]
    assert act.startswith("mark earlier: Kmin (30MB) is not below XOFF (")
    assert "Its price: the port was sending for 100% of that time already, so only pauses and queue go" in act
    assert "fabric diff" in act
    assert root["hurt"]["slower"] == 0  # five that share a port take five times as long, whatever is marked
    assert main(["report", str(tmp_path / "run"), "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<span class="sign">!</span>A queue pauses before it marks' in page


@pytest.mark.parametrize(
    ("kmin", "control", "early"),
    [("1KB", "dcqcn", True), ("1KB", "dctcp", True), ("1KB", "hpcc", False), ("100KB", "dcqcn", False)],
)
def test_marking_from_less_than_a_packet_is_the_headline_where_senders_read_marks(
    kmin: str, control: str, early: bool, tmp_path: Path, capsys: Capture
) -> None:
    data = {
        "name": "early",
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4,
                     "host_rate": "100G", "fabric_rate": "400G"},
        "switches": {"ecn": {"kmin": kmin, "kmax": "400KB", "pmax": 1}},
        "workload": [{"kind": "incast", "receiver": "host1", "senders": ["host2", "host5"], "size": "1MB"}],
        "transport": {"cc": control},
        "run": {"duration": "10ms"},
    }  # fmt: skip
    (tmp_path / "scenario.yml").write_text(yaml.safe_dump(data), encoding="utf-8")
    assert main(["run", str(tmp_path / "scenario.yml"), "--out", str(tmp_path / "run"), "--quiet"]) == 0
    said = capsys.readouterr().out
    assert ("  ! Kmin 1KB is less than one packet" in said.splitlines()[1]) is early
    assert ("leaf1:Ethernet0 (class 3)" in said.splitlines()[1]) is early
