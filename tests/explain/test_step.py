"""`fabric explain step`: the critical path has no gap, and names what the run without the cause saves."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabric.api.hooks import hooks_of
from fabric.cli.main import main
from fabric.collectives.transfers import Event, TransferList
from fabric.errors import InputErrors, RunDirError
from fabric.explain.counterfactual import faults_of, scenario_without, without
from fabric.explain.critical_path import Kind, Recorded, critical_path
from fabric.explain.evidence import Evidence
from fabric.explain.report import compose
from fabric.explain.step import Line, Step, by_cause, explain_step
from fabric.render.document import Prose, Section
from fabric.render.html import to_html
from fabric.runs import schedule, simulate
from fabric.runs.rundir import RunDir
from fabric.scenario.load import build_scenario

RANKS, STEPS = 8, 4
SLOW = {"name": "slow-nic", "kind": "link-rate", "link": "host3--leaf1", "rate": "10G", "at": "1us"}
HARMLESS = {"name": "harmless", "kind": "link-rate", "link": "leaf2--spine2", "rate": "90G", "at": "1us"}


def ring(compute_ns: Mapping[int, int], size: int = 100_000) -> str:
    """A GOAL ring: each rank computes, then passes STEPS messages on."""
    lines = [f"num_ranks {RANKS}"]
    for rank in range(RANKS):
        lines += [f"rank {rank} {{", f"c: calc {compute_ns.get(rank, 20_000)}"]
        for k in range(STEPS):
            lines += [
                f"s{k}: send {size}b to {(rank + 1) % RANKS} tag {k}",
                f"r{k}: recv {size}b from {(rank - 1) % RANKS} tag {k}",
                f"s{k} requires {f'r{k - 1}' if k else 'c'}",
            ]
        lines.append("}")
    return "\n".join(lines)


def simulated(folder: Path, goal: str, **sections: Any) -> Evidence:  # noqa: ANN401  a scenario's sections
    (folder / "ring.goal").write_text(goal)
    raw: dict[str, Any] = {
        "name": "step",
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "host_rate": "100G",
                     "fabric_rate": "100G"},
        "workload": [{"kind": "trace", "name": "ring", "file": "ring.goal"}],
        "telemetry": {"interval": "5us"},
        "run": {"duration": "20ms"},
        **sections,
    }  # fmt: skip
    file = folder / "scenario.yml"
    file.write_text(json.dumps(raw))
    compiled, plan = simulate.prepare(build_scenario(raw, file))
    simulate.simulate(compiled, plan, simulate.Options(folder / "run"), hooks_of())
    return Evidence(RunDir.open(folder / "run"))


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    return simulated(tmp_path_factory.mktemp("slow"), ring({}), faults=[SLOW, HARMLESS])


@pytest.fixture(scope="module")
def straggling(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    return simulated(tmp_path_factory.mktemp("straggling"), ring({5: 400_000}))


@pytest.fixture(scope="module")
def storm(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    fault = {"kind": "pause-storm", "hosts": ["host7"], "at": "25us", "duration": "300us"}
    return simulated(tmp_path_factory.mktemp("storm"), ring({}), faults=[fault])


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    fault = {"kind": "drop-every", "port": "leaf1:Ethernet0", "every": 20, "at": "0us"}
    return simulated(tmp_path_factory.mktemp("lossy"), ring({}), faults=[fault])


def lines_of(evidence: Evidence, operation: str | None = None) -> tuple[list[Line], int, int]:
    step = Step(evidence)
    path = step.path(step.choose(operation))
    return step.lines(path), path.start_ns, path.end_ns


@pytest.mark.parametrize("name", ["slow", "straggling", "storm", "lossy"])
def test_stretches_follow_one_another_and_add_up_to_the_duration(name: str, request: pytest.FixtureRequest) -> None:
    evidence: Evidence = request.getfixturevalue(name)
    lines, start, end = lines_of(evidence)
    assert lines[0].start_ns == start
    assert lines[-1].end_ns == end
    assert all(line.lasted_ns > 0 for line in lines)
    assert [line.end_ns for line in lines[:-1]] == [line.start_ns for line in lines[1:]]
    assert sum(line.lasted_ns for line in lines) == end - start
    assert end == max(row for row in evidence.run.transfers(["arrived_ns"])["arrived_ns"].to_pylist() if row)
    assert start == 0


def test_a_slow_nic_is_the_first_cause_and_its_share_is_what_the_run_without_it_saves(slow: Evidence) -> None:
    lines, start, end = lines_of(slow)
    cause, time = by_cause(lines)[0]
    assert cause.startswith("slow link host3:eth0--leaf1:")
    assert "10Gbit/s instead of 100Gbit/s" in cause
    took = {}
    for fault in faults_of(slow.run, ["faults"]):
        scenario, name = scenario_without(slow.run, fault)
        took[name] = without(slow.run, scenario, name, None, hooks_of()).took_ns
    assert took["harmless"] == end - start
    assert 1 - took["slow-nic"] / (end - start) == pytest.approx(time / (end - start), abs=0.05)


def test_a_slow_rank_is_named_and_the_path_turns_to_it(straggling: Evidence) -> None:
    lines, start, end = lines_of(straggling)
    assert by_cause(lines)[0] == ("computation on rank 5 (host6)", 400_000)
    assert lines[0].what == "computation"
    [found] = Step(straggling).stragglers(Step(straggling).choose(None))
    assert (found.rank, found.host, found.took_ns, found.peers_ns) == (5, "host6", 400_000, 20_000)
    assert end - start > 400_000


def test_a_pause_storm_is_named_with_its_origin(storm: Evidence) -> None:
    lines, start, end = lines_of(storm)
    cause, time = by_cause(lines)[0]
    assert cause == "pause that began at broken NIC host7:eth0 (class 3)"
    # The pause outlasts the storm by its last timer; what it cost is what the run without it saves.
    scenario, name = scenario_without(storm.run, 0)
    assert name == "pause-storm-0"
    assert end - start - without(storm.run, scenario, name, None, hooks_of()).took_ns == pytest.approx(time, rel=0.1)


def test_lost_packets_are_named_with_their_place(lossy: Evidence) -> None:
    causes = dict(by_cause(lines_of(lossy)[0]))
    assert any(cause.startswith("packets lost at leaf1") for cause in causes)


def test_one_operation_is_explained_alone(slow: Evidence) -> None:
    step = Step(slow)
    sends = [name for name in step.operations if name.endswith("send")]
    lines, start, end = lines_of(slow, sends[-1])
    assert sum(line.lasted_ns for line in lines) == end - start
    with pytest.raises(RunDirError, match="no operation 'ring/x'"):
        step.choose("ring/x")


def test_the_schedule_is_read_back_as_it_was_carried_out(slow: Evidence) -> None:
    file = Path(slow.run.manifest["scenario"]["file"])
    resolved = slow.run.manifest["scenario"]["resolved"]
    compiled, _ = simulate.prepare(build_scenario(resolved, file), text="")
    found, operations = schedule.read(slow.run)
    rows = compiled.params.transfers.rows
    named = compiled.params.transfers.operations
    assert [named[it] for it in rows.operation] == [operations[it] for it in found.operation]
    hosts = [slow.fabric.nodes[node].name for node in rows.src]
    assert hosts == [f"host{rank + 1}" for rank in found.src]
    for name in ("count", "small_bytes", "delay_ps", "earlier", "later", "lead", "per", "event"):
        np.testing.assert_array_equal(getattr(found, name), getattr(rows, name), name)


def test_the_command_prints_text_and_json(slow: Evidence, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(slow.run.path)
    assert main(["explain", "step", folder, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    path = said["path"]["path"]
    assert path[-1]["end_ns"] - path[0]["start_ns"] == said["step"]["took_ns"]
    assert main(["explain", "step", folder, "--without", "slow-nic", "--quiet"]) == 0
    assert "fault slow-nic" in capsys.readouterr().out
    assert main(["explain", "step", folder, "--quiet"]) == 2
    assert main(["explain", "step", folder, "--without", "slow"]) == 2
    assert "no fault is named 'slow'" in capsys.readouterr().err


def test_a_run_without_transfers_or_faults_is_refused(tmp_path: Path, straggling: Evidence) -> None:
    with pytest.raises(InputErrors, match="has no faults"):
        faults_of(straggling.run, ["faults"])
    plain = simulated(
        tmp_path, ring({}), workload=[{"kind": "incast", "receiver": "host1", "senders": ["*"], "size": "10KB"}]
    )
    with pytest.raises(RunDirError, match="has no transfers"):
        explain_step(plain)


def test_the_report_shows_the_path_and_the_ranks(slow: Evidence) -> None:
    page = to_html(compose(slow))
    assert "slow link host3:eth0" in page
    assert "rank 2 (host3)" in page


def test_a_schedule_cut_off_is_explained_to_the_end_of_the_run(tmp_path: Path) -> None:
    evidence = simulated(tmp_path, ring({}), faults=[SLOW], run={"duration": "60us"})
    lines, start, end = lines_of(evidence)
    assert end == evidence.end_ns
    assert sum(line.lasted_ns for line in lines) == end - start
    assert explain_step(evidence).verdict.startswith("Not done after")


def recorded(**columns: list[int]) -> Callable[[int], Recorded]:
    given = {name: np.array(values) for name, values in columns.items()}
    return lambda n_transfers: Recorded.of(given, n_transfers)


def test_the_path_turns_to_the_need_that_was_met_last() -> None:
    made = TransferList()
    computed = made.add(0, 0, delay_ps=5_000)
    first = made.add(0, 1, small_bytes=100)
    other = made.add(2, 1, small_bytes=100, start_ps=3_000)
    last = made.add(1, 3, small_bytes=100, delay_ps=2_000)
    made.need(computed, first, event=Event.COMPLETED)
    made.need(first, last)
    made.need(other, last)
    found = recorded(
        transfer=[0, 1, 2, 3], index=[0, 0, 0, 0], size_bytes=[0, 100, 100, 100], ready_ns=[0, 5, 3, 20],
        start_ns=[0, 5, 3, 22], arrived_ns=[-1, 20, 9, 30], end_ns=[5, 25, 12, 35], retransmits=[0] * 4,
    )(4)  # fmt: skip
    path = critical_path(made.build(), found, np.arange(4), 40, whole=True)
    told = [(it.kind, it.start_ns, it.end_ns, it.row) for it in path.stretches]
    assert told == [
        (Kind.COMPUTATION, 0, 5, computed),
        (Kind.NETWORK, 5, 20, first),
        (Kind.DELAY, 20, 22, last),
        (Kind.NETWORK, 22, 30, last),
    ]
    alone = critical_path(made.build(), found, np.array([other]), 40, whole=True)
    assert [(it.kind, it.start_ns, it.end_ns) for it in alone.stretches] == [(Kind.NETWORK, 3, 9)]


def test_the_answer_of_a_step_stands_before_the_long_table_of_its_path(straggling: Evidence) -> None:
    asked = Section("without", "Without a cause", (Prose("564us"),))
    keys = [section.key for section in explain_step(straggling, more=(asked,)).sections]
    assert keys == ["without", "step", "causes", "stragglers", "path"]
