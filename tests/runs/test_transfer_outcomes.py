"""Messages of transfers count in expectations, verdicts, completion times and fairness as single messages do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabric.api.hooks import hooks_of
from fabric.runs.measured import measure_run
from fabric.runs.rundir import RunDir
from fabric.runs.simulate import Options, prepare, simulate
from fabric.scenario.load import build_scenario
from fabric.scenario.schema.expectations import summary_key, to_summary
from fabric.units import PS_PER_NS

GOAL = """num_ranks 4
rank 0 {
c: calc 5000
s: send 300000b to 1 tag 0
s requires c
}
rank 1 {
r: recv 300000b from 0 tag 0
}
rank 2 {
s: send 5000b to 3 tag 0
}
rank 3 {
r: recv 5000b from 2 tag 0
}
"""
SINGLE = """id,src,dst,size_bytes,start_ns,priority,after
a,host1,host2,300000,5000,3,
b,host3,host4,5000,0,3,
"""


def ran(folder: Path, workload: dict[str, Any], **sections: Any) -> RunDir:  # noqa: ANN401  a scenario's sections
    folder.mkdir(exist_ok=True)
    (folder / "pairs.goal").write_text(GOAL)
    (folder / "pairs.csv").write_text(SINGLE)
    raw = {
        "name": "pairs",
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2, "host_rate": "100G",
                     "fabric_rate": "100G"},
        "workload": [workload], "run": {"duration": "2ms"}, "expectations": ["messages.done == 2", "fct.max < 1ms"],
        **sections,
    }  # fmt: skip
    file = folder / "pairs.yml"
    file.write_text(json.dumps(raw))
    compiled, plan = prepare(build_scenario(raw, file))
    simulate(compiled, plan, Options(folder / "run"), hooks_of())
    return RunDir.open(folder / "run")


def test_a_transfer_and_a_single_message_are_measured_alike(tmp_path: Path) -> None:
    trace = ran(tmp_path / "trace", {"kind": "trace", "file": "pairs.goal"}).summary
    single = ran(tmp_path / "single", {"kind": "messages", "file": "pairs.csv"}).summary
    assert trace["messages"]["by_state"] == single["messages"]["by_state"]
    assert (trace["messages"]["of_transfers"], single["messages"]["of_transfers"]) == (2, 0)
    for name, value in single["metrics"].items():
        if name.startswith(("messages.", "fct.", "slowdown.", "goodput.")):
            assert trace["metrics"][name] == pytest.approx(value, rel=1e-3), name
    assert [row["size"] for row in trace["messages"]["by_size"]] == ["up to 10KB", "100KB-1MB"]
    assert all(row["met"] for row in trace["expectations"])
    assert any("all 2 messages done" in it["text"] for it in trace["verdict"])


def test_what_is_not_recorded_has_no_completion_time_and_what_is_not_done_is_told(tmp_path: Path) -> None:
    trace = {"kind": "trace", "file": "pairs.goal"}
    short = ran(
        tmp_path, trace, run={"duration": "10us"}, telemetry={"transfer_messages": "off", "interval": "5us"}
    ).summary
    assert short["messages"]["by_state"] == {"waiting": 0, "outstanding": 1, "done": 1, "failed": 0}
    assert short["metrics"]["fct.p99_ns"] is None
    assert short["expectations"][1]["actual"] is None
    assert any("1 of 2 messages was not done" in it["text"] for it in short["verdict"])


def test_a_collective_has_a_completion_time_for_every_message_with_bytes(tmp_path: Path) -> None:
    ring = {"kind": "collective", "operation": "all-reduce", "algorithm": "ring", "size": "40B"}
    run = ran(tmp_path, ring, expectations=[], transport={"qp": {"per": "pair"}})
    table = run.transfer_messages(["size_bytes", "start_ns", "end_ns"])
    took = np.sort(table["end_ns"].to_numpy() - table["start_ns"].to_numpy())
    metrics = run.summary["metrics"]
    assert metrics["messages.done"] == metrics["messages.total"] == 4 * 2 * 3
    assert metrics["fct.max_ns"] == took[-1] * PS_PER_NS // PS_PER_NS
    assert metrics["goodput.jain"] == pytest.approx(1, abs=0.01)
    assert metrics["slowdown.p50"] >= 1 - 1e-3


def test_a_run_without_directory_measures_transfers_as_a_recorded_run(tmp_path: Path) -> None:
    recorded = ran(tmp_path, {"kind": "trace", "file": "pairs.goal"}).summary["metrics"]
    file = tmp_path / "pairs.yml"
    found = measure_run(*prepare(build_scenario(json.loads(file.read_text()), file)))
    told = {summary_key(name): to_summary(name, value) for name, value in found.metrics.items()}
    assert recorded[summary_key("messages.done")] == 2
    assert recorded[summary_key("fct.max")] is not None
    assert told == recorded
    assert len(found.fct_ps) == 2


def test_messages_of_transfers_posted_before_the_warm_up_are_not_measured(tmp_path: Path) -> None:
    whole = ran(tmp_path, {"kind": "trace", "file": "pairs.goal"}, telemetry={"interval": "1us"})
    compiled, plan = prepare(build_scenario(json.loads((tmp_path / "pairs.yml").read_text()), tmp_path / "pairs.yml"))
    found = measure_run(compiled, plan, warm_up_ps=3_000_000)  # the long message is posted at 5 us
    again = Options(tmp_path / "again")
    assert found.metrics["messages.done"] == found.metrics["messages.total"] == 1
    assert found.metrics["fct.max"] == whole.summary["metrics"][summary_key("fct.max")] * PS_PER_NS
    assert measure_run(compiled, plan, warm_up_ps=3_000_000, recorded=again).metrics == found.metrics
