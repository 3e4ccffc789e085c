"""Only the holder of a lock removes it, and a reader can find out that a directory is being written."""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from pathlib import Path

import pytest

from fabric.errors import RunDirError
from fabric.runs import files, lock
from fabric.runs.folder import claimed


def test_a_refused_writer_leaves_the_lock_of_the_first(tmp_path: Path) -> None:
    with lock.held(tmp_path):
        for _ in range(3):
            with pytest.raises(RunDirError, match=f"is being written by process {os.getpid()} on"), lock.held(tmp_path):
                pass
            assert (tmp_path / lock.NAME).exists()
    assert not (tmp_path / lock.NAME).exists()


@pytest.mark.parametrize("options", [{"force": True}, {"resume": True}, {}])
def test_a_directory_in_use_is_refused_however_often_it_is_asked_for(tmp_path: Path, options: dict[str, bool]) -> None:
    with claimed(tmp_path):
        (tmp_path / files.MANIFEST).write_text("{}")
        for _ in range(3):
            with pytest.raises(RunDirError, match="is being written by"), claimed(tmp_path, **options):
                pass
        assert (tmp_path / files.MANIFEST).exists(), "a refused process removes nothing"


def test_a_lock_file_that_was_removed_between_opening_and_locking_is_not_taken_for_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, opened = fcntl.flock, []

    def late(handle: int, how: int) -> None:
        if not opened:  # the last owner ends between our open() and our flock()
            opened.append(handle)
            (tmp_path / lock.NAME).unlink()
        plain(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with lock.held(tmp_path):
        monkeypatch.undo()
        with pytest.raises(RunDirError), lock.held(tmp_path):
            pass


def test_readers_that_look_for_the_writer_never_make_it_fail(tmp_path: Path) -> None:
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            lock.writer(tmp_path)

    askers = [threading.Thread(target=ask) for _ in range(2)]
    for asker in askers:
        asker.start()
    try:
        for _ in range(20):
            with lock.held(tmp_path):
                pass
    finally:
        stop.set()
        for asker in askers:
            asker.join()


def test_the_writer_is_named_while_it_writes_and_not_after(tmp_path: Path) -> None:
    assert lock.writer(tmp_path) is None
    with lock.held(tmp_path):
        assert lock.writer(tmp_path) == f"process {os.getpid()} on {os.uname().nodename}"
    (tmp_path / lock.NAME).write_text("process 1 on a host that was killed")
    assert lock.writer(tmp_path) is None


def test_a_writer_notices_that_its_directory_was_removed_or_replaced(tmp_path: Path) -> None:
    home = tmp_path / "out"
    home.mkdir()
    with lock.held(home) as check:
        check()
        shutil.rmtree(home)
        with pytest.raises(RunDirError, match="removed or replaced"):
            check()
        home.mkdir()
        with lock.held(home), pytest.raises(RunDirError, match="removed or replaced"):
            check()
    assert home.exists()


def test_a_run_that_ended_while_another_waited_is_not_replaced_without_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory is checked again once the lock is held."""
    plain = lock._acquire

    def after_another_ended(folder: Path) -> int:
        (folder / files.MANIFEST).write_text("{}")
        return plain(folder)

    monkeypatch.setattr(lock, "_acquire", after_another_ended)
    with pytest.raises(RunDirError, match="is not empty"), claimed(tmp_path / "out"):
        pass
    assert (tmp_path / "out" / files.MANIFEST).exists()
