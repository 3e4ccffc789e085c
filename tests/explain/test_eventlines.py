"""Events as JSON lines for log stores."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from fabric.cli.main import main
from fabric.dataplane.state.codes import DropReason, EventKind
from fabric.explain.eventlines import MESSAGES, SEVERITY_OF, Severity, as_json, at_least, lines, rfc3339, wall_clock
from fabric.runs import eventlog
from fabric.topology.builders.assemble import assemble
from fabric.topology.model import Fabric, LinkSpec, NodeSpec, Role

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def fabric() -> Fabric:
    nodes = [NodeSpec("h0", Role.HOST, 0), NodeSpec("h1", Role.HOST, 0), NodeSpec("leaf0", Role.LEAF, 1)]
    return assemble("tiny", nodes, [LinkSpec(host, "leaf0", 10**11, 10_000) for host in ("h0", "h1")])


def row(kind: EventKind, **values: int) -> np.ndarray:
    made = np.zeros(1, eventlog.ROW)
    for name in ("port", "class", "reason", "qp"):
        made[name] = -1
    made["kind"] = kind
    for name, value in values.items():
        made["class" if name == "class_" else name] = value
    return made


def test_every_kind_has_its_severity_and_its_words() -> None:
    assert set(SEVERITY_OF) == set(MESSAGES) == set(eventlog.KINDS)


def test_a_line_has_time_place_and_amount(fabric: Fabric) -> None:
    paused = row(EventKind.PAUSED, time_ns=1_500_000, device=2, port=2, class_=3, a=65535, b=900)
    (line,) = lines(paused, fabric, wall_clock(START, 1000), "storm", 4)
    assert line == {
        "time": "2026-01-02T03:04:06.500000Z",
        "sim_time_ns": 1_500_000,
        "severity": "info",
        "kind": "paused",
        "category": "pause",
        "message": "paused by the peer",
        "run": "storm",
        "pass": 4,
        "device": "leaf0",
        "port": fabric.ports[2].name,
        "priority": 3,
        "quanta": 65535,
        "queue_bytes": 900,
    }
    assert json.loads(as_json(line)) == line
    assert "\n" not in as_json(line)


def test_a_drop_names_its_reason_and_its_rule(fabric: Fabric) -> None:
    drop = row(EventKind.DROP, device=2, port=2, class_=3, reason=int(DropReason.LINK_DOWN), qp=7, a=1000)
    (line,) = lines(drop, fabric, wall_clock(START), "run")
    assert (line["reason"], line["qp"], line["bytes"], line["severity"]) == ("link_down", 7, 1000, "warning")


def test_an_act_of_the_operator_has_no_device(fabric: Fabric) -> None:
    (line,) = lines(row(EventKind.EDIT, a=3), fabric, wall_clock(START), "run")
    assert "device" not in line
    assert line["edit"] == 3


def test_marks_and_rate_cuts_are_optional(fabric: Fabric) -> None:
    shown = at_least(Severity.INFO)
    assert not shown[EventKind.MARK]
    assert not shown[EventKind.RATE_CUT]
    assert shown[EventKind.PAUSED]
    assert at_least(Severity.DEBUG)[[int(kind) for kind in eventlog.KINDS]].all()
    assert np.flatnonzero(at_least(Severity.CRITICAL)).tolist() == [EventKind.DEADLOCK]


def test_times_are_utc_in_every_time_zone() -> None:
    zone = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).astimezone(tz=None)
    assert rfc3339(zone) == rfc3339(START) == "2026-01-02T03:04:05.000000Z"
    assert wall_clock(START)(2_000_000_000) == START + timedelta(seconds=2)


def test_a_run_directory_gives_the_lines_of_its_event_log(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "s.yml"
    path.write_text("""\
name: lines
topology: {kind: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
switches: {asic: trident3}
workload:
  - {kind: incast, receiver: host1, senders: ["host3", "host4"], size: 200KB}
faults:
  - {kind: pause-storm, hosts: ["host1"], at: 10us, duration: 100us}
run: {duration: 500us, seed: 3}
""")
    assert main(["run", str(path), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["show", str(tmp_path / "out"), "events", "--format", "jsonl"]) == 0
    found = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert main(["show", str(tmp_path / "out"), "events", "--json"]) == 0
    assert len(found) == len(json.loads(capsys.readouterr().out)) == 3
    assert [line["sim_time_ns"] for line in found] == sorted(line["sim_time_ns"] for line in found)
    first = next(line for line in found if line["kind"] == "paused")
    assert (first["device"], first["priority"], first["run"]) == ("leaf1", 3, "lines")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["messages", "--format", "jsonl"], "name the table: events"),
        (["--format", "jsonl"], "name the table: events"),
        (["events", "--format", "jsonl", "--top", "3"], "--top"),
        (["events", "--format", "jsonl", "--json"], "contradicts"),
    ],
)
def test_lines_are_refused_where_they_make_no_sense(
    tmp_path: Path, capsys: Capture, options: list[str], text: str
) -> None:
    assert main(["show", str(tmp_path), *options]) == 2
    assert text in capsys.readouterr().err
