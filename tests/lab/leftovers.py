"""Names that say which test process they belong to, and the removal of what a killed one has left on the machine.

A name begins with `test-PID-TICKS-RANDOM`; its owner's process id and start time are unique within a boot. The sweep
removes what carries the name of a process that is gone, and nothing else: two test runs on one machine do not meet.
It asks nothing of the product, whose own removal is among what the tests try.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

RUN: Final = Path("/run/fabric-lab")
RUN_NETNS: Final = Path("/run/netns")
TMPFS: Final = "fabric-reliability"
"""What tests' file systems of a given size are called in /proc/mounts, before the owner's name."""
_PROC: Final = Path("/proc")
_DAEMONS: Final = "/usr/lib/frr/"
_SCRATCH: Final = Path("/var/tmp/frr")  # noqa: S108  where FRR's daemons leave their last log lines
_OWNED: Final = re.compile(r"test-(\d+)-(\d+)-[0-9a-f]{6}[^/+]*")
_START: Final = 22 - 3
"""Field `starttime` of /proc/PID/stat, counted behind the name in parentheses (proc(5))."""


def new_name(word: str = "") -> str:
    """A name that no other test has, of this process."""
    return f"test-{os.getpid()}-{_start_ticks(os.getpid())}-{secrets.token_hex(3)}{word}"


def is_abandoned(name: str) -> bool:
    """Whether a name is a test's whose process is gone."""
    found = _OWNED.fullmatch(name)
    return found is not None and _start_ticks(int(found[1])) != int(found[2])


def sweep(run: Path = RUN, netns: Path = RUN_NETNS) -> list[str]:
    """Remove all that is abandoned. Returns what was removed."""
    return [*_laboratories(run, netns), *_file_systems(), *_terminals()]


def _laboratories(run: Path, netns: Path) -> Iterator[str]:
    spaces = [path for path in _listed(netns) if path.name.startswith("fabric+")]
    names = {path.name for path in _listed(run)} | {path.name.split("+")[1] for path in spaces}
    for name in sorted(filter(is_abandoned, names)):
        with _held(run / name) as free:
            if not free:  # a command that outlived its test works on it
                continue
            for pid in _end_daemons(run / name):
                shutil.rmtree(_SCRATCH / pid, ignore_errors=True)
                yield f"daemon {pid} of {name}"
            for path in spaces:
                if path.name.split("+")[1] == name:
                    _quietly("umount", "--lazy", str(path))
                    with contextlib.suppress(OSError):
                        path.unlink()
                    yield str(path)
            if (run / name).is_dir():
                shutil.rmtree(run / name, ignore_errors=True)
                yield str(run / name)


def _end_daemons(folder: Path) -> Iterator[str]:
    """Kill FRR's daemons with files in a laboratory's folder; yields 'bgpd.1234'."""
    inside = os.fsencode(folder) + b"/"
    for path in _listed(_PROC):
        if not path.name.isdecimal():
            continue
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            handle = os.pidfd_open(int(path.name))  # before it is looked at: the number can be given to another
            stack.callback(os.close, handle)
            program, words = (path / "cmdline").read_bytes().partition(b"\0")[::2]
            if program.startswith(_DAEMONS.encode()) and any(it.startswith(inside) for it in words.split(b"\0")):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                yield f"{Path(os.fsdecode(program)).name}.{path.name}"


def _file_systems() -> Iterator[str]:
    mounts = _PROC / "self" / "mounts"
    for line in mounts.read_text(encoding="utf-8").splitlines() if mounts.exists() else ():
        source, where, kind = line.split()[:3]
        name, _, owned = source.partition("+")
        if (name, kind) == (TMPFS, "tmpfs") and is_abandoned(owned):
            where = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), where)
            _quietly("umount", "--lazy", where)
            yield where


def _terminals() -> Iterator[str]:
    """Servers of tmux, by their sockets."""
    for path in _listed(Path(os.environ.get("TMUX_TMPDIR", "/tmp")) / f"tmux-{os.getuid()}"):  # noqa: S108  tmux's own
        if is_abandoned(path.name):
            _quietly("tmux", "-S", str(path), "kill-server")
            path.unlink(missing_ok=True)
            yield str(path)


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[bool]:
    """Whether nobody else works in a laboratory's folder; nobody begins to before the end of the block."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield True
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _quietly(*command: str) -> None:
    """Another sweep may be at the same thing."""
    with contextlib.suppress(FileNotFoundError):
        subprocess.run(command, check=False, capture_output=True)


def _start_ticks(pid: int) -> int | None:
    """Start time of a process; None if there is none, or only what its parent has not asked for yet."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[_START])
