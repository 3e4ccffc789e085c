"""The record of a laboratory's resources, an exact list on disk: RUN/NAME/record.jsonl, one JSON object per line.

Rules
1. A line is written and synced before its resource can outlive the creating process. A namespace is created without a
   name, listed with its inode, and only then mounted; a daemon's process is listed with its id and start time, and
   only then released (frr.py). So `kill -9` at any time leaves no resource that is not listed.
2. Only listed resources with the listed identity are removed (teardown.py). The record is removed last, so an
   interrupted removal can be repeated.
3. One process at a time builds or ends a laboratory: it holds flock(2) on the folder RUN/NAME, which the kernel
   releases at any end of the process. After locking, the process checks that the name still refers to that folder: its
   last owner may have removed it meanwhile.
4. A last line without line end was not synced, so its resource was not created. It is ignored.

Not here: how namespaces and daemons are created and removed.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Self

from fabric.errors import FabricError
from fabric.lab import names, processes
from fabric.lab.processes import Daemon, ProcessId

RECORD: Final = "record.jsonl"
VERSION: Final = 1
MAX_BYTES: Final = 16 << 20
"""Size limit of a record: the largest fabric of one kernel has some hundreds of lines of a hundred bytes."""
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_TRIES, _PAUSE_S = 25, 0.02
_Json = dict[str, Any]


class Kind(StrEnum):
    """Purpose of a laboratory."""

    UP = "up"
    COMPARE = "compare"
    TEST = "test"


class BusyError(FabricError):
    """Another process builds or ends the laboratory."""


class DamagedError(FabricError):
    """A record that cannot be read."""


@dataclass(frozen=True, slots=True)
class Head:
    """The first line, written before any resource is created."""

    name: str
    scenario: str
    """Name of the scenario."""
    kind: Kind
    token: str
    """Random token of this laboratory; its namespaces have it as alias."""
    boot_id: str
    builder: ProcessId
    started: str
    """ISO 8601, UTC."""
    source: str = ""
    switches: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    daemons: tuple[str, ...] = ()
    """Of every switch."""

    @property
    def stale(self) -> bool:
        """Whether it is from an earlier boot: its processes and namespaces ended with that boot."""
        return self.boot_id != boot_id()


@dataclass(frozen=True, slots=True)
class OwnedNamespace:
    """A network namespace: its name below /run/netns, and its inode."""

    node: str
    name: str
    inode: int


@dataclass
class Content:
    """Everything that a record lists, in the order of creation."""

    head: Head
    namespaces: list[OwnedNamespace] = field(default_factory=list)
    daemons: list[Daemon] = field(default_factory=list)
    folders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Folder below the laboratory's -> files in it."""
    complete: bool = False
    """Whether `up` completed."""

    def newest(self) -> dict[tuple[str, str], Daemon]:
        """(node, daemon) -> the process that was started last."""
        return {(it.node, it.name): it for it in self.daemons}


def boot_id() -> str:
    """Changes with every boot of this machine."""
    return _BOOT_ID.read_text(encoding="ascii").strip()


class Record:
    """The record of one laboratory, locked by this process until `release` or `remove`."""

    def __init__(self, folder: Path, content: Content | None, lock: int) -> None:
        self.folder = folder
        self._content = content
        self._lock = lock
        self._file = -1

    # -- create and open --------------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        name: str,
        scenario: str,
        kind: Kind,
        *,
        source: str = "",
        switches: Sequence[str] = (),
        hosts: Sequence[str] = (),
        daemons: Sequence[str] = (),
        run: Path = names.RUN,
    ) -> Self:
        """A new record. Raises: FileExistsError if the folder exists; BusyError; FabricError; OSError."""
        ensure_run(run)
        folder = run / name
        folder.mkdir(mode=0o755)
        try:
            lock = _lock(folder)
        except FileNotFoundError as error:
            raise BusyError(f"another process has removed {folder}", "do it again") from error
        head = Head(
            name,
            scenario,
            kind,
            secrets.token_hex(16),
            boot_id(),
            processes.own(),
            datetime.now(UTC).isoformat(timespec="seconds"),
            source,
            tuple(switches),
            tuple(hosts),
            tuple(daemons),
        )
        found = cls(folder, Content(head), lock)
        try:
            found._write(_head_line(head))
            _sync_folder(folder)
            _sync_folder(run)
        except BaseException:
            found.remove()
            raise
        return found

    @classmethod
    def open(cls, name: str, run: Path = names.RUN, patience_s: float = _TRIES * _PAUSE_S) -> Self | None:
        """The record of a laboratory; None if there is none. Raises: BusyError, DamagedError."""
        folder = run / name
        try:
            lock = _lock(folder, patience_s)
        except FileNotFoundError:
            return None
        try:
            return cls(folder, read(folder), lock)
        except BaseException:
            os.close(lock)
            raise

    @property
    def content(self) -> Content | None:
        """What it lists; None if its process was killed before it created anything."""
        return self._content

    @property
    def head(self) -> Head:
        """Its first line."""
        if self._content is None:
            raise ValueError(f"{self.folder} has no record")
        return self._content.head

    # -- add --------------------------------------------------------------------------------------------------------

    def add_namespace(self, node: str, name: str, inode: int) -> None:
        """List a namespace. Raises: OSError, as all add methods."""
        self._write({"namespace": node, "name": name, "inode": inode})
        self._of().namespaces.append(OwnedNamespace(node, name, inode))

    def add_daemon(self, daemon: Daemon) -> None:
        """List a process."""
        self._write(
            {
                "daemon": daemon.name,
                "node": daemon.node,
                "pid": daemon.process.pid,
                "start_ticks": daemon.process.start_ticks,
                "program": daemon.program,
                "inode": daemon.inode,
            }
        )
        self._of().daemons.append(daemon)

    def add_folder(self, node: str, files: Sequence[str]) -> Path:
        """List a folder and all of its future files; create the folder."""
        if node not in self._of().folders:
            self._write({"folder": node, "files": list(files)})
            self._of().folders[node] = tuple(files)
        path = self.folder / node
        path.mkdir(exist_ok=True)
        return path

    def complete(self) -> None:
        """Record that everything was created."""
        self._write({"complete": True})
        self._of().complete = True

    def _of(self) -> Content:
        if self._content is None:
            raise ValueError(f"{self.folder} has no record")
        return self._content

    def _write(self, line: Mapping[str, Any]) -> None:
        path = self.folder / RECORD
        if self._file < 0:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        data = json.dumps(line).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from error

    # -- release and remove -----------------------------------------------------------------------------------------

    def release(self) -> None:
        """Unlock; the record stays."""
        for handle in (self._file, self._lock):
            if handle >= 0:
                os.close(handle)
        self._file = self._lock = -1

    def remove(self) -> bool:
        """Remove the record and its folder, and unlock. Returns: False if foreign files are in the folder."""
        (self.folder / RECORD).unlink(missing_ok=True)
        try:
            self.folder.rmdir()
        except OSError:
            return False
        finally:
            self.release()
        return True


def _head_line(head: Head) -> _Json:
    return {
        "record": "fabric-lab",
        "version": VERSION,
        "name": head.name,
        "scenario": head.scenario,
        "kind": head.kind.value,
        "token": head.token,
        "boot_id": head.boot_id,
        "builder": {"pid": head.builder.pid, "start_ticks": head.builder.start_ticks},
        "started": head.started,
        "source": head.source,
        "switches": head.switches,
        "hosts": head.hosts,
        "daemons": head.daemons,
    }


def ensure_run(run: Path = names.RUN) -> None:
    """Create RUN. Raises: FabricError if other users can write to it."""
    run.mkdir(mode=0o755, parents=True, exist_ok=True)
    about = os.lstat(run)
    if run.is_symlink() or about.st_uid != os.geteuid() or about.st_mode & 0o022:
        raise FabricError(
            f"{run} is a link, another user's, or others can write to it: its records cannot be trusted",
            f"remove it, or chown root {run} && chmod 755 {run}",
        )


def _lock(folder: Path, patience_s: float = _TRIES * _PAUSE_S) -> int:
    until_s = time.monotonic() + patience_s
    while True:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(handle)
            if time.monotonic() > until_s:
                raise BusyError(
                    f"the laboratory {folder.name} is being built, compared or ended by another process",
                    "wait for it, or stop that process",
                ) from error
            time.sleep(_PAUSE_S)
            continue
        try:
            if os.path.samestat(folder.stat(), os.fstat(handle)):
                return handle
        except FileNotFoundError:
            os.close(handle)
            raise
        os.close(handle)


def read(folder: Path) -> Content | None:
    """A laboratory's record, without a lock; None if it lists nothing. Raises: DamagedError, FileNotFoundError."""
    path = folder / RECORD
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        if not folder.is_dir():
            raise
        return None
    *lines, _ = data.split(b"\n")
    content = None
    for number, line in enumerate(lines, 1):
        try:
            content = _taken(content, json.loads(line), folder.name)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            why = f"has no {error}" if isinstance(error, KeyError) else str(error)
            raise DamagedError(
                f"{path}: line {number} is not what a laboratory writes: {why}",
                "correct the line, or end its daemons and `ip netns delete` its namespaces by hand, then remove "
                f"{folder}",
            ) from error
    return content


def _taken(content: Content | None, line: _Json, name: str) -> Content:
    if content is None:
        if line["record"] != "fabric-lab" or line["version"] != VERSION or line["name"] != name:
            raise ValueError(f"it is not a record of {name} in version {VERSION}")
        builder = ProcessId(_number(line["builder"], "pid"), _number(line["builder"], "start_ticks"))
        return Content(
            Head(
                name,
                str(line["scenario"]),
                Kind(line["kind"]),
                str(line["token"]),
                str(line["boot_id"]),
                builder,
                str(line["started"]),
                str(line["source"]),
                *(tuple(map(str, line[key])) for key in ("switches", "hosts", "daemons")),
            )
        )
    if "namespace" in line:
        node = str(line["namespace"])
        if line["name"] != names.namespace_name(name, node):
            raise ValueError(f"{line['name']} is not a namespace of {name}")
        content.namespaces.append(OwnedNamespace(node, line["name"], _number(line, "inode")))
    elif "daemon" in line:
        content.daemons.append(
            Daemon(
                str(line["node"]),
                str(line["daemon"]),
                ProcessId(_number(line, "pid"), _number(line, "start_ticks")),
                str(line["program"]),
                _number(line, "inode"),
            )
        )
    elif "folder" in line:
        parts = [str(line["folder"]), *map(str, line["files"])]
        if any("/" in part or part in {"", ".", ".."} for part in parts):
            raise ValueError("a file outside of the laboratory's folder")
        content.folders[parts[0]] = tuple(parts[1:])
    elif line.get("complete") is True:
        content.complete = True
    else:
        raise ValueError(f"unknown: {', '.join(line)}")
    return content


def _number(line: _Json, key: str) -> int:
    value = line[key]
    if type(value) is not int or value <= 0:
        raise ValueError(f"{key} is {value!r}, not a positive number")
    return value


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def laboratories(run: Path = names.RUN) -> list[str]:
    """Names of all laboratories of this machine."""
    if not run.is_dir():
        return []
    return sorted(path.name for path in run.iterdir() if path.is_dir() and names.is_laboratory(path.name))
