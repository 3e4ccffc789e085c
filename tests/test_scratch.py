"""Temporary files of the tests are in memory where there is room, and nobody's are left there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tools.scratch import in_memory


def test_temporary_files_are_in_the_folder_and_gone_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/tmp")  # noqa: S108
    with in_memory(tmp_path, room_bytes=1) as folder:
        assert folder is not None
        assert Path(tempfile.mkdtemp()).parent == folder
        assert os.environ["TMPDIR"] == str(folder)
    assert not folder.exists()
    assert os.environ["TMPDIR"] == "/tmp"  # noqa: S108


def test_without_room_they_stay_where_they_are(tmp_path: Path) -> None:
    before = os.environ.get("TMPDIR")
    with in_memory(tmp_path, room_bytes=1 << 60) as folder:
        assert folder is None
        assert os.environ.get("TMPDIR") == before
    with in_memory(tmp_path / "nowhere") as folder:
        assert folder is None
    assert not list(tmp_path.iterdir())


def test_what_a_killed_run_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    left, other = tmp_path / "test-1-1-abcdef", tmp_path / "somebody"  # process 1 did not start at tick 1
    for path in (left, other):
        path.mkdir()
    with in_memory(tmp_path, room_bytes=1):
        assert not left.exists()
        assert other.exists()
