"""`fabric explain step` of a job and step: it adds up to the step of the results; runs without kinds of causes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from fabric.api.hooks import hooks_of
from fabric.cli.main import main
from fabric.dataplane.engine.edits import LinkErrors, LinkRate, PauseStorm
from fabric.errors import InputErrors, RunDirError
from fabric.explain.counterfactual import scenario_with, trials, without
from fabric.explain.critical_path import Kind
from fabric.explain.evidence import Evidence
from fabric.explain.report import compose
from fabric.explain.step import Step, by_cause
from fabric.explain.variations import suggested, variations
from fabric.render.document import Gantt, Map, Table
from fabric.render.html import to_html
from fabric.runs import simulate
from fabric.runs.rundir import RunDir
from fabric.scenario.load import build_scenario

JOB: Final = """model: {name: tiny, layers: 2, hidden: 64, feed_forward: 128, heads: 2, vocabulary: 256, sequence: 64}
gpus: 8
gpus_per_node: 2
parallel: {pp: 2, dp: 4}
batch: {sequence: 64, micro_batches: 2}
compute: {layer_forward: 10us, layer_backward: 20us, stragglers: [{rank: 5, factor: 3}]}
"""
TOPOLOGY: Final = {
    "kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 8, "host_rate": "100G", "fabric_rate": "100G",
}  # fmt: skip


def simulated(folder: Path, workload: list[dict[str, Any]], **sections: Any) -> Evidence:  # noqa: ANN401  sections
    raw = {
        "name": "parts", "topology": TOPOLOGY, "workload": workload, "run": {"duration": "20ms"},
        "telemetry": {"interval": "5us"}, **sections,
    }  # fmt: skip
    (folder / "scenario.yml").write_text(json.dumps(raw))
    compiled, plan = simulate.prepare(build_scenario(raw, folder / "scenario.yml"))
    simulate.simulate(compiled, plan, simulate.Options(folder / "run"), hooks_of())
    return Evidence(RunDir.open(folder / "run"))


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    folder = tmp_path_factory.mktemp("jobs")
    (folder / "tiny.yml").write_text(JOB)
    loads = [{"kind": "job", "job": "tiny.yml", "name": name, "placement": "spread", "steps": 3} for name in "ab"]
    return simulated(folder, loads, transport={"qp": {"per": "pair"}})


def goal(random: np.random.Generator, ranks: int) -> str:
    """Computations and messages of random lengths; each rank waits for the one before it."""
    lines = [f"num_ranks {ranks}"]
    sizes = random.integers(1_000, 300_000, ranks)
    for rank in range(ranks):
        lines += [
            f"rank {rank} {{", f"c: calc {random.integers(1, 200_000)}",
            f"s: send {sizes[rank]}b to {(rank + 1) % ranks} tag 0",
            f"r: recv {sizes[rank - 1]}b from {(rank - 1) % ranks} tag 0",
            f"d: calc {random.integers(1, 50_000)}", "s requires c", "d requires r", "}",
        ]  # fmt: skip
    return "\n".join(lines)


def check_steps(evidence: Evidence) -> int:
    """Every step of every job adds up; returns how many there were."""
    step, checked = Step(evidence), 0
    for job in evidence.run.summary["jobs"]:
        before = None
        for number, told in enumerate(job["steps"]):
            path = step.path(step.choose(None, job["name"], number))
            lines = step.lines(path)
            assert sum(line.lasted_ns for line in lines) == path.end_ns - path.start_ns
            assert [line.end_ns for line in lines[:-1]] == [line.start_ns for line in lines[1:]]
            assert path.end_ns - path.start_ns == pytest.approx(told["duration_ns"], abs=2)  # of rounding
            assert before is None or path.start_ns == before
            before, checked = path.end_ns, checked + 1
    return checked


@pytest.mark.parametrize("seed", range(3))
def test_the_stretches_of_any_step_add_up_to_it(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)
    (tmp_path / "any.goal").write_text(goal(random, int(random.integers(2, 9))))
    fault = {"kind": "link-rate", "link": "host2--leaf1", "rate": "20G", "at": "50us", "until": "150us"}
    trace = {"kind": "trace", "name": "any", "file": "any.goal", "repeat": 3}
    assert check_steps(simulated(tmp_path, [trace], faults=[fault])) == 3


def test_the_stretches_of_the_steps_of_two_jobs_add_up(jobs: Evidence) -> None:
    assert check_steps(jobs) == 6


def test_a_job_without_its_straggler_is_faster(jobs: Evidence) -> None:
    step = Step(jobs)
    choice = step.choose(None, "b", 1)
    path = step.path(choice)
    [straggler] = step.stragglers(choice)
    assert straggler.rank == 5
    assert straggler.took_ns == 3 * straggler.peers_ns
    causes = by_cause(step.lines(path))
    assert suggested(causes, [straggler], 3)[0] == "stragglers"
    [trial] = trials(jobs.run, ["stragglers"], causes, [straggler])
    found = without(jobs.run, trial.scenario, trial.text, None, hooks_of(), change=trial.change, job="b", number=1)
    # Two micro-batches of 30 us, three times as long: 120 us less, of which the others' bubble hides a part.
    assert 60_000 <= path.end_ns - path.start_ns - found.took_ns <= 120_000


def test_each_kind_of_cause_is_left_out_of_what_the_engine_is_given(jobs: Evidence) -> None:
    faults = [
        {"kind": "link-rate", "link": "host2--leaf1", "rate": "20G", "at": "50us"},
        {"kind": "bit-errors", "link": "host3--leaf1", "ratio": 1e-6, "at": "50us"},
        {"kind": "pause-storm", "hosts": ["host4"], "at": "50us", "duration": "100us"},
    ]
    known = variations([])

    def changed(word: str) -> Any:  # noqa: ANN401  a CompiledScenario
        scenario = scenario_with(jobs.run, lambda raw: raw.update(faults=faults))
        compiled, _ = simulate.prepare(scenario, text="")
        change = known[word].change
        assert change is not None
        return change(compiled)

    slow = changed("slow-links")
    assert not [it for it in slow.edits if isinstance(it, LinkRate)]
    assert [it for it in slow.edits if isinstance(it, LinkErrors)]
    assert not [it for it in changed("losses").edits if isinstance(it, LinkErrors)]
    quiet = changed("pauses")
    assert not [it for it in quiet.edits if isinstance(it, PauseStorm)]
    assert not any(port.flow_control.classes for port in quiet.params.ports)
    assert changed("rate-cuts").params.transport.congestion_control == 0


def test_incast_without_pauses_or_collisions_loses_nothing(tmp_path: Path) -> None:
    lines = ["num_ranks 12"]
    for rank in range(12):
        lines += [f"rank {rank} {{"]
        if rank < 8:
            lines += [f"r{src}: recv 200000b from {src} tag 0" for src in (8, 9, 10, 11) if src % 4 == rank % 4]
        else:
            lines += [f"s{dst}: send 200000b to {dst} tag 0" for dst in range(8) if dst % 4 == rank % 4]
        lines += ["}"]
    (tmp_path / "many.goal").write_text("\n".join(lines))
    evidence = simulated(tmp_path, [{"kind": "trace", "name": "many", "file": "many.goal"}], transport={"cc": "none"})
    step = Step(evidence)
    path = step.path(step.choose())
    for word in ("pauses", "collisions", "rate-cuts"):
        [trial] = trials(evidence.run, [word], [], [])
        found = without(evidence.run, trial.scenario, trial.text, None, hooks_of(), change=trial.change)
        assert found.finished
        assert found.took_ns <= 1.3 * (path.end_ns - path.start_ns)


def test_wrong_parts_are_clear_errors(jobs: Evidence, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(jobs.run.path)
    for options, text in (
        (["--step", "1"], "name one with --job: a, b"),
        (["--job", "c"], "give one of: a, b"),
        (["--job", "a", "--step", "3"], "give 0 to 2"),
        (["--job", "a", "--operation", "a/step 0 end"], "contradicts --operation"),
        (["--without", "sunspots"], "stragglers, rate-cuts, pauses"),
    ):
        assert main(["explain", "step", run, *options]) == 2, options
        assert text in " ".join(capsys.readouterr().err.split())
    with pytest.raises(InputErrors, match="no rank is a straggler"):
        list(trials(jobs.run, ["stragglers"], [], []))
    with pytest.raises(RunDirError, match="no step -1"):
        Step(jobs).choose(None, "a", -1)


def test_the_command_explains_a_step_and_leaves_out_its_first_causes(
    jobs: Evidence, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["explain", "step", str(jobs.run.path), "--job", "a", "--step", "2", "--without", "causes", "--quiet"]
    assert main([*command, "--yes"]) == 0
    text = capsys.readouterr().out
    assert "step 2 of a" in text
    assert "stragglers: rank 5" in text


def test_the_report_shows_jobs_the_path_on_the_map_and_links_by_phase(jobs: Evidence) -> None:
    document = compose(jobs)
    blocks = {block.key: block for section in document.sections for block in section.blocks if hasattr(block, "key")}
    assert {"jobs", "collectives", "ranks", "path-map", "phases", "links"} <= set(blocks)
    phases, links, drawing = blocks["phases"], blocks["links"], blocks["path-map"]
    assert isinstance(phases, Table)
    assert isinstance(links, Gantt)
    assert isinstance(drawing, Map)
    assert {row[0] for row in phases.rows} == {"a pp", "a dp", "b pp", "b dp"}
    assert sum(int(str(row[2])) for row in phases.rows) == jobs.run.summary["transfers"]["size_bytes"]
    assert all(0 < float(str(row[5])) <= 1 for row in phases.rows)
    step = Step(jobs)
    path = step.path(step.choose())
    sent = sum(it.end_ns - it.start_ns for it in path.stretches if it.kind is Kind.NETWORK)
    hosts = {number for number, node in enumerate(drawing.nodes) if node.role == "host"}
    first = sum(link.a_paused_ratio for link in drawing.links if link.a in hosts)
    first += sum(link.b_paused_ratio for link in drawing.links if link.b in hosts)
    # Each message on the path leaves by one host port.
    assert first == pytest.approx(sent / (path.end_ns - path.start_ns))
    page = to_html(document)
    assert "The critical path on the fabric" in page
