"""Folders that a command owns: an earlier call's files go, and files of others stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.errors import InputErrors
from fabric.runs.owned import LIST, OwnedFolder


def take(path: Path, command: str = "fabric x --dir") -> OwnedFolder:
    return OwnedFolder(path, "--dir", command)


def shown(path: Path) -> list[str]:
    return sorted(str(it.relative_to(path)) for it in path.rglob("*") if it.is_file() and it.name != LIST)


def test_a_second_call_leaves_no_file_of_the_first_and_every_other_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    first = take(path)
    for name in ("a.yml", "below/deep/b.yml"):
        first.write(name, name)
    (path / "notes.txt").write_text("mine", encoding="utf-8")
    take(path).write("c.yml", "c")
    assert shown(path) == ["c.yml", "notes.txt"]
    assert not (path / "below").exists()


def test_a_folder_of_others_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine.yml").write_text("x", encoding="utf-8")
    with pytest.raises(InputErrors, match="name a folder that is new or empty"):
        take(tmp_path)
    assert [it.name for it in tmp_path.iterdir()] == ["mine.yml"]
    take(tmp_path / "other").write("a", b"1")
    with pytest.raises(InputErrors, match="fabric y --dir` did not write them"):
        take(tmp_path / "other", "fabric y --dir")
    with pytest.raises(InputErrors, match="is no folder"):
        take(tmp_path / "mine.yml")


def test_a_file_that_was_edited_afterwards_is_not_lost(tmp_path: Path) -> None:
    take(tmp_path).write("a.yml", "1")
    (tmp_path / "a.yml").write_text("edited", encoding="utf-8")
    with pytest.raises(InputErrors, match=r"changed after it was written: a\.yml"):
        take(tmp_path)
    assert (tmp_path / "a.yml").read_text(encoding="utf-8") == "edited"


def test_a_file_of_others_in_it_is_not_overwritten(tmp_path: Path) -> None:
    owned = take(tmp_path)
    (tmp_path / "a.yml").write_text("mine", encoding="utf-8")
    with pytest.raises(InputErrors, match="is not from this command"):
        owned.write("a.yml", "1")


def test_a_list_that_leads_out_of_the_folder_removes_nothing_there(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("", encoding="utf-8")
    take(tmp_path / "out")
    with (tmp_path / "out" / LIST).open("a", encoding="utf-8") as file:
        file.write(f"0  ../kept\n0  {tmp_path / 'kept'}\n")
    take(tmp_path / "out")
    assert (tmp_path / "kept").exists()


def test_a_second_part_of_one_call_adds_to_the_first(tmp_path: Path) -> None:
    take(tmp_path / "out").write("a.yml", "a")
    OwnedFolder(tmp_path / "out", "--dir", "fabric x --dir", more=True).write("b.yml", "b")
    assert shown(tmp_path / "out") == ["a.yml", "b.yml"]
    take(tmp_path / "out")
    assert shown(tmp_path / "out") == []
