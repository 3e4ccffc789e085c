"""Who was hurt among messages that depend on one another (telemetry/sources/dependent.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from fabric.cli.main import main
from fabric.explain.evidence import Evidence
from fabric.runs.rundir import RunDir
from telemetry.diagnosis.root import Kind, Root
from telemetry.sources.focus import focus_on
from telemetry.sources.incidents import hurt

SLOW = Root(Kind.LANES_LOST, "leaf1", 200_000, 1_500_000, ("25Gbit/s since then, 100Gbit/s before",), "Ethernet0")


def _run(folder: Path, **changes: object) -> RunDir:
    """Two ring all-reduces over two leaves; the link of host1 becomes slower within the first."""
    data: dict[str, object] = {
        "name": "ring",
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2,
                     "host_rate": "100G", "fabric_rate": "400G"},
        "workload": [{"kind": "collective", "operation": "all-reduce", "algorithm": "ring",
                      "placement": "across-leaves", "size": "4MB", "repeat": 2}],
        "faults": [{"kind": "link-rate", "link": "host1--leaf1", "rate": "25G", "at": "200us"}],
        "run": {"duration": "1500us"},
        **changes,
    }  # fmt: skip
    (folder / "scenario.yml").write_text(yaml.safe_dump(data), encoding="utf-8")
    assert main(["run", str(folder / "scenario.yml"), "--out", str(folder / "run"), "--quiet"]) == 0
    return RunDir.open(folder / "run")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    """A run that ends before its second collective does."""
    return _run(tmp_path_factory.mktemp("dependent"))


def test_messages_of_a_collective_that_a_slow_link_delays_are_hurt(run: RunDir) -> None:
    found = hurt(run, SLOW)
    assert found.messages == 0
    assert found.dependent is not None
    metrics = run.summary["metrics"]
    assert found.dependent.slower > 0
    assert found.dependent.undone == metrics["messages.unfinished"] > 0
    assert found.dependent.total == metrics["messages.total"]
    assert found.hosts
    assert f"{found.dependent.undone:,} of {found.dependent.total:,}" in found.lines[0]


def test_roots_and_report_give_one_answer_about_dependent_messages(
    run: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "roots", str(run.path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "0 messages under way" not in text
    [line, *_] = hurt(run, SLOW).lines
    assert line in text
    assert "fabric explain step" in text
    [fact] = [it for it in focus_on(Evidence(run), [SLOW]).answer.facts if it.key == "hurt"]
    assert line in str(fact.value)
    assert main(["explain", "roots", str(run.path), "--json"]) == 0
    [root, *_] = json.loads(capsys.readouterr().out)["roots"]["roots"]
    assert root["hurt"]["dependent"]["undone"] == run.summary["metrics"]["messages.unfinished"]


def test_operations_before_a_root_are_the_measure_of_those_after(run: RunDir) -> None:
    first_ns = max(it for it in run.transfers(["end_ns"])["end_ns"].to_pylist() if it is not None and it < 1_400_000)
    begun = Root(Kind.LANES_LOST, "leaf1", first_ns // 2, 1_500_000, (), "Ethernet0")
    found = hurt(run, begun).dependent
    assert found is not None
    assert found.unlike == found.operations  # the first was under way when it began
    assert any("is not known" in it for it in found.lines)


def test_a_schedule_that_ended_before_a_root_was_not_hurt(run: RunDir) -> None:
    early = Root(Kind.LANES_LOST, "leaf1", -2, -1, (), "Ethernet0")
    assert hurt(run, early).dependent is None
    assert hurt(run, early).lines == ["no message was under way"]


def test_messages_that_were_not_recorded_are_not_known(tmp_path: Path) -> None:
    found = hurt(_run(tmp_path, telemetry={"transfer_messages": "off"}, run={"duration": "400us"}), SLOW)
    assert found.dependent is not None
    assert not found.dependent.known
    assert "is not known: the run did not record" in found.lines[0]
