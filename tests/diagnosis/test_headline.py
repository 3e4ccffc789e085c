"""The first line of `fabric run` is the first root cause."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from fabric.cli.main import main
from fabric.explain.evidence import Evidence
from telemetry.sources.incidents import incidents_of
from tests.diagnosis.conftest import played, scenario

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
    [line] = [
        it for it in capsys.readouterr().out.splitlines() if it.startswith("  ! a queue pauses before it marks: ")
    ]
    assert "leaf1:Ethernet0 (class 3) (PFC comes before ECN here; Kmin 30MB against XOFF " in line
    assert main(["explain", "roots", str(tmp_path / "run"), "--json"]) == 0
    root = json.loads(capsys.readouterr().out)["roots"]["roots"][0]
    act = root["act"]
    assert act.startswith("mark earlier: Kmin (30MB) is not below XOFF (")
    assert "; give Kmin 400KB, Kmax 1.6MB and Pmax 20%" in act
    assert "(the port was sending for 100% of that time already)" in act
    assert "fabric diff" in act
    assert root["hurt"]["slower"] == 0  # five that share a port take five times as long, whatever is marked
    assert main(["report", str(tmp_path / "run"), "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<span class="sign">!</span>A queue pauses before it marks' in page


@pytest.mark.parametrize(
    ("ecn", "size", "lasts"),
    [
        ({"kmin": "3MB", "kmax": "8MB", "pmax": 0.2}, "8MB", True),
        pytest.param({"kmin": "30MB", "kmax": "40MB", "pmax": 0.01}, "8MB", True, marks=pytest.mark.slow),
        pytest.param({"kmin": "30MB", "kmax": "40MB", "pmax": 0.2}, "2MB", False, marks=pytest.mark.slow),
    ],
)
def test_a_rerun_with_the_advised_curve_pauses_less_and_costs_no_more_than_it_says(
    ecn: dict[str, object], size: str, *, lasts: bool, tmp_path: Path
) -> None:
    """Of senders that go on; the burst with which messages begin is paused whatever the curve is."""
    data = {
        "name": "late",
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 8,
                     "host_rate": "100G", "fabric_rate": "400G"},
        "switches": {"asic": "trident3", "buffer": {"dynamic_th": -4}, "overrides": [{"switch": "leaf1", "ecn": ecn}]},
        "workload": [{"kind": "incast", "receiver": "host1", "senders": ["host9", "host1[0-6]"], "size": size}],
        "telemetry": {"interval": "50us"},
        "run": {"duration": "15ms"},
    }  # fmt: skip
    found = []
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
        run = played(tmp_path / name, data)
        evidence = Evidence(run)
        _, depth = evidence.series("queue_watermark_bytes")[evidence.port_named("leaf1:Ethernet0"), 3]
        paused = sum(stop - start for span in evidence.pauses for start, stop in span.held)
        found.append((paused, int(depth.max()), float(run.summary["metrics"]["goodput.total_bps"])))
        if name == "before":
            [root] = [it for it in incidents_of(run) if it.root.kind == "ecn-wrong"]
            values = re.search(r"give Kmin (\S+), Kmax (\S+) and Pmax 20%", root.act)
            assert values is not None
            assert ("gives fewer pauses of senders that go on" in root.act) is lasts
            assert ("changes little here" in root.act) is not lasts
            data["switches"]["overrides"][0]["ecn"] = {"kmin": values[1], "kmax": values[2], "pmax": 0.2}
    (before, peak, goodput), (after, peak_after, goodput_after) = found
    assert (after <= 0.3 * before) is lasts
    assert peak_after <= 1.02 * peak
    assert goodput_after >= 0.5 * goodput


@pytest.mark.parametrize(("control", "advised"), [("dcqcn", True), ("timely", False)])
def test_a_fabric_that_marks_nowhere_before_it_pauses_is_told_with_both_numbers_and_a_curve_that_marks(
    control: str, tmp_path: Path, capsys: Capture, *, advised: bool
) -> None:
    data = {
        "name": "late",
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4,
                     "host_rate": "100G", "fabric_rate": "100G"},
        "switches": {"asic": "trident3", "ecn": {"kmin": "3MB", "kmax": "8MB", "pmax": 0.2},
                     "buffer": {"static_th": "600KB"}},
        "transport": {"cc": control},
        "workload": [{"kind": "incast", "receiver": "host1", "senders": ["host2", "host5", "host6"], "size": "2MB"}],
        "run": {"duration": "10ms"},
    }  # fmt: skip
    (tmp_path / "scenario.yml").write_text(yaml.safe_dump(data), encoding="utf-8")
    assert main(["run", str(tmp_path / "scenario.yml"), "--out", str(tmp_path / "run"), "--quiet"]) == 0
    said = capsys.readouterr().out
    begin = (
        "PFC paused and ECN marked nothing: no queue reached its Kmin (3MB or more) before a group reached XOFF (600KB)"
    )
    assert begin in said
    assert ("; give Kmin 100KB and Kmax 400KB at 100Gbit/s" in said) is advised
    assert main(["explain", "roots", str(tmp_path / "run"), "--json"]) == 0
    root = json.loads(capsys.readouterr().out)["roots"]["roots"][0]
    assert ("mark earlier: Kmin (3MB) is not below XOFF (600KB); give Kmin 100KB" in root["act"]) is advised
    sets = ["--set", "switches.ecn={kmin: 100KB, kmax: 400KB, pmax: 0.2}"]
    assert main(["run", str(tmp_path / "scenario.yml"), "--out", str(tmp_path / "again"), "--quiet", *sets]) == 0
    assert "ECN marked nothing" not in capsys.readouterr().out


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
