"""Every change of a file of a run is detected: by readers, by a comparison, by --resume, by `fabric verify`."""

from __future__ import annotations

import functools
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from fabric.cli.main import main
from fabric.errors import RunDirError
from fabric.explain.diff import compare
from fabric.runs import files, integrity, lock, session, simulate
from fabric.runs.content import Content
from fabric.runs.rundir import RunDir
from fabric.runs.session import Hooks
from fabric.scenario.load import load_scenario

Run = Callable[[], Path]


class Killed(BaseException):
    """Simulates kill -9: the session does not catch it."""


@pytest.fixture
def finished(incast_file: Path, tmp_path: Path) -> Path:
    compiled, plan = simulate.prepare(load_scenario(incast_file))
    simulate.simulate(compiled, plan, simulate.Options(tmp_path / "out"))
    return tmp_path / "out"


@pytest.fixture
def killed(incast_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Killed after some checkpoints; every call of the engine is short, and a checkpoint follows each."""
    monkeypatch.setattr(session._Budget, "adapt", lambda _self, **_: None)
    monkeypatch.setattr(session, "_Budget", functools.partial(session._Budget, budget=4))
    calls = iter(range(1000))

    def hook(_engine: object) -> None:
        if next(calls) == 20:
            raise Killed

    compiled, plan = simulate.prepare(load_scenario(incast_file))
    with pytest.raises(Killed):
        simulate.simulate(
            compiled, plan, simulate.Options(tmp_path / "cut", checkpoint_every_s=1e-9), Hooks(on_pause=hook)
        )
    monkeypatch.undo()
    return tmp_path / "cut"


def flip(path: Path, seed: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[random.Random(seed).randrange(len(data))] ^= 1
    path.write_bytes(data)


def resumed(scenario: Path, out: Path) -> session.Outcome:
    compiled, plan = simulate.prepare(load_scenario(scenario))
    return simulate.simulate(compiled, plan, simulate.Options(out, resume=True))


@pytest.mark.parametrize(
    "name",
    [files.SUMMARY, files.TOPOLOGY, files.MESSAGES, files.COUNTERS, files.TIMESERIES, files.EVENTS, files.TABLES],
)
def test_a_flipped_bit_of_any_result_is_named(finished: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    flip(finished / name)
    assert main(["verify", str(finished)]) == 1
    out = capsys.readouterr().out
    assert f"{finished / name}: changed since it was written (SHA-256 differs)" in out
    assert "1 of 9 files are damaged" in out
    with pytest.raises(RunDirError, match=f"{name} is changed since it was written"):
        RunDir.open(finished).verify()


def test_an_intact_run_is_reported_as_intact_in_json(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(finished), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["whole"] is True
    assert {it["file"] for it in found["files"]} == {path.name for path in finished.iterdir()}
    assert all(it["fault"] is None for it in found["files"])


def test_every_damaged_file_is_named(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flip(finished / files.EVENTS)
    (finished / files.TIMESERIES).unlink()
    (finished / files.MESSAGES).write_bytes((finished / files.MESSAGES).read_bytes()[:50])
    assert main(["verify", str(finished), "--json"]) == 1
    found = {it["file"]: it["fault"] for it in json.loads(capsys.readouterr().out)["files"] if it["fault"]}
    assert found[files.TIMESERIES] == "missing"
    assert found[files.MESSAGES].startswith("truncated to 50 of ")
    assert found[files.EVENTS].startswith("changed")


def test_a_comparison_refuses_damaged_runs(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "other")
    assert compare(RunDir.open(finished), RunDir.open(tmp_path / "other"))["same"] is True
    flip(tmp_path / "other" / files.COUNTERS)
    with pytest.raises(RunDirError, match=r"counters\.parquet is changed"):
        compare(RunDir.open(finished), RunDir.open(tmp_path / "other"))


@pytest.mark.parametrize("seed", range(20))
def test_a_changed_manifest_is_refused_or_means_the_same(finished: Path, seed: int) -> None:
    wanted = RunDir.open(finished).manifest
    flip(finished / files.MANIFEST, seed)
    try:
        found = RunDir.open(finished).manifest
    except RunDirError as error:
        refused = error.text
    else:
        refused = files.MANIFEST if found == wanted else ""
    assert files.MANIFEST in refused


def test_a_killed_run_with_a_damaged_part_is_refused_before_it_is_simulated(
    killed: Path, incast_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    part = killed / "parts" / "series-000001.parquet"
    flip(part)
    monkeypatch.setattr(simulate, "Session", None)
    monkeypatch.setattr(simulate, "Emulator", None)
    with pytest.raises(RunDirError, match=r"series-000001\.parquet is changed") as caught:
        resumed(incast_file, killed)
    assert caught.value.hint == "start again with --force instead of --resume"
    with pytest.raises(RunDirError, match=r"series-000001\.parquet is changed"):
        RunDir.open(killed).timeseries()
    assert main(["verify", str(killed)]) == 1
    assert f"{part}: changed" in capsys.readouterr().out


def test_a_checkpoint_of_another_run_is_refused(killed: Path, finished: Path, incast_file: Path) -> None:
    index = killed / "checkpoint" / "checkpoint.json"
    files.write_index(index, {**json.loads(index.read_text()), "identity": "another"})
    assert {it.file: it.fault for it in integrity.examine(killed)}[
        "checkpoint/checkpoint.json"
    ] == "the checkpoint of another run"
    with pytest.raises(RunDirError, match="the checkpoint of another run"):
        resumed(incast_file, killed)


def test_a_killed_run_is_intact_and_resumes_to_the_same_result(killed: Path, finished: Path, incast_file: Path) -> None:
    assert not [it for it in integrity.examine(killed) if it.fault]
    assert resumed(incast_file, killed).digest == RunDir.open(finished).manifest["digest"]


def test_inputs_that_the_scenario_gives_are_written_again_on_resume(
    killed: Path, finished: Path, incast_file: Path
) -> None:
    flip(killed / files.TOPOLOGY)
    assert resumed(incast_file, killed).status == "done"
    assert (killed / files.TOPOLOGY).read_bytes() == (finished / files.TOPOLOGY).read_bytes()


def test_a_finished_run_with_damage_is_not_taken_for_done_on_resume(finished: Path, incast_file: Path) -> None:
    flip(finished / files.TABLES)
    with pytest.raises(RunDirError, match=r"tables\.npz is changed"):
        resumed(incast_file, finished)


def test_results_that_the_manifest_does_not_list_are_not_shown(killed: Path, finished: Path) -> None:
    """Another process has written some of the files and has not listed them yet."""
    shutil.copy(finished / files.MESSAGES, killed)
    with pytest.raises(RunDirError, match="the run was killed before its end"):
        RunDir.open(killed).messages()
    with lock.held(killed), pytest.raises(RunDirError, match="the run is being written by process"):
        RunDir.open(killed).messages()


def test_a_run_that_was_replaced_under_a_reader_is_not_called_damaged(finished: Path, incast_file: Path) -> None:
    reader = RunDir.open(finished)
    compiled, plan = simulate.prepare(load_scenario(incast_file, ["run.seed=4"]))
    simulate.simulate(compiled, plan, simulate.Options(finished, force=True))
    with pytest.raises(RunDirError, match="was written again while it was read"):
        reader.timeseries()


def test_a_folder_that_is_being_written_is_not_judged(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with lock.held(finished):
        assert main(["verify", str(finished)]) == 2
    assert "is being written by process" in capsys.readouterr().err


def test_a_manifest_cannot_name_files_elsewhere(finished: Path) -> None:
    manifest = dict(RunDir.open(finished).manifest)
    files.write_index(finished / files.MANIFEST, {**manifest, "files": {"../x": {"bytes": 1, "sha256": ""}}})
    with pytest.raises(RunDirError, match="plain names"):
        RunDir.open(finished)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.table({"a": [1, 2]}), pa.table({"a": [1, 3]})),
        (pa.table({"a": [1, None]}), pa.table({"a": [1, 0]})),
        (pa.table({"a": ["ab", "c"]}), pa.table({"a": ["a", "bc"]})),
        (pa.table({"a": [["x"], []]}), pa.table({"a": [[], ["x"]]})),
        (pa.table({"a": [["x"], None]}), pa.table({"a": [["x"], []]})),
        (pa.table({"a": [1.0]}), pa.table({"a": [1]})),
        (pa.table({"a": [1]}), pa.table({"b": [1]})),
        (pa.table({"a": pa.array([], pa.int8())}), pa.table({"a": pa.array([], pa.int64())})),
    ],
)
def test_tables_of_other_values_have_another_digest(one: pa.Table, other: pa.Table) -> None:
    assert digest(one) != digest(other)


def test_the_digest_does_not_depend_on_how_a_table_is_laid_out() -> None:
    plain = pa.table({"a": ["x", "y", None, "x"], "b": [1, 2, 3, None]})
    chunked = pa.concat_tables([plain.slice(0, 1), plain.slice(1)])
    coded = plain.set_column(0, "a", plain["a"].dictionary_encode())
    assert digest(plain) == digest(chunked) == digest(coded)
    rows = np.zeros(3, [("a", np.int32)])
    assert rows_digest(rows) == rows_digest(rows.copy()) != rows_digest(rows[:2])


def digest(table: pa.Table) -> str:
    content = Content()
    content.add_table("it", table)
    return content.hexdigest("engine")


def rows_digest(rows: np.ndarray) -> str:
    content = Content()
    content.add_array("it", rows)
    return content.hexdigest("engine")


def test_files_of_others_beside_parts_and_checkpoints_stay(killed: Path, incast_file: Path) -> None:
    for name in ("parts", "checkpoint"):
        (killed / name / "notes.txt").write_text("mine")
    assert resumed(incast_file, killed).status == "done"
    assert (
        sorted(path.name for name in ("parts", "checkpoint") for path in (killed / name).iterdir()) == ["notes.txt"] * 2
    )


def test_damage_is_found_before_the_scenario_is_compiled(
    killed: Path, incast_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flip(killed / "parts" / "series-000001.parquet")
    monkeypatch.setattr(simulate, "prepare", None)
    assert main(["run", str(incast_file), "--out", str(killed), "--resume"]) == 2
    assert "series-000001.parquet is changed" in capsys.readouterr().err
