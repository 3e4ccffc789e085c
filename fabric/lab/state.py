"""Present state of a laboratory: its record compared with the processes and namespaces of this machine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from fabric.lab import names
from fabric.lab.frr import tail
from fabric.lab.netns import inode_at
from fabric.lab.processes import Daemon
from fabric.lab.record import Content, DamagedError, Head, Kind, laboratories, read

LOG_LINES: Final = 3
"""Log lines shown of a daemon that does not run."""


class Condition(StrEnum):
    """The state of a whole laboratory."""

    RUNNING = "running"
    PARTLY_DOWN = "partly down"
    DOWN = "down"
    """None of its daemons and namespaces exists."""
    BUILDING = "being built"
    UNFINISHED = "not finished"
    """The process that built it ended before completion."""
    ABANDONED = "abandoned"
    """From a comparison or a test whose process ended without removing it."""
    STALE = "of an earlier boot"
    DAMAGED = "damaged"
    """Its record cannot be read."""


@dataclass(frozen=True, slots=True)
class DaemonState:
    """One daemon of one switch."""

    node: str
    name: str
    pid: int | None
    """None: it was not started."""
    runs: bool
    log: tuple[str, ...]
    """Its last lines, if it does not run."""


@dataclass(frozen=True, slots=True)
class State:
    """One laboratory."""

    name: str
    condition: Condition
    head: Head | None
    daemons: tuple[DaemonState, ...] = ()
    namespaces: int = 0
    """Number of listed namespaces."""
    lost: tuple[str, ...] = ()
    """Names of listed namespaces that do not exist."""
    problem: str = ""

    @property
    def dead(self) -> tuple[DaemonState, ...]:
        """Daemons that should run and do not."""
        return tuple(it for it in self.daemons if not it.runs)


def state_of(name: str, run: Path = names.RUN) -> State | None:
    """The state of one laboratory; None if there is none."""
    try:
        content = read(run / name)
    except FileNotFoundError:
        return None
    except DamagedError as error:
        return State(name, Condition.DAMAGED, None, problem=str(error))
    if content is None:
        return State(name, Condition.UNFINISHED, None)
    daemons = tuple(_daemons(run / name, content))
    lost = tuple(it.name for it in content.namespaces if inode_at(names.RUN_NETNS / it.name) != it.inode)
    return State(name, _condition(content, daemons, lost), content.head, daemons, len(content.namespaces), lost)


def states(run: Path = names.RUN) -> list[State]:
    """All laboratories of this machine."""
    return [found for name in laboratories(run) if (found := state_of(name, run)) is not None]


def _condition(content: Content, daemons: tuple[DaemonState, ...], lost: tuple[str, ...]) -> Condition:
    if content.head.stale:
        return Condition.STALE
    if content.head.kind is not Kind.UP and not content.head.builder.alive:
        return Condition.ABANDONED
    if not content.complete:
        return Condition.BUILDING if content.head.builder.alive else Condition.UNFINISHED
    if not any(it.runs for it in daemons):
        return Condition.DOWN
    return Condition.PARTLY_DOWN if lost or not all(it.runs for it in daemons) else Condition.RUNNING


def _daemons(folder: Path, content: Content) -> list[DaemonState]:
    newest = content.newest()
    return [
        _daemon(folder, node, name, newest.get((node, name)), stale=content.head.stale)
        for node in content.head.switches
        for name in content.head.daemons
    ]


def _daemon(folder: Path, node: str, name: str, daemon: Daemon | None, *, stale: bool) -> DaemonState:
    runs = daemon is not None and not stale and daemon.matches()
    return DaemonState(
        node,
        name,
        None if daemon is None else daemon.process.pid,
        runs,
        () if runs else tuple(tail(folder / node / f"{name}.log", 0)[-LOG_LINES:]),
    )
