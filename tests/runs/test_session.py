"""The end of a run, and equal results with and without interruptions."""

from __future__ import annotations

import functools
import itertools
import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.compute as pc
import pytest

from fabric.dataplane.state.compiled.compiling import CompileClock
from fabric.errors import InvariantError, RunDirError
from fabric.forwarding.message_ports import message_paths
from fabric.runs import files, session, simulate
from fabric.runs.rundir import RunDir
from fabric.runs.session import Hooks, Outcome
from fabric.scenario.load import load_scenario

FINAL = (
    files.SUMMARY,
    files.MESSAGES,
    files.COUNTERS,
    files.TIMESERIES,
    files.EVENTS,
    files.TABLES,
    files.TRUTH,
    files.TOPOLOGY,
)


def run(scenario: Path, out: Path, sets: Sequence[str] = (), hooks: Hooks | None = None, **options: Any) -> Outcome:  # noqa: ANN401  of Options
    compiled, plan = simulate.prepare(load_scenario(scenario, sets), sets=sets)
    return simulate.simulate(compiled, plan, simulate.Options(out, **options), hooks)


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine returns after few windows, so that there are many points of interruption."""
    monkeypatch.setattr(session._Budget, "adapt", lambda _self, **_: None)
    monkeypatch.setattr(session, "_Budget", functools.partial(session._Budget, budget=4))


def stopping(after: int) -> Callable[[object], None]:
    """A hook that stops the process's session as Ctrl-C does, at the engine's n-th return."""
    calls = itertools.count(1)

    def hook(_engine: object) -> None:
        if next(calls) == after:
            os.kill(os.getpid(), signal.SIGINT)

    return hook


def test_a_run_leaves_every_file_and_nothing_of_its_workshop(incast_file: Path, tmp_path: Path) -> None:
    outcome = run(incast_file, tmp_path / "out", hooks=Hooks(paths=message_paths))
    assert (outcome.status, outcome.exit_code) == ("done", 0)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {files.MANIFEST, *FINAL}
    found = RunDir.open(tmp_path / "out")
    assert found.manifest["digest"] == outcome.digest
    assert found.manifest["scenario"]["text"] == incast_file.read_text()
    assert found.summary["messages"]["by_state"] == {"waiting": 0, "outstanding": 0, "done": 7, "failed": 0}
    assert found.messages(["state"])["state"].to_pylist() == ["done"] * 7


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("moments", [(1,), (3,), (2, 2, 5), (17,)])
def test_interrupted_and_resumed_ends_with_the_very_files_of_an_uninterrupted_run(
    incast_file: Path, tmp_path: Path, moments: tuple[int, ...]
) -> None:
    whole = run(incast_file, tmp_path / "whole")
    for number, moment in enumerate(moments):
        stopped = run(incast_file, tmp_path / "cut", hooks=Hooks(on_pause=stopping(moment)), resume=number > 0)
        assert (stopped.status, stopped.exit_code) == ("interrupted", 130)
        usable = RunDir.open(tmp_path / "cut")
        assert usable.messages().num_rows == 7
        assert usable.summary["stop"]["reason"] == "interrupted"
    resumed = run(incast_file, tmp_path / "cut", resume=True)
    assert resumed.digest == whole.digest
    for name in FINAL:
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    assert RunDir.open(tmp_path / "cut").manifest["timings"]["resumed"] == len(moments)


def test_what_is_compiled_in_the_middle_of_a_run_is_no_part_of_its_pace(
    incast_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault may need a new kernel, whose 20 s of compilation made "32 min left" of a run of seconds."""
    looks: list[float] = []
    wall_s = itertools.count(1000, 0.01)  # each look at the clock takes 10 ms
    skipped_s = [0.0]

    def clock() -> float:
        return next(wall_s) + skipped_s[0]

    compiler = CompileClock(clock)
    monkeypatch.setattr(session, "time", SimpleNamespace(monotonic=clock))
    monkeypatch.setattr(session, "CompileClock", lambda: compiler)
    watched = session.Pace.observe
    monkeypatch.setattr(session.Pace, "observe", lambda self, at: (looks.append(at.wall_s), watched(self, at))[1])

    def compile_once(_engine: object) -> None:
        if len(looks) == 1:
            compiler.on_start(None)
            skipped_s[0] = 20.0
            compiler.on_end(None)

    run(incast_file, tmp_path / "out", hooks=Hooks(on_pause=compile_once, on_progress=lambda _: None))
    assert compiler.seconds > 20
    assert len(looks) > 2
    assert max(later - earlier for earlier, later in itertools.pairwise(looks)) < 1


def test_the_pace_does_not_change_a_byte(incast_file: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    run(incast_file, tmp_path / "swift")
    request.getfixturevalue("small_steps")
    run(incast_file, tmp_path / "slow")
    for name in FINAL:
        assert (tmp_path / "swift" / name).read_bytes() == (tmp_path / "slow" / name).read_bytes(), name


def test_samples_are_at_the_times_of_the_scenario(incast_file: Path, tmp_path: Path) -> None:
    run(incast_file, tmp_path / "out")
    found = RunDir.open(tmp_path / "out")
    times = pc.unique(found.timeseries()["time_ns"]).to_pylist()
    assert times == sorted(times)
    assert times[0] == 0
    assert all(time % 20_000 == 0 for time in times[:-1])


def test_the_last_row_of_a_counter_is_its_final_value(incast_file: Path, tmp_path: Path) -> None:
    run(incast_file, tmp_path / "out")
    found = RunDir.open(tmp_path / "out")
    names = ["tx_bytes", "queue_peak_bytes", "ecn_marked_pkts"]
    key = ("observable", "device", "port", "class")
    last, final = (
        {tuple(row[name] for name in key): row["value"] for row in table.to_pylist()}
        for table in (found.timeseries(names), found.counters(names))
    )
    assert last == final
    assert final


def test_paths_agree_with_the_packets_that_were_counted_on_uplinks(incast_file: Path, tmp_path: Path) -> None:
    run(incast_file, tmp_path / "out", hooks=Hooks(paths=message_paths))
    found = RunDir.open(tmp_path / "out")
    crossed = {port for path in found.messages(["path"])["path"].to_pylist() for port in path}
    uplinks = {port for port in crossed if port.startswith("leaf2:")}
    sent = found.counters(["sent_bytes"]).to_pylist()
    busy = {f"{row['device']}:{row['port']}" for row in sent if row["value"] > 200_000}
    assert uplinks
    assert uplinks == {port for port in busy if port.startswith("leaf2:")}  # acknowledgements are far smaller


def test_a_duration_that_is_too_short_leaves_messages_and_is_reported(incast_file: Path, tmp_path: Path) -> None:
    compiled, plan = simulate.prepare(load_scenario(incast_file), until_ps=50_000_000)
    outcome = simulate.simulate(compiled, plan, simulate.Options(tmp_path / "out"))
    assert outcome.summary["stop"]["reason"] == "duration"
    assert outcome.exit_code == 1  # messages.done == 7 is not met
    assert any("of 7 messages were not done" in it["text"] for it in outcome.summary["verdict"])


def test_a_run_that_waits_for_ever_ends_with_the_cycle_that_was_found(incast_file: Path, tmp_path: Path) -> None:
    storm = ["faults=[{kind: pause-storm, hosts: ['host1'], at: 5us, duration: 5ms}]", "run.no_progress=200us"]
    outcome = run(incast_file, tmp_path / "out", storm, Hooks(find_cycle=lambda _engine: [(8, 3), (12, 3)]))
    found = RunDir.open(tmp_path / "out")
    assert (outcome.status, outcome.exit_code) == ("stopped-no-progress", 1)
    assert found.summary["stop"]["reason"] == "no progress"
    assert found.summary["stop"]["stalled_since_ns"] + 200_000 <= found.summary["stop"]["time_ns"]
    assert [it["class"] for it in found.summary["deadlock"]] == [3, 3]
    assert found.summary["metrics"]["deadlock.cycles"] == 1
    row = next(row for row in found.events().to_pylist() if row["kind"] == "deadlock")
    assert (row["class"], row["a"], row["time_ns"]) == (3, 2, found.summary["stop"]["time_ns"])
    assert found.summary["verdict"][0]["level"] == "problem"


@pytest.mark.usefixtures("small_steps")
def test_a_run_that_was_killed_shows_what_its_last_checkpoint_holds(incast_file: Path, tmp_path: Path) -> None:
    run(incast_file, tmp_path / "out", hooks=Hooks(on_pause=stopping(20)))
    whole = RunDir.open(tmp_path / "out").timeseries().num_rows
    manifest = RunDir.open(tmp_path / "out").manifest  # as if killed right after the checkpoint
    listed = {name: manifest["files"][name] for name in (files.TOPOLOGY, files.TRUTH)}
    files.write_index(tmp_path / "out" / files.MANIFEST, {**manifest, "status": "running", "files": listed})
    killed = RunDir.open(tmp_path / "out")
    series = killed.timeseries(["tx_bytes"], ["time_ns", "value"])
    assert 0 < series.num_rows < killed.timeseries().num_rows <= whole
    assert killed.events().num_rows > 0
    with pytest.raises(RunDirError, match="is not there"):
        _ = killed.summary


def test_a_broken_law_ends_the_run_with_exit_code_3_and_marks_the_directory(incast_file: Path, tmp_path: Path) -> None:
    with pytest.raises(InvariantError, match="bytes vanished") as caught:
        run(
            incast_file,
            tmp_path / "out",
            hooks=Hooks(check=lambda _engine, now: ["bytes vanished"] if now.time_ps > 50_000_000 else []),
        )
    assert caught.value.exit_code == 3
    assert json.loads((tmp_path / "out" / files.MANIFEST).read_text())["status"] == "broken-invariant"


def test_a_directory_that_is_not_empty_is_refused(incast_file: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("precious")
    for options in ({}, {"force": True}, {"resume": True}):
        with pytest.raises(RunDirError):
            run(incast_file, tmp_path / "out", **options)
    assert (tmp_path / "out" / "thesis.tex").read_text() == "precious"


def test_another_scenario_cannot_resume_a_run(incast_file: Path, tmp_path: Path) -> None:
    run(incast_file, tmp_path / "out")
    with pytest.raises(RunDirError, match="another scenario"):
        run(incast_file, tmp_path / "out", sets=["run.seed=4"], resume=True)


def test_resuming_a_finished_run_only_reads_it(incast_file: Path, tmp_path: Path) -> None:
    first = run(incast_file, tmp_path / "out")
    again = run(incast_file, tmp_path / "out", resume=True)
    assert (again.digest, again.status) == (first.digest, "done")
    assert again.summary == first.summary


def test_force_replaces_a_run_and_leaves_other_files(incast_file: Path, tmp_path: Path) -> None:
    run(incast_file, tmp_path / "out")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    run(incast_file, tmp_path / "out", sets=["run.seed=4"], force=True)
    assert RunDir.open(tmp_path / "out").manifest["seed"] == 4
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"
