"""Processes by identity: process id and start time, which together are unique within a boot.

The kernel reuses a process id after the process has ended. Signals go through a file descriptor of the process
(pidfd_open(2)) that is opened before the identity is checked, so that the id cannot be reused in between.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_START: Final = 22 - 3
"""Field `starttime` of /proc/PID/stat, counted from the name in parentheses (proc(5))."""
_POLL_S: Final = 0.02
_KILLED_S: Final = 5.0
"""Longest time from SIGKILL to the end of a process; a process that hangs in the kernel does not end."""
_LAUNCH_S: Final = 2.0
"""A process that was just released may still be the shell that becomes the daemon; wait this long."""


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process of this boot."""

    pid: int
    start_ticks: int
    """Clock ticks from the boot to its start."""

    @property
    def alive(self) -> bool:
        """Whether it runs; a zombie does not."""
        return start_ticks(self.pid) == self.start_ticks


def own() -> ProcessId:
    """The calling process."""
    found = start_ticks(os.getpid())
    if found is None:
        raise OSError(f"{_PROC / 'self' / 'stat'} cannot be read")
    return ProcessId(os.getpid(), found)


def start_ticks(pid: int) -> int | None:
    """Start time of a process; None if no process has this id."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[_START])


def program_of(pid: int) -> str | None:
    """Path of the program of a process; None if the process has ended, or is not accessible."""
    try:
        return str((_PROC / str(pid) / "exe").readlink()).removesuffix(" (deleted)")
    except OSError:
        return None


def namespace_of(pid: int) -> int | None:
    """Inode of a process's network namespace; None as in program_of()."""
    try:
        return (_PROC / str(pid) / "ns" / "net").stat().st_ino
    except OSError:
        return None


def inside(inode: int) -> Iterator[tuple[int, str]]:
    """(pid, name) of every process in a network namespace."""
    for path in _PROC.iterdir():
        if path.name.isdecimal() and namespace_of(int(path.name)) == inode:
            with contextlib.suppress(OSError):
                yield int(path.name), (path / "comm").read_text(encoding="utf-8", errors="replace").strip()


@dataclass(frozen=True, slots=True)
class Daemon:
    """A process that a laboratory started, as listed in its record."""

    node: str
    name: str
    process: ProcessId
    program: str
    inode: int
    """Inode of its network namespace."""

    def __str__(self) -> str:
        return f"{self.name} of {self.node} (process {self.process.pid})"

    def matches(self) -> bool:
        """Whether the process with this id is that daemon. Waits for a shell that is about to become the daemon."""
        until_s = time.monotonic() + _LAUNCH_S
        while self.process.alive:
            found = program_of(self.process.pid), namespace_of(self.process.pid)
            if found in {(self.program, self.inode), (None, None)}:
                return self.process.alive
            if time.monotonic() > until_s:
                return False
            time.sleep(_POLL_S)
        return False


@dataclass(frozen=True, slots=True)
class Ended:
    """Outcome for daemons that were to end. Daemons in none of the lists had ended before."""

    ran: list[Daemon]
    reused: list[Daemon]
    """Their process id now belongs to another process, which was not signalled."""
    stuck: list[Daemon]
    """They did not end after SIGKILL."""


def end(daemons: Sequence[Daemon], patience_s: float, number: int = signal.SIGTERM) -> Ended:
    """Signal daemons and wait for their end; SIGKILL after patience_s."""
    found = Ended([], [], [])
    with contextlib.ExitStack() as stack:
        opened: list[tuple[Daemon, int]] = []
        for daemon in daemons:
            try:
                handle = os.pidfd_open(daemon.process.pid)
            except ProcessLookupError:
                continue
            stack.callback(os.close, handle)
            if daemon.matches():
                opened.append((daemon, handle))
                _signal(handle, number)
            elif start_ticks(daemon.process.pid) is not None:
                found.reused.append(daemon)
        until_s = time.monotonic() + patience_s
        for daemon, handle in opened:
            _wait(daemon, until_s)
            if daemon.process.alive:
                _signal(handle, signal.SIGKILL)
                _wait(daemon, max(until_s, time.monotonic()) + _KILLED_S)
            (found.stuck if daemon.process.alive else found.ran).append(daemon)
            reap(daemon.process.pid)
    return found


def _wait(daemon: Daemon, until_s: float) -> None:
    while daemon.process.alive and time.monotonic() < until_s:
        time.sleep(_POLL_S)


def reap(pid: int) -> None:
    """Reap an ended child process; no effect for other processes."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _signal(handle: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, number)
