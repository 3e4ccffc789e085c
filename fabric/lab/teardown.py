"""Removal of a laboratory: exactly the listed resources are removed; anything else is left and reported.

Order: daemons (SIGTERM, then SIGKILL), namespaces with their devices, files, the record. An interrupted removal is
repeated from the beginning, since the record is removed last.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fabric.lab import netns, processes
from fabric.lab.names import RUN_NETNS
from fabric.lab.processes import Daemon
from fabric.lab.record import Content, OwnedNamespace, Record

END_S: Final = 5.0
"""Time for daemons to end after SIGTERM."""
SCRATCH: Final = Path("/var/tmp/frr")  # noqa: S108  FRR's own: lib/zlog.c
"""FRR keeps the last log lines of a process in SCRATCH/DAEMON.PID, and leaves them there if it is killed."""


@dataclass
class Removal:
    """Outcome of the removal of one laboratory."""

    name: str
    ended: list[str] = field(default_factory=list)
    """Daemons and namespaces that were removed."""
    absent: list[str] = field(default_factory=list)
    """Listed, but already absent."""
    left: list[str] = field(default_factory=list)
    """Found under a listed name with another identity, or not removable. Not changed."""

    @property
    def clean(self) -> bool:
        """Whether nothing was left."""
        return not self.left


def take_down(record: Record) -> Removal:
    """Remove everything that a record lists, and the record. Absent resources are skipped."""
    done = Removal(record.folder.name)
    content = record.content
    if content is not None:
        if content.head.stale:
            done.absent.append("all daemons and namespaces: they ended with an earlier boot")
            for namespace in content.namespaces:
                _remove_mount_point(RUN_NETNS / namespace.name)
        else:
            _daemons(content, done)
            for namespace in content.namespaces:
                _namespace(namespace, content.head.token, done)
        _files(record.folder, content, done)
    if not record.remove():
        done.left.append(f"{record.folder}: it holds files of others")
    return done


def _daemons(content: Content, done: Removal) -> None:
    ended = processes.end(content.daemons, END_S)
    newest = set(content.newest().values())
    done.ended += map(str, ended.ran)
    done.left += [f"{it}: it outlived SIGKILL" for it in ended.stuck]
    touched = {*ended.ran, *ended.stuck, *ended.reused}
    done.absent += [str(it) for it in content.daemons if it in newest and it not in touched]
    done.absent += [f"{it}: another process has its number, and was left alone" for it in ended.reused if it in newest]
    for daemon in content.daemons:
        if daemon not in ended.stuck and daemon not in ended.reused:
            _remove_scratch(daemon)


def _remove_scratch(daemon: Daemon) -> None:
    shutil.rmtree(SCRATCH / f"{daemon.name}.{daemon.process.pid}", ignore_errors=True)


def _namespace(namespace: OwnedNamespace, token: str, done: Removal) -> None:
    path = RUN_NETNS / namespace.name
    inode = netns.inode_at(path)
    if inode is None:
        if not _remove_mount_point(path):
            done.absent.append(f"namespace {namespace.name}")
        return
    if inode != namespace.inode or not netns.carries(path, token):
        done.left.append(f"namespace {namespace.name}: another program has created one of this name")
        return
    netns.unmount(path)
    done.ended.append(f"namespace {namespace.name}")
    inside = [f"{name} (process {pid})" for pid, name in processes.inside(inode)]
    if inside:
        done.left.append(
            f"namespace {namespace.name}, now without a name: {', '.join(inside)} runs in it; "
            "it ends with its last process"
        )


def _remove_mount_point(path: Path) -> bool:
    """Remove the empty mount point of a namespace that was never mounted, or was mounted in an earlier boot."""
    try:
        empty = path.is_file() and not path.is_symlink() and path.stat().st_size == 0
    except OSError:
        return False
    if empty:
        path.unlink(missing_ok=True)
    return empty


def _files(folder: Path, content: Content, done: Removal) -> None:
    for name, files in content.folders.items():
        for file in files:
            (folder / name / file).unlink(missing_ok=True)
        try:
            (folder / name).rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            others = ", ".join(sorted(path.name for path in (folder / name).iterdir()))
            done.left.append(f"{folder / name}: files of others ({others})")
