"""Datagrams in a run directory: table, summary, verdict, and the tables of `fabric show`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabric.cli.main import main
from fabric.runs.rundir import RunDir

SCENARIO = """name: datagrams
topology: {kind: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
switches: {memory: 500KB, buffer: {lossy_dynamic_th: -4}}
workload:
- {kind: datagrams, name: small, senders: [host1, host2], receivers: [host3], load: 1.0, frame: 64B, count: 3000}
- {kind: datagrams, name: quiet, senders: [host4], receivers: [host2], rate: 1G, frame: 1000B, ect: true, count: 5}
run: {duration: 1ms}
expectations: ["datagrams.sent == 6005", "datagrams.dropped > 0", "messages.total == 0"]
"""


def test_a_run_of_datagrams_tells_what_became_of_each_stream(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "d.yml").write_text(SCENARIO)
    out = tmp_path / "run"
    assert main(["run", str(tmp_path / "d.yml"), "--out", str(out)]) == 0
    run = RunDir.open(out)
    rows = run.datagrams().to_pylist()
    assert [(row["entry"], row["src"], row["dst"], row["ecn"]) for row in rows] == [
        ("small", "host1", "host3", "not-ect"),
        ("small", "host2", "host3", "not-ect"),
        ("quiet", "host4", "host2", "ect"),
    ]
    told = run.summary["datagrams"]
    assert told["sent"] == sum(row["sent"] for row in rows) == 6005
    assert told["received"] == sum(row["received"] for row in rows) == 6005 - told["dropped"]
    assert told["dropped"] == sum(place["pkts"] for place in told["dropped_at"]) > 0
    assert {place["class"] for place in told["dropped_at"]} == {0}
    assert run.summary["stop"]["time_ns"] < 1_000_000  # ends when all are delivered or lost
    assert any("datagrams arrived" in it["text"] for it in run.summary["verdict"])
    capsys.readouterr()
    assert main(["show", str(out), "datagrams", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 3
    assert main(["verify", str(out)]) == 0
