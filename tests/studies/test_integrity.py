"""`fabric verify` on the folders of studies: every kind of damage is named, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_study import Inline, written

from fabric.cli.main import main
from fabric.errors import RunDirError
from fabric.runs import lock
from fabric.studies import carry_out, integrity, journal
from fabric.studies.dataset import INDEX, POINTS, REPORT, RUNS, claimed
from fabric.studies.plan import examine, load_study


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(carry_out, "executor_of", lambda *_: Inline())
    file = written(tmp_path, repetitions={"seeds": 1}, parameters=None, keep="runs")
    plan = load_study(file)
    assert carry_out.sweep(plan, examine(plan), carry_out.How(tmp_path / "out")).complete
    return tmp_path / "out"


def damaged(folder: Path) -> dict[str, str]:
    return {it.file: it.fault for it in integrity.examine(folder) if it.fault}


def test_a_study_is_whole_and_every_changed_file_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(folder), "--json"]) == 0
    found = [it["file"] for it in json.loads(capsys.readouterr().out)["files"]]
    assert {INDEX, POINTS, REPORT, journal.NAME, f"{RUNS}/part-00000.parquet"} <= set(found)
    assert "kept/000000/summary.json" in found
    for name in found:
        file = folder / name
        if name == journal.NAME or file.name == "manifest.json":  # tested below; the run's own tests
            continue
        content = file.read_bytes()
        file.write_bytes(content[:-2] + b"?" + content[-1:])
        assert name in damaged(folder), name
        file.write_bytes(content)
    (folder / POINTS).unlink()
    assert main(["verify", str(folder)]) == 1
    assert f"{POINTS}: missing" in capsys.readouterr().out


def test_a_line_of_the_journal_that_was_cut_is_no_damage_and_a_changed_one_is(folder: Path) -> None:
    lines = [journal.line({"run": number}) for number in range(3)]
    (folder / journal.NAME).write_bytes(b"".join(lines)[:-5])
    assert damaged(folder) == {}
    (folder / journal.NAME).write_bytes(lines[0] + lines[1].replace(b"1}", b"7}") + lines[2])
    assert damaged(folder) == {journal.NAME: "line 2 changed since it was written"}
    with pytest.raises(RunDirError, match="line 2: changed since it was written"):
        journal.read(folder / journal.NAME)


def test_an_index_of_another_format_and_a_study_that_is_written_are_errors(folder: Path) -> None:
    index = folder / INDEX
    index.write_text("{", encoding="utf-8")
    assert "without it no other file can be checked" in damaged(folder)[INDEX]
    with lock.held(folder), pytest.raises(RunDirError, match="is being written by"):
        integrity.examine(folder)


def test_force_does_not_replace_a_what_if_study(tmp_path: Path) -> None:
    (tmp_path / INDEX).write_text('{"kind": "what-if"}', encoding="utf-8")
    with (
        pytest.raises(RunDirError, match="is not empty and holds no study"),
        claimed(tmp_path, None, resume=False, force=True),  # type: ignore[arg-type]  not reached
    ):
        pass
