"""What a killed test run left is removed, and nothing of a run that goes on."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.lab.frr import Daemons
from fabric.lab.netns import Namespaces
from fabric.lab.record import Kind, Record
from tests.lab import leftovers
from tests.lab.leftovers import RUN_NETNS, TMPFS, is_abandoned, new_name, sweep
from tests.lab.owned import owned
from tests.lab.routers import real

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for namespaces and mounts")


@pytest.fixture(scope="module")
def gone() -> str:
    """A name of a process that has ended."""
    code = "from tests.lab.leftovers import new_name; print(new_name())"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_a_name_is_abandoned_when_its_process_has_ended_and_not_before(gone: str) -> None:
    assert not is_abandoned(new_name("word"))
    assert is_abandoned(gone)
    assert is_abandoned(f"{gone}@77")  # of a comparison
    _, pid, ticks, _ = new_name().split("-")
    assert is_abandoned(f"test-{pid}-{int(ticks) + 1}-c0ffee")  # the number is another process's by now


@pytest.mark.parametrize("name", ["incast", "test", "test-1", "test-1-2-mine", "test-a-b-c0ffee", "my-test-1-2-c0ffee"])
def test_what_is_not_named_after_a_process_is_no_tests(name: str) -> None:
    assert not is_abandoned(name)


def test_no_two_names_are_alike() -> None:
    assert len({new_name() for _ in range(100)}) == 100


def test_folders_go_where_their_owner_is_gone_and_nobody_works_in_them(gone: str, tmp_path: Path) -> None:
    mine, held = new_name(), f"{gone}held"
    for name in (gone, held, mine, "incast"):
        (tmp_path / name / "leaf1").mkdir(parents=True)
    handle = os.open(tmp_path / held, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        sweep(tmp_path, tmp_path / "none")
        assert {path.name for path in tmp_path.iterdir()} == {mine, held, "incast"}
    finally:
        os.close(handle)
    sweep(tmp_path, tmp_path / "none")
    assert {path.name for path in tmp_path.iterdir()} == {mine, "incast"}


@pytest.fixture
def two_spaces(gone: str) -> Iterator[tuple[Path, Path]]:
    """Namespaces of an ended process and of this one."""
    found = tuple(RUN_NETNS / f"fabric+{name}+leaf1" for name in (gone, new_name()))
    for path in found:
        subprocess.run(["ip", "netns", "add", path.name], check=True)
    yield found
    for path in found:
        subprocess.run(["ip", "netns", "delete", path.name], check=False, capture_output=True)


@needs_root
def test_namespaces_and_file_systems_of_an_ended_process_go_and_ours_stay(
    gone: str, two_spaces: tuple[Path, Path], tmp_path: Path
) -> None:
    theirs, ours = (tmp_path / it for it in ("their files", "our files"))
    for path, name in ((theirs, gone), (ours, new_name())):
        path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", f"{TMPFS}+{name}", str(path)], check=True)
    try:
        sweep()
        assert [path.is_mount() for path in (theirs, ours)] == [False, True]
        assert [path.exists() for path in two_spaces] == [False, True]
    finally:
        subprocess.run(["umount", str(ours)], check=True)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_terminals_of_an_ended_process_are_closed(gone: str) -> None:
    mine = new_name()
    try:
        for name in (gone, mine):
            subprocess.run(["tmux", "-L", name, "new-session", "-d", "sleep 600"], check=True)
        sweep()
        left = [subprocess.run(["tmux", "-L", it, "ls"], check=False, capture_output=True) for it in (gone, mine)]
        assert [it.returncode for it in left] == [1, 0]
    finally:
        subprocess.run(["tmux", "-L", mine, "kill-server"], check=True)


@real
def test_real_daemons_of_an_ended_process_are_killed_and_ours_run_on(gone: str) -> None:
    theirs = Record.create(gone, "test", Kind.TEST)
    spaces = Namespaces(theirs)
    Daemons("real", spaces.add("real"), theirs).start("hostname real\n", "hostname real\n")
    spaces.close()
    theirs.release()
    with owned() as (record, mine):
        daemons = Daemons("real", mine.add("real"), record)
        daemons.start("hostname real\n", "hostname real\n")
        removed = sweep()
        assert sorted(it.split(".")[0] for it in removed if gone in it and it.startswith("daemon")) == [
            "daemon bgpd",
            "daemon zebra",
        ]
        assert not (leftovers.RUN / gone).exists()
        assert "hostname real" in daemons.shell("show running-config")
